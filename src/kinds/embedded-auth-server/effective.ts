import type { Static } from 'typebox'
import { type Given, isAbsent } from '../../rule/index.ts'
import type { EmbeddedAuthServer } from './schema.ts'

/** The configuration of an embedded authorization server as rules see it. */
export type Server = Given<Static<typeof EmbeddedAuthServer>>
export type Provider = NonNullable<NonNullable<Server['upstreamProviders']>[number]>
export type OAuth2Config = NonNullable<Provider['oauth2Config']>
export type RedisStorage = NonNullable<NonNullable<Server['storage']>['redis']>
export type SentinelConfig = NonNullable<RedisStorage['sentinelConfig']>

/** Whether no user logs in: the server has no upstream provider. */
export const hasNoProviders = (server: Server): boolean =>
  isAbsent(server, 'upstreamProviders') || server.upstreamProviders?.length === 0

/** The explicit or default type of storage; undefined when `storage` or its type has a wrong JSON type. */
export function storageType(server: Server): 'memory' | 'redis' | undefined {
  if (isAbsent(server, 'storage')) return 'memory'
  const { storage } = server
  return storage && isAbsent(storage, 'type') ? 'memory' : storage?.type
}

/**
 * The scopes that are requested from an upstream provider. With OpenID Connect absent or empty `scopes` mean the
 * default; OAuth 2.0 has none.
 */
export function requestedScopes(provider: Provider, config: 'oidcConfig' | 'oauth2Config') {
  const settings = provider[config]
  const scopes = settings && isAbsent(settings, 'scopes') ? [] : settings?.scopes
  return config === 'oidcConfig' && scopes?.length === 0 ? ['openid', 'offline_access'] : scopes
}

/** Whether the field is present but has a wrong JSON type. */
export const isUnreadable = <T extends object>(holder: T, field: keyof T): boolean =>
  !isAbsent(holder, field) && holder[field] === undefined

/** Whether a boolean field that permits something may be true: it is true, or has a wrong JSON type. */
export const mayBeTrue = <F extends string>(
  holder: Readonly<Partial<Record<F, boolean | undefined>>>,
  field: F,
): boolean => !isAbsent(holder, field) && holder[field] !== false

/** Whether a field of newer releases is set, to any JSON type, and may replace a required field (decision 3). */
export function mayStandIn<T extends object>(holder: T, alternative: keyof T): boolean {
  return !isAbsent(holder, alternative) && holder[alternative] !== ''
}

/**
 * Whether a client can get tokens without a login at an upstream provider, by a grant of newer releases; also true
 * when the settings of a grant have a wrong JSON type.
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

/** Whether the server has settings that may let a client exchange an assertion for a token (RFC 7523). */
export const acceptsAssertions = ({ trustedIssuers, inboundGrants }: Server): boolean =>
  (trustedIssuers ?? []).some((issuer) => issuer?.jwtBearerGrant !== undefined) ||
  (inboundGrants?.jwtBearer?.issuerPolicies ?? []).length > 0

/** The upstream providers by name; the first one when several have the same name. */
export function byName(providers: Server['upstreamProviders']): ReadonlyMap<string | undefined, Provider> {
  const found = new Map<string, Provider>()
  for (const provider of providers ?? [])
    if (provider?.name !== undefined && !found.has(provider.name)) found.set(provider.name, provider)
  return found
}
