import { shortQuote, slipOf } from '../rule/index.ts'

/** The standard scopes of OpenID Connect. */
const KNOWN = ['openid', 'profile', 'email', 'address', 'phone', 'offline_access']

/** The known scope that a misspelt scope means; undefined when there is none. Scopes are case-sensitive. */
const meantBy = (scope: string): string | undefined =>
  KNOWN.find((known) => known !== scope && known === scope.toLowerCase()) ?? slipOf(scope, KNOWN)

type ScopeSlip = readonly [index: number, problem: string]

/** The problems of misspelt or empty scopes, by index; `consequence` is a clause: the effect of an unknown scope. */
export function scopeSlips(
  scopes: readonly (string | undefined)[] | undefined,
  consequence: string,
): readonly ScopeSlip[] {
  if (scopes === undefined) return []
  const slips: ScopeSlip[] = []
  const all = new Set(scopes)
  for (const [i, scope] of scopes.entries()) {
    if (scope === '')
      slips.push([
        i,
        'an empty scope puts a second space into the list, which may be refused with invalid_scope; remove it',
      ])
    const meant = scope === undefined ? undefined : meantBy(scope)
    if (scope === undefined || meant === undefined || all.has(meant)) continue
    slips.push([
      i,
      `${shortQuote(scope)} is not a scope of OpenID Connect, ${consequence}; did you mean '${meant}'`,
    ])
  }
  return slips
}
