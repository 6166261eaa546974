import {
  type Cluster,
  end,
  isAbsent,
  type ObjectName,
  oncePerCluster,
  type Path,
  pathTo,
  type Related,
  shortQuote,
  type ErrorSubject,
  withinBudget,
} from '../rule/index.ts'
import { hasNoProviders, type Provider, type Server } from '../kinds/embedded-auth-server/effective.ts'
import { mayHaveDelegationPolicy, policiesOf } from '../kinds/embedded-auth-server/inbound-grants.ts'
import { ASSERTION_CLAIMS, isOwnClaim } from '../kinds/embedded-auth-server/own-claims.ts'
import { type Compiling, matcherVerdict } from '../kinds/mcp-external-auth-config/matcher-verdicts.ts'
import { opaqueIssuer } from './authorization.ts'
import { AUTH_CONFIG, GATEWAY, WORKLOAD } from './ends.ts'
import {
  configsReached,
  configsUsedByName,
  discoverersOf,
  isUsedByName,
  type Reached,
  reachersOf,
  sourceOf,
} from './reach.ts'
import {
  type AuthConfig,
  type Gateway,
  getAuthConfig,
  getWorkload,
  type Workload,
} from './related-resources.ts'
import { authServersOf, heldServersOf } from './workload-auth-server.ts'

export type AwsSts = NonNullable<NonNullable<AuthConfig['spec']>['awsSts']>

/** The `awsSts` of an MCPExternalAuthConfig with `type: awsSts`; undefined for other types. */
export const awsStsOf = (config: AuthConfig | undefined): AwsSts | undefined =>
  config?.spec?.type === 'awsSts' ? config.spec.awsSts : undefined

/** An embedded authorization server whose tokens determine the AWS roles of callers. */
export interface Front {
  /** The VirtualMCPServer or the workload that calls AWS. */
  readonly caller: ObjectName
  readonly server: Server
  /** The MCPExternalAuthConfig that contains a workload's server; undefined for a server inside a VirtualMCPServer. */
  readonly config: ObjectName | undefined
  /**
   * Whether the caller sends the token of the first upstream provider when `subjectProviderName` is absent. With source
   * `discovered` a VirtualMCPServer does so only for configurations that it names itself; otherwise it sends the token
   * that it issued.
   */
  readonly sendsFirst: boolean
  /** The index of each upstream provider in the authorization server, by the provider's name. */
  readonly providerIndexes: () => ReadonlyMap<string | undefined, number>
  /** The name of the first upstream provider whose access tokens may be JWTs. */
  readonly jwtProvider: () => string | undefined
}

/** Makes a Front whose functions compute their results once, because many MCPExternalAuthConfigs use one server. */
function frontOf(
  caller: ObjectName,
  server: Server,
  config: ObjectName | undefined,
  sendsFirst: boolean,
): Front {
  const providers = server.upstreamProviders ?? []
  let places: ReadonlyMap<string | undefined, number> | undefined
  let readable: { readonly name: string | undefined } | undefined
  return {
    caller,
    server,
    config,
    sendsFirst,
    // When two providers have the same name, the first one is used.
    providerIndexes: () =>
      (places ??= new Map(providers.map((each, i) => [each?.name, i] as const).reverse())),
    jwtProvider: () =>
      (readable ??= {
        name: providers.find((each) => each?.name && each.type === 'oidc' && opaqueIssuer(each) === undefined)
          ?.name,
      }).name,
  }
}

/**
 * The embedded authorization server of a VirtualMCPServer; undefined when clients bring tokens of another issuer.
 * `isNamed`: whether the VirtualMCPServer itself names the MCPExternalAuthConfig that is used.
 */
export function frontOfGateway(name: string, gateway: Gateway, isNamed: boolean): Front | undefined {
  const server = gateway.spec?.authServerConfig
  const sendsFirst = isNamed || sourceOf(gateway) === 'inline'
  return server && frontOf({ kind: 'VirtualMCPServer', name }, server, undefined, sendsFirst)
}

/** The authorization server of an MCPRemoteProxy, the only kind of workload that signs requests to AWS itself. */
function frontOfProxy(name: string, workload: Workload, cluster: Cluster): Front | undefined {
  const caller = { kind: 'MCPRemoteProxy', name }
  const [own] = authServersOf(caller.kind, workload, cluster)
  return own && frontOf(caller, own.server, own.to, true)
}

/** An MCPExternalAuthConfig that chooses AWS roles for callers of a server (`front`), and where it is used. */
export interface UsedAwsSts {
  readonly config: string
  readonly awsSts: AwsSts
  readonly front: Front
  readonly at: Path<unknown>
}

/**
 * The MCPExternalAuthConfigs of type awsSts that a VirtualMCPServer or workload uses behind an embedded authorization
 * server, without repeats. A workload's own configuration is used by the VirtualMCPServers that discover the workload,
 * and an MCPRemoteProxy also uses it itself. For an MCPExternalAuthConfig with an authorization server these are the
 * uses of the proxies that name it, once for each configuration that they use.
 */
function* usedAwsSts(resource: object, { kind, name }: ObjectName, cluster: Cluster): Generator<UsedAwsSts> {
  if (kind === 'MCPExternalAuthConfig') {
    const seen = new Set<string>()
    for (const { holder, workload } of heldServersOf(resource, { kind, name }, cluster)) {
      const config = workload.spec?.externalAuthConfigRef?.name
      if (holder.kind !== 'MCPRemoteProxy' || config === undefined || seen.has(config)) continue
      seen.add(config)
      const awsSts = awsStsOf(getAuthConfig(cluster, config))
      const front = frontOfProxy(holder.name, workload, cluster)
      if (awsSts !== undefined && front?.config?.name === name)
        yield { config, awsSts, front, at: AUTH_CONFIG.spec.embeddedAuthServer }
    }
    return
  }
  if (kind !== 'VirtualMCPServer') {
    const config = (resource as Workload).spec?.externalAuthConfigRef?.name
    const awsSts = config === undefined ? undefined : awsStsOf(getAuthConfig(cluster, config))
    if (config === undefined || awsSts === undefined) return
    const at = WORKLOAD.spec.externalAuthConfigRef.name
    const own = kind === 'MCPRemoteProxy' ? frontOfProxy(name, resource, cluster) : undefined
    if (own !== undefined) yield { config, awsSts, front: own, at }
    for (const { name: gateway, gateway: found } of discoverersOf(name, resource, cluster)) {
      const front = frontOfGateway(gateway.name, found, isUsedByName(found, config, cluster))
      if (front !== undefined) yield { config, awsSts, front, at }
    }
    return
  }
  const used = stsReached(resource, cluster)
  const front = used.length === 0 ? undefined : frontOfGateway(name, resource, false)
  if (front === undefined) return
  const asNamed = { ...front, sendsFirst: true }
  const named = configsUsedByName(resource, cluster)
  for (const { config, auth, at } of used) {
    const awsSts = awsStsOf(auth)
    if (awsSts === undefined) continue
    const place = at === undefined ? GATEWAY.spec.authServerConfig : pathTo(at())
    yield { config, awsSts, front: named.has(config) ? asNamed : front, at: place }
  }
}

/** A use of an MCPExternalAuthConfig of type awsSts, and what was found there. */
export interface FoundBehind<T> extends UsedAwsSts {
  readonly found: T
  /** Whether the judged object itself calls AWS; otherwise a VirtualMCPServer that discovers it does. */
  readonly isHere: boolean
  /** Whether the judged object itself contains the authorization server. */
  readonly isIssuedHere: boolean
}

/**
 * What `find` finds at each use of an MCPExternalAuthConfig of type awsSts; of the VirtualMCPServers that discover a
 * workload, only at the first.
 */
export function* foundBehind<T>(
  resource: object,
  self: ObjectName,
  cluster: Cluster,
  find: (use: UsedAwsSts) => T | undefined,
): Generator<FoundBehind<T>> {
  const isSelf = ({ kind, name }: ObjectName) => kind === self.kind && name === self.name
  for (const use of usedAwsSts(resource, self, cluster)) {
    const found = find(use)
    if (found === undefined) continue
    const { caller, config } = use.front
    const isHere = isSelf(caller)
    yield { ...use, found, isHere, isIssuedHere: isSelf(config ?? caller) }
    if (!isHere && self.kind !== 'MCPExternalAuthConfig') return
  }
}

/** The MCPExternalAuthConfigs of type awsSts that a VirtualMCPServer uses for its backends, without repeats. */
export const stsReached = oncePerCluster((gateway: Gateway, cluster): readonly Reached[] => {
  const found = configsReached(gateway, cluster).filter(({ auth }) => awsStsOf(auth) !== undefined)
  if (found.length < 2) return found
  const seen = new Set<string>()
  return found.filter(({ config }) => !seen.has(config) && seen.add(config))
})

/**
 * The VirtualMCPServers and proxies that use one MCPExternalAuthConfig to choose AWS roles: `fronts` have an embedded
 * authorization server, `others` have none.
 */
export interface Fronts {
  readonly fronts: readonly Front[]
  readonly others: readonly ObjectName[]
}

const NOBODY: Fronts = { fronts: [], others: [] }
const PROXY = ['MCPRemoteProxy']

export const frontsOf = oncePerCluster((config: string, cluster): Fronts => {
  const reachers = reachersOf(config, cluster)
  const naming = cluster.referrers('MCPExternalAuthConfig', config, PROXY)
  if (reachers.length + naming.length === 0) return NOBODY
  const fronts: Front[] = []
  const others: ObjectName[] = []
  const add = (name: ObjectName, front: Front | undefined) => {
    if (front === undefined) others.push(name)
    else fronts.push(front)
  }
  for (const { name, gateway } of reachers)
    add(name, frontOfGateway(name.name, gateway, isUsedByName(gateway, config, cluster)))
  for (const name of naming) {
    const proxy = getWorkload(cluster, name)
    if (proxy?.spec?.externalAuthConfigRef?.name === config)
      add(name, frontOfProxy(name.name, proxy, cluster))
  }
  return { fronts, others }
})

/**
 * Whether no token of the server is for a user: no user logs in, and no client may act for a user of another issuer.
 * Then tokens have no name and no email.
 */
export const isForClientsOnly = (server: Server): boolean =>
  hasNoProviders(server) &&
  !(server.trustedIssuers ?? []).some((issuer) => !issuer || mayHaveDelegationPolicy(issuer)) &&
  policiesOf(server, 'tokenExchange').length === 0

/** Whether the authorization server's tokens may have the claim. */
export const mayHaveClaim = (server: Server, claim: string): boolean =>
  isForClientsOnly(server) && (claim === 'name' || claim === 'email')
    ? ASSERTION_CLAIMS.has(claim)
    : isOwnClaim(claim)

/** The claims that an `awsSts` needs and that tokens of an embedded authorization server never have. */
export interface Foreign {
  readonly claims: readonly string[]
  /** Indexes of role mappings that never match, because tokens lack claims; `isEach`: whether no mapping matches. */
  readonly mappings: readonly number[]
  readonly isEach: boolean
  /** Whether a role mapping in `mappings` has a `claim`, a value for the token claim that `roleClaim` names. */
  readonly byRoleClaim: boolean
}

/** The most role mappings of an `awsSts` that are read: the `awsSts` may be in another object than the judged one. */
const MOST_MAPPINGS = 1_000

/** The role mappings that never match tokens of the server; undefined for none. Stops when the budget runs out. */
export function foreignMappings(awsSts: AwsSts, server: Server, context: Compiling): Foreign | undefined {
  const given = awsSts.roleMappings ?? []
  const roleClaim = roleClaimOf(awsSts)
  const lacksRoleClaim = roleClaim !== undefined && !mayHaveClaim(server, roleClaim)
  const claims = new Set<string>()
  const mappings: number[] = []
  let byRoleClaim = false
  context.budget.spend(given.length / 100)
  for (const [index, mapping] of given.slice(0, MOST_MAPPINGS).entries()) {
    const { claim, matcher } = mapping ?? {}
    if (claim && !matcher && lacksRoleClaim) {
      claims.add(roleClaim)
      byRoleClaim = true
      mappings.push(index)
    }
    if (!matcher || claim !== undefined) continue
    const verdict = withinBudget(() => matcherVerdict(matcher, context))
    if (verdict === undefined) break
    if (!verdict.ok || verdict.foreign === undefined) continue
    for (const each of verdict.foreign) claims.add(each)
    mappings.push(index)
  }
  if (mappings.length === 0) return undefined
  return { claims: [...claims], mappings, isEach: mappings.length === given.length, byRoleClaim }
}

/** The token claim, by default `groups`, that role mappings compare with their `claim`; undefined when unreadable. */
export const roleClaimOf = (awsSts: AwsSts): string | undefined =>
  isAbsent(awsSts, 'roleClaim') || awsSts.roleClaim === '' ? 'groups' : awsSts.roleClaim

/**
 * Lists the claims of the authorization server's tokens, as the end of a sentence. Scopes are a list in `scp`
 * (toolhive: authserver/integration_test.go).
 */
export const ownClaimsText = (server: Server): string =>
  isForClientsOnly(server) ? 'they have sub, client_id, scp' : 'they have sub, name, email, client_id, scp'

/** Says that role mappings never match and, if no mapping matches, which role callers get; part of a message. */
export function consequenceOf(awsSts: AwsSts, { mappings, isEach }: Foreign): string {
  if (!isEach) return `${placesText(mappings)} never match${mappings.length === 1 ? 'es' : ''}`
  return isAbsent(awsSts, 'fallbackRoleArn')
    ? 'no mapping matches, nobody gets a role'
    : 'no mapping matches, everyone gets fallbackRoleArn'
}

/** The most role mappings that a message names; further ones are only counted. */
const MOST_PLACES = 2

function placesText(mappings: readonly number[]): string {
  const named = mappings.slice(0, MOST_PLACES).map((index) => `roleMappings[${index}]`)
  const rest = mappings.length - named.length
  return rest === 0 ? named.join(' and ') : `${named.join(', ')} and ${rest} more`
}

/** Identifies, for grouping errors, the cause that an MCPExternalAuthConfig needs claims that callers' tokens lack. */
export const foreignRolesCause = (config: string): ErrorSubject => ['foreign role claims', config]
export const foreignSessionCause = (config: string): ErrorSubject => ['foreign session name', config]

/** A `related` place of an error: the embedded authorization server, with a phrase about it. */
export const issuingEnd = ({ caller, config }: Front, text: string): Related =>
  config === undefined
    ? end(caller, GATEWAY.spec.authServerConfig, text)
    : end(config, AUTH_CONFIG.spec.embeddedAuthServer, text)

/** The upstream provider whose access token is sent to AWS STS. */
export interface SubjectToken {
  readonly provider: Provider
  readonly index: number
  /** Whether `subjectProviderName` names the provider; otherwise it is the first upstream provider. */
  readonly isNamed: boolean
}

/**
 * The upstream provider whose access token is sent to AWS STS; undefined if missing or unreadable, or if the caller
 * sends a token that it issued. A workload sends the token of its only provider, whatever `subjectProviderName` says
 * (toolhive: runner/middleware.go, vmcp/auth/types/defaults.go).
 */
export function subjectOf(
  awsSts: AwsSts,
  { server, caller, sendsFirst, providerIndexes: places }: Front,
): SubjectToken | undefined {
  const isOpen = isAbsent(awsSts, 'subjectProviderName') || awsSts.subjectProviderName === ''
  const isNamed = !isOpen && caller.kind === 'VirtualMCPServer'
  if (!isNamed && !sendsFirst) return undefined
  const index = isNamed ? places().get(awsSts.subjectProviderName) : 0
  if (index === undefined) return undefined
  const provider = server.upstreamProviders?.[index]
  return provider && { provider, index, isNamed }
}

/** An upstream provider whose access tokens AWS STS refuses, because they are not JWTs. */
export interface Opaque extends SubjectToken {
  /** The name of the company or product of the provider, such as GitHub. */
  readonly issuer: string
  /** The name of another upstream provider, whose tokens may be JWTs; undefined for none. */
  readonly other: string | undefined
}

export function opaqueSubject(awsSts: AwsSts, front: Front): Opaque | undefined {
  const subject = subjectOf(awsSts, front)
  if (subject === undefined) return undefined
  const issuer = opaqueIssuer(subject.provider)
  return issuer === undefined ? undefined : { ...subject, issuer, other: front.jwtProvider() }
}

/** The upstream provider whose token is not a JWT, and the remedy, as parts of a message. */
export const opaqueTexts = ({ provider, issuer, isNamed, other }: Opaque, { caller }: Front) => ({
  subject: `${isNamed ? '' : 'the first provider '}${shortQuote(provider.name ?? '')} (${issuer})`,
  remedy:
    other === undefined || caller.kind !== 'VirtualMCPServer'
      ? 'log in at a provider that issues JWTs'
      : `set awsSts.subjectProviderName to ${shortQuote(other)}`,
})

export const opaqueCause = (config: string): ErrorSubject => ['opaque subject token', config]

/** A `related` place of an error: the upstream provider with this index; `text` is a phrase about the provider. */
export function providerEnd({ caller, config }: Front, index: number, text: string): Related {
  const at: Path<unknown> =
    config === undefined
      ? GATEWAY.spec.authServerConfig.upstreamProviders.at(index)
      : AUTH_CONFIG.spec.embeddedAuthServer.upstreamProviders.at(index)
  return end(config ?? caller, at, text)
}
