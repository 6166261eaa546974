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
  type Thing,
  withinBudget,
} from '../rule/index.ts'
import type { Provider, Server } from '../kinds/embedded-auth-server/effective.ts'
import { ASSERTION_CLAIMS, isOwnClaim, isStructuredClaim } from '../kinds/embedded-auth-server/own-claims.ts'
import { type Compiling, matcherVerdict } from '../kinds/mcp-external-auth-config/matcher-verdicts.ts'
import { opaqueIssuer } from './authorization.ts'
import { AUTH_CONFIG, GATEWAY, WORKLOAD } from './ends.ts'
import { configsReached, type Reached, reachersOf } from './reach.ts'
import {
  type AuthConfig,
  type Gateway,
  getAuthConfig,
  getWorkload,
  type Workload,
} from './related-resources.ts'
import { authServersOf } from './workload-auth-server.ts'

export type AwsSts = NonNullable<NonNullable<AuthConfig['spec']>['awsSts']>

/** The settings of a configuration of the type awsSts. */
export const awsStsOf = (config: AuthConfig | undefined): AwsSts | undefined =>
  config?.spec?.type === 'awsSts' ? config.spec.awsSts : undefined

/** An embedded authorization server that issues the tokens of the callers for whom a role of AWS is chosen. */
export interface Front {
  /** The VirtualMCPServer or the workload that calls AWS. */
  readonly caller: ObjectName
  readonly server: Server
  /** The MCPExternalAuthConfig that holds the server of a workload. */
  readonly config: ObjectName | undefined
  /** The place of each provider by its name. */
  readonly places: () => ReadonlyMap<string | undefined, number>
  /** The name of the first provider whose tokens may be JWTs. */
  readonly readable: () => string | undefined
}

/** Many configurations ask about the providers of one server: each answer is found once. */
function frontOf(caller: ObjectName, server: Server, config: ObjectName | undefined): Front {
  const providers = server.upstreamProviders ?? []
  let places: ReadonlyMap<string | undefined, number> | undefined
  let readable: { readonly name: string | undefined } | undefined
  return {
    caller,
    server,
    config,
    // Of two with one name the first counts.
    places: () => (places ??= new Map(providers.map((each, i) => [each?.name, i] as const).reverse())),
    readable: () =>
      (readable ??= {
        name: providers.find((each) => each?.name && each.type === 'oidc' && opaqueIssuer(each) === undefined)
          ?.name,
      }).name,
  }
}

/** The server of a VirtualMCPServer; undefined where clients bring tokens of another issuer. */
export function frontOfGateway(name: string, { spec }: Gateway): Front | undefined {
  const server = spec?.authServerConfig
  return server && frontOf({ kind: 'VirtualMCPServer', name }, server, undefined)
}

/** The server of an MCPRemoteProxy that signs its requests itself; other workloads cannot. */
function frontOfProxy(name: string, workload: Workload, cluster: Cluster): Front | undefined {
  const caller = { kind: 'MCPRemoteProxy', name }
  const [own] = authServersOf(caller.kind, workload, cluster)
  return own && frontOf(caller, own.server, own.to)
}

/** A configuration by which roles are chosen for callers of a front, and the place that names it. */
export interface UsedBehind {
  readonly config: string
  readonly awsSts: AwsSts
  readonly front: Front
  readonly at: Path<unknown>
}

/** The configurations of the type awsSts that a VirtualMCPServer or an MCPRemoteProxy with an embedded server uses, each once. */
export function* usedBehind(
  resource: object,
  { kind, name }: ObjectName,
  cluster: Cluster,
): Generator<UsedBehind> {
  if (kind === 'MCPRemoteProxy') {
    const config = (resource as Workload).spec?.externalAuthConfigRef?.name
    const awsSts = config === undefined ? undefined : awsStsOf(getAuthConfig(cluster, config))
    const front = awsSts && frontOfProxy(name, resource, cluster)
    if (config !== undefined && awsSts !== undefined && front !== undefined)
      yield { config, awsSts, front, at: WORKLOAD.spec.externalAuthConfigRef.name }
    return
  }
  const used = stsReached(resource, cluster)
  const front = used.length === 0 ? undefined : frontOfGateway(name, resource)
  if (front === undefined) return
  for (const { config, auth, at } of used) {
    const awsSts = awsStsOf(auth)
    if (awsSts !== undefined)
      yield { config, awsSts, front, at: at === undefined ? GATEWAY.spec.authServerConfig : pathTo(at()) }
  }
}

/** The configurations of the type awsSts that a VirtualMCPServer reaches, each once. */
const stsReached = oncePerCluster((gateway: Gateway, cluster): readonly Reached[] => {
  const found = configsReached(gateway, cluster).filter(({ auth }) => awsStsOf(auth) !== undefined)
  if (found.length < 2) return found
  const seen = new Set<string>()
  return found.filter(({ config }) => !seen.has(config) && seen.add(config))
})

/** Those who choose roles by a configuration: `fronts` with an embedded authorization server, `others` without one. */
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
  for (const { name, gateway } of reachers) add(name, frontOfGateway(name.name, gateway))
  for (const name of naming) {
    const proxy = getWorkload(cluster, name)
    if (proxy?.spec?.externalAuthConfigRef?.name === config)
      add(name, frontOfProxy(name.name, proxy, cluster))
  }
  return { fronts, others }
})

/** Whether a token of the server may have the claim; without a login there is neither name nor email. */
export const mayHaveClaim = ({ upstreamProviders }: Server, claim: string): boolean =>
  upstreamProviders?.length === 0 && (claim === 'name' || claim === 'email')
    ? ASSERTION_CLAIMS.has(claim)
    : isOwnClaim(claim)

/** What a configuration asks of tokens that an embedded authorization server does not issue. */
export interface Foreign {
  /** The claims that the tokens lack. */
  readonly claims: readonly string[]
  /** The mappings that never match for that, and whether these are all. */
  readonly mappings: readonly number[]
  readonly isEach: boolean
  /** Whether one of them looks into `roleClaim`. */
  readonly byRoleClaim: boolean
}

/** Most mappings whose matchers are read for an object that is not judged itself. */
const MOST_MAPPINGS = 1_000

/** The mappings of a configuration that never match for tokens of the server; as far as the budget goes. */
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

/** The claim of mappings with `claim`, given or default; undefined where it cannot be read. */
export const roleClaimOf = (awsSts: AwsSts): string | undefined =>
  isAbsent(awsSts, 'roleClaim') || awsSts.roleClaim === '' ? 'groups' : awsSts.roleClaim

/** A claim that names no session: tokens of the server lack it, or do not have it as a string. */
export interface UnfitSessionName {
  readonly claim: string
  readonly isLacking: boolean
}

/** The claim of the session name, if tokens of the server do not have it as a string. */
export function unfitSessionName({ sessionNameClaim }: AwsSts, server: Server): UnfitSessionName | undefined {
  if (!sessionNameClaim) return undefined
  const isLacking = !mayHaveClaim(server, sessionNameClaim)
  return isLacking || isStructuredClaim(sessionNameClaim) ? { claim: sessionNameClaim, isLacking } : undefined
}

/** The claims whose texts STS takes as the name of a session: a name has spaces, and an issuer slashes. */
export const sessionRemedy = ({ upstreamProviders }: Server): string =>
  upstreamProviders?.length === 0 ? 'use client_id' : 'use sub or email'

/** The claims that there are, as the end of a sentence: scopes are a list under `scp` (toolhive: authserver/integration_test.go). */
export const ownClaimsText = ({ upstreamProviders }: Server): string =>
  upstreamProviders?.length === 0
    ? 'they have sub, client_id, scp'
    : 'they have sub, name, email, client_id, scp'

/** What follows for the callers. */
export function consequenceOf(awsSts: AwsSts, { mappings, isEach }: Foreign): string {
  if (!isEach) return `${placesText(mappings)} never match${mappings.length === 1 ? 'es' : ''}`
  return isAbsent(awsSts, 'fallbackRoleArn')
    ? 'no mapping matches, nobody gets a role'
    : 'no mapping matches, everyone gets fallbackRoleArn'
}

/** Places that are named before the rest is counted. */
const MOST_PLACES = 2

function placesText(mappings: readonly number[]): string {
  const named = mappings.slice(0, MOST_PLACES).map((index) => `roleMappings[${index}]`)
  const rest = mappings.length - named.length
  return rest === 0 ? named.join(' and ') : `${named.join(', ')} and ${rest} more`
}

/** The contradiction between a configuration and the servers in front of it. */
export const foreignRolesCause = (config: string): Thing => ['foreign role claims', config]
export const foreignSessionCause = (config: string): Thing => ['foreign session name', config]

/** Where the server stands. */
export const issuingEnd = ({ caller, config }: Front, text: string): Related =>
  config === undefined
    ? end(caller, GATEWAY.spec.authServerConfig, text)
    : end(config, AUTH_CONFIG.spec.embeddedAuthServer, text)

/** The provider whose access token goes to STS. */
export interface SubjectToken {
  readonly provider: Provider
  readonly index: number
  /** Whether the configuration names it; else it is the first one. */
  readonly isNamed: boolean
}

/**
 * The provider whose access token is sent to STS; undefined where there is none, or none that can be read. A workload sends that
 * of its only provider whatever the configuration names (toolhive: runner/middleware.go, vmcp/auth/types/defaults.go).
 */
export function subjectOf(awsSts: AwsSts, { server, caller, places }: Front): SubjectToken | undefined {
  const isOpen = isAbsent(awsSts, 'subjectProviderName') || awsSts.subjectProviderName === ''
  const isNamed = !isOpen && caller.kind === 'VirtualMCPServer'
  const index = isNamed ? places().get(awsSts.subjectProviderName) : 0
  if (index === undefined) return undefined
  const provider = server.upstreamProviders?.[index]
  return provider && { provider, index, isNamed }
}

/** A provider whose access tokens STS refuses, because they are not JWTs. */
export interface Opaque extends SubjectToken {
  /** Its name as people know it, such as GitHub. */
  readonly issuer: string
  /** Another provider, whose tokens may be JWTs. */
  readonly other: string | undefined
}

export function opaqueSubject(awsSts: AwsSts, front: Front): Opaque | undefined {
  const subject = subjectOf(awsSts, front)
  if (subject === undefined) return undefined
  const issuer = opaqueIssuer(subject.provider)
  return issuer === undefined ? undefined : { ...subject, issuer, other: front.readable() }
}

/** Whose token it is, and what helps, as parts of a sentence. */
export const opaqueTexts = ({ provider, issuer, isNamed, other }: Opaque, { caller }: Front) => ({
  subject: `${isNamed ? '' : 'the first provider '}${shortQuote(provider.name ?? '')} (${issuer})`,
  remedy:
    other === undefined || caller.kind !== 'VirtualMCPServer'
      ? 'log in at a provider that issues JWTs'
      : `set awsSts.subjectProviderName to ${shortQuote(other)}`,
})

export const opaqueCause = (config: string): Thing => ['opaque subject token', config]

/** The place of a provider in the server. */
export function providerEnd({ caller, config }: Front, index: number, text: string): Related {
  const at: Path<unknown> =
    config === undefined
      ? GATEWAY.spec.authServerConfig.upstreamProviders.at(index)
      : AUTH_CONFIG.spec.embeddedAuthServer.upstreamProviders.at(index)
  return end(config ?? caller, at, text)
}
