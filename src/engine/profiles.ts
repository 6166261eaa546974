import type { SeveritySetting } from './settings.ts'

/** A group of warnings that the profile `strict` turns into errors, all for the same reason (decision 7). */
export interface StrictGroup {
  readonly reason: string
  readonly ids: readonly string[]
}

/**
 * The warnings that `strict` turns into errors: the warnings of rules whose every finding is certainly a mistake. A
 * rule stays a warning if the user may mean the setting (storage in memory, an anonymous server), if a later apply can
 * correct it (a missing referenced object), or if the reported state is a necessary step of some change.
 */
export const STRICT: readonly StrictGroup[] = [
  {
    reason: 'The other end of a contradiction that the VirtualMCPServer is refused for',
    ids: ['auth-config-served', 'auth-server-issuers-accepted', 'backend-auth-served'],
  },
  { reason: 'A deletion that breaks what refers to it', ids: ['deleted-resource-unreferenced'] },
  {
    reason: 'An unfinished or misspelt manifest',
    ids: ['api-group-known', 'kind-known', 'unresolved-placeholder'],
  },
  {
    reason: 'What the API server of the operator, the operator or its container refuses, by the object alone',
    ids: [
      'actor-matcher-compiles',
      'assertion-policy-accepted',
      'auth-server-audience-is-resource-url',
      'authorization-configured-once',
      'baseline-client-scopes-advertised',
      'confidential-client-over-https',
      'delegate-client-id-accepted',
      'delegate-client-scopes-advertised',
      'delegation-policy-accepted',
      'force-confidential-redirect-uri-accepted',
      'forwarded-header-allowed',
      'inbound-grant-configured-once',
      'inbound-grant-issuer-trusted',
      'inbound-grant-resource-served',
      'oidc-config-ca-bundle-configured',
      'oidc-config-url-https',
      'outgoing-auth-inline-type-resolved',
      'passthrough-header-allowed',
      'primary-upstream-provider-exists',
      'role-mapping-has-condition',
      'spiffe-client-tls-listener-configured',
      'spiffe-client-trust-domain-configured',
      'token-only-server-has-caller',
      'trusted-issuer-policy-configured',
      'trusted-issuer-unique',
      'trusted-issuer-url-accepted',
      'upstream-filter-provider-exists',
      'upstream-oidc-scope-openid',
      'upstream-redirect-uri-accepted',
      'upstream-registration-single',
      'upstream-token-auth-method-fits-secret',
      'upstream-token-params-allowed',
      'upstream-url-https',
    ],
  },
  {
    reason: 'Everybody is denied, or a setting has no effect in any release',
    ids: [
      'authentication-set-in-spec',
      'session-storage-tls-in-spec',
      'trusted-issuer-actor-authorized',
      'upstream-subject-claim-requested',
      'upstream-user-info-used',
    ],
  },
  {
    reason: 'A setting without effect, so that another one counts than the manifest suggests',
    ids: ['incoming-auth-oidc-config-ref-used', 'outgoing-auth-inline-used', 'storage-redis-used'],
  },
  {
    reason: 'A value with which the workload does not start, or fails at the first use',
    ids: [
      'auth-server-incoming-auth-oidc',
      'duration-representable',
      'header-injection-name-is-token',
      'oidc-config-url-absolute',
      'outgoing-auth-default-ref-configured',
      'sentinel-address-host-and-port',
      'sentinel-discovery-configured',
      'token-exchange-url-absolute',
      'token-lifespan-accepted',
      'upstream-provider-name-not-reserved',
      'upstream-url-absolute',
    ],
  },
]

export type Profile = 'standard' | 'strict'

const STRICT_IDS: ReadonlySet<string> = new Set(STRICT.flatMap(({ ids }) => ids))

/** Whether the profile `strict` turns findings with this id into errors. */
export const isStrictError = (id: string): boolean => STRICT_IDS.has(id)

/** The severities that a profile sets. The user's settings come after them in the list, and the last one has effect. */
export const severitiesOf = (profile: Profile): readonly SeveritySetting[] =>
  profile === 'strict' ? Array.from(STRICT_IDS, (id) => ({ id, severity: 'error' })) : []
