import type { Claims } from '../role/claims.ts'
import type { Literal, ClaimsWorld } from '../../cel/index.ts'
import type { Budget } from '../../rule/index.ts'

/** The access that a caller gets. */
export interface Outcome {
  /** The role, or the access in words; undefined for none. */
  readonly access?: string
  /** The field that decides it: `roleMappings[0]`, `fallbackRoleArn`, or the reason for no access. */
  readonly by: string
}

/** When a way is taken, and how the manifest says it. */
export interface Condition {
  readonly when: Literal
  /** Undefined for everyone. */
  readonly text: string | undefined
  /** Conditions with one part less, those with the fewest parts first; they may say something else. */
  readonly smaller: () => Iterable<Condition>
  /** The reason why no caller satisfies it, where that is known without a proof. */
  readonly never?: string
}

/** An alternative of a choice: callers who satisfy its condition, and none of an earlier one, have this outcome. */
export interface Way extends Outcome {
  readonly condition: Condition
}

/** A part of a manifest that lets callers have something by their claims. */
export interface Choice {
  /** The alternatives in the order tried; everyone satisfies the last one. */
  ways(world: ClaimsWorld): readonly Way[]
  /** The access of the claims, evaluated as the gateway does. Throws OutOfBudget. */
  decide(claims: Claims, budget?: Budget): Outcome
}

/** A condition that is not made smaller. */
export const whole = (when: Literal, text: string): Condition => ({ when, text, smaller: () => [] })

export const nobody = (world: ClaimsWorld, why: string): Condition => ({
  when: world.false,
  text: 'nobody',
  smaller: () => [],
  never: why,
})

export const everyone = (world: ClaimsWorld): Condition => ({
  when: world.true,
  text: undefined,
  smaller: () => [],
})

const THERE_IS_NONE = { by: 'there is no such configuration' }

/** The choice of a missing configuration: no caller gets access. */
export const NOTHING: Choice = {
  ways: (world) => [{ ...THERE_IS_NONE, condition: everyone(world) }],
  decide: () => THERE_IS_NONE,
}

/** By access, the literal that a caller gets it; exactly one is true, and the empty text is no access. */
export function outcomesOf(world: ClaimsWorld, ways: readonly Way[]): ReadonlyMap<string, Literal> {
  const outcomes = new Map<string, Literal[]>()
  let rest = world.true
  for (const { condition, access = '' } of ways) {
    const those = outcomes.get(access) ?? []
    those.push(world.and(rest, condition.when))
    outcomes.set(access, those)
    rest = world.and(rest, -condition.when)
  }
  return new Map(Array.from(outcomes, ([access, literals]) => [access, world.or(...literals)]))
}
