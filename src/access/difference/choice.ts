import type { Claims } from '../role/claims.ts'
import type { Literal } from '../../cel/reason/solver.ts'
import type { World } from '../../cel/reason/world.ts'

/** What a caller gets. */
export interface Outcome {
  /** The role, or the access in words; undefined for none. */
  readonly access?: string
  /** What decides it: `roleMappings[0]`, `fallbackRoleArn`, or why there is nothing. */
  readonly by: string
}

/** A part of a manifest that lets callers have something by their claims. */
export interface Choice {
  /** When a caller gets what: literals of which exactly one is true, by access; the empty text is nothing. */
  encode(world: World): ReadonlyMap<string, Literal>
  /** What the claims get, evaluated as the gateway does. */
  decide(claims: Claims): Outcome
}

/** What nobody gets anything of: a configuration that is not there. */
export const NOTHING: Choice = {
  encode: (world) => new Map([['', world.true]]),
  decide: () => ({ by: 'there is no such configuration' }),
}

/** Alternatives of which the first that holds counts, and the literal of the rest. */
export function firstOf(
  world: World,
  tried: readonly { readonly when: Literal; readonly access: string }[],
): { readonly outcomes: Map<string, Literal[]>; readonly rest: Literal } {
  const outcomes = new Map<string, Literal[]>()
  let rest = world.true
  for (const { when, access } of tried) {
    outcomes.set(access, [...(outcomes.get(access) ?? []), world.and(rest, when)])
    rest = world.and(rest, -when)
  }
  return { outcomes, rest }
}

/** The alternatives of each outcome as one literal. */
export function joined(
  world: World,
  outcomes: ReadonlyMap<string, readonly Literal[]>,
): ReadonlyMap<string, Literal> {
  return new Map(Array.from(outcomes, ([access, literals]) => [access, world.or(...literals)]))
}
