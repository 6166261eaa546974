import type { Claims } from '../role/claims.ts'
import type { Literal, ClaimsWorld } from '../../cel/index.ts'
import type { Budget } from '../../rule/index.ts'

/** The access that a caller gets from a `Choice`, and why. */
export interface Outcome {
  /** The role that the caller gets, or a description of the access; undefined when the caller gets none. */
  readonly access?: string
  /** The field that grants the access, such as `roleMappings[0]` or `fallbackRoleArn`; or why there is none. */
  readonly by: string
}

/** The condition for an alternative (`Way`): as a literal for the solver, and as text. */
export interface Condition {
  readonly when: Literal
  /** The condition in the words of the manifest; undefined when all callers satisfy it. */
  readonly text: string | undefined
  /** Variants of this condition without one operand, the shortest first; they may hold for more or other callers. */
  readonly smaller: () => Iterable<Condition>
  /** Why no caller can satisfy the condition, if that is known without a proof. */
  readonly never?: string
}

/** One alternative of a choice: for callers who satisfy its condition, but no condition of an earlier alternative. */
export interface Way extends Outcome {
  readonly condition: Condition
}

/** A part of a manifest that grants access by claims: role mappings, or the policy of a trusted issuer. */
export interface Choice {
  /** The alternatives in the order in which they are tried; all callers satisfy the last one. */
  ways(world: ClaimsWorld): readonly Way[]
  /** The outcome for these claims, evaluated as a gateway does. Throws OutOfBudget. */
  decide(claims: Claims, budget?: Budget): Outcome
}

/** A condition from which no operand can be removed, so that `smaller` returns nothing. */
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

/** The choice when the role mappings or the policy are missing: no caller gets access. */
export const NOTHING: Choice = {
  ways: (world) => [{ ...THERE_IS_NONE, condition: everyone(world) }],
  decide: () => THERE_IS_NONE,
}

/**
 * By access, the solver's literal for "the caller gets this access". Exactly one is true; the key '' stands for no
 * access.
 */
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
