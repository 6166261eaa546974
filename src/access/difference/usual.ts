import type { ClaimsWorld, Form, Literal, ValuePlace } from '../../cel/index.ts'
import { LIST_CLAIMS, TEXT_CLAIMS } from '../../kinds/mcp-external-auth-config/claim-shapes.ts'
import type { CallerTokens } from '../role/caller-tokens.ts'
import type { Claims } from '../role/claims.ts'

/** Assumptions that every claim has the JSON type with which identity providers issue it. */
const usualForms = (world: ClaimsWorld): Literal[] =>
  [...world.root.parts].flatMap(([name, place]) => {
    if (LIST_CLAIMS.has(String(name))) return others(place, ['absent', 'list'])
    if (TEXT_CLAIMS.has(String(name))) return others(place, ['absent', 'string'])
    const { list, forms } = place
    // A claim whose elements a matcher tests is assumed to be neither a map nor a string: in most tokens it is a list.
    return list !== undefined && list.counts.size > 0 ? [-forms.map, -forms.string] : []
  })

const others = ({ forms }: ValuePlace, usual: readonly Form[]): Literal[] =>
  Object.entries(forms).flatMap(([form, literal]) => (usual.includes(form as Form) ? [] : [-literal]))

/** The name of the first claim whose value has a JSON type with which no identity provider issues this claim. */
export function unusualClaim(claims: Claims): string | undefined {
  return Object.keys(claims).find((name) => {
    const value = claims[name]
    if (LIST_CLAIMS.has(name)) return !Array.isArray(value) || value.some((each) => typeof each !== 'string')
    return TEXT_CLAIMS.has(name) && typeof value !== 'string'
  })
}

/**
 * Assumptions that exclude the claims which embedded authorization servers never issue; empty unless some of the
 * callers, but not all, have tokens of such servers.
 */
const commonClaims = (world: ClaimsWorld, { partly }: Pick<CallerTokens, 'partly'>): Literal[] =>
  partly === undefined
    ? []
    : [...world.root.parts].flatMap(([name, { forms }]) => (partly.lacks(String(name)) ? [forms.absent] : []))

/**
 * Asks the solver up to three times, until the answer is 'possible': about claims of usual JSON types that every
 * caller's token may have, then about all claims of usual JSON types, then about any claims.
 */
export function soughtFirst<A extends { readonly is: string }>(
  world: ClaimsWorld,
  callerTokens: Pick<CallerTokens, 'partly'>,
  ask: (assumptions: readonly Literal[]) => A,
): A {
  const usual = usualForms(world)
  const common = commonClaims(world, callerTokens)
  const narrower = [
    ...(common.length === 0 ? [] : [[...usual, ...common]]),
    ...(usual.length === 0 ? [] : [usual]),
  ]
  for (const assumptions of narrower) {
    const answer = ask(assumptions)
    if (answer.is === 'possible') return answer
  }
  return ask([])
}

/** Excludes the claims that none of the callers' tokens has from all further answers of the solver. */
export function onlyThose(world: ClaimsWorld, { lacks }: Pick<CallerTokens, 'lacks'>): void {
  if (lacks === undefined) return
  for (const [name, { forms }] of world.root.parts) if (lacks(String(name))) world.clause([forms.absent])
}
