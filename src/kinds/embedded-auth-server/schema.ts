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

const sentinelConfig = object(
  {
    masterName: name('Name of the master that Sentinel monitors.'),
    db: optional(int32('Database number.', { default: 0 })),
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
            }),
          ),
          port: optional(int32('Port of the Service.', { default: 26379 })),
        },
        'A cluster Service to find Sentinel by. Not together with sentinelAddrs.',
        { source: SOURCE },
      ),
    ),
  },
  'How to find the Redis master through Sentinel.',
  { source: SOURCE },
)

const redis = object(
  {
    aclUserConfig: object(
      {
        usernameSecretRef: secretRef('Secret with the user name.'),
        passwordSecretRef: secretRef('Secret with the password.'),
      },
      'The Redis ACL user.',
      { source: SOURCE },
    ),
    sentinelConfig: optional(sentinelConfig),
    sentinelTls: optional(tls('the Sentinel instances')),
    tls: optional(tls('the Redis master')),
    dialTimeout: optional(matching('duration', 'Connection timeout.', { default: '5s' })),
    readTimeout: optional(matching('duration', 'Socket read timeout.', { default: '3s' })),
    writeTimeout: optional(matching('duration', 'Socket write timeout.', { default: '3s' })),
    addr: newer(text('Address of a Redis without Sentinel, host:port (newer releases).')),
  },
  'Redis storage for upstream tokens.',
  { source: SOURCE },
)

const userInfo = (description: string) =>
  object(
    {
      endpointUrl: matching('url', 'URL of the userinfo endpoint.'),
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
          { source: SOURCE, create: true },
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
    subjectPath: newer(text('Dot-separated path of the user id in the token answer.')),
    namePath: newer(text('Path of the display name.')),
    emailPath: newer(text('Path of the email address.')),
  },
  'Takes the identity of the user from the token answer (newer releases).',
  { open: true },
)

const oauth2Config = object(
  {
    authorizationEndpoint: matching('url', 'Authorization endpoint of the provider.'),
    tokenEndpoint: matching('url', 'Token endpoint of the provider.'),
    clientId: optional(name('Client identifier registered with the provider. Required without dcrConfig.')),
    clientSecretRef: optional(clientSecretRef),
    redirectUri: optional(redirectUri),
    scopes: optional(list(text('Scope.'), 'Scopes to request.')),
    additionalAuthorizationParams: optional(authorizationParams),
    tokenResponseMapping: optional(
      object(
        {
          accessTokenPath: filled('Dot-separated path of the access token in the answer.'),
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
    dcrConfig: newer(object({}, 'Registers the client dynamically (newer releases).', { open: true })),
    insecureAllowHTTP: newer(flag('Allows plaintext endpoints (newer releases).')),
  },
  'An OAuth 2.0 provider. With type oauth2 only.',
  { source: SOURCE },
)

const oidcConfig = object(
  {
    issuerUrl: matching('https', 'Issuer of the provider; its endpoints are discovered.'),
    clientId: name('Client identifier registered with the provider.'),
    clientSecretRef: optional(clientSecretRef),
    redirectUri: optional(redirectUri),
    scopes: optional(list(text('Scope.'), 'Scopes to request.', { default: ['openid', 'offline_access'] })),
    additionalAuthorizationParams: optional(authorizationParams),
    userInfoOverride: optional(userInfo('Replaces parts of the discovered userinfo request.')),
  },
  'An OpenID Connect provider. With type oidc only.',
  { source: SOURCE },
)

const upstreamProvider = object(
  {
    name: matching('dnsLabel', 'Unique name of the provider; other resources refer to it.', {
      minLength: 1,
      maxLength: 63,
    }),
    type: oneOf(['oidc', 'oauth2'], 'Protocol of the provider.'),
    oidcConfig: optional(oidcConfig),
    oauth2Config: optional(oauth2Config),
  },
  'One upstream identity provider.',
  { source: SOURCE },
)

/** Section 2.4.3: `spec.embeddedAuthServer` of MCPExternalAuthConfig and `spec.authServerConfig` of VirtualMCPServer. */
export const EmbeddedAuthServer = object(
  {
    issuer: matching('issuer', 'Issuer identifier: the iss claim of issued tokens (RFC 8414).'),
    authorizationEndpointBaseUrl: optional(
      matching(
        'issuer',
        'Base URL of the authorization endpoint alone; everything else stays at the issuer.',
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
          accessTokenLifespan: optional(
            matching('duration', 'Lifetime of access tokens.', { default: '1h' }),
          ),
          refreshTokenLifespan: optional(
            matching('duration', 'Lifetime of refresh tokens.', { default: '168h' }),
          ),
          authCodeLifespan: optional(
            matching('duration', 'Lifetime of authorization codes.', { default: '10m' }),
          ),
        },
        'Lifetimes, in Go durations; there is no unit for days, write 168h.',
        { source: SOURCE, create: true },
      ),
    ),
    storage: optional(
      object(
        {
          type: optional(
            oneOf(['memory', 'redis'], 'Where upstream tokens are kept.', { default: 'memory' }),
          ),
          redis: optional(redis),
        },
        'Storage of upstream tokens; in memory, lost at a restart, when not given.',
        { source: SOURCE, create: true },
      ),
    ),
    upstreamProviders: list(
      upstreamProvider,
      'Upstream identity providers, in login order. One for MCPServer and MCPRemoteProxy, several for VirtualMCPServer.',
      { minItems: 1, decided: ['minItems'] },
    ),
    insecureAllowHTTP: newer(flag('Allows an http issuer on any host (newer releases).')),
  },
  'An OAuth authorization server inside the vMCP process.',
  { title: 'EmbeddedAuthServer', source: SOURCE },
)
