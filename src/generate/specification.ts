/** The sentences of the specification, section by section, and what holds each: the data of which docs/coverage.md is made. */

import type { NonEmpty } from '../rule/rule.ts'

/** What holds a sentence: a rule or engine id, a keyword of a field, or a part of a CRD. All are checked to exist. */
export type Owner = RuleOwner | FieldOwner | CrdOwner
export interface RuleOwner {
  readonly rule: string
}
export interface FieldOwner {
  readonly kind: string
  readonly path: string
  /** A JSON Schema keyword; `default` is what /mutate writes, `properties` that the field is declared. */
  readonly keyword: string
}
export interface CrdOwner {
  readonly crd: string
  readonly field: string
}

/** One sentence or table row of the specification, in short. */
export interface Sentence {
  readonly text: string
  /** Whether one resource can break it and would then be wrong. */
  readonly must: boolean
  readonly owners: readonly Owner[]
  /** Why nothing holds it; only without owners. */
  readonly because?: string
}

export interface Section {
  readonly section: string
  readonly title: string
  readonly sentences: readonly Sentence[]
}

const must = (text: string, ...owners: NonEmpty<Owner>): Sentence => ({ text, must: true, owners })
const held = (text: string, ...owners: NonEmpty<Owner>): Sentence => ({ text, must: false, owners })
const free = (text: string, because: string): Sentence => ({ text, must: false, owners: [], because })

const RUN_TIME = 'run time: what the service does, no resource can break it'
const DESCRIPTION = 'description: asks for nothing'
const NOT_SHOWN = 'the specification does not show it'

const rule = (id: string): RuleOwner => ({ rule: id })
const field = (kind: string) => (path: string, keyword: string) => ({ kind, path, keyword })
const auth = field('MCPExternalAuthConfig')
const virtual = field('VirtualMCPServer')
const oidc = field('MCPOIDCConfig')
const server = (path: string, keyword: string) => auth(`spec.embeddedAuthServer.${path}`, keyword)
const upstream = (path: string, keyword: string) => server(`upstreamProviders[].${path}`, keyword)
const redis = (path: string, keyword: string) => server(`storage.redis.${path}`, keyword)
const secretRef = (at: typeof auth, path: string) =>
  [at(`${path}.name`, 'required'), at(`${path}.key`, 'required')] as const
const crd = (kind: string, path: string): CrdOwner => ({ crd: kind, field: path })

/** The specification, sentence by sentence; the rows of its field tables are derived from the schemas. */
export const SPECIFICATION: readonly Section[] = [
  {
    section: '1',
    title: 'What the service does',
    sentences: [
      free('One process fronts a group of backends and has two authentication boundaries.', DESCRIPTION),
      free('Incoming: OAuth 2.1 as the MCP specification defines it.', RUN_TIME),
      free('JWTs: issuer, audience, expiry and signature are checked.', RUN_TIME),
      free('Opaque tokens: token introspection is used.', RUN_TIME),
      free('Authorization policies are evaluated after validation, before forwarding.', RUN_TIME),
      free('All of this runs in the vMCP process; a plain MCPServer uses a separate proxy.', RUN_TIME),
      free('Outgoing: credentials come from the configured strategy.', RUN_TIME),
      held('The seven kinds and their roles.', rule('registration-covers-known-kinds'), rule('kind-known')),
      held(
        'VirtualMCPServer holds incomingAuth, outgoingAuth, authServerConfig and groupRef.',
        virtual('spec.incomingAuth', 'properties'),
        virtual('spec.outgoingAuth', 'properties'),
        virtual('spec.authServerConfig', 'properties'),
        virtual('spec.groupRef', 'properties'),
      ),
      held(
        'MCPServer, MCPRemoteProxy and MCPServerEntry refer to an MCPExternalAuthConfig.',
        field('MCPServer')('spec.externalAuthConfigRef', 'properties'),
        field('MCPRemoteProxy')('spec.externalAuthConfigRef', 'properties'),
        field('MCPServerEntry')('spec.externalAuthConfigRef', 'properties'),
      ),
      held(
        'MCPServer belongs to a group through groupRef.',
        field('MCPServer')('spec.groupRef', 'properties'),
      ),
      free('The embedded server sends users to upstream providers for login.', RUN_TIME),
      free('It stores the upstream tokens.', RUN_TIME),
      free('It issues JWTs that vMCP validates later.', RUN_TIME),
      free('It provides dynamic client registration (RFC 7591).', RUN_TIME),
      held(
        'Shared resources are referenced by name: what is named exists, what is shared is still wanted.',
        rule('reference-found'),
        rule('deleted-resource-unreferenced'),
        rule('auth-config-change-meant'),
        rule('oidc-config-change-meant'),
      ),
      held('A named group of backends; a VirtualMCPServer selects it.', rule('group-has-backends')),
      held(
        'Every kind of workload can refer to every type of configuration (releases do not use all of them).',
        rule('workload-auth-type-suited'),
        rule('auth-config-type-suits-consumers'),
      ),
      free('When to use the embedded authorization server.', DESCRIPTION),
    ],
  },
  {
    section: '2',
    title: 'Resources and their fields',
    sentences: [
      must(
        'Every resource uses apiVersion {api_group}/v1beta1.',
        rule('request-kind-agrees'),
        rule('api-version-current'),
        rule('api-group-known'),
        crd('MCPExternalAuthConfig', 'versions'),
      ),
      must('MCPExternalAuthConfig is namespaced.', crd('MCPExternalAuthConfig', 'scope')),
      must('Its short names are extauth and mcpextauth.', crd('MCPExternalAuthConfig', 'names.shortNames')),
      must(
        'It is referenced from its own namespace only: a reference is a name, without a namespace.',
        field('MCPServer')('spec.externalAuthConfigRef.name', 'required'),
        virtual('spec.outgoingAuth.backends.<name>.externalAuthConfigRef.name', 'required'),
        rule('reference-found'),
      ),
      held('Fields beyond those listed are not shown for the other kinds.', rule('unknown-field')),
    ],
  },
  {
    section: '2.1',
    title: 'Secret reference',
    sentences: [
      held('name is the name of the Secret, key a key within it.', rule('secret-reference-found')),
      must(
        'These fields take the shape of a Secret reference, all with a required name and key.',
        ...secretRef(auth, 'spec.bearerToken.tokenSecretRef'),
        ...secretRef(auth, 'spec.headerInjection.valueSecretRef'),
        ...secretRef(auth, 'spec.tokenExchange.clientSecretRef'),
        ...secretRef(upstream, 'oauth2Config.clientSecretRef'),
        ...secretRef(upstream, 'oidcConfig.clientSecretRef'),
        ...secretRef(redis, 'aclUserConfig.passwordSecretRef'),
        ...secretRef(redis, 'aclUserConfig.usernameSecretRef'),
        ...secretRef(redis, 'tls.caCertSecretRef'),
        ...secretRef(redis, 'sentinelTls.caCertSecretRef'),
        ...secretRef(server, 'signingKeySecretRefs[]'),
        ...secretRef(server, 'hmacSecretRefs[]'),
        ...secretRef(oidc, 'spec.inline.clientSecretRef'),
      ),
    ],
  },
  {
    section: '2.2',
    title: 'VirtualMCPServer',
    sentences: [
      held(
        'groupRef names the MCPGroup whose backends are fronted.',
        rule('group-ref-configured'),
        rule('group-has-backends'),
      ),
      held(
        'incomingAuth says how clients authenticate: type anonymous or oidc.',
        rule('incoming-auth-configured'),
        virtual('spec.incomingAuth.type', 'enum'),
      ),
      must(
        'oidcConfigRef is used with type oidc.',
        rule('incoming-auth-oidc-config-ref-configured'),
        rule('incoming-auth-oidc-config-ref-used'),
      ),
      must(
        'audience stands beside oidcConfigRef and is required when that is used.',
        rule('incoming-auth-audience-configured'),
      ),
      held(
        'For inline OIDC configuration audience is optional but recommended.',
        rule('incoming-auth-inline-oidc-checked'),
      ),
      held('backends is used with source inline.', rule('outgoing-auth-inline-used')),
      held(
        'A key of backends is the name of the backend MCPServer.',
        rule('outgoing-auth-backend-is-member'),
      ),
      must(
        'The type of a backend is externalAuthConfigRef, which then names an MCPExternalAuthConfig.',
        virtual('spec.outgoingAuth.backends.<name>.type', 'enum'),
        rule('outgoing-auth-backend-ref-configured'),
      ),
      held(
        'A default reference exists at outgoingAuth.default.externalAuthConfigRef.',
        virtual('spec.outgoingAuth.default.externalAuthConfigRef', 'properties'),
        rule('outgoing-auth-default-ref-configured'),
      ),
      must(
        'authServerConfig has the structure of MCPExternalAuthConfig.spec.embeddedAuthServer.',
        virtual('spec.authServerConfig.issuer', 'required'),
        virtual('spec.authServerConfig.upstreamProviders', 'required'),
      ),
      held(
        'status.discoveredBackends[].authConfigRef refers to the configuration found for a backend.',
        virtual('status.discoveredBackends[].authConfigRef', 'type'),
      ),
    ],
  },
  {
    section: '2.3',
    title: 'MCPOIDCConfig',
    sentences: [
      must(
        'type is inline or kubernetesServiceAccount, and the object of that name holds the settings.',
        oidc('spec.type', 'enum'),
        rule('oidc-config-matches-type'),
      ),
      held('inline.issuer is the URL of the token issuer.', rule('oidc-config-url-absolute')),
      free('clientSecretRef enables introspection of opaque tokens.', RUN_TIME),
      held('kubernetesServiceAccount may be an empty object.', oidc('spec.kubernetesServiceAccount', 'type')),
      free('It selects the API server of the cluster as issuer, which is auto-detected.', RUN_TIME),
      free(
        'Its audience has a configurable default, set on incomingAuth.audience.',
        'an option of /mutate: --service-account-audience (decision 4)',
      ),
      held(
        'jwksAllowPrivateIP exists on the OIDC configuration.',
        oidc('spec.inline.jwksAllowPrivateIP', 'type'),
        oidc('spec.jwksAllowPrivateIP', 'type'),
      ),
      held(
        'It is not needed beside an embedded authorization server.',
        rule('incoming-jwks-private-ip-needed'),
      ),
    ],
  },
  {
    section: '2.4',
    title: 'MCPExternalAuthConfig',
    sentences: [
      must('type is one of seven values.', auth('spec.type', 'enum'), auth('spec.type', 'required')),
      must(
        'Each sub-object is there only when type is its name: awsSts, bearerToken, embeddedAuthServer, headerInjection, tokenExchange, upstreamInject.',
        rule('external-auth-config-matches-type'),
      ),
      must(
        'The type unauthenticated has no associated sub-object.',
        rule('external-auth-config-matches-type'),
      ),
    ],
  },
  {
    section: '2.4.1',
    title: 'spec.awsSts',
    sentences: [
      must(
        'At least one of fallbackRoleArn or roleMappings must be configured.',
        rule('aws-sts-role-configured'),
      ),
      must(
        'claim and matcher of a role mapping are mutually exclusive.',
        rule('role-mapping-claim-or-matcher'),
      ),
      must(
        'matcher is a CEL expression over the variable claims, a map of all JWT claims.',
        rule('role-mapping-matcher-compiles'),
        rule('role-mapping-matcher-compiles-in-newer-releases'),
        rule('role-mapping-matcher-compiles-in-older-releases'),
        rule('role-mapping-matcher-type-known'),
      ),
      held('claim is matched against the claim named by roleClaim.', rule('role-mapping-has-condition')),
      held(
        'Lower priority first; without one last; configuration order breaks ties.',
        rule('role-mapping-reachable'),
        auth('spec.awsSts.roleMappings[].priority', 'minimum'),
      ),
      free('fallbackRoleArn is assumed when no mapping matches.', RUN_TIME),
    ],
  },
  { section: '2.4.2', title: 'spec.bearerToken', sentences: [] },
  {
    section: '2.4.3',
    title: 'spec.embeddedAuthServer',
    sentences: [
      free('issuer is placed in the iss claim of issued tokens.', RUN_TIME),
      must(
        'issuer is an HTTPS URL; HTTP is allowed for localhost.',
        rule('auth-server-url-https-or-loopback'),
        rule('auth-server-url-without-user-info'),
      ),
      must('issuer has no query, fragment or trailing slash (RFC 8414).', server('issuer', 'pattern')),
      must(
        'authorizationEndpointBaseUrl follows the same URL rules and pattern.',
        rule('auth-server-url-https-or-loopback'),
        server('authorizationEndpointBaseUrl', 'pattern'),
      ),
      free('It overrides the base of the authorization_endpoint in the discovery document.', RUN_TIME),
      free('Several signing keys allow rotation; the oldest verify only.', RUN_TIME),
      held(
        'Without signing keys an ephemeral one is generated (development only).',
        rule('auth-server-signing-keys-persistent'),
      ),
      must('The current HMAC secret has at least 32 random bytes.', rule('hmac-secret-long-enough')),
      free('The first HMAC secret is current, the rest verify only.', RUN_TIME),
      held(
        'Without HMAC secrets an ephemeral one is generated (development only).',
        rule('auth-server-hmac-secrets-persistent'),
      ),
      held(
        'storage defaults to memory.',
        server('storage.type', 'default'),
        server('storage', 'default'),
        rule('auth-server-storage-persistent'),
      ),
      must(
        'MCPServer and MCPRemoteProxy accept one upstream provider, VirtualMCPServer several.',
        rule('upstream-provider-single-for-workloads'),
        rule('workload-auth-server-single-provider'),
      ),
      must(
        'Token lifespans are Go durations with defaults 1h, 168h and 10m.',
        server('tokenLifespans.accessTokenLifespan', 'pattern'),
        server('tokenLifespans.refreshTokenLifespan', 'pattern'),
        server('tokenLifespans.authCodeLifespan', 'pattern'),
        server('tokenLifespans.accessTokenLifespan', 'default'),
        server('tokenLifespans.refreshTokenLifespan', 'default'),
        server('tokenLifespans.authCodeLifespan', 'default'),
        rule('token-lifespan-accepted'),
        rule('duration-representable'),
      ),
      must('A day suffix is not a valid unit.', server('tokenLifespans.refreshTokenLifespan', 'pattern')),
      must(
        'redis is required when the storage type is redis.',
        rule('storage-redis-configured'),
        rule('storage-redis-used'),
      ),
      must(
        'aclUserConfig holds usernameSecretRef and passwordSecretRef, both required.',
        redis('aclUserConfig', 'required'),
        redis('aclUserConfig.usernameSecretRef', 'required'),
        redis('aclUserConfig.passwordSecretRef', 'required'),
      ),
      must('sentinelConfig is required.', rule('redis-sentinel-config-configured')),
      held(
        'tls and sentinelTls: presence enables TLS, without it plaintext; neither stands in for the other.',
        rule('redis-tls-enabled'),
      ),
      held('insecureSkipVerify skips certificate verification.', rule('redis-tls-verified')),
      free('Without caCertSecretRef the system root CAs are used.', RUN_TIME),
      held(
        'dialTimeout, readTimeout and writeTimeout are durations.',
        redis('dialTimeout', 'pattern'),
        redis('readTimeout', 'pattern'),
        redis('writeTimeout', 'pattern'),
        rule('duration-representable'),
      ),
      must(
        'sentinelAddrs and sentinelService are mutually exclusive.',
        rule('sentinel-addresses-or-service'),
        rule('sentinel-discovery-configured'),
      ),
      held('sentinelAddrs is a list of host:port.', rule('sentinel-address-host-and-port')),
      held(
        'sentinelService: namespace defaults to the same namespace, port to 26379.',
        redis('sentinelConfig.sentinelService.namespace', 'default'),
        redis('sentinelConfig.sentinelService.port', 'default'),
      ),
      must('A provider name is unique.', rule('upstream-provider-name-unique')),
      must(
        'A provider name is a DNS label of 1 to 63 characters.',
        upstream('name', 'pattern'),
        upstream('name', 'minLength'),
        upstream('name', 'maxLength'),
      ),
      held('It is used for routing and session binding.', rule('upstream-provider-name-not-reserved')),
      must(
        'upstreamInject.providerName and tokenExchange.subjectProviderName refer to it.',
        rule('upstream-inject-provider-exists'),
        rule('subject-provider-exists'),
      ),
      must(
        'oauth2Config is there when type is oauth2, and absent when type is oidc.',
        rule('upstream-provider-config-matches-type'),
      ),
      must(
        'oidcConfig is there when type is oidc, and absent when type is oauth2.',
        rule('upstream-provider-config-matches-type'),
      ),
      must(
        'Endpoints of upstream providers are URLs.',
        upstream('oauth2Config.authorizationEndpoint', 'pattern'),
        upstream('oauth2Config.tokenEndpoint', 'pattern'),
        upstream('oauth2Config.userInfo.endpointUrl', 'pattern'),
        upstream('oidcConfig.userInfoOverride.endpointUrl', 'pattern'),
        rule('upstream-url-https'),
        rule('upstream-url-absolute'),
      ),
      must('issuerUrl is an HTTPS URL.', upstream('oidcConfig.issuerUrl', 'pattern')),
      must(
        'clientId is required.',
        rule('upstream-oauth2-client-id-configured'),
        upstream('oidcConfig.clientId', 'required'),
      ),
      free('clientSecretRef is optional for public clients that use PKCE.', RUN_TIME),
      free(
        'redirectUri defaults to {resourceUrl}/oauth/callback.',
        'depends on the resource that uses the configuration: never written',
      ),
      must(
        'additionalAuthorizationParams may not hold the eight names that the service sets itself.',
        rule('upstream-authorization-params-allowed'),
      ),
      free('With tokenResponseMapping the service reads the token answer by dotted paths.', RUN_TIME),
      must(
        'accessTokenPath is required and not empty.',
        upstream('oauth2Config.tokenResponseMapping.accessTokenPath', 'required'),
        upstream('oauth2Config.tokenResponseMapping.accessTokenPath', 'minLength'),
      ),
      must(
        'userInfo is required to resolve the identity of OAuth 2.0 users.',
        rule('upstream-oauth2-user-info-configured'),
        rule('upstream-oauth2-subject-resolved'),
      ),
      must(
        'userInfo and userInfoOverride share a shape; endpointUrl is required in both.',
        upstream('oauth2Config.userInfo.endpointUrl', 'required'),
        upstream('oidcConfig.userInfoOverride.endpointUrl', 'required'),
      ),
      held(
        'fieldMapping has the standard names as defaults.',
        upstream('oauth2Config.userInfo.fieldMapping.subjectFields', 'default'),
        upstream('oauth2Config.userInfo.fieldMapping.nameFields', 'default'),
        upstream('oauth2Config.userInfo.fieldMapping.emailFields', 'default'),
        upstream('oidcConfig.userInfoOverride.fieldMapping.subjectFields', 'default'),
        upstream('oidcConfig.userInfoOverride.fieldMapping.nameFields', 'default'),
        upstream('oidcConfig.userInfoOverride.fieldMapping.emailFields', 'default'),
      ),
      free('Of an ordered list of field names the first non-empty value is used.', RUN_TIME),
      held(
        'scopes of oidcConfig default to openid and offline_access.',
        upstream('oidcConfig.scopes', 'default'),
      ),
      held(
        'With a refresh mechanism of the provider set explicit scopes, so that both are not sent.',
        rule('upstream-refresh-mechanism-single'),
      ),
      free('Without userInfoOverride the userinfo endpoint is discovered.', RUN_TIME),
    ],
  },
  {
    section: '2.4.4',
    title: 'spec.headerInjection',
    sentences: [
      must(
        'headerName is required and not empty: the header to inject.',
        auth('spec.headerInjection.headerName', 'required'),
        auth('spec.headerInjection.headerName', 'minLength'),
        rule('header-injection-name-is-token'),
      ),
    ],
  },
  {
    section: '2.4.5',
    title: 'spec.tokenExchange',
    sentences: [
      must(
        'tokenUrl is the token endpoint.',
        auth('spec.tokenExchange.tokenUrl', 'required'),
        rule('token-exchange-url-https'),
        rule('token-exchange-url-absolute'),
      ),
      must(
        'subjectTokenType is access_token (default), id_token or jwt, or one of the full URNs.',
        auth('spec.tokenExchange.subjectTokenType', 'pattern'),
        auth('spec.tokenExchange.subjectTokenType', 'default'),
      ),
      held(
        'externalTokenHeaderName is the header for the token; empty or unset: Authorization.',
        rule('header-injection-name-is-token'),
      ),
      must(
        'subjectProviderName names an upstream provider whose stored token is the subject.',
        rule('subject-provider-exists'),
        rule('auth-config-served'),
      ),
      held(
        'When empty it is filled in with the first provider of the VirtualMCPServer.',
        rule('subject-provider-agreed'),
        rule('subject-provider-agreed-by-gateways'),
        rule('subject-provider-chosen'),
        rule('written-subject-provider-exists'),
      ),
    ],
  },
  {
    section: '2.4.6',
    title: 'spec.upstreamInject',
    sentences: [
      must(
        'providerName must equal a name in upstreamProviders of the embedded server.',
        rule('upstream-inject-provider-exists'),
        rule('auth-config-served'),
        rule('backend-auth-served'),
      ),
    ],
  },
  {
    section: '2.4.7',
    title: 'status',
    sentences: [
      must(
        'referencingWorkloads: kind is one of three, name is not empty.',
        auth('status.referencingWorkloads[].kind', 'enum'),
        auth('status.referencingWorkloads[].name', 'minLength'),
      ),
      must(
        'lastTransitionTime is a date-time.',
        auth('status.conditions[].lastTransitionTime', 'format'),
        auth('status.conditions[].lastTransitionTime', 'required'),
      ),
      held('message may be empty.', auth('status.conditions[].message', 'required')),
    ],
  },
  {
    section: '2.5',
    title: 'Patterns',
    sentences: [
      must(
        'P-arn',
        auth('spec.awsSts.fallbackRoleArn', 'pattern'),
        auth('spec.awsSts.roleMappings[].roleArn', 'pattern'),
      ),
      must('P-region', auth('spec.awsSts.region', 'pattern')),
      must('P-issuer', server('issuer', 'pattern'), server('authorizationEndpointBaseUrl', 'pattern')),
      must(
        'P-duration',
        server('tokenLifespans.accessTokenLifespan', 'pattern'),
        redis('dialTimeout', 'pattern'),
        rule('duration-representable'),
      ),
      must('P-dnslabel', upstream('name', 'pattern')),
      must('P-url', upstream('oauth2Config.tokenEndpoint', 'pattern'), rule('upstream-url-absolute')),
      must('P-https', upstream('oidcConfig.issuerUrl', 'pattern'), rule('upstream-url-absolute')),
      must('P-subjecttype', auth('spec.tokenExchange.subjectTokenType', 'pattern')),
      must('P-reason', auth('status.conditions[].reason', 'pattern')),
      must('P-condtype', auth('status.conditions[].type', 'pattern')),
    ],
  },
  {
    section: '3',
    title: 'States and transitions',
    sentences: [
      must('A condition status is True, False or Unknown.', auth('status.conditions[].status', 'enum')),
      must(
        'Each condition records the time of its last change.',
        auth('status.conditions[].lastTransitionTime', 'required'),
      ),
      free('Transitions.', NOT_SHOWN),
      free('Condition type values and reason values.', NOT_SHOWN),
      free(
        'With several upstream providers the user is sent to each in order; one JWT at the end.',
        RUN_TIME,
      ),
    ],
  },
  {
    section: '4',
    title: 'Endpoints',
    sentences: [
      free('GET {issuer}/.well-known/oauth-authorization-server is the discovery document.', RUN_TIME),
      free('The authorization endpoint is below authorizationEndpointBaseUrl, or else issuer.', RUN_TIME),
      free('{resourceUrl}/oauth/callback receives users from the upstream provider.', RUN_TIME),
      free('Token, registration and key set endpoints.', RUN_TIME),
      free('Rule 1: all but the authorization endpoint are always derived from issuer.', RUN_TIME),
      free('Rule 2: clients discover the server through protected resource metadata.', RUN_TIME),
      free('Rule 3: dynamic registration spares manual client configuration.', RUN_TIME),
      free('Paths of the token, registration, key set and metadata endpoints.', NOT_SHOWN),
      free('Bodies of the endpoints; the path of the MCP endpoint.', NOT_SHOWN),
    ],
  },
  {
    section: '5.1',
    title: 'Incoming authentication',
    sentences: [
      held('A client authenticates to vMCP as incomingAuth says.', rule('incoming-auth-configured')),
      held(
        'anonymous disables all access control: development only, not for production.',
        rule('incoming-auth-authenticates'),
      ),
      must(
        'With type oidc tokens are validated against the MCPOIDCConfig named by oidcConfigRef.',
        rule('incoming-auth-oidc-config-ref-configured'),
      ),
      free('JWT: issuer, audience, expiry and signature are checked.', RUN_TIME),
      free('Opaque token: introspection, enabled by clientSecretRef.', RUN_TIME),
      must('With oidcConfigRef audience must be set explicitly.', rule('incoming-auth-audience-configured')),
      free('kubernetesServiceAccount validates service account tokens of the cluster.', RUN_TIME),
      must(
        'With the embedded authorization server incomingAuth must validate the JWTs it issues: oidcConfigRef and audience.',
        rule('auth-server-incoming-auth-oidc'),
        rule('incoming-auth-audience-configured'),
      ),
      must(
        'The issuer of that MCPOIDCConfig equals authServerConfig.issuer.',
        rule('auth-server-tokens-accepted'),
        rule('auth-server-issuers-accepted'),
      ),
      free('Policies are evaluated after validation; their configuration.', NOT_SHOWN),
    ],
  },
  {
    section: '5.2',
    title: 'Outgoing authentication',
    sentences: [
      held(
        'discovered: the externalAuthConfigRef of each backend chooses; without one no credentials.',
        rule('backend-credentials-configured'),
        rule('workload-credentials-configured'),
      ),
      held(
        'inline: strategies come from the map outgoingAuth.backends; discovered: it is not read.',
        rule('outgoing-auth-inline-used'),
        rule('outgoing-auth-default-ref-configured'),
      ),
      held(
        'inline: backends that are not in the map receive unauthenticated requests.',
        rule('outgoing-auth-inline-configured'),
        rule('backend-credentials-configured'),
        rule('workload-credentials-configured'),
        rule('outgoing-auth-backend-is-member'),
      ),
      free('tokenExchange: RFC 8693 exchange at tokenUrl.', RUN_TIME),
      free(
        'tokenExchange: without subjectProviderName and without an embedded authorization server, the subject token is the JWT that vMCP issued.',
        RUN_TIME,
      ),
      held(
        'tokenExchange: with subjectProviderName, the subject token is that of this upstream provider.',
        rule('subject-provider-exists'),
      ),
      held(
        'tokenExchange: the token replaces the Authorization header unless externalTokenHeaderName is set.',
        rule('backend-auth-type-supported'),
        rule('auth-config-type-suits-consumers'),
        rule('workload-auth-type-suited'),
      ),
      free(
        'upstreamInject: the token stored for providerName replaces the Authorization header of the request to the backend.',
        RUN_TIME,
      ),
      must(
        'upstreamInject requires an embedded authorization server on the VirtualMCPServer.',
        rule('upstream-inject-has-auth-server'),
        rule('backend-auth-served'),
      ),
      free('embeddedAuthServer: as in 2.4.3.', DESCRIPTION),
      free('awsSts: requests are signed with credentials of the role that a mapping chooses.', RUN_TIME),
      free('bearerToken: how the token is placed in the request.', NOT_SHOWN),
      held(
        'Each type is a strategy of vMCP (releases have none for two of them).',
        rule('backend-auth-type-supported'),
        rule('auth-config-type-suits-consumers'),
      ),
      free('headerInjection: the header is set to the value from the Secret.', RUN_TIME),
      held('unauthenticated: no credentials are sent.', rule('external-auth-type-authenticates')),
      free('Strategies can be mixed in one deployment.', DESCRIPTION),
    ],
  },
  {
    section: '5.3',
    title: 'Key and secret handling',
    sentences: [
      held(
        'Persistent keys and secrets are required for production; ephemeral ones end all sessions at a restart.',
        rule('auth-server-signing-keys-persistent'),
        rule('auth-server-hmac-secrets-persistent'),
      ),
      held(
        'Upstream tokens in memory are lost at a restart; for production use redis with Sentinel.',
        rule('auth-server-storage-persistent'),
      ),
      must(
        'Values are never inlined; they are referenced through Secret references.',
        auth('spec.bearerToken.tokenSecretRef', 'type'),
        auth('spec.headerInjection.valueSecretRef', 'type'),
        auth('spec.tokenExchange.clientSecretRef', 'type'),
        oidc('spec.inline.clientSecretRef', 'type'),
        server('signingKeySecretRefs', 'type'),
        server('hmacSecretRefs', 'type'),
        upstream('oauth2Config.clientSecretRef', 'type'),
        upstream('oidcConfig.clientSecretRef', 'type'),
        redis('aclUserConfig.usernameSecretRef', 'type'),
        redis('aclUserConfig.passwordSecretRef', 'type'),
        redis('tls.caCertSecretRef', 'type'),
        redis('sentinelTls.caCertSecretRef', 'type'),
      ),
      held('Placeholders such as `<CLIENT_ID>` stand for values.', rule('unresolved-placeholder')),
    ],
  },
  { section: '6', title: 'Events', sentences: [free('Events.', NOT_SHOWN)] },
  {
    section: '7',
    title: 'Errors',
    sentences: [
      must('awsSts has neither fallbackRoleArn nor roleMappings.', rule('aws-sts-role-configured')),
      must('A roleMappings item sets both claim and matcher.', rule('role-mapping-claim-or-matcher')),
      must(
        'sentinelConfig sets both sentinelAddrs and sentinelService.',
        rule('sentinel-addresses-or-service'),
      ),
      must(
        'Provider type oauth2 without oauth2Config, or with oidcConfig.',
        rule('upstream-provider-config-matches-type'),
      ),
      must(
        'Provider type oidc without oidcConfig, or with oauth2Config.',
        rule('upstream-provider-config-matches-type'),
      ),
      must('oauth2Config without userInfo.', rule('upstream-oauth2-user-info-configured')),
      must(
        'additionalAuthorizationParams contains a framework-managed name.',
        rule('upstream-authorization-params-allowed'),
      ),
      must(
        'A value fails its pattern, length or numeric bound.',
        rule('schema-pattern'),
        rule('schema-minLength'),
        rule('schema-maxLength'),
        rule('schema-minimum'),
        rule('schema-maximum'),
      ),
      must('Upstream provider name not a DNS label.', upstream('name', 'pattern')),
      must('oidcConfigRef used without audience.', rule('incoming-auth-audience-configured')),
      held(
        'Without persistent keys a restart invalidates tokens, codes and refresh tokens.',
        rule('auth-server-signing-keys-persistent'),
        rule('auth-server-hmac-secrets-persistent'),
      ),
      held(
        'A backend not listed under inline outgoing authentication gets no credentials.',
        rule('outgoing-auth-inline-configured'),
        rule('backend-credentials-configured'),
        rule('workload-credentials-configured'),
      ),
      free('Error response bodies, status codes and error codes.', NOT_SHOWN),
    ],
  },
  {
    section: '8',
    title: 'Limits',
    sentences: [
      must(
        'awsSts.sessionDuration: 900 to 43200 seconds, default 3600.',
        auth('spec.awsSts.sessionDuration', 'minimum'),
        auth('spec.awsSts.sessionDuration', 'maximum'),
        auth('spec.awsSts.sessionDuration', 'default'),
      ),
      must('roleMappings[].priority: minimum 0.', auth('spec.awsSts.roleMappings[].priority', 'minimum')),
      must(
        'Upstream provider name: 1 to 63 characters, DNS-label style.',
        upstream('name', 'minLength'),
        upstream('name', 'maxLength'),
        upstream('name', 'pattern'),
      ),
      must('HMAC current secret: at least 32 bytes.', rule('hmac-secret-long-enough')),
      held(
        'Defaults of the token lifespans: 1h, 168h, 10m.',
        server('tokenLifespans.accessTokenLifespan', 'default'),
        server('tokenLifespans.refreshTokenLifespan', 'default'),
        server('tokenLifespans.authCodeLifespan', 'default'),
      ),
      held(
        'Defaults of the redis timeouts: 5s, 3s, 3s.',
        redis('dialTimeout', 'default'),
        redis('readTimeout', 'default'),
        redis('writeTimeout', 'default'),
      ),
      held('sentinelService.port default 26379.', redis('sentinelConfig.sentinelService.port', 'default')),
      held('sentinelConfig.db default 0.', redis('sentinelConfig.db', 'default')),
      must('Condition message: maxLength 32768.', auth('status.conditions[].message', 'maxLength')),
      must(
        'Condition reason: 1 to 1024 characters.',
        auth('status.conditions[].reason', 'minLength'),
        auth('status.conditions[].reason', 'maxLength'),
      ),
      must('Condition type: maxLength 316.', auth('status.conditions[].type', 'maxLength')),
      must(
        'Upstream providers per MCPServer or MCPRemoteProxy: 1.',
        rule('upstream-provider-single-for-workloads'),
        rule('workload-auth-server-single-provider'),
      ),
      held(
        'Upstream providers per VirtualMCPServer: several.',
        virtual('spec.authServerConfig.upstreamProviders', 'type'),
      ),
      free('Rate limits and request size limits.', NOT_SHOWN),
    ],
  },
  {
    section: '9',
    title: 'Versioning',
    sentences: [
      must(
        'All resources use apiVersion {api_group}/v1beta1.',
        rule('request-kind-agrees'),
        rule('api-version-current'),
        rule('api-group-known'),
        crd('MCPExternalAuthConfig', 'versions'),
      ),
      free('Deprecation policy and compatibility rules.', NOT_SHOWN),
    ],
  },
]
