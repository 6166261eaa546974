import type { Claims } from '../role/claims.ts'
import type { Literal, ClaimsWorld } from '../../cel/index.ts'
import type { Budget } from '../../rule/index.ts'

/** What a caller gets from a `Choice`. */
export interface Outcome {
  /** The role, or the access in words; undefined for none. */
  readonly access?: string
  /** The field that decides, such as `roleMappings[0]` or `fallbackRoleArn`; or the reason for no access. */
  readonly by: string
}

/** The condition of a `Way`, as a literal and in the words of the manifest. */
export interface Condition {
  readonly when: Literal
  /** The words; undefined where everyone satisfies the condition. */
  readonly text: string | undefined
  /**
   * Conditions with one part removed, those with the fewest parts first. They may hold for other callers than this one.
   */
  readonly smaller: () => Iterable<Condition>
  /** Why no caller can satisfy it, where that is known without a proof. */
  readonly never?: string
}

/** One alternative of a choice: it is for the callers who satisfy its condition and that of no earlier alternative. */
export interface Way extends Outcome {
  readonly condition: Condition
}

/** A part of a manifest that gives callers access by their claims: role mappings, or the policy of a trusted issuer. */
export interface Choice {
  /** The alternatives in the order tried; everyone satisfies the last one. */
  ways(world: ClaimsWorld): readonly Way[]
  /** The outcome for the claims, evaluated as the gateway does. Throws OutOfBudget. */
  decide(claims: Claims, budget?: Budget): Outcome
}

/** A condition from which no part can be removed. */
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

/** The choice where the part of the manifest is missing: no caller gets access. */
export const NOTHING: Choice = {
  ways: (world) => [{ ...THERE_IS_NONE, condition: everyone(world) }],
  decide: () => THERE_IS_NONE,
}

/** By access: the literal that a caller gets it. Exactly one is true; the empty text stands for no access. */
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
