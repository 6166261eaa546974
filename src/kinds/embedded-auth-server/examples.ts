import type { OAuth2Config, Provider, RedisStorage, SentinelConfig, Server } from './effective.ts'

/** An upstream provider with realistic values, for the examples of rules. */
export const okta: Provider = {
  name: 'okta',
  type: 'oidc',
  oidcConfig: {
    issuerUrl: 'https://example.okta.com',
    clientId: 'vmcp',
    clientSecretRef: { name: 'okta', key: 'client-secret' },
  },
}

export const githubConfig: OAuth2Config = {
  authorizationEndpoint: 'https://github.com/login/oauth/authorize',
  tokenEndpoint: 'https://github.com/login/oauth/access_token',
  clientId: 'vmcp',
  clientSecretRef: { name: 'github', key: 'client-secret' },
  userInfo: { endpointUrl: 'https://api.github.com/user' },
}

export const github: Provider = { name: 'github', type: 'oauth2', oauth2Config: githubConfig }

export const sentinel: SentinelConfig = {
  masterName: 'vmcp',
  sentinelAddrs: ['sentinel-0.redis:26379', 'sentinel-1.redis:26379'],
}

export const redis: RedisStorage = {
  aclUserConfig: {
    usernameSecretRef: { name: 'redis', key: 'username' },
    passwordSecretRef: { name: 'redis', key: 'password' },
  },
  sentinelConfig: sentinel,
  sentinelTls: {},
  tls: {},
}

export const server: Server = {
  issuer: 'https://auth.example.com',
  signingKeySecretRefs: [{ name: 'auth-server', key: 'signing-key' }],
  hmacSecretRefs: [{ name: 'auth-server', key: 'hmac-secret' }],
  storage: { type: 'redis', redis },
  upstreamProviders: [okta],
}

/** The example server with a single OAuth 2.0 provider that has these settings. */
export const withOAuth2 = (oauth2Config: OAuth2Config): Server => ({
  ...server,
  upstreamProviders: [{ ...github, oauth2Config }],
})

/** The example server with a single OpenID Connect provider that has these settings besides the required ones. */
export const withOidc = (settings: NonNullable<Provider['oidcConfig']>): Server => ({
  ...server,
  upstreamProviders: [{ ...okta, oidcConfig: { ...okta.oidcConfig, ...settings } }],
})

/** The example server with a single OpenID Connect provider that has exactly these settings. */
export const withOidcConfig = (oidcConfig: NonNullable<Provider['oidcConfig']>): Server => ({
  ...server,
  upstreamProviders: [{ ...okta, oidcConfig }],
})

/** The example server with this Redis storage. */
export const withRedis = (storage: RedisStorage): Server => ({
  ...server,
  storage: { type: 'redis', redis: storage },
})

/** A copy without the given fields. */
export function without<T extends object, K extends keyof T & string>(
  value: T,
  ...fields: readonly K[]
): Omit<T, K> {
  const kept = Object.entries(value).filter(([name]) => !(fields as readonly string[]).includes(name))
  return Object.fromEntries(kept) as Omit<T, K>
}

type TrustedIssuers = NonNullable<Server['trustedIssuers']>
type TrustedIssuer = NonNullable<TrustedIssuers[number]>

/** A trusted issuer whose tokens may be exchanged by one client, for one actor. */
export const partner: TrustedIssuer = {
  issuerUrl: 'https://login.partner.example',
  expectedAudience: 'https://mcp.example.com',
  allowedDelegateClients: ['agent'],
  allowedActors: ['orchestrator'],
}

/** The example server with these trusted issuers. */
export const trusting = (...trustedIssuers: TrustedIssuers): Server => ({ ...server, trustedIssuers })

/** The example server with one trusted issuer, whose policies are in the newer field `inboundGrants`. */
export const granting = (inboundGrants: NonNullable<Server['inboundGrants']>): Server => ({
  ...trusting({ name: 'partner', issuerUrl: 'https://login.partner.example' }),
  inboundGrants,
})

/** A client that is registered in advance. */
export const agent: NonNullable<NonNullable<Server['delegateClients']>[number]> = {
  clientId: 'agent',
  clientSecretRef: { name: 'agent', key: 'client-secret' },
  scopes: ['openid'],
  audiences: ['https://mcp.example.com'],
}

/** An issuer of assertions about `ci` for the resource `allowed`, which name `accepted` as their audience. */
export const assertionIssuer = (
  allowed: string,
  accepted: string,
): NonNullable<NonNullable<Server['trustedIssuers']>[number]> => ({
  issuerUrl: 'https://login.partner.example',
  jwtBearerGrant: {
    maxAssertionAge: '5m',
    subjectBindings: [{ subject: 'ci', allowedResources: [allowed] }],
    acceptedAudiences: [accepted],
  },
})

/** A SPIFFE trust domain, for examples. */
export const trustDomain: NonNullable<NonNullable<Server['spiffeTrustDomains']>[number]> = {
  name: 'prod',
  trustDomain: 'prod.example.com',
  methods: ['spiffe_x509', 'spiffe_jwt'],
  bundleSource: { type: 'file', file: { configMapName: 'bundle', configMapKey: 'bundle.json' } },
}
export const spiffeClient: NonNullable<
  NonNullable<NonNullable<Server['inboundGrants']>['spiffeClientAuth']>[number]
> = {
  clientId: 'agent',
  trustDomainRef: 'prod',
  principalPattern: 'spiffe://prod.example.com/agent',
  methods: ['spiffe_jwt'],
  scopes: ['openid'],
  audiences: ['https://mcp.example.com'],
}
