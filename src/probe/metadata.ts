import { isObject, parsedJson } from '../rule/index.ts'

/** The fields that the probe reads in the metadata of an authorization server (RFC 8414, OpenID Connect Discovery). */
const OF_SERVER = {
  texts: ['issuer', 'authorization_endpoint', 'token_endpoint', 'jwks_uri', 'registration_endpoint'],
  lists: [
    'response_types_supported',
    'grant_types_supported',
    'scopes_supported',
    'code_challenge_methods_supported',
    'token_endpoint_auth_methods_supported',
  ],
} as const

/** The fields that the probe reads in the metadata of a protected resource (RFC 9728). */
const OF_RESOURCE = { texts: ['resource'], lists: ['authorization_servers'] } as const

interface Fields {
  readonly texts: readonly string[]
  readonly lists: readonly string[]
}

type MetadataOf<Of extends Fields> = Readonly<
  Partial<Record<Of['texts'][number], string> & Record<Of['lists'][number], readonly string[]>>
>

export type Metadata = MetadataOf<typeof OF_SERVER>

export interface Read<Of extends Fields> {
  readonly metadata: MetadataOf<Of>
  /** Texts such as `issuer is not a string`: the operator refuses metadata with a field of a wrong JSON type. */
  readonly wrong: readonly string[]
}

export const readMetadata = (body: string): Read<typeof OF_SERVER> | undefined => readFields(body, OF_SERVER)

export const readResourceMetadata = (body: string): Read<typeof OF_RESOURCE> | undefined =>
  readFields(body, OF_RESOURCE)

/** Reads fields of a JSON object; undefined when `body` is not a JSON object. As in Go, null counts as absent. */
function readFields<Of extends Fields>(body: string, { texts, lists }: Of): Read<Of> | undefined {
  const value = parsedJson(body)
  if (!isObject(value)) return undefined
  const metadata: Record<string, string | string[]> = {}
  const wrong: string[] = []
  for (const field of texts) {
    const text = value[field] ?? undefined
    if (typeof text === 'string') metadata[field] = text
    else if (text !== undefined) wrong.push(`${field} is not a string`)
  }
  for (const field of lists) {
    const list = value[field] ?? undefined
    const isList = Array.isArray(list) && list.every((item) => item === null || typeof item === 'string')
    if (isList) metadata[field] = list.filter((item) => item !== null)
    else if (list !== undefined) wrong.push(`${field} is not a list of strings`)
  }
  return { metadata: metadata as MetadataOf<Of>, wrong }
}

const OPENID = '/.well-known/openid-configuration'
const OAUTH = '/.well-known/oauth-authorization-server'

/** The URL at which the operator reads an issuer's metadata; one slash at the end of the issuer is dropped. */
export const discoveryUrl = (issuer: string): string => issuer.replace(/\/$/, '') + OPENID

/** The URL of a protected resource's metadata (RFC 9728), as the operator tells it to clients. */
export function resourceMetadataUrl(resource: string): string {
  const { origin, pathname } = new URL(resource)
  return `${origin}/.well-known/oauth-protected-resource${pathname === '/' ? '' : pathname}`
}

/**
 * The issuer that the operator expects in the document at the `discoveryUrl` of a dcrConfig: the URL without its part
 * `/.well-known/…`.
 */
export function expectedIssuer(discoveryUrl: string): string {
  // Splits the text of the URL itself, because the URL class would normalise the host.
  const [, origin = '', path = ''] = /^([^:]+:\/\/[^/?#]*)([^?#]*)/.exec(discoveryUrl) ?? []
  for (const known of [OAUTH, OPENID]) {
    if (path.endsWith(known)) return origin + path.slice(0, -known.length)
    if (path.startsWith(`${known}/`)) return origin + path.slice(known.length).replace(/^\/$/, '')
  }
  return origin
}

/** The most path segments after the issuer in a token endpoint: three in /protocol/openid-connect/token. */
const MOST_CUT = 3

/** URLs where a token endpoint's server may publish its metadata, built from beginnings of the endpoint's URL. */
export function possibleDocuments(tokenEndpoint: URL): string[] {
  const parts = tokenEndpoint.pathname.split('/').filter((part) => part !== '')
  const issuers = Array.from({ length: Math.min(MOST_CUT, parts.length) }, (_, i) =>
    [tokenEndpoint.origin, ...parts.slice(0, parts.length - 1 - i)].join('/'),
  )
  return [...new Set([...issuers.map(discoveryUrl), tokenEndpoint.origin + OAUTH])]
}
