import type { Part } from '../kind.ts'
import { authServerUrlHttpsOrLoopback } from './rules/auth-server-url-https-or-loopback.ts'
import { redisSentinelConfigConfigured } from './rules/redis-sentinel-config-configured.ts'
import { sentinelAddressesOrService } from './rules/sentinel-addresses-or-service.ts'
import { storageRedisConfigured } from './rules/storage-redis-configured.ts'
import { upstreamAuthorizationParamsAllowed } from './rules/upstream-authorization-params-allowed.ts'
import { upstreamOauth2ClientIdConfigured } from './rules/upstream-oauth2-client-id-configured.ts'
import { upstreamOauth2UserInfoConfigured } from './rules/upstream-oauth2-user-info-configured.ts'
import { upstreamProviderConfigMatchesType } from './rules/upstream-provider-config-matches-type.ts'
import { upstreamProviderNameUnique } from './rules/upstream-provider-name-unique.ts'
import { EmbeddedAuthServer } from './schema.ts'

export const embeddedAuthServer: Part = {
  schema: EmbeddedAuthServer,
  rules: [
    authServerUrlHttpsOrLoopback,
    upstreamProviderNameUnique,
    upstreamProviderConfigMatchesType,
    upstreamOauth2UserInfoConfigured,
    upstreamOauth2ClientIdConfigured,
    upstreamAuthorizationParamsAllowed,
    storageRedisConfigured,
    redisSentinelConfigConfigured,
    sentinelAddressesOrService,
  ],
}
