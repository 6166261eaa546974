import {
  awsStsOf,
  type AuthConfig,
  type AwsSts,
  claimsText,
  consequenceOf,
  foreignMappings,
  frontOfGateway,
  type Gateway,
  isWithoutTokens,
  opaqueSubject,
  ownClaimsText,
  providersOf,
  roleClaimOf,
} from '../relations/index.ts'
import { Budget, isAbsent, shortQuote } from '../rule/index.ts'
import { unreadable } from './unknown.ts'

/** Why an anonymous VirtualMCPServer cannot exchange the token of the caller. */
export const NO_TOKEN = 'anonymous callers bring no token'

/** The upstream provider whose token vMCP exchanges for an AWS role, and whether STS accepts that token. */
interface Assumed {
  readonly credentials: 'sent' | 'unavailable' | 'unknown'
  readonly token: 'role'
  readonly provider: string | null
  readonly chosen: 'given' | 'first' | null
  readonly reason: string | null
}

/**
 * The token that is sent to STS: an upstream provider's token or, without a provider, the caller's token. `isNamed`:
 * whether the VirtualMCPServer itself names the MCPExternalAuthConfig.
 */
export function assumed({ spec = {} }: AuthConfig, gateway: Gateway, isNamed: boolean): Assumed {
  const { awsSts } = spec
  const of = (credentials: Assumed['credentials'], more: Partial<Assumed> = {}): Assumed => ({
    credentials,
    token: 'role',
    provider: null,
    chosen: null,
    reason: null,
    ...more,
  })
  if (awsSts === undefined) return of('sent')
  const server = providersOf(gateway.spec, 'authServerConfig')
  const named = awsSts.subjectProviderName ?? ''
  if (named === '' && !isAbsent(awsSts, 'subjectProviderName') && awsSts.subjectProviderName === undefined)
    return of('unknown', { reason: unreadable(awsSts, 'subjectProviderName') })
  if (named === '' && isWithoutTokens(gateway)) return of('unavailable', { reason: NO_TOKEN })
  const front = frontOfGateway('', gateway, isNamed)
  if (named === '' && front?.sendsFirst !== true) return of('sent')
  const provider = named === '' ? (server?.names[0] ?? null) : named
  const chosen = named === '' ? (provider === null ? null : 'first') : 'given'
  if (server === undefined)
    return named === ''
      ? of('sent')
      : of('unavailable', { provider, chosen, reason: 'no embedded authorization server' })
  if (named !== '' && !server.names.includes(named))
    return server.complete
      ? of('unavailable', {
          provider,
          chosen,
          reason: 'the embedded authorization server has no such provider',
        })
      : of('unknown', { provider, chosen, reason: 'not all providers can be read' })
  if (
    named === '' &&
    !server.complete &&
    gateway.spec?.authServerConfig?.upstreamProviders?.[0]?.name !== provider
  )
    return of('unknown', { chosen: 'first', reason: 'the first provider cannot be read' })
  const opaque = front && opaqueSubject(awsSts, front)
  return opaque === undefined
    ? of('sent', { provider, chosen })
    : of('unavailable', {
        provider,
        chosen,
        reason: `access tokens of ${opaque.issuer} are opaque, and STS takes JWTs`,
      })
}

/** The role mappings as text, in the order in which they are tried; null when the type is not awsSts. */
export function rolesOf(config: AuthConfig | undefined): readonly string[] | null {
  const awsSts = awsStsOf(config)
  if (awsSts === undefined) return null
  const { roleMappings = [], fallbackRoleArn, sessionNameClaim } = awsSts
  const placed = roleMappings
    .map((mapping) => ({ mapping, priority: mapping?.priority ?? Infinity }))
    .toSorted((a, b) => (a.priority === b.priority ? 0 : a.priority - b.priority))
  return [
    ...placed.map(({ mapping, priority }) => {
      const { claim, matcher, roleArn = 'not known' } = mapping ?? {}
      const condition =
        matcher ?? `${shortQuote(claim ?? '')} in claims.${roleClaimOf(awsSts) ?? 'not known'}`
      return `${condition}: ${roleArn}${priority === Infinity ? '' : ` (priority ${priority})`}`
    }),
    `otherwise: ${fallbackRoleArn ?? 'no role'}`,
    ...(sessionNameClaim ? [`session name: ${sessionNameClaim}`] : []),
  ]
}

/**
 * The budget for reading the matchers of one MCPExternalAuthConfig; a unit of `Budget` is about a microsecond of CPU
 * time.
 */
const READING = 50_000

/**
 * Notes about role mappings that never match, because they need claims that the tokens of the embedded authorization
 * server lack.
 */
export function roleNotes(config: AuthConfig | undefined, gateway: Gateway): string[] {
  const awsSts: AwsSts | undefined = awsStsOf(config)
  const front = frontOfGateway('', gateway, false)
  if (awsSts === undefined || front === undefined) return []
  const found = foreignMappings(awsSts, front.server, { memo: new Map(), budget: new Budget(READING) })
  if (found === undefined) return []
  return [
    `roles are chosen by the token that vMCP issues, which lacks ${claimsText(found.claims)}: ${consequenceOf(awsSts, found)}; ${ownClaimsText(front.server)}`,
  ]
}
