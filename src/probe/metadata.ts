import { isObject } from '../rule/resource.ts'
import { parseJson } from './keys.ts'

/** What an authorization server says of itself (RFC 8414, OpenID Connect Discovery): a field of another type is left out. */
export interface Metadata {
  readonly issuer?: string
  readonly authorization_endpoint?: string
  readonly token_endpoint?: string
  readonly jwks_uri?: string
  readonly registration_endpoint?: string
  readonly response_types_supported?: readonly string[]
  readonly grant_types_supported?: readonly string[]
  readonly scopes_supported?: readonly string[]
  readonly code_challenge_methods_supported?: readonly string[]
  readonly token_endpoint_auth_methods_supported?: readonly string[]
}

/** What a protected resource says of itself (RFC 9728). */
export interface ResourceMetadata {
  readonly resource?: string
  readonly authorization_servers?: readonly string[]
}

/** Undefined where the text is not a JSON object. */
export function readMetadata(body: string): (Metadata & ResourceMetadata) | undefined {
  const value = parseJson(body)
  if (!isObject(value)) return undefined
  const kept = Object.entries(value).filter(
    ([, each]) =>
      typeof each === 'string' || (Array.isArray(each) && each.every((item) => typeof item === 'string')),
  )
  return Object.fromEntries(kept)
}

const OPENID = '/.well-known/openid-configuration'
const OAUTH = '/.well-known/oauth-authorization-server'

/** Where the operator looks an issuer up: one slash at its end does not count. */
export const discoveryUrl = (issuer: string): string => issuer.replace(/\/$/, '') + OPENID

/** Where the operator tells clients to read what a resource says of itself (RFC 9728). */
export function resourceMetadataUrl(resource: string): string {
  const { origin, pathname } = new URL(resource)
  return `${origin}/.well-known/oauth-protected-resource${pathname === '/' ? '' : pathname}`
}

/** The issuer that the operator expects in the document at a discoveryUrl of dcrConfig: what is left without the known part. */
export function expectedIssuer(discoveryUrl: string): string {
  // As written: the URL class would change the host.
  const [, origin = '', path = ''] = /^([^:]+:\/\/[^/?#]*)([^?#]*)/.exec(discoveryUrl) ?? []
  for (const known of [OAUTH, OPENID]) {
    if (path.endsWith(known)) return origin + path.slice(0, -known.length)
    if (path.startsWith(`${known}/`)) return origin + path.slice(known.length).replace(/^\/$/, '')
  }
  return origin
}

/** Most parts that are cut from a token endpoint in the search for its issuer: /protocol/openid-connect/token has three. */
const MOST_CUT = 3

/** Where the document of the server of a token endpoint may be: servers have it below their issuer. */
export function possibleDocuments(tokenEndpoint: URL): string[] {
  const parts = tokenEndpoint.pathname.split('/').filter((part) => part !== '')
  const issuers = Array.from({ length: Math.min(MOST_CUT, parts.length) }, (_, i) =>
    [tokenEndpoint.origin, ...parts.slice(0, parts.length - 1 - i)].join('/'),
  )
  return [...new Set([...issuers.map(discoveryUrl), tokenEndpoint.origin + OAUTH])]
}
