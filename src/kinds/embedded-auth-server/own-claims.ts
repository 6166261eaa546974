/**
 * Claims that are always possible in tokens of an embedded authorization server: in tokens for users, and in tokens
 * for clients that present an assertion (RFC 7523). The claim with the scopes is `scp` (toolhive 0.44 to 0.63:
 * authserver/integration_test.go).
 */
const ALWAYS = 'iss sub aud exp iat nbf jti scp client_id tsid act sub_id external_issuer'.split(' ')

/**
 * Claims in tokens of an embedded authorization server: `OWN_CLAIMS` in tokens for users and for clients that act for
 * a user, `ASSERTION_CLAIMS` in tokens for clients that present an assertion (RFC 7523).
 */
export const OWN_CLAIMS: ReadonlySet<string> = new Set([...ALWAYS, 'name', 'email'])
export const ASSERTION_CLAIMS: ReadonlySet<string> = new Set(ALWAYS)

/** The prefix of ToolHive's own claims, in release 0.63 (toolhive: authserver/server/session/session.go). */
const OF_TOOLHIVE = 'https://toolhive.dev/'

/** Whether a token of an embedded authorization server may have the claim. */
export const isOwnClaim = (name: string): boolean => OWN_CLAIMS.has(name) || name.startsWith(OF_TOOLHIVE)

/** Whether no token of an embedded authorization server has the claim. */
export const isForeignClaim = (name: string): boolean => !isOwnClaim(name)

const NOT_TEXT: ReadonlySet<string> = new Set('aud exp iat nbf scp act sub_id'.split(' '))

/** Whether tokens of an embedded authorization server have the claim, but not as a string. */
export const isStructuredClaim = (name: string): boolean => NOT_TEXT.has(name) || name.startsWith(OF_TOOLHIVE)
