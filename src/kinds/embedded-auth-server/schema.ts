import {
  filled,
  flag,
  int32,
  list,
  map,
  matching,
  name,
  newer,
  object,
  oneOf,
  optional,
  text,
} from '../fields.ts'
import { secretRef } from '../parts.ts'
import { dcrConfig, GRANTS, OF_PROVIDERS, tokenEndpointAuthMethod } from './grants.ts'
import { must, says } from '../../rule/index.ts'

const SOURCE = '2.4.3'

const tls = (peer: string) =>
  object(
    {
      caCertSecretRef: optional(
        secretRef('Secret with the PEM CA certificate; without it the system roots are used.'),
      ),
      insecureSkipVerify: optional(
        flag('Accept any certificate: anyone on the path can read and change the traffic.'),
      ),
    },
    `TLS towards ${peer}. Present, even empty, turns TLS on; without it the connection is plaintext.`,
    { source: SOURCE },
  )

const SENTINEL_SERVICE_DEFAULTS = says(
  SOURCE,
  'sentinelService: namespace defaults to the same namespace, port to 26379.',
)

const sentinelConfig = object(
  {
    masterName: name('Name of the master that Sentinel monitors.'),
    db: optional(
      int32('Database number.', {
        default: 0,
        statements: [says('8', 'sentinelConfig.db default 0.')],
      }),
    ),
    sentinelAddrs: optional(
      list(text('One host:port.'), 'Sentinel addresses. Not together with sentinelService.'),
    ),
    sentinelService: optional(
      object(
        {
          name: name('Name of the Service in front of Sentinel.'),
          namespace: optional(
            text('Namespace of the Service; the namespace of this resource when not given.', {
              defaultFrom: 'metadata.namespace',
              statements: [SENTINEL_SERVICE_DEFAULTS],
            }),
          ),
          port: optional(
            int32('Port of the Service.', {
              default: 26379,
              statements: [SENTINEL_SERVICE_DEFAULTS, says('8', 'sentinelService.port default 26379.')],
            }),
          ),
        },
        'A cluster Service to find Sentinel by. Not together with sentinelAddrs.',
        { source: SOURCE },
      ),
    ),
  },
  'How to find the Redis master through Sentinel.',
  { source: SOURCE },
)

const timeout = (description: string, byDefault: string) =>
  optional(
    matching('duration', description, {
      default: byDefault,
      statements: [
        says(SOURCE, 'dialTimeout, readTimeout and writeTimeout are durations.'),
        says('8', 'Defaults of the redis timeouts: 5s, 3s, 3s.'),
      ],
    }),
  )

const redis = object(
  {
    aclUserConfig: object(
      {
        usernameSecretRef: optional(secretRef('Secret with the user name. Required without addr.')),
        passwordSecretRef: secretRef('Secret with the password.'),
      },
      'The Redis ACL user.',
      {
        source: SOURCE,
        statements: [
          must(SOURCE, 'aclUserConfig holds usernameSecretRef and passwordSecretRef, both required.'),
        ],
      },
    ),
    sentinelConfig: optional(sentinelConfig),
    sentinelTls: optional(tls('the Sentinel instances')),
    tls: optional(tls('the Redis master')),
    dialTimeout: timeout('Connection timeout.', '5s'),
    readTimeout: timeout('Socket read timeout.', '3s'),
    writeTimeout: timeout('Socket write timeout.', '3s'),
    addr: newer(text('Address of a Redis without Sentinel, host:port (newer releases).')),
    clusterMode: newer(flag('Whether addr is that of a Redis Cluster.'), '0.27'),
  },
  'Redis storage for upstream tokens.',
  { source: SOURCE },
)

const ENDPOINTS_ARE_URLS = must(SOURCE, 'Endpoints of upstream providers are URLs.')

const userInfo = (description: string) =>
  object(
    {
      endpointUrl: matching('url', 'URL of the userinfo endpoint.', {
        statements: [
          must(SOURCE, 'userInfo and userInfoOverride share a shape; endpointUrl is required in both.'),
          ENDPOINTS_ARE_URLS,
        ],
      }),
      httpMethod: optional(oneOf(['GET', 'POST'], 'HTTP method of the request.', { default: 'GET' })),
      additionalHeaders: optional(map(text('Value of the header.'), 'Extra headers of the request.')),
      fieldMapping: optional(
        object(
          {
            subjectFields: optional(
              list(text('Field name.'), 'Fields that may hold the user id.', { default: ['sub'] }),
            ),
            nameFields: optional(
              list(text('Field name.'), 'Fields that may hold the display name.', { default: ['name'] }),
            ),
            emailFields: optional(
              list(text('Field name.'), 'Fields that may hold the email address.', { default: ['email'] }),
            ),
          },
          'Which fields of the answer to use; the first one that is not empty counts.',
          {
            source: SOURCE,
            create: true,
            statements: [says(SOURCE, 'fieldMapping has the standard names as defaults.')],
          },
        ),
      ),
    },
    description,
    { source: SOURCE },
  )

const authorizationParams = map(
  text('Value of the query parameter.'),
  'Extra query parameters of authorization requests. Not response_type, client_id, redirect_uri, scope, state, code_challenge, code_challenge_method or nonce.',
)
const redirectUri = text('Callback URL; {resourceUrl}/oauth/callback of the consumer when not given.')
const clientSecretRef = secretRef('Secret with the client secret; not needed for public clients with PKCE.')

const identityFromToken = object(
  {
    subjectPath: filled('Dot-separated path of the user id in the token answer.', { maxLength: 256 }),
    namePath: optional(filled('Path of the display name.', { maxLength: 256 })),
    emailPath: optional(filled('Path of the email address.', { maxLength: 256 })),
  },
  'Takes the identity of the user from the token answer (newer releases).',
  { open: true },
)

const oauth2Config = object(
  {
    authorizationEndpoint: matching('url', 'Authorization endpoint of the provider.', {
      statements: [ENDPOINTS_ARE_URLS],
    }),
    tokenEndpoint: matching('url', 'Token endpoint of the provider.', { statements: [ENDPOINTS_ARE_URLS] }),
    clientId: optional(name('Client identifier registered with the provider. Required without dcrConfig.')),
    clientSecretRef: optional(clientSecretRef),
    redirectUri: optional(redirectUri),
    scopes: optional(list(text('Scope.'), 'Scopes to request.')),
    additionalAuthorizationParams: optional(authorizationParams),
    tokenResponseMapping: optional(
      object(
        {
          accessTokenPath: filled('Dot-separated path of the access token in the answer.', {
            statements: [must(SOURCE, 'accessTokenPath is required and not empty.')],
          }),
          scopePath: optional(text('Path of the granted scopes.', { default: 'scope' })),
          refreshTokenPath: optional(text('Path of the refresh token.', { default: 'refresh_token' })),
          expiresInPath: optional(text('Path of the lifetime in seconds.', { default: 'expires_in' })),
        },
        'Where to find the tokens in an answer that is not standard OAuth 2.0.',
        { source: SOURCE },
      ),
    ),
    userInfo: optional(
      userInfo('How to learn who the user is. Required without identityFromToken or dcrConfig.'),
    ),
    identityFromToken: newer(identityFromToken),
    dcrConfig: newer(dcrConfig),
    tokenEndpointAuthMethod,
    ...OF_PROVIDERS,
    allowPrivateIPs: newer(flag('Allows endpoints at private addresses.'), '0.43'),
    insecureAllowHTTP: newer(flag('Allows plaintext endpoints (newer releases).')),
  },
  'An OAuth 2.0 provider. With type oauth2 only.',
  { source: SOURCE },
)

const oidcConfig = object(
  {
    issuerUrl: matching('https', 'Issuer of the provider; its endpoints are discovered.', {
      statements: [must(SOURCE, 'issuerUrl is an HTTPS URL.')],
    }),
    clientId: optional(name('Client identifier registered with the provider. Required without dcrConfig.')),
    clientSecretRef: optional(clientSecretRef),
    redirectUri: optional(redirectUri),
    scopes: optional(
      list(text('Scope.'), 'Scopes to request.', {
        default: ['openid', 'offline_access'],
        statements: [says(SOURCE, 'scopes of oidcConfig default to openid and offline_access.')],
      }),
    ),
    additionalAuthorizationParams: optional(authorizationParams),
    userInfoOverride: optional(userInfo('Replaces parts of the discovered userinfo request.')),
    dcrConfig: newer(dcrConfig, '0.48'),
    ...OF_PROVIDERS,
    allowPrivateIPs: newer(flag('Allows endpoints at private addresses.'), '0.46'),
    subjectClaim: newer(
      text('Claim of the ID token that is the user id; sub by default.', { maxLength: 128 }),
      '0.30',
    ),
  },
  'An OpenID Connect provider. With type oidc only.',
  { source: SOURCE },
)

const upstreamProvider = object(
  {
    name: matching('dnsLabel', 'Unique name of the provider; other resources refer to it.', {
      minLength: 1,
      maxLength: 63,
      statements: [
        must(SOURCE, 'A provider name is a DNS label of 1 to 63 characters.'),
        must('7', 'Upstream provider name not a DNS label.'),
        must('8', 'Upstream provider name: 1 to 63 characters, DNS-label style.'),
      ],
    }),
    type: oneOf(['oidc', 'oauth2'], 'Protocol of the provider.'),
    oidcConfig: optional(oidcConfig),
    oauth2Config: optional(oauth2Config),
  },
  'One upstream identity provider.',
  { source: SOURCE },
)

const STORAGE_DEFAULT = says(SOURCE, 'storage defaults to memory.')

const lifespan = (description: string, byDefault: string) =>
  optional(
    matching('duration', description, {
      default: byDefault,
      statements: [
        must(SOURCE, 'Token lifespans are Go durations with defaults 1h, 168h and 10m.'),
        must(SOURCE, 'A day suffix is not a valid unit.'),
        says('8', 'Defaults of the token lifespans: 1h, 168h, 10m.'),
      ],
    }),
  )

/**
 * `spec.embeddedAuthServer` of an MCPExternalAuthConfig, and `spec.authServerConfig` of a VirtualMCPServer
 * (specification 2.4.3).
 */
export const EmbeddedAuthServer = object(
  {
    issuer: matching('issuer', 'Issuer identifier: the iss claim of issued tokens (RFC 8414).', {
      statements: [must(SOURCE, 'issuer has no query, fragment or trailing slash (RFC 8414).')],
    }),
    authorizationEndpointBaseUrl: optional(
      matching(
        'issuer',
        'Base URL of the authorization endpoint alone; everything else stays at the issuer.',
        {
          statements: [must(SOURCE, 'authorizationEndpointBaseUrl follows the same URL rules and pattern.')],
        },
      ),
    ),
    signingKeySecretRefs: optional(
      list(
        secretRef('Secret with a signing key.'),
        'Signing keys; without them a new key is made at every start.',
      ),
    ),
    hmacSecretRefs: optional(
      list(
        secretRef('Secret with at least 32 random bytes.'),
        'Secrets for authorization codes and refresh tokens, the current one first; without them a new one is made at every start.',
      ),
    ),
    tokenLifespans: optional(
      object(
        {
          accessTokenLifespan: lifespan('Lifetime of access tokens.', '1h'),
          refreshTokenLifespan: lifespan('Lifetime of refresh tokens.', '168h'),
          authCodeLifespan: lifespan('Lifetime of authorization codes.', '10m'),
        },
        'Lifetimes, in Go durations; there is no unit for days, write 168h.',
        { source: SOURCE, create: true },
      ),
    ),
    storage: optional(
      object(
        {
          type: optional(
            oneOf(['memory', 'redis'], 'Where upstream tokens are kept.', {
              default: 'memory',
              statements: [STORAGE_DEFAULT],
            }),
          ),
          redis: optional(redis),
          maxDCRClients: newer(
            int32('How many clients may be registered; 0: no limit.', { minimum: 0 }),
            '0.56',
          ),
        },
        'Storage of upstream tokens; in memory, lost at a restart, when not given.',
        { source: SOURCE, create: true, statements: [STORAGE_DEFAULT] },
      ),
    ),
    upstreamProviders: optional(
      list(
        upstreamProvider,
        'Upstream identity providers, in login order. One for MCPServer and MCPRemoteProxy, several for VirtualMCPServer.',
        { minItems: 1, decided: ['minItems'] },
      ),
    ),
    ...GRANTS,
    insecureAllowHTTP: newer(flag('Allows an http issuer on any host (newer releases).')),
  },
  'An OAuth authorization server inside the vMCP process.',
  { title: 'EmbeddedAuthServer', source: SOURCE },
)
