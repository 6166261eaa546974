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
 * Whether a client can get tokens without a login at an upstream provider, by a grant of newer releases.
 * `ifUnreadable`: what settings of a wrong JSON type count as, if they decide it.
 */
export function grantsWithoutLogin(server: Server, ifUnreadable = true): boolean {
  const { delegateClients, inboundGrants, trustedIssuers } = server
  const isFilled = (list: readonly unknown[] | undefined) =>
    list === undefined ? ifUnreadable : list.length > 0
  if (!isAbsent(server, 'delegateClients') && isFilled(delegateClients)) return true
  if (!isAbsent(server, 'trustedIssuers')) {
    const grants = trustedIssuers?.some((issuer) =>
      issuer ? !isAbsent(issuer, 'jwtBearerGrant') : ifUnreadable,
    )
    if (grants ?? ifUnreadable) return true
  }
  if (isAbsent(server, 'inboundGrants')) return false
  if (inboundGrants === undefined) return ifUnreadable
  if (!isAbsent(inboundGrants, 'tokenExchange') || !isAbsent(inboundGrants, 'jwtBearer')) return true
  return !isAbsent(inboundGrants, 'spiffeClientAuth') && isFilled(inboundGrants.spiffeClientAuth)
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
