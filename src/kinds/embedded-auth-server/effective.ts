import type { Static } from 'typebox'
import { type Given, isAbsent } from '../../rule/resource.ts'
import type { EmbeddedAuthServer } from './schema.ts'

/** The part and its pieces, as rules see them. */
export type Server = Given<Static<typeof EmbeddedAuthServer>>
export type Provider = NonNullable<NonNullable<Server['upstreamProviders']>[number]>
export type OAuth2Config = NonNullable<Provider['oauth2Config']>
export type OidcConfig = NonNullable<Provider['oidcConfig']>
export type RedisStorage = NonNullable<NonNullable<Server['storage']>['redis']>
export type SentinelConfig = NonNullable<RedisStorage['sentinelConfig']>

/** The type of storage, given or default; undefined when what was given cannot be read. */
export function storageType(server: Server): 'memory' | 'redis' | undefined {
  if (isAbsent(server, 'storage')) return 'memory'
  const { storage } = server
  return storage && isAbsent(storage, 'type') ? 'memory' : storage?.type
}

/** The scopes of an OpenID Connect provider, given or default. */
export function oidcScopes(config: OidcConfig): OidcConfig['scopes'] {
  return isAbsent(config, 'scopes') ? ['openid', 'offline_access'] : config.scopes
}
