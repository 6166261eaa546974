import type { Claims } from '../role/claims.ts'
import type { Literal, ClaimsWorld } from '../../cel/index.ts'
import type { Budget } from '../../rule/index.ts'

/** The access that a caller gets from role mappings or a policy, and why. */
export interface Outcome {
  /** The role that the caller gets, or a description of the access; undefined when the caller gets none. */
  readonly access?: string
  /** The field that grants the access, such as `roleMappings[0]` or `fallbackRoleArn`; or why there is none. */
  readonly by: string
}

/** A condition on callers' claims: as a literal of the SAT solver (a variable or its negation), and as text. */
export interface Condition {
  readonly when: Literal
  /** The condition in the words of the manifest; undefined when all callers satisfy it. */
  readonly text: string | undefined
  /** Variants of this condition, each without one operand, the shortest first; other callers may satisfy them. */
  readonly withoutOneOperand: () => Iterable<Condition>
  /** Why no caller can satisfy the condition, when this is known without asking the solver. */
  readonly never?: string
}

/** An alternative of a `Choice`, such as a role mapping: a caller gets the first one whose condition is satisfied. */
export interface Alternative extends Outcome {
  readonly condition: Condition
}

/** A part of a manifest that grants access by claims: role mappings, or the policy of a trusted issuer. */
export interface Choice {
  /** The alternatives, such as role mappings, in the order in which they are tried; the last is for all callers. */
  alternatives(world: ClaimsWorld): readonly Alternative[]
  /** The outcome for these claims, evaluated as a gateway does. Throws OutOfBudget. */
  decide(claims: Claims, budget?: Budget): Outcome
}

/** A condition from which no operand can be removed, so that `withoutOneOperand` returns nothing. */
export const indivisible = (when: Literal, text: string): Condition => ({
  when,
  text,
  withoutOneOperand: () => [],
})

export const nobody = (world: ClaimsWorld, why: string): Condition => ({
  when: world.false,
  text: 'nobody',
  withoutOneOperand: () => [],
  never: why,
})

export const everyone = (world: ClaimsWorld): Condition => ({
  when: world.true,
  text: undefined,
  withoutOneOperand: () => [],
})

const THERE_IS_NONE = { by: 'there is no such configuration' }

/** A `Choice` that grants access to no caller, for role mappings or a policy that do not exist. */
export const NOTHING: Choice = {
  alternatives: (world) => [{ ...THERE_IS_NONE, condition: everyone(world) }],
  decide: () => THERE_IS_NONE,
}

/**
 * Maps each access to the literal of the SAT solver (a variable or its negation) that is true when the caller gets
 * this access; the empty key stands for no access. Exactly one literal is true.
 */
export function outcomesOf(
  world: ClaimsWorld,
  alternatives: readonly Alternative[],
): ReadonlyMap<string, Literal> {
  const outcomes = new Map<string, Literal[]>()
  let rest = world.true
  for (const { condition, access = '' } of alternatives) {
    const those = outcomes.get(access) ?? []
    those.push(world.and(rest, condition.when))
    outcomes.set(access, those)
    rest = world.and(rest, -condition.when)
  }
  return new Map(Array.from(outcomes, ([access, literals]) => [access, world.or(...literals)]))
}
