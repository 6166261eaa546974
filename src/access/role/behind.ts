import {
  awsStsOf,
  type AwsSts,
  type Front,
  frontsOf,
  getAuthConfig,
  getOidcConfig,
  getWorkload,
  mayHaveClaim,
  opaqueSubject,
  ownClaimsText,
  subjectOf,
} from '../../relations/index.ts'
import { type Cluster, isAbsent, type ObjectName } from '../../rule/index.ts'
import type { Claims } from './claims.ts'

/** Those who choose roles by a configuration, and the tokens of their callers. */
export interface Behind {
  /** Whether no caller has the claim; undefined where somebody brings tokens of another issuer, which may have any. */
  readonly lacks: ((claim: string) => boolean) | undefined
  /** The same for callers of some of them only; `others` are those whose callers may have any claim. */
  readonly partly: { readonly lacks: (claim: string) => boolean; readonly others: string } | undefined
  /** Who issues the tokens, and which claims there are: `VirtualMCPServer vmcp issues …`; empty without `lacks`. */
  readonly issued: string
  /** Whose token goes to STS, by the VirtualMCPServer or workload that sends it. */
  readonly tokens: ReadonlyMap<string, string>
}

/** A configuration of which nobody is known who uses it. */
export const ALONE: Behind = { lacks: undefined, partly: undefined, issued: '', tokens: new Map() }

/** Those who choose roles by the configuration of the name. */
export function behindOf(name: string, cluster: Cluster): Behind {
  const awsSts = awsStsOf(getAuthConfig(cluster, name))
  if (awsSts === undefined) return ALONE
  const { fronts, others } = frontsOf(name, cluster)
  const [first] = fronts
  const tokens = new Map([
    ...fronts.map((front) => [`${front.caller.kind} ${front.caller.name}`, tokenOf(awsSts, front)] as const),
    ...others.map(
      (caller) => [`${caller.kind} ${caller.name}`, tokenWithoutServer(caller.kind, awsSts)] as const,
    ),
  ])
  if (first === undefined) return { ...ALONE, tokens }
  const lacks = (claim: string) => fronts.every(({ server }) => !mayHaveClaim(server, claim))
  const issuers = new Set(fronts.map(({ server }) => server.issuer))
  const other = others.find((each) => !hasOwnTokens(each, issuers, cluster))
  if (other !== undefined)
    return { ...ALONE, partly: { lacks, others: `${other.kind} ${other.name}` }, tokens }
  return {
    lacks,
    partly: undefined,
    issued: `${first.caller.kind} ${first.caller.name} issues the tokens of its callers: ${ownClaimsText(first.server)}`,
    tokens,
  }
}

/** Whether callers of a proxy bring tokens of one of the embedded servers, or none: then a user of the machine is taken. */
function hasOwnTokens(name: ObjectName, issuers: ReadonlySet<string | undefined>, cluster: Cluster): boolean {
  const { spec } = (name.kind === 'MCPRemoteProxy' ? getWorkload(cluster, name) : undefined) ?? {}
  if (spec === undefined) return false
  if (isAbsent(spec, 'oidcConfigRef')) return true
  const checked = getOidcConfig(cluster, spec.oidcConfigRef?.name ?? '')
  const issuer = checked?.spec?.inline?.issuer
  return issuer !== undefined && issuers.has(issuer)
}

/** The token that a VirtualMCPServer or a workload with an embedded server sends. */
function tokenOf(awsSts: AwsSts, front: Front): string {
  const opaque = opaqueSubject(awsSts, front)
  const subject = subjectOf(awsSts, front)
  const named = awsSts.subjectProviderName
  if (subject === undefined) {
    if (front.caller.kind !== 'VirtualMCPServer' || !named) return 'the token that it issued'
    return `no token: it has no provider ${named}`
  }
  const { provider, isNamed } = subject
  const order = isNamed ? '' : ' (the first provider)'
  return `the access token of ${provider.name ?? 'a provider'}${order}${opaque === undefined ? '' : `, which STS refuses: those of ${opaque.issuer} are no JWTs`}`
}

function tokenWithoutServer(kind: string, awsSts: AwsSts): string {
  const isNamed = !isAbsent(awsSts, 'subjectProviderName') && awsSts.subjectProviderName !== ''
  return isNamed && kind === 'VirtualMCPServer'
    ? 'no token: it has no embedded authorization server'
    : 'the token of the caller'
}

/** Whether a caller can have these claims. */
export const canExist = (claims: Claims, { lacks }: Pick<Behind, 'lacks'>): boolean =>
  lacks === undefined || !Object.keys(claims).some(lacks)

/** The claims without those that no caller has. */
export const arriving = (claims: Claims, { lacks }: Pick<Behind, 'lacks'>): Claims =>
  lacks === undefined ? claims : Object.fromEntries(Object.entries(claims).filter(([name]) => !lacks(name)))

/** The changes of whose token goes to STS, of those who send one before and after. */
export function tokenChanges(old: Behind, now: Behind): TokenChange[] {
  return Array.from(now.tokens).flatMap(([sender, after]) => {
    const before = old.tokens.get(sender)
    return before === undefined || before === after ? [] : [{ sender, old: before, new: after }]
  })
}

/** A change of whose token goes to STS. */
export interface TokenChange {
  readonly sender: string
  readonly old: string
  readonly new: string
}
