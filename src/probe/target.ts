import type { GivenSubject } from '../documents/index.ts'
import { type Given, isObject, type Path, type Resource, type Segment, segmentsOf } from '../rule/index.ts'

/** A resource that may contain addresses (URLs) to probe; its parts with a wrong JSON type are removed. */
export interface NamedResource {
  readonly subject: GivenSubject
  readonly resource: Resource
}

/** A reference to CAs (PEM) in a ConfigMap. `isOnly`: the operator trusts only these CAs, not those of the system. */
export interface Bundle {
  readonly name: string
  readonly key: string
  readonly isOnly: boolean
}

/** How the operator's process connects to an address. */
export interface Connecting {
  /** Whether the operator may use plain http. */
  readonly http: boolean
  /** The field that allows private addresses; undefined when they are always allowed. */
  readonly privateField?: string
  readonly allowsPrivate: boolean
  readonly bundle?: Bundle | undefined
  readonly redirects: 'followed' | 'to the same host'
}

/**
 * The part of the operator that uses an issuer: to validate callers' tokens, to log users in (`upstream`), or to
 * validate tokens that clients exchange (`trusted`).
 */
export type Reader = 'validator' | 'upstream' | 'trusted'

/** The grant types, scopes, PKCE and client authentication that a resource needs from an authorization server. */
export interface Needs {
  readonly grants: readonly string[]
  readonly scopes: readonly string[]
  readonly pkce?: boolean
  /** Set when the operator registers the client by itself (dynamic client registration). */
  readonly registers?: boolean
  /** How the operator sends the client secret to the token endpoint. */
  readonly secretMethod?: string
}

export type TargetUse =
  | { readonly is: 'issuer'; readonly reader: Reader; readonly needs: Needs; readonly isOptional?: boolean }
  | { readonly is: 'keys'; readonly reader: Reader; readonly isPrivate?: boolean }
  | { readonly is: 'metadata'; readonly needs: Needs }
  | { readonly is: 'endpoint'; readonly name: string; readonly needs?: Needs }
  | { readonly is: 'remote'; readonly hasCredential: boolean }
  | { readonly is: 'resource'; readonly issuer: string | undefined }

/** An address in a field, and how the operator uses it. */
export interface Target {
  readonly subject: GivenSubject
  readonly at: readonly Segment[]
  readonly url: string
  readonly use: TargetUse
  readonly connecting: Connecting
}

/** An address in a field to which no request is sent, with the reason. */
export interface LeftOut extends Pick<Target, 'subject' | 'at' | 'url'> {
  readonly why: string
}

export const GRANTS = {
  code: 'authorization_code',
  refresh: 'refresh_token',
  exchange: 'urn:ietf:params:oauth:grant-type:token-exchange',
  assertion: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
} as const

export const NO_NEEDS: Needs = { grants: [], scopes: [] }

export type FoundTarget = Omit<Target, 'subject'>
export type Skipped = Omit<LeftOut, 'subject'>

export const isGiven = (url: string | undefined): url is string => url !== undefined && url !== ''

/** The path of `field` in the object at `path`, even when the type of the object does not declare `field`. */
export const fieldAt = (path: Path<unknown>, field: string): readonly Segment[] => [
  ...segmentsOf(path),
  field,
]

/** How the operator connects for token requests: to any address, with the CAs of the system. */
export const TOKEN_REQUESTS: Connecting = { http: true, allowsPrivate: true, redirects: 'followed' }

export const texts = (list: readonly (string | undefined)[] | undefined): string[] =>
  (list ?? []).filter((each) => each !== undefined)

/** The CA bundle that a reference names; the default key is ca.crt. */
export function bundleOf(
  reference: Given<{ configMapRef: { name: string; key: string } }> | undefined,
  isOnly: boolean,
): Bundle | undefined {
  const { name, key } = reference?.configMapRef ?? {}
  return isObject(reference) && isGiven(name)
    ? { name, key: isGiven(key) ? key : 'ca.crt', isOnly }
    : undefined
}
