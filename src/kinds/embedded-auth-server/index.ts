import type { Part } from '../kind.ts'
import { authServerHmacSecretsPersistent } from './rules/auth-server-hmac-secrets-persistent.ts'
import { authServerSigningKeysPersistent } from './rules/auth-server-signing-keys-persistent.ts'
import { authServerStoragePersistent } from './rules/auth-server-storage-persistent.ts'
import { authServerUrlHttpsOrLoopback } from './rules/auth-server-url-https-or-loopback.ts'
import { authServerUrlWithoutUserInfo } from './rules/auth-server-url-without-user-info.ts'
import { durationRepresentable } from './rules/duration-representable.ts'
import { redisSentinelConfigConfigured } from './rules/redis-sentinel-config-configured.ts'
import { redisTlsEnabled } from './rules/redis-tls-enabled.ts'
import { redisTlsVerified } from './rules/redis-tls-verified.ts'
import { sentinelAddressHostAndPort } from './rules/sentinel-address-host-and-port.ts'
import { sentinelAddressesOrService } from './rules/sentinel-addresses-or-service.ts'
import { sentinelDiscoveryConfigured } from './rules/sentinel-discovery-configured.ts'
import { storageRedisConfigured } from './rules/storage-redis-configured.ts'
import { storageRedisUsed } from './rules/storage-redis-used.ts'
import { tokenLifespanAccepted } from './rules/token-lifespan-accepted.ts'
import { upstreamAuthorizationParamsAllowed } from './rules/upstream-authorization-params-allowed.ts'
import { upstreamOauth2ClientIdConfigured } from './rules/upstream-oauth2-client-id-configured.ts'
import { upstreamOauth2SubjectResolved } from './rules/upstream-oauth2-subject-resolved.ts'
import { upstreamOauth2UserInfoConfigured } from './rules/upstream-oauth2-user-info-configured.ts'
import { upstreamProviderConfigMatchesType } from './rules/upstream-provider-config-matches-type.ts'
import { upstreamProviderNameNotReserved } from './rules/upstream-provider-name-not-reserved.ts'
import { upstreamProviderNameUnique } from './rules/upstream-provider-name-unique.ts'
import { upstreamRefreshMechanismSingle } from './rules/upstream-refresh-mechanism-single.ts'
import { upstreamUrlAbsolute } from './rules/upstream-url-absolute.ts'
import { upstreamUrlHttps } from './rules/upstream-url-https.ts'
import { EmbeddedAuthServer } from './schema.ts'
import { hmacSecretLongEnough } from './rules/hmac-secret-long-enough.ts'

export const embeddedAuthServer: Part = {
  schema: EmbeddedAuthServer,
  rules: [
    authServerUrlHttpsOrLoopback,
    authServerUrlWithoutUserInfo,
    authServerSigningKeysPersistent,
    authServerHmacSecretsPersistent,
    tokenLifespanAccepted,
    durationRepresentable,
    authServerStoragePersistent,
    storageRedisConfigured,
    storageRedisUsed,
    redisSentinelConfigConfigured,
    sentinelAddressesOrService,
    sentinelDiscoveryConfigured,
    sentinelAddressHostAndPort,
    redisTlsEnabled,
    redisTlsVerified,
    upstreamProviderNameUnique,
    upstreamProviderNameNotReserved,
    upstreamProviderConfigMatchesType,
    upstreamOauth2ClientIdConfigured,
    upstreamOauth2UserInfoConfigured,
    upstreamOauth2SubjectResolved,
    upstreamAuthorizationParamsAllowed,
    upstreamRefreshMechanismSingle,
    upstreamUrlHttps,
    upstreamUrlAbsolute,
    hmacSecretLongEnough,
  ],
}
