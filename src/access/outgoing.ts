import {
  agreedProvider,
  type AuthConfig,
  authConfigNamed,
  type Backend,
  type Gateway,
  getAuthConfig,
  getWorkload,
  isListed,
  isWithoutTokens,
  knowsReachers,
  leavesSubjectProvider,
  namedProvider,
  ownConfigOf,
  providersOf,
  sourceOf,
} from '../relations/index.ts'
import { type Cluster, isAbsent, nameText, type ObjectName } from '../rule/index.ts'
import { assumed, NO_TOKEN, roleNotes, rolesOf } from './assumed-role.ts'
import { releaseNotes } from './releases.ts'
import { notFound, notSpecified, unreadable } from './unknown.ts'

/** How vMCP authenticates to one backend. Values that do not apply or are not known are null. Specification 5.2. */
export interface Outgoing {
  /** Kind of the workload; null for a key of `backends` that is not the name of any workload in the group. */
  readonly kind: string | null
  readonly name: string
  /** A one-line summary of how vMCP authenticates to this backend. */
  readonly summary: string
  /** `unavailable`: credentials are configured, but the token that they need does not exist. */
  readonly credentials: 'sent' | 'none' | 'unavailable' | 'unknown'
  /**
   * The origin of the strategy. `discovered`: the workload; `inline`: `outgoingAuth.backends`; `default`:
   * `outgoingAuth.default`.
   */
  readonly source: 'discovered' | 'inline' | 'default' | 'none' | 'unknown'
  /** Name of the MCPExternalAuthConfig. */
  readonly config: string | null
  /** The type of the MCPExternalAuthConfig, as written. */
  readonly type: string | null
  /**
   * The token that is sent or exchanged. `upstream`: of an upstream provider; `vmcp`: issued by vMCP; `secret`: from a
   * Secret; `role`: exchanged for the credentials of an AWS role.
   */
  readonly token: 'upstream' | 'vmcp' | 'secret' | 'role' | null
  /** The upstream provider whose token is sent, or exchanged for another token or a role. */
  readonly provider: string | null
  /**
   * The origin of `provider`: the MCPExternalAuthConfig names it, an earlier /mutate wrote it, or it is the first
   * provider of the embedded authorization server.
   */
  readonly chosen: 'given' | 'written' | 'first' | null
  /** The AWS roles with their conditions, in the order in which they are tried; null unless the type is awsSts. */
  readonly roles: readonly string[] | null
  /** The part of a request that carries the credentials; `not specified` when the specification does not say. */
  readonly placement: 'header' | 'SigV4' | 'not specified' | null
  /** The name of the header that carries the credentials; null when no header does. */
  readonly header: string | null
  /** Why no credentials are sent, or why a value is not known. */
  readonly reason: string | null
  /** Notes about AWS roles, about values that /mutate will write, and about differences between operator releases. */
  readonly notes: readonly string[]
}

/** The fields of `Outgoing` that the MCPExternalAuthConfig determines. */
type Strategy = Omit<Outgoing, 'kind' | 'name' | 'summary' | 'source' | 'config' | 'roles' | 'notes'>

const NOTHING = {
  type: null,
  token: null,
  provider: null,
  chosen: null,
  placement: null,
  header: null,
} as const

const SOURCES = {
  discovered: 'discovered',
  backends: 'inline',
  default: 'default',
  none: 'none',
  unknown: 'unknown',
} as const

/** How the VirtualMCPServer authenticates to one of its backends. Specification 5.2. */
export function outgoingOf(
  gateway: Gateway,
  backend: Backend,
  cluster: Cluster,
  writesDefaults: boolean,
): Outgoing {
  const { name, member, config = null } = backend
  const strategy = strategyOf(gateway, backend, cluster)
  const auth = config === null ? undefined : getAuthConfig(cluster, config)
  return {
    kind: member?.kind ?? null,
    name,
    summary: summaryOf(strategy),
    source: SOURCES[backend.from],
    config,
    ...strategy,
    roles: rolesOf(auth),
    notes: [
      ...roleNotes(auth, gateway),
      ...(writesDefaults ? nextWrite(config, strategy, cluster) : []),
      ...releaseNotes(gateway, backend, strategy, cluster),
    ],
  }
}

/** A note if the next write of the MCPExternalAuthConfig changes the provider that /mutate wrote (decision 25). */
function nextWrite(config: string | null, { chosen, provider }: Strategy, cluster: Cluster): string[] {
  if (config === null || chosen !== 'written' || !knowsReachers(cluster)) return []
  const next = agreedProvider(config, cluster)
  if (next === provider) return []
  const change = next === undefined ? 'takes it away' : `writes ${next}`
  return [`/mutate wrote the provider: the next write of ${nameText(authConfigNamed(config))} ${change}`]
}

function strategyOf(gateway: Gateway, backend: Backend, cluster: Cluster): Strategy {
  if (backend.from === 'none') {
    const inline = sourceOf(gateway) === 'inline'
    const reason = inline ? 'not in `backends`, and no `default`' : 'no externalAuthConfigRef'
    return { ...NOTHING, credentials: 'none', reason }
  }
  if (backend.config === undefined) return unknown(NOTHING, whyUnknown(gateway, backend, cluster))
  const config = getAuthConfig(cluster, backend.config)
  return config === undefined
    ? unknown(NOTHING, notFound(authConfigNamed(backend.config), cluster))
    : configured(config, gateway, cluster, backend.from !== 'discovered')
}

const unknown = (known: Omit<Strategy, 'credentials' | 'reason'>, reason: string): Strategy => ({
  ...known,
  credentials: 'unknown',
  reason,
})

/** Why the MCPExternalAuthConfig of a backend is not known. */
function whyUnknown(gateway: Gateway, { name, member }: Backend, cluster: Cluster): string {
  const { spec = {} } = gateway
  const { outgoingAuth } = spec
  const source: string | undefined = sourceOf(gateway)
  const isOwn =
    source === 'discovered'
      ? ownConfigOf((member && getWorkload(cluster, member)) ?? {}).from !== 'none'
      : source === 'inline' &&
        cluster.release !== undefined &&
        member &&
        hasUnreadableOwn(gateway, member, cluster)
  if (isOwn) return unreadableRef((member && getWorkload(cluster, member)?.spec) ?? {})
  if (outgoingAuth === undefined) return unreadable(spec, 'outgoingAuth')
  if (source === undefined) return unreadable(outgoingAuth, 'source')
  if (source !== 'inline' && source !== 'discovered') return notSpecified('source', source)
  const { backends = {} } = outgoingAuth
  if (!Object.hasOwn(backends, name)) return '`backends` or `default` cannot be read'
  const entry = backends[name]
  if (entry === undefined) return 'its entry in `backends` is of a wrong JSON type'
  if (entry.type !== undefined && entry.type !== 'externalAuthConfigRef')
    return notSpecified('type', entry.type)
  return unreadableRef(entry)
}

/**
 * Whether the workload's own `externalAuthConfigRef` applies, because `outgoingAuth.backends` does not list the
 * workload, but the name in the reference is not known: it is missing, a placeholder or of a wrong JSON type.
 */
function hasUnreadableOwn(gateway: Gateway, member: ObjectName, cluster: Cluster): boolean {
  const workload = getWorkload(cluster, member)
  return workload !== undefined && !isListed(gateway, member.name) && ownConfigOf(workload).from === 'unknown'
}

function unreadableRef(holder: { readonly externalAuthConfigRef?: { readonly name?: unknown } | undefined }) {
  const { externalAuthConfigRef: ref } = holder
  return ref === undefined
    ? unreadable(holder, 'externalAuthConfigRef')
    : unreadable(ref, 'name', 'externalAuthConfigRef.name')
}

/**
 * How this VirtualMCPServer authenticates to a backend by this MCPExternalAuthConfig. `isNamed`: whether
 * the VirtualMCPServer itself names this MCPExternalAuthConfig.
 */
function configured(config: AuthConfig, gateway: Gateway, cluster: Cluster, isNamed: boolean): Strategy {
  const { spec = {} } = config
  const type: string | undefined = spec.type
  switch (type) {
    case 'unauthenticated':
      return { ...NOTHING, type, credentials: 'none', reason: 'type unauthenticated' }
    case 'bearerToken':
      return {
        ...NOTHING,
        type,
        credentials: 'sent',
        token: 'secret',
        placement: 'not specified',
        reason: null,
      }
    case 'awsSts':
      return { ...NOTHING, type, placement: 'SigV4', ...assumed(config, gateway, isNamed) }
    case 'embeddedAuthServer': {
      const reason = 'the specification does not say what this type sends to a backend'
      return unknown({ ...NOTHING, type, placement: 'not specified' }, reason)
    }
    case 'headerInjection': {
      const { headerInjection: settings } = spec
      const header = settings?.headerName ?? null
      const known = { ...NOTHING, type, token: 'secret', placement: 'header', header } as const
      if (settings === undefined) return unknown(known, unreadable(spec, 'headerInjection'))
      if (header === null) return unknown(known, unreadable(settings, 'headerName'))
      return { ...known, credentials: 'sent', reason: null }
    }
    case 'upstreamInject':
      return {
        ...NOTHING,
        type,
        placement: 'header',
        header: 'Authorization',
        ...upstream(config, gateway, cluster),
      }
    case 'tokenExchange': {
      const { tokenExchange: settings } = spec
      const header = settings === undefined ? null : exchangeHeader(settings)
      const token = upstream(config, gateway, cluster)
      const strategy = { ...NOTHING, type, placement: 'header', header, ...token } as const
      if (header !== null || settings === undefined) return strategy
      const reason = unreadable(settings, 'externalTokenHeaderName')
      return token.reason === null
        ? unknown(strategy, reason)
        : { ...strategy, reason: `${token.reason}; ${reason}` }
    }
    case undefined:
      return unknown(NOTHING, unreadable(spec, 'type'))
    default:
      return unknown({ ...NOTHING, type }, notSpecified('type', type))
  }
}

/**
 * The header for the exchanged token; null when `externalTokenHeaderName` is a placeholder or of a wrong JSON type.
 * Specification 2.4.5.
 */
function exchangeHeader(settings: NonNullable<NonNullable<AuthConfig['spec']>['tokenExchange']>) {
  const { externalTokenHeaderName: name } = settings
  if (isAbsent(settings, 'externalTokenHeaderName') || name === '') return 'Authorization'
  return name ?? null
}

type Token = Pick<Strategy, 'credentials' | 'token' | 'provider' | 'chosen' | 'reason'>

/** The token that is sent or exchanged, and whether vMCP can get this token. Specification 2.4.5, 2.4.6 and 5.2. */
function upstream(config: AuthConfig, gateway: Gateway, { group }: Cluster): Token {
  const named = namedProvider(config, group)
  const server = providersOf(gateway.spec, 'authServerConfig')
  if (named !== undefined) {
    const { provider, written } = named
    const chosen = written ? 'written' : 'given'
    const found = { token: 'upstream', provider, chosen } as const
    if (server?.names.includes(provider)) return { ...found, credentials: 'sent', reason: null }
    if (server?.complete === false)
      return { ...found, credentials: 'unknown', reason: 'not all providers can be read' }
    const reason = server === undefined ? NO_SERVER : 'the embedded authorization server has no such provider'
    return { ...found, credentials: 'unavailable', reason }
  }
  if (config.spec?.type === 'upstreamInject' && server === undefined)
    return { token: 'upstream', provider: null, chosen: null, credentials: 'unavailable', reason: NO_SERVER }
  if (!leavesSubjectProvider(config, group)) {
    const reason = unnamed(config)
    return { token: null, provider: null, chosen: null, credentials: 'unknown', reason }
  }
  if (isWithoutTokens(gateway))
    return { token: null, provider: null, chosen: null, credentials: 'unavailable', reason: NO_TOKEN }
  if (server === undefined)
    return { token: 'vmcp', provider: null, chosen: null, credentials: 'sent', reason: null }
  const first = gateway.spec?.authServerConfig?.upstreamProviders?.[0]?.name
  const found = { token: 'upstream', provider: first ?? null, chosen: 'first' } as const
  if (first !== undefined) return { ...found, credentials: 'sent', reason: null }
  return server.complete
    ? { ...found, credentials: 'unavailable', reason: 'the embedded authorization server has no provider' }
    : { ...found, credentials: 'unknown', reason: 'the first provider cannot be read' }
}

/** Why it is not known which upstream provider the MCPExternalAuthConfig names: a field cannot be read. */
function unnamed({ spec = {} }: AuthConfig): string {
  const { type, upstreamInject, tokenExchange } = spec
  if (type === 'upstreamInject')
    return upstreamInject === undefined
      ? unreadable(spec, 'upstreamInject')
      : unreadable(upstreamInject, 'providerName')
  return tokenExchange === undefined
    ? unreadable(spec, 'tokenExchange')
    : unreadable(tokenExchange, 'subjectProviderName')
}

const NO_SERVER = 'no embedded authorization server'

function summaryOf(strategy: Strategy): string {
  const { credentials, reason, header, placement, type } = strategy
  const why = reason === null ? '' : ` (${reason})`
  if (credentials === 'none') return `NO CREDENTIALS${why}`
  const phrase = phraseOf(strategy)
  if (phrase === undefined) return `not known${why}`
  const usual = type === 'headerInjection' || header?.toLowerCase() === 'authorization'
  const place = placement !== 'header' || header === null || usual ? '' : ` in ${header}`
  const state = { sent: '', unavailable: ', NOT AVAILABLE', unknown: ', not all known' }[credentials]
  return `${phrase}${place}${state}${why}`
}

/** Describes the authentication strategy; undefined for a type that the specification does not have. */
function phraseOf({ type, token, provider, header }: Strategy): string | undefined {
  switch (type) {
    case 'tokenExchange':
      return token === 'vmcp'
        ? 'token exchange of the vMCP-issued JWT'
        : `token exchange${provider === null ? '' : ` via ${provider}`}`
    case 'upstreamInject':
      return `upstream token${provider === null ? '' : ` of ${provider}`}`
    case 'headerInjection':
      return `${header === null ? 'a header' : `header ${header}`} from a Secret`
    case 'bearerToken':
      return 'bearer token from a Secret'
    case 'awsSts':
      return `SigV4 of an AWS role${provider === null ? '' : `, for the token of ${provider}`}`
    case 'embeddedAuthServer':
      return 'embedded authorization server'
    default:
      return undefined
  }
}
