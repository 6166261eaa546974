import {
  awsStsOf,
  type AwsSts,
  type Front,
  frontsOf,
  getAuthConfig,
  getGateway,
  getOidcConfig,
  getWorkload,
  mayHaveClaim,
  opaqueSubject,
  ownClaimsText,
  subjectOf,
} from '../../relations/index.ts'
import { type Cluster, deepEqual, isAbsent, type ObjectName, withoutUserInfo } from '../../rule/index.ts'
import type { Claims } from './claims.ts'

/** Facts about the tokens of callers of the VirtualMCPServers and workloads that use an MCPExternalAuthConfig. */
export interface CallerTokens {
  /**
   * Whether none of the callers' tokens has the claim; undefined when some tokens come from other issuers than embedded
   * authorization servers, because such tokens may have any claim.
   */
  readonly lacks: ((claim: string) => boolean) | undefined
  /**
   * Set when only some callers have tokens of embedded authorization servers: `lacks` is about these tokens, `others`
   * names an object whose callers have tokens of another issuer.
   */
  readonly partly: { readonly lacks: (claim: string) => boolean; readonly others: string } | undefined
  /**
   * Says which object issues the tokens, with which claims: `VirtualMCPServer vmcp issues …`; empty when some or all
   * tokens may come from other issuers.
   */
  readonly issued: string
  /** The tokens sent to AWS STS, by kind and name of the sending VirtualMCPServer or workload. */
  readonly tokens: ReadonlyMap<string, SentToken>
}

interface SentToken {
  readonly text: string
  /** The URL of the issuer, or of the token endpoint of a provider without an issuer; undefined when not known. */
  readonly issuer: string | undefined
}

/** When nothing is known about the callers' tokens, for example because no object uses the MCPExternalAuthConfig. */
export const UNKNOWN_TOKENS: CallerTokens = {
  lacks: undefined,
  partly: undefined,
  issued: '',
  tokens: new Map(),
}

/** The names of the claims in `given` that `arriving` has removed, because no caller's token has them. */
export const leftOutOf = (given: Claims, arrived: Claims): string[] =>
  Object.keys(given).filter((name) => !Object.hasOwn(arrived, name))

/** The tokens that callers can have, for all objects that use the MCPExternalAuthConfig with this name. */
export function callerTokensOf(name: string, cluster: Cluster): CallerTokens {
  const awsSts = awsStsOf(getAuthConfig(cluster, name))
  if (awsSts === undefined) return UNKNOWN_TOKENS
  const { fronts, others } = frontsOf(name, cluster)
  const [first] = fronts
  const tokens = new Map([
    ...fronts.map((front) => [`${front.caller.kind} ${front.caller.name}`, tokenOf(awsSts, front)] as const),
    ...others.map(
      (caller) => [`${caller.kind} ${caller.name}`, tokenWithoutServer(caller, awsSts, cluster)] as const,
    ),
  ])
  if (first === undefined) return { ...UNKNOWN_TOKENS, tokens }
  const lacks = (claim: string) => fronts.every(({ server }) => !mayHaveClaim(server, claim))
  const issuers = new Set(fronts.map(({ server }) => server.issuer))
  const other = others.find((each) => !hasOwnTokens(each, issuers, cluster))
  if (other !== undefined)
    return { ...UNKNOWN_TOKENS, partly: { lacks, others: `${other.kind} ${other.name}` }, tokens }
  return {
    lacks,
    partly: undefined,
    issued: `${first.caller.kind} ${first.caller.name} issues the tokens of its callers: ${ownClaimsText(first.server)}`,
    tokens,
  }
}

/**
 * Whether an MCPRemoteProxy accepts only tokens of one of these issuers (embedded authorization servers), or needs no
 * token: then the proxy uses the claims of a local user.
 */
function hasOwnTokens(name: ObjectName, issuers: ReadonlySet<string | undefined>, cluster: Cluster): boolean {
  const { spec } = (name.kind === 'MCPRemoteProxy' ? getWorkload(cluster, name) : undefined) ?? {}
  if (spec === undefined) return false
  if (isAbsent(spec, 'oidcConfigRef')) return true
  const issuer = issuerIn(spec.oidcConfigRef, cluster)
  return issuer !== undefined && issuers.has(issuer)
}

/** The issuer in the MCPOIDCConfig to which a VirtualMCPServer or a workload refers. */
const issuerIn = (
  reference: { readonly name?: string | undefined } | undefined,
  cluster: Cluster,
): string | undefined => getOidcConfig(cluster, reference?.name ?? '')?.spec?.inline?.issuer

/** The token that a VirtualMCPServer or workload with an embedded authorization server sends to AWS STS. */
function tokenOf(awsSts: AwsSts, front: Front): SentToken {
  const opaque = opaqueSubject(awsSts, front)
  const subject = subjectOf(awsSts, front)
  const named = awsSts.subjectProviderName
  if (subject === undefined) {
    if (front.caller.kind !== 'VirtualMCPServer' || !named)
      return { text: 'the token that it issued', issuer: front.server.issuer }
    return { text: `no token: it has no provider ${named}`, issuer: undefined }
  }
  const { provider, isNamed } = subject
  const order = isNamed ? '' : ' (the first provider)'
  const refused = opaque === undefined ? '' : `, which STS refuses: those of ${opaque.issuer} are no JWTs`
  return {
    text: `the access token of ${provider.name ?? 'a provider'}${order}${refused}`,
    issuer: provider.oidcConfig?.issuerUrl ?? provider.oauth2Config?.tokenEndpoint,
  }
}

function tokenWithoutServer(caller: ObjectName, awsSts: AwsSts, cluster: Cluster): SentToken {
  const isNamed = !isAbsent(awsSts, 'subjectProviderName') && awsSts.subjectProviderName !== ''
  const isGateway = caller.kind === 'VirtualMCPServer'
  if (isNamed && isGateway)
    return { text: 'no token: it has no embedded authorization server', issuer: undefined }
  const checked = isGateway
    ? getGateway(cluster, caller.name)?.spec?.incomingAuth?.oidcConfigRef
    : getWorkload(cluster, caller)?.spec?.oidcConfigRef
  return { text: 'the token of the caller', issuer: issuerIn(checked, cluster) }
}

/** Whether the token of a caller can have all of these claims. */
export const canExist = (claims: Claims, { lacks }: Pick<CallerTokens, 'lacks'>): boolean =>
  lacks === undefined || !Object.keys(claims).some(lacks)

/** Removes the claims that no caller's token has. */
export const arriving = (claims: Claims, { lacks }: Pick<CallerTokens, 'lacks'>): Claims =>
  lacks === undefined ? claims : Object.fromEntries(Object.entries(claims).filter(([name]) => !lacks(name)))

/** Whether the same objects use an MCPExternalAuthConfig in two states, and with tokens of the same issuers. */
export const areSameCallers = (one: CallerTokens, other: CallerTokens): boolean =>
  deepEqual(factsIn(one), factsIn(other))

const factsIn = ({ lacks, partly, issued, tokens }: CallerTokens) => [
  lacks === undefined,
  partly?.others,
  issued,
  [...tokens],
]

/** The changes of the tokens that objects send to AWS STS, for objects that send a token in both states. */
export function tokenChanges(old: CallerTokens, now: CallerTokens): TokenChange[] {
  return Array.from(now.tokens).flatMap(([sender, after]) => {
    const before = old.tokens.get(sender)
    if (before === undefined) return []
    if (before.text !== after.text) return [{ sender, old: before.text, new: after.text }]
    return before.issuer === after.issuer ? [] : [{ sender, old: withIssuer(before), new: withIssuer(after) }]
  })
}

const withIssuer = ({ text, issuer }: SentToken): string =>
  `${text}, of ${issuer === undefined ? 'an issuer that is not known' : withoutUserInfo(issuer)}`

/** A change of the token that one object sends to AWS STS. */
export interface TokenChange {
  readonly sender: string
  readonly old: string
  readonly new: string
}
