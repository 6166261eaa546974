/** The scopes that an authorization server without `scopes` advertises, and grants to clients that request none. */
export const DEFAULT_SCOPES: readonly string[] = ['openid', 'profile', 'email', 'offline_access']

/**
 * The scopes that an authorization server advertises: `DEFAULT_SCOPES` when `scopes` is absent or empty; undefined
 * when `scopes` or one of its items has a wrong JSON type.
 */
export function advertisedScopes(
  reference: { readonly scopes?: readonly (string | undefined)[] | undefined } | undefined,
): readonly string[] | undefined {
  if (reference === undefined || !Object.hasOwn(reference, 'scopes')) return DEFAULT_SCOPES
  const { scopes } = reference
  if (scopes === undefined || scopes.includes(undefined)) return undefined
  return scopes.length === 0 ? DEFAULT_SCOPES : scopes.filter((scope) => scope !== undefined)
}
