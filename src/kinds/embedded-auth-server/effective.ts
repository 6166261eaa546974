import type { Static } from 'typebox'
import { type Given, isAbsent } from '../../rule/index.ts'
import type { EmbeddedAuthServer } from './schema.ts'

/** The part and its pieces, as rules see them. */
export type Server = Given<Static<typeof EmbeddedAuthServer>>
export type Provider = NonNullable<NonNullable<Server['upstreamProviders']>[number]>
export type OAuth2Config = NonNullable<Provider['oauth2Config']>
export type RedisStorage = NonNullable<NonNullable<Server['storage']>['redis']>
export type SentinelConfig = NonNullable<RedisStorage['sentinelConfig']>

/** The type of storage, given or default; undefined when what was given cannot be read. */
export function storageType(server: Server): 'memory' | 'redis' | undefined {
  if (isAbsent(server, 'storage')) return 'memory'
  const { storage } = server
  return storage && isAbsent(storage, 'type') ? 'memory' : storage?.type
}

/** The scopes that are requested from a provider, given or default; only OpenID Connect has a default. */
export function requestedScopes(provider: Provider, config: 'oidcConfig' | 'oauth2Config') {
  const { oidcConfig } = provider
  if (config === 'oidcConfig' && oidcConfig && isAbsent(oidcConfig, 'scopes'))
    return ['openid', 'offline_access']
  return provider[config]?.scopes
}

/** Whether the field is there and has a wrong JSON type. */
export const isUnreadable = <T extends object>(holder: T, field: keyof T): boolean =>
  !isAbsent(holder, field) && holder[field] === undefined

/** Whether the permission is given; one that cannot be read may be. */
export const mayBeTrue = <F extends string>(
  holder: Readonly<Partial<Record<F, boolean | undefined>>>,
  field: F,
): boolean => !isAbsent(holder, field) && holder[field] !== false

/** Whether an alternative of newer releases is there to be used (decision 3); one that cannot be read may be. */
export function mayStandIn<T extends object>(holder: T, alternative: keyof T): boolean {
  return !isAbsent(holder, alternative) && holder[alternative] !== ''
}

/**
 * Whether a client gets tokens without a login at an upstream provider: by a grant of newer releases. One that cannot be
 * read may be such a grant.
 */
export function grantsWithoutLogin(server: Server): boolean {
  const { delegateClients, inboundGrants, trustedIssuers } = server
  if (!isAbsent(server, 'delegateClients') && delegateClients?.length !== 0) return true
  if (!isAbsent(server, 'trustedIssuers')) {
    if (trustedIssuers === undefined) return true
    if (trustedIssuers.some((issuer) => !issuer || !isAbsent(issuer, 'jwtBearerGrant'))) return true
  }
  if (isAbsent(server, 'inboundGrants')) return false
  if (inboundGrants === undefined) return true
  if (!isAbsent(inboundGrants, 'tokenExchange') || !isAbsent(inboundGrants, 'jwtBearer')) return true
  return !isAbsent(inboundGrants, 'spiffeClientAuth') && inboundGrants.spiffeClientAuth?.length !== 0
}

/** Whether a client gets tokens for an assertion (RFC 7523). */
export const acceptsAssertions = ({ trustedIssuers, inboundGrants }: Server): boolean =>
  (trustedIssuers ?? []).some((issuer) => issuer?.jwtBearerGrant !== undefined) ||
  (inboundGrants?.jwtBearer?.issuerPolicies ?? []).length > 0

/** The first provider of each name. */
export function byName(providers: Server['upstreamProviders']): ReadonlyMap<string | undefined, Provider> {
  const found = new Map<string, Provider>()
  for (const provider of providers ?? [])
    if (provider?.name !== undefined && !found.has(provider.name)) found.set(provider.name, provider)
  return found
}
