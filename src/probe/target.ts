import type { GivenSubject } from '../documents/index.ts'
import { type Given, isObject, type Path, type Resource, type Segment, segmentsOf } from '../rule/index.ts'

/** A resource that may name addresses, with its parts of a wrong JSON type taken away. */
export interface NamedResource {
  readonly subject: GivenSubject
  readonly resource: Resource
}

/** A reference to PEM certificates; the operator trusts them alone, or beside those of the system. */
export interface Bundle {
  readonly name: string
  readonly key: string
  readonly isOnly: boolean
}

/** How the process that the operator starts connects to an address. */
export interface Connecting {
  /** Whether plain http is allowed. */
  readonly http: boolean
  /** The field that allows private addresses; undefined where nothing refuses them. */
  readonly privateField?: string
  readonly allowsPrivate: boolean
  readonly bundle?: Bundle | undefined
  readonly redirects: 'followed' | 'to the same host'
}

/** The code that reads an issuer: it validates tokens of callers, logs users in, or takes tokens in exchanges. */
export type Reader = 'validator' | 'upstream' | 'trusted'

/** The grants and scopes that a configuration needs of an authorization server. */
export interface Needs {
  readonly grants: readonly string[]
  readonly scopes: readonly string[]
  readonly pkce?: boolean
  /** The client registers itself. */
  readonly registers?: boolean
  /** How the operator sends the client secret. */
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

/** An address in a field that is not asked, and why. */
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

/** The path of each property of T, whether or not the schema makes it optional. */
export const fieldAt = (path: Path<unknown>, field: string): readonly Segment[] => [
  ...segmentsOf(path),
  field,
]

/** The connections of token requests: to any address, by the authorities of the system. */
export const TOKEN_REQUESTS: Connecting = { http: true, allowsPrivate: true, redirects: 'followed' }

export const texts = (list: readonly (string | undefined)[] | undefined): string[] =>
  (list ?? []).filter((each) => each !== undefined)

/** The bundle that a reference names; its key is ca.crt by default. */
export function bundleOf(
  reference: Given<{ configMapRef: { name: string; key: string } }> | undefined,
  isOnly: boolean,
): Bundle | undefined {
  const { name, key } = reference?.configMapRef ?? {}
  return isObject(reference) && isGiven(name)
    ? { name, key: isGiven(key) ? key : 'ca.crt', isOnly }
    : undefined
}
