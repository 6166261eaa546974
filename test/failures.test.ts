// cspell:ignore glpat Apim Nlcjpw apikey
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { stringify } from 'yaml'
import { runCli } from './support/cli.ts'

/**
 * The failures of docs/failures.md in realistic setups. Each `World` below is correct; a row changes it into a setup
 * that failed, and into the most similar ones that work.
 */

/* eslint-disable @typescript-eslint/no-explicit-any, @typescript-eslint/no-unsafe-assignment, @typescript-eslint/no-unsafe-member-access, @typescript-eslint/no-unsafe-call, @typescript-eslint/no-unsafe-return, @typescript-eslint/no-dynamic-delete -- a row changes any part of an object */
type World = Record<string, any>

const object = (kind: string, name: string, spec: object = {}, more: object = {}) => ({
  apiVersion: 'toolhive.stacklok.dev/v1beta1',
  kind,
  metadata: { name, ...more },
  spec,
})
const plain = (kind: string, name: string, data: object) => ({
  apiVersion: 'v1',
  kind,
  metadata: { name },
  data,
})
const secret = (name: string, key = 'value') => ({ name, key })
const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBdzCCAR2gAwIBAgIUJ8mR2R1N0mM2Zq0Qv2nCHk8C9lIwCgYIKoZIzj0EAwIw
-----END CERTIFICATE-----
`

const authServer = (issuer: string) => ({
  issuer,
  signingKeySecretRefs: [secret('auth', 'signing-key')],
  hmacSecretRefs: [secret('auth', 'hmac')],
  storage: {
    type: 'redis',
    redis: {
      aclUserConfig: {
        usernameSecretRef: secret('redis', 'username'),
        passwordSecretRef: secret('redis', 'password'),
      },
      sentinelConfig: {
        masterName: 'mcp',
        sentinelAddrs: ['s0.redis.svc:26379', 's1.redis.svc:26379', 's2.redis.svc:26379'],
      },
      tls: {},
      sentinelTls: {},
    },
  },
  upstreamProviders: [
    {
      name: 'okta',
      type: 'oidc',
      oidcConfig: {
        issuerUrl: 'https://example.okta.com',
        clientId: 'vmcp',
        clientSecretRef: secret('okta'),
        scopes: ['openid', 'offline_access'],
        redirectUri: `${issuer}/oauth/callback`,
      },
    },
  ],
})

const GITHUB = {
  name: 'github',
  type: 'oauth2',
  oauth2Config: {
    authorizationEndpoint: 'https://github.com/login/oauth/authorize',
    tokenEndpoint: 'https://github.com/login/oauth/access_token',
    clientId: 'Iv1',
    clientSecretRef: secret('github'),
    scopes: ['read:user'],
    redirectUri: 'https://mcp.example.com/oauth/callback',
    userInfo: { endpointUrl: 'https://api.github.com/user', fieldMapping: { subjectFields: ['id'] } },
  },
}

const googleAs = (additionalAuthorizationParams: object) => ({
  name: 'okta',
  type: 'oauth2',
  oauth2Config: {
    ...GITHUB.oauth2Config,
    authorizationEndpoint: 'https://accounts.google.com/o/oauth2/v2/auth',
    tokenEndpoint: 'https://oauth2.googleapis.com/token',
    scopes: ['openid', 'email'],
    userInfo: { endpointUrl: 'https://openidconnect.googleapis.com/v1/userinfo' },
    additionalAuthorizationParams,
  },
})

/** A VirtualMCPServer with an embedded authorization server, and a backend that gets an exchanged token. */
const gatewayWorld = (): World => ({
  group: object('MCPGroup', 'tools'),
  tokens: object('MCPOIDCConfig', 'tokens', {
    type: 'inline',
    inline: { issuer: 'https://mcp.example.com' },
  }),
  exchange: object('MCPExternalAuthConfig', 'exchange', {
    type: 'tokenExchange',
    tokenExchange: {
      tokenUrl: 'https://example.okta.com/oauth2/v1/token',
      audience: 'https://jira.example.com',
      clientId: 'vmcp',
      clientSecretRef: secret('okta'),
      subjectProviderName: 'okta',
    },
  }),
  jira: object('MCPServer', 'jira', {
    image: 'example/jira:1',
    groupRef: { name: 'tools' },
  }),
  gateway: object('VirtualMCPServer', 'gateway', {
    groupRef: { name: 'tools' },
    incomingAuth: {
      type: 'oidc',
      oidcConfigRef: {
        name: 'tokens',
        audience: 'https://mcp.example.com/mcp',
        resourceUrl: 'https://mcp.example.com/mcp',
      },
    },
    outgoingAuth: {
      source: 'inline',
      backends: { jira: { type: 'externalAuthConfigRef', externalAuthConfigRef: { name: 'exchange' } } },
    },
    authServerConfig: authServer('https://mcp.example.com'),
  }),
})

/** An MCPRemoteProxy with an embedded authorization server of its own. */
const proxyWorld = (): World => ({
  tokens: object('MCPOIDCConfig', 'tokens', {
    type: 'inline',
    inline: { issuer: 'https://mcp.example.com' },
  }),
  login: object('MCPExternalAuthConfig', 'login', {
    type: 'embeddedAuthServer',
    embeddedAuthServer: authServer('https://mcp.example.com'),
  }),
  proxy: object('MCPRemoteProxy', 'proxy', {
    remoteUrl: 'https://api.example.com/mcp',
    authServerRef: { kind: 'MCPExternalAuthConfig', name: 'login' },
    oidcConfigRef: {
      name: 'tokens',
      audience: 'https://mcp.example.com/mcp',
      resourceUrl: 'https://mcp.example.com/mcp',
    },
  }),
})

/** An MCPRemoteProxy that signs requests with an AWS role. */
const awsWorld = (): World => ({
  tokens: object('MCPOIDCConfig', 'tokens', {
    type: 'inline',
    inline: { issuer: 'https://idp.example.com' },
  }),
  aws: object('MCPExternalAuthConfig', 'aws', {
    type: 'awsSts',
    awsSts: {
      region: 'eu-central-1',
      roleClaim: 'groups',
      fallbackRoleArn: 'arn:aws:iam::123456789012:role/reader',
      roleMappings: [{ claim: 'admins', roleArn: 'arn:aws:iam::123456789012:role/admin' }],
    },
  }),
  proxy: object('MCPRemoteProxy', 'proxy', {
    remoteUrl: 'https://aws.example.com/mcp',
    oidcConfigRef: { name: 'tokens', audience: 'https://proxy.example.com/mcp' },
    externalAuthConfigRef: { name: 'aws' },
  }),
})

type Change = (world: World) => void
interface Row {
  /** The number of the failure in the first list; `2.N` in the second list. */
  readonly story: number | string
  readonly title: string
  /** `gatewayWorld` when omitted. */
  readonly world?: () => World
  readonly wrong: Change
  /** The rule ids that must be reported. */
  readonly finds: readonly string[]
  /** Changes into similar setups that work, in which no finding is reported; when omitted, only the world itself works. */
  readonly right?: Change | readonly Change[]
}

const E = (world: World) => world.gateway?.spec.authServerConfig ?? world.login.spec.embeddedAuthServer

const oidcOf = (world: World) => E(world).upstreamProviders[0].oidcConfig
const refOf = (world: World) =>
  world.gateway?.spec.incomingAuth.oidcConfigRef ?? world.proxy.spec.oidcConfigRef
const within =
  (part: (world: World) => object) =>
  (fields: object): Change =>
  (world) =>
    Object.assign(part(world), fields)
const inServer = within(E)
const inProvider = within(oidcOf)
const inReference = within(refOf)
const audience =
  (value: string | undefined, resourceUrl?: string): Change =>
  (world) => {
    Object.assign(refOf(world), { audience: value, resourceUrl })
    if (resourceUrl === undefined) delete refOf(world).resourceUrl
  }
const issuer =
  (more: object): Change =>
  (world) => {
    E(world).trustedIssuers = [
      {
        issuerUrl: 'https://idp.example.com',
        expectedAudience: 'https://mcp.example.com/mcp',
        allowedDelegateClients: ['agent'],
        allowedActors: ['agent'],
        ...more,
      },
    ]
  }
const cedar = (...policies: string[]) => ({ type: 'inline', inline: { policies } })
const PERMIT = 'permit(principal, action, resource);'
const both =
  (...changes: Change[]): Change =>
  (world) => {
    for (const change of changes) change(world)
  }
const set =
  (path: string, value: unknown): Change =>
  (world) => {
    const steps = path.split('.')
    const last = steps.pop() ?? ''
    let holder = world
    for (const step of steps) holder = holder[step] ??= {}
    if (value === undefined) delete holder[last]
    else holder[last] = value
  }
const discovered = set('gateway.spec.outgoingAuth', { source: 'discovered' })
const XAA = {
  idpTokenUrl: 'https://example.okta.com/oauth2/v1/token',
  targetTokenUrl: 'https://wiki.example.com/token',
  targetAudience: 'https://wiki.example.com',
}
const ROWS: readonly Row[] = [
  {
    story: 17,
    title: 'documents of clients, and three of the four scopes of a proxy',
    world: proxyWorld,
    wrong: (w) => {
      E(w).cimd = { enabled: true }
      refOf(w).scopes = ['openid', 'profile', 'offline_access']
    },
    finds: ['client-document-scopes-advertised'],
    right: inServer({ cimd: { enabled: true } }),
  },
  {
    story: 19,
    title: 'a proxy that advertises no offline_access',
    world: proxyWorld,
    wrong: set('proxy.spec.oidcConfigRef.scopes', ['openid']),
    finds: ['offline-access-advertised'],
    right: set('proxy.spec.oidcConfigRef.scopes', ['openid', 'offline_access']),
  },
  {
    story: 24,
    title: 'two replicas of a proxy with logins in memory',
    world: proxyWorld,
    wrong: (w) => {
      w.proxy.spec.replicas = 2
      delete E(w).storage
    },
    finds: ['auth-server-storage-shared'],
    right: set('proxy.spec.replicas', 2),
  },
  {
    story: 24,
    title: 'two replicas that sign with keys of their own',
    wrong: (w) => {
      w.gateway.spec.replicas = 2
      delete E(w).signingKeySecretRefs
    },
    finds: ['auth-server-storage-shared'],
    right: set('gateway.spec.replicas', 2),
  },
  {
    story: 2,
    title: 'a cross-application access of a proxy that is in no group',
    world: proxyWorld,
    wrong: (w) => {
      w.wiki = object('MCPExternalAuthConfig', 'wiki', { type: 'xaa', xaa: XAA })
      w.proxy.spec.externalAuthConfigRef = { name: 'wiki' }
    },
    finds: ['auth-config-type-suited'],
  },
  {
    story: 1,
    title: 'a member that checks tokens, beside an entry that adds its credential itself',
    wrong: both(
      discovered,
      set('jira.spec.oidcConfigRef', { name: 'tokens', audience: 'https://jira.example.com' }),
    ),
    finds: ['backend-credentials-configured'],
    right: (w) => {
      discovered(w)
      w.jira = object('MCPServerEntry', 'jira', {
        remoteUrl: 'https://jira.example.com/mcp',
        transport: 'streamable-http',
        groupRef: { name: 'tools' },
        headerForward: {
          addHeadersFromSecret: [{ headerName: 'X-Api-Key', valueSecretRef: secret('jira') }],
        },
      })
    },
  },
  {
    story: 15,
    title: 'a delegate client that asks for another audience and scope than a proxy has',
    world: proxyWorld,
    wrong: inServer({
      delegateClients: [
        {
          clientId: 'agent',
          clientSecretRef: secret('agent'),
          scopes: ['admin'],
          audiences: ['https://mcp.example.com'],
        },
      ],
    }),
    finds: ['workload-delegate-client-served'],
    right: inServer({
      delegateClients: [
        {
          clientId: 'agent',
          clientSecretRef: secret('agent'),
          scopes: ['openid'],
          audiences: ['https://mcp.example.com/mcp'],
        },
      ],
    }),
  },
  {
    story: 1,
    title: 'the member of a discovering gateway names no credentials, and checks tokens',
    wrong: both(
      discovered,
      set('jira.spec.oidcConfigRef', { name: 'tokens', audience: 'https://jira.example.com' }),
    ),
    finds: ['workload-credentials-configured', 'backend-credentials-configured'],
    right: (w) => {
      w.gateway.spec.outgoingAuth = { source: 'discovered' }
      w.entry = object('MCPServerEntry', 'wiki', {
        remoteUrl: 'https://wiki.example.com/mcp',
        transport: 'streamable-http',
        groupRef: { name: 'tools' },
        externalAuthConfigRef: { name: 'exchange' },
      })
      delete w.jira
    },
  },
  {
    story: 2,
    title: 'a bearer token on an MCPServer',
    wrong: both(
      set('exchange.spec', { type: 'bearerToken', bearerToken: { tokenSecretRef: secret('token') } }),
      set('jira.spec.externalAuthConfigRef', { name: 'exchange' }),
      set('gateway', undefined),
    ),
    finds: ['auth-config-type-suited'],
    right: both(set('aws.spec', { type: 'bearerToken', bearerToken: { tokenSecretRef: secret('token') } })),
  },
  {
    story: 3,
    title: 'an exchange behind several providers that names none',
    wrong: (w) => {
      E(w).upstreamProviders.push(GITHUB)
      delete w.exchange.spec.tokenExchange.subjectProviderName
    },
    finds: ['subject-provider-chosen'],
    right: (w) => {
      E(w).upstreamProviders.push(GITHUB)
    },
  },
  {
    story: 4,
    title: 'roles by a claim that is a string',
    world: awsWorld,
    wrong: set('aws.spec.awsSts.roleClaim', 'scope'),
    finds: ['role-mapping-claim-shape-fits'],
    right: set('aws.spec.awsSts.roleClaim', 'groups'),
  },
  {
    story: 4,
    title: 'a matcher that looks into a string',
    world: awsWorld,
    wrong: set('aws.spec.awsSts.roleMappings', [
      { matcher: '"admin" in claims.scope', roleArn: 'arn:aws:iam::123456789012:role/admin' },
    ]),
    finds: ['role-mapping-claim-shape-fits'],
    right: [
      set('aws.spec.awsSts.roleMappings', [
        {
          matcher: 'has(claims.scope) && claims.scope.contains("admin")',
          roleArn: 'arn:aws:iam::123456789012:role/admin',
        },
      ]),
      set('aws.spec.awsSts.roleMappings', [
        { matcher: '"admins" in claims["groups"]', roleArn: 'arn:aws:iam::123456789012:role/admin' },
      ]),
    ],
  },
  {
    story: 5,
    title: 'a default beside source discovered',
    wrong: set('gateway.spec.outgoingAuth', {
      source: 'discovered',
      default: { type: 'externalAuthConfigRef', externalAuthConfigRef: { name: 'exchange' } },
    }),
    finds: ['outgoing-auth-inline-used'],
    right: set('gateway.spec.outgoingAuth', {
      source: 'inline',
      default: { type: 'externalAuthConfigRef', externalAuthConfigRef: { name: 'exchange' } },
    }),
  },
  {
    story: 5,
    title: 'backends beside source discovered',
    wrong: set('gateway.spec.outgoingAuth.source', 'discovered'),
    finds: ['outgoing-auth-inline-used'],
  },
  {
    story: 6,
    title: 'an audience that is not the resource URL',
    wrong: audience('https://mcp.example.com', 'https://mcp.example.com/mcp'),
    finds: ['auth-server-audience-is-resource-url'],
    right: audience('https://mcp.example.com', 'https://mcp.example.com'),
  },
  {
    story: 6,
    title: 'a public audience without a resource URL',
    wrong: audience('https://mcp.example.com/mcp'),
    finds: ['auth-server-audience-is-resource-url'],
    right: audience('http://vmcp-gateway.default.svc.cluster.local:4483'),
  },
  {
    story: 6,
    title: 'an audience that is not a URI',
    wrong: audience('toolhive', 'toolhive'),
    finds: ['auth-server-audience-is-resource-url'],
    right: (w) => {
      audience('toolhive')(w)
      delete w.gateway.spec.authServerConfig
      w.tokens.spec.inline.issuer = 'https://idp.example.com'
      delete w.exchange.spec.tokenExchange.subjectProviderName
      w.exchange.spec = {
        type: 'headerInjection',
        headerInjection: { headerName: 'X-Key', valueSecretRef: secret('key') },
      }
    },
  },
  {
    story: 6,
    title: 'a proxy with an authorization server and another audience',
    world: proxyWorld,
    wrong: audience('https://mcp.example.com', 'https://mcp.example.com/mcp'),
    finds: ['workload-auth-server-audience-is-resource-url'],
    right: audience('https://p.example.com/mcp', 'https://p.example.com/mcp'),
  },
  {
    story: 6,
    title: 'a proxy with an authorization server that checks no tokens',
    world: proxyWorld,
    wrong: set('proxy.spec.oidcConfigRef', undefined),
    finds: ['auth-config-type-suited'],
  },
  {
    story: 7,
    title: 'an exchange in the gateway and again in the proxy of the server',
    wrong: both(discovered, set('jira.spec.externalAuthConfigRef', { name: 'exchange' })),
    finds: ['backend-token-exchanged-once'],
    right: (w) => {
      discovered(w)
      w.jira = object('MCPServerEntry', 'jira', {
        remoteUrl: 'https://jira.example.com/mcp',
        transport: 'streamable-http',
        groupRef: { name: 'tools' },
        externalAuthConfigRef: { name: 'exchange' },
      })
    },
  },
  {
    story: 7,
    title: 'an exchange in the gateway, and another in the proxy of the server',
    wrong: (w) => {
      w.other = { ...w.exchange, metadata: { name: 'other' } }
      set('gateway.spec.outgoingAuth', {
        source: 'inline',
        backends: { jira: { type: 'externalAuthConfigRef', externalAuthConfigRef: { name: 'exchange' } } },
      })(w)
      set('jira.spec.externalAuthConfigRef', { name: 'other' })(w)
    },
    finds: ['backend-token-exchanged-once'],
  },
  {
    story: 21,
    title: 'a forbid behind another policy in one item',
    wrong: set(
      'gateway.spec.incomingAuth.authzConfig',
      cedar(`${PERMIT} forbid(principal, action, resource == Tool::"delete");`),
    ),
    finds: ['authorization-policy-accepted'],
    right: set(
      'gateway.spec.incomingAuth.authzConfig',
      cedar(PERMIT, 'forbid(principal, action, resource == Tool::"delete");'),
    ),
  },
  {
    story: 8,
    title: 'Authorization is passed through',
    wrong: set('gateway.spec.passthroughHeaders', ['X-Request-Id', 'authorization']),
    finds: ['passthrough-header-allowed'],
    right: set('gateway.spec.passthroughHeaders', ['X-Request-Id']),
  },
  {
    story: 8,
    title: 'Cookie is passed through, by the other place',
    wrong: set('gateway.spec.config', { passthroughHeaders: ['Cookie'] }),
    finds: ['passthrough-header-allowed'],
    right: set('gateway.spec.config', { passthroughHeaders: ['X-Tenant'] }),
  },
  {
    story: 9,
    title: 'a client scope that is not advertised',
    wrong: inServer({ baselineClientScopes: ['openid', 'mcp:tools'] }),
    finds: ['baseline-client-scopes-advertised'],
    right: [
      (w) => {
        E(w).baselineClientScopes = ['openid', 'mcp:tools']
        refOf(w).scopes = ['openid', 'offline_access', 'mcp:tools']
      },
      inServer({ baselineClientScopes: ['openid', 'email'] }),
    ],
  },
  {
    story: 9,
    title: 'a client scope that the proxy does not advertise',
    world: proxyWorld,
    wrong: (w) => {
      E(w).baselineClientScopes = ['openid', 'profile']
      refOf(w).scopes = ['openid', 'offline_access']
    },
    finds: ['workload-baseline-scopes-advertised'],
    right: inServer({ baselineClientScopes: ['openid', 'profile'] }),
  },
  {
    story: 10,
    title: 'a primary provider that is not there',
    wrong: (w) => {
      E(w).primaryUpstreamProvider = 'gitlab'
      w.gateway.spec.incomingAuth.authzConfig = cedar(PERMIT)
    },
    finds: ['primary-upstream-provider-exists'],
    right: (w) => {
      E(w).primaryUpstreamProvider = 'okta'
      w.gateway.spec.incomingAuth.authzConfig = cedar(PERMIT)
    },
  },
  {
    story: 10,
    title: 'policies beside two providers, and no primary one',
    wrong: (w) => {
      E(w).upstreamProviders.push(GITHUB)
      w.gateway.spec.incomingAuth.authzConfig = cedar(
        'permit(principal, action, resource) when { principal.claim_email like "*@example.com" };',
      )
    },
    finds: ['primary-upstream-provider-chosen'],
    right: (w) => {
      E(w).upstreamProviders.push(GITHUB)
      E(w).primaryUpstreamProvider = 'okta'
      w.gateway.spec.incomingAuth.authzConfig = cedar(PERMIT)
    },
  },
  {
    story: 11,
    title: 'a CA bundle in a ConfigMap without the key',
    wrong: (w) => {
      oidcOf(w).caBundleRef = { configMapRef: { name: 'corporate-ca', key: 'ca.crt' } }
      w.ca = plain('ConfigMap', 'corporate-ca', { 'bundle.pem': CERTIFICATE })
    },
    finds: ['config-map-reference-found'],
    right: (w) => {
      oidcOf(w).caBundleRef = { configMapRef: { name: 'corporate-ca', key: 'ca.crt' } }
      w.ca = plain('ConfigMap', 'corporate-ca', { 'ca.crt': CERTIFICATE })
    },
  },
  {
    story: 11,
    title: 'a CA bundle of the issuer that is not PEM',
    world: proxyWorld,
    wrong: (w) => {
      w.tokens.spec.inline.caBundleRef = { configMapRef: { name: 'corporate-ca', key: 'ca.crt' } }
      w.ca = plain('ConfigMap', 'corporate-ca', { 'ca.crt': 'TODO' })
    },
    finds: ['config-map-reference-found'],
    right: (w) => {
      w.tokens.spec.inline.caBundleRef = { configMapRef: { name: 'corporate-ca', key: 'ca.crt' } }
      w.ca = plain('ConfigMap', 'corporate-ca', { 'ca.crt': CERTIFICATE })
    },
  },
  {
    story: 12,
    title: 'a plain http issuer',
    world: awsWorld,
    wrong: set('tokens.spec.inline.issuer', 'http://keycloak.auth.svc:8080/realms/prod'),
    finds: ['oidc-config-url-https'],
    right: set('tokens.spec.inline', {
      issuer: 'http://keycloak.auth.svc:8080/realms/prod',
      insecureAllowHTTP: true,
      jwksAllowPrivateIP: true,
    }),
  },
  {
    story: 12,
    title: 'a plain http jwksUrl',
    world: awsWorld,
    wrong: set('tokens.spec.inline.jwksUrl', 'http://idp.example.com/jwks'),
    finds: ['oidc-config-url-https'],
    right: set('tokens.spec.inline.jwksUrl', 'https://idp.example.com/jwks'),
  },
  {
    story: 20,
    title: 'an issuer in the cluster, of a proxy that signs requests to AWS',
    world: awsWorld,
    wrong: set('tokens.spec.inline.issuer', 'https://keycloak.auth.svc/realms/prod'),
    finds: ['oidc-config-address-allowed'],
    right: set('tokens.spec.inline', {
      issuer: 'https://keycloak.auth.svc/realms/prod',
      jwksAllowPrivateIP: true,
    }),
  },
  ...['claims.azp ==', 'token.azp == "agent"', 'claims.azp', '"agent"', 'false'].map((actorMatcher): Row => ({
    story: 13,
    title: `an actor matcher: ${actorMatcher}`,
    wrong: issuer({ allowedActors: undefined, actorMatcher }),
    finds: [actorMatcher === 'false' ? 'actor-matcher-reads-claims' : 'actor-matcher-compiles'],
    right: issuer({ allowedActors: undefined, actorMatcher: 'has(claims.azp) && claims.azp == "agent"' }),
  })),
  {
    story: 14,
    title: 'a trusted issuer whose actors are not named',
    wrong: issuer({ allowedActors: undefined }),
    finds: ['trusted-issuer-actor-authorized'],
    right: [issuer({}), issuer({ allowedActors: undefined, allowMayAct: true })],
  },
  {
    story: 14,
    title: 'a trusted issuer with an empty list of actors',
    world: proxyWorld,
    wrong: issuer({ allowedActors: [] }),
    finds: ['trusted-issuer-actor-authorized'],
    right: issuer({ allowedActors: ['agent'] }),
  },
  {
    story: 15,
    title: 'a trusted issuer twice',
    wrong: (w) => {
      issuer({})(w)
      E(w).trustedIssuers.push({ ...E(w).trustedIssuers[0] })
    },
    finds: ['trusted-issuer-unique'],
    right: (w) => {
      issuer({})(w)
      E(w).trustedIssuers.push({ ...E(w).trustedIssuers[0], issuerUrl: 'https://b.example.com' })
    },
  },
  ...[
    'https://mcp.example.com',
    'http://localhost:8080',
    'https://idp.example.com?x=1',
    'https://idp.example.com#x',
    'https://u@idp.example.com',
  ].map((issuerUrl): Row => ({
    story: 15,
    title: `a trusted issuer ${issuerUrl}`,
    wrong: issuer({ issuerUrl }),
    finds: [
      issuerUrl === 'https://mcp.example.com' ? 'trusted-issuer-unique' : 'trusted-issuer-url-accepted',
    ],
    right: issuer({ issuerUrl: 'https://other.example.com/' }),
  })),
  {
    story: 15,
    title: 'an actor claim that is reserved',
    wrong: issuer({ actorClaim: 'sub' }),
    finds: ['delegation-policy-accepted'],
    right: issuer({ actorClaim: 'client_id' }),
  },
  {
    story: 15,
    title: 'a wildcard beside names',
    wrong: issuer({ allowedDelegateClients: ['*', 'agent'] }),
    finds: ['delegation-policy-accepted'],
    right: issuer({ allowedDelegateClients: ['*'] }),
  },
  {
    story: 15,
    title: 'a wildcard beside may_act',
    wrong: issuer({ allowedDelegateClients: ['*'], allowMayAct: true }),
    finds: ['delegation-policy-accepted'],
    right: issuer({ allowMayAct: true }),
  },
  {
    story: 17,
    title: 'client metadata documents beside narrowed scopes',
    wrong: (w) => {
      E(w).cimd = { enabled: true }
      refOf(w).scopes = ['openid', 'offline_access']
    },
    finds: ['client-document-scopes-advertised'],
    right: inServer({ cimd: { enabled: true } }),
  },
  {
    story: 19,
    title: 'a provider without refresh tokens',
    wrong: inProvider({ scopes: ['openid', 'email'] }),
    finds: ['upstream-refresh-token-requested'],
    right: [
      inProvider({
        issuerUrl: 'https://accounts.google.com',
        scopes: ['openid'],
        additionalAuthorizationParams: { access_type: 'offline', prompt: 'consent' },
      }),
      inProvider({ scopes: undefined }),
    ],
  },
  {
    story: 19,
    title: 'Google as an OAuth 2.0 provider',
    wrong: inServer({ upstreamProviders: [googleAs({})] }),
    finds: ['upstream-refresh-token-requested'],
    right: inServer({ upstreamProviders: [googleAs({ access_type: 'offline' })] }),
  },
  {
    story: 19,
    title: 'offline_access is not advertised',
    wrong: inReference({ scopes: ['openid', 'email'] }),
    finds: ['offline-access-advertised'],
    right: inReference({ scopes: ['openid', 'offline_access'] }),
  },
  ...[
    'https://10.1.2.3/realms/prod',
    'https://keycloak.auth.svc/realms/prod',
    'https://keycloak.auth.svc.cluster.local:8443/realms/prod',
    'https://[fd00::1]/',
  ].map((issuerUrl): Row => ({
    story: 20,
    title: `a provider at ${issuerUrl}`,
    wrong: inProvider({ issuerUrl }),
    finds: ['upstream-address-allowed'],
    right: [inProvider({ issuerUrl, allowPrivateIPs: true }), inProvider({ issuerUrl: 'https://8.8.8.8/' })],
  })),
  {
    story: 22,
    title: 'the issuer of a proxy differs by a slash',
    world: proxyWorld,
    wrong: set('tokens.spec.inline.issuer', 'https://mcp.example.com/'),
    finds: ['workload-auth-server-tokens-accepted'],
  },
  {
    story: 23,
    title: 'both references of a proxy are authorization servers',
    world: proxyWorld,
    wrong: set('proxy.spec.externalAuthConfigRef', { name: 'login' }),
    finds: ['workload-auth-server-single'],
    right: both(
      set('proxy.spec.authServerRef', undefined),
      set('proxy.spec.externalAuthConfigRef', { name: 'login' }),
    ),
  },
  {
    story: 23,
    title: 'upstream tokens are kept from a proxy that exchanges them',
    world: proxyWorld,
    wrong: (w) => {
      E(w).disableUpstreamTokenInjection = true
      w.exchange = gatewayWorld().exchange
      w.proxy.spec.externalAuthConfigRef = { name: 'exchange' }
    },
    finds: ['workload-credentials-kept'],
    right: inServer({ disableUpstreamTokenInjection: true }),
  },
  {
    story: 24,
    title: 'two replicas with storage in memory',
    wrong: (w) => {
      w.gateway.spec.replicas = 2
      delete E(w).storage
    },
    finds: ['auth-server-storage-shared'],
    right: set('gateway.spec.replicas', 2),
  },
  ...['https://mcp.example.com/cb#x', 'http://mcp.example.com/oauth/callback', '/oauth/callback'].map(
    (redirectUri): Row => ({
      story: 25,
      title: `a redirect URI ${redirectUri}`,
      wrong: inProvider({ redirectUri }),
      finds: [redirectUri.startsWith('/') ? 'upstream-url-absolute' : 'upstream-redirect-uri-accepted'],
      right: [
        inProvider({ redirectUri: 'https://mcp.example.com/oauth/callback' }),
        (w) => {
          w.tokens.spec.inline = { issuer: 'http://localhost:8080', insecureAllowHTTP: true }
          E(w).issuer = 'http://localhost:8080'
          oidcOf(w).redirectUri = 'http://localhost:8080/oauth/callback'
        },
      ],
    }),
  ),
  {
    story: 26,
    title: 'a proxy that gives its credential to anyone',
    world: awsWorld,
    wrong: set('proxy.spec.oidcConfigRef', undefined),
    finds: ['remote-proxy-callers-authenticated'],
  },
  {
    story: 26,
    title: 'a proxy that gives a key in plain text to anyone',
    world: awsWorld,
    wrong: (w) => {
      w.proxy.spec = {
        remoteUrl: 'https://api.example.com/mcp',
        headerForward: { addPlaintextHeaders: { 'X-Api-Key': '0123456789' } },
      }
    },
    finds: ['remote-proxy-callers-authenticated', 'forwarded-credential-in-secret'],
    right: set('proxy.spec.headerForward', { addPlaintextHeaders: { 'X-Tenant-Id': 'tools' } }),
  },
  {
    story: 26,
    title: 'a bearer token is sent for anyone',
    world: awsWorld,
    wrong: both(
      set('aws.spec', { type: 'bearerToken', bearerToken: { tokenSecretRef: secret('token') } }),
      set('proxy.spec.oidcConfigRef', undefined),
    ),
    finds: ['remote-proxy-callers-authenticated'],
    right: set('aws.spec', { type: 'bearerToken', bearerToken: { tokenSecretRef: secret('token') } }),
  },
  {
    story: 27,
    title: 'authentication in spec.config',
    wrong: set('gateway.spec.config', { outgoingAuth: { source: 'inline' } }),
    finds: ['authentication-set-in-spec'],
    right: set('gateway.spec.config', { name: 'gateway' }),
  },
  {
    story: 27,
    title: 'userInfoOverride of an OpenID Connect provider',
    wrong: inProvider({ userInfoOverride: { endpointUrl: 'https://example.okta.com/userinfo' } }),
    finds: ['upstream-user-info-used'],
  },
  {
    story: 28,
    title: 'a client that registers itself, and storage in memory',
    wrong: (w) => {
      const o = oidcOf(w)
      delete o.clientId
      delete o.clientSecretRef
      o.dcrConfig = {}
      E(w).storage = { type: 'memory' }
    },
    finds: ['auth-server-storage-persistent'],
  },
  {
    story: 2,
    title: 'a header is injected into an MCPServerEntry by a bearer token',
    world: () => {
      const w = gatewayWorld()
      w.key = object('MCPExternalAuthConfig', 'key', {
        type: 'bearerToken',
        bearerToken: { tokenSecretRef: secret('key') },
      })
      w.gateway.spec.outgoingAuth.backends.jira.externalAuthConfigRef.name = 'key'
      return w
    },
    wrong: () => undefined,
    finds: ['auth-config-type-suited'],
  },
  {
    story: 5,
    title: 'an inline strategy of type discovered',
    wrong: (w) => {
      w.gateway.spec.outgoingAuth.backends.jira = { type: 'discovered' }
      w.jira.spec.externalAuthConfigRef = { name: 'exchange' }
    },
    finds: ['outgoing-auth-inline-type-resolved'],
  },
  ...(['authorization', 'COOKIE', 'X-Forwarded-For', 'Proxy-Authorization', 'Host'] as const).map(
    (header): Row => ({
      story: 8,
      title: `a header is passed through: ${header}`,
      wrong: (w) => (w.gateway.spec.passthroughHeaders = ['X-Tenant', header]),
      finds: ['passthrough-header-allowed'],
      right: (w) => (w.gateway.spec.passthroughHeaders = ['X-Tenant', 'x-request-id']),
    }),
  ),
  {
    story: 10,
    title: 'a primary provider in the policies, which no provider has',
    wrong: (w) => {
      w.gateway.spec.incomingAuth.authzConfig = {
        type: 'inline',
        inline: { policies: [PERMIT], primaryUpstreamProvider: 'entra' },
      }
    },
    finds: ['primary-upstream-provider-exists'],
    right: (w) => {
      w.gateway.spec.incomingAuth.authzConfig = cedar(PERMIT)
      E(w).primaryUpstreamProvider = 'okta'
    },
  },
  {
    story: 10,
    title: 'policies that are named and not there',
    wrong: (w) => (w.gateway.spec.incomingAuth.authzConfigRef = { name: 'staff' }),
    finds: ['policy-reference-found'],
    right: (w) => {
      w.gateway.spec.incomingAuth.authzConfigRef = { name: 'staff' }
      w.policies = object('MCPAuthzConfig', 'staff', { type: 'cedarv1', config: { policies: [PERMIT] } })
    },
  },
  {
    story: 12,
    title: 'a plain http issuer inside the cluster, of a workload',
    world: proxyWorld,
    wrong: (w) => {
      w.tokens.spec.inline.issuer = 'http://keycloak.auth.svc.cluster.local/realms/mcp'
      delete w.proxy.spec.authServerRef
    },
    finds: ['oidc-config-url-https'],
  },
  ...(
    [
      ['claims.azp == "a" && claims.azp == "b"', 'actor-matcher-reads-claims'],
      ['"agent" in claims["azp"]', 'actor-matcher-reads-claims'],
      ['  claims.groups ', 'actor-matcher-compiles'],
      ["claims['sub']", 'actor-matcher-compiles'],
      ['claims.azp = "agent"', 'actor-matcher-compiles'],
      ['token.azp == "agent"', 'actor-matcher-compiles'],
    ] as const
  ).map(([actorMatcher, id]): Row => ({
    story: 13,
    title: `an actor matcher in inboundGrants: ${actorMatcher}`,
    wrong: inServer({
      trustedIssuers: [{ name: 'ci', issuerUrl: 'https://ci.example.com' }],
      inboundGrants: {
        tokenExchange: {
          issuerPolicies: [
            {
              issuerRef: 'ci',
              expectedAudience: 'https://mcp.example.com/mcp',
              allowedDelegateClients: ['agent'],
              actorMatcher,
            },
          ],
        },
      },
    }),
    finds: [id],
    right: inServer({
      trustedIssuers: [{ name: 'ci', issuerUrl: 'https://ci.example.com' }],
      inboundGrants: {
        tokenExchange: {
          issuerPolicies: [
            {
              issuerRef: 'ci',
              expectedAudience: 'https://mcp.example.com/mcp',
              allowedDelegateClients: ['agent'],
              actorMatcher: 'has(claims.azp) && claims.azp == "agent"',
            },
          ],
        },
      },
    }),
  })),
  ...[
    'https://idp.example.com?tenant=1',
    'https://idp.example.com#a',
    'https://user@idp.example.com',
    'http://localhost:8080',
  ].map((issuerUrl): Row => ({
    story: 15,
    title: `a trusted issuer with the URL ${issuerUrl}`,
    wrong: issuer({ issuerUrl }),
    finds: ['trusted-issuer-url-accepted'],
    right: issuer({ issuerUrl: 'https://idp.example.com/tenant/' }),
  })),
  {
    story: 16,
    title: 'policies about groups for users of GitHub, in an MCPServer',
    world: () => {
      const w = proxyWorld()
      w.proxy = object('MCPServer', 'proxy', {
        image: 'example/tools:1',
        authServerRef: w.proxy.spec.authServerRef,
        oidcConfigRef: w.proxy.spec.oidcConfigRef,
      })
      E(w).upstreamProviders = [GITHUB]
      return w
    },
    wrong: (w) =>
      (w.proxy.spec.authzConfig = cedar('permit(principal in THVGroup::"staff", action, resource);')),
    finds: ['authorization-claims-available'],
    right: (w) => (w.proxy.spec.authzConfig = cedar(PERMIT)),
  },
  ...[
    'https://10.0.0.7',
    'https://[fd00::7]',
    'https://keycloak.auth.svc',
    'https://192.168.1.4:8443/realms/a',
  ].map((issuerUrl): Row => ({
    story: 20,
    title: `a provider at a private address: ${issuerUrl}`,
    wrong: inProvider({ issuerUrl }),
    finds: ['upstream-address-allowed'],
    right: (w) => Object.assign(oidcOf(w), { issuerUrl, allowPrivateIPs: true }),
  })),
  {
    story: 24,
    title: 'two replicas without a word on storage',
    wrong: (w) => {
      w.gateway.spec.replicas = 2
      delete E(w).storage
    },
    finds: ['auth-server-storage-shared'],
  },
  {
    story: 26,
    title: 'a header is sent for anyone',
    world: proxyWorld,
    wrong: (w) => {
      w.key = object('MCPExternalAuthConfig', 'key', {
        type: 'headerInjection',
        headerInjection: { headerName: 'X-Api-Key', valueSecretRef: secret('key') },
      })
      w.proxy.spec = { remoteUrl: 'https://api.example.com/mcp', externalAuthConfigRef: { name: 'key' } }
    },
    finds: ['auth-config-type-suited'],
  },
]

const ENTRY = (headerForward: object) =>
  object('MCPServerEntry', 'wiki', {
    remoteUrl: 'https://wiki.example.com/mcp',
    transport: 'streamable-http',
    groupRef: { name: 'tools' },
    headerForward,
  })
const fromSecret = (headerName: string) => ({
  addHeadersFromSecret: [{ headerName, valueSecretRef: secret('wiki') }],
})
const EXTERNAL: Change = (w) => {
  delete w.gateway.spec.authServerConfig
  delete w.exchange.spec.tokenExchange.subjectProviderName
}
const SPIFFE_DOMAIN = {
  name: 'prod',
  trustDomain: 'prod.example.com',
  methods: ['spiffe_x509', 'spiffe_jwt'],
  bundleSource: { type: 'file', file: { configMapName: 'bundle', configMapKey: 'bundle.json' } },
}
const SPIFFE_CLIENT = {
  clientId: 'agent',
  trustDomainRef: 'prod',
  principalPattern: 'spiffe://prod.example.com/agent',
  methods: ['spiffe_x509'],
  scopes: ['openid'],
  audiences: ['https://mcp.example.com/mcp'],
}
const spiffe =
  (more: object, domains: readonly object[] | undefined = [SPIFFE_DOMAIN]): Change =>
  (w) => {
    E(w).inboundGrants = { spiffeClientAuth: [{ ...SPIFFE_CLIENT, ...more }] }
    if (domains.length > 0) E(w).spiffeTrustDomains = domains
  }
const withoutRedirect: Change = (w) => delete oidcOf(w).redirectUri

const KEY = {
  type: 'headerInjection',
  headerInjection: { headerName: 'X-Api-Key', valueSecretRef: secret('key') },
}
/** Adds a backend with a credential of its own to the group; the VirtualMCPServer's `backends` does not list it. */
const withOwnKey =
  (kind: string, spec: object = KEY, outgoingAuth: object = {}): Change =>
  (w) => {
    w.key = object('MCPExternalAuthConfig', 'key', spec)
    w.wiki = object(kind, 'wiki', {
      groupRef: { name: 'tools' },
      externalAuthConfigRef: { name: 'key' },
      ...(kind === 'MCPServer' ? { image: 'example/wiki:1' } : { remoteUrl: 'https://wiki.example.com/mcp' }),
      ...(kind === 'MCPServerEntry' && { transport: 'streamable-http' }),
    })
    Object.assign(w.gateway.spec.outgoingAuth, outgoingAuth)
  }
const listed: Change = (w) => {
  w.gateway.spec.outgoingAuth.backends.wiki = {
    type: 'externalAuthConfigRef',
    externalAuthConfigRef: { name: 'key' },
  }
}
const DEFAULT = (name: string) => ({
  default: { type: 'externalAuthConfigRef', externalAuthConfigRef: { name } },
})
const EXCHANGE_WITH_SECRET = {
  type: 'tokenExchange',
  tokenExchange: {
    tokenUrl: 'https://example.okta.com/oauth2/v1/token',
    audience: 'https://wiki.example.com',
    clientId: 'wiki',
    clientSecretRef: secret('okta'),
    subjectProviderName: 'okta',
  },
}

const EXCHANGE = {
  type: 'tokenExchange',
  tokenExchange: {
    tokenUrl: 'https://example.okta.com/oauth2/v1/token',
    audience: 'https://wiki.example.com',
    subjectProviderName: 'okta',
  },
}

/** Failures of the second list, by their number there. */
const SECOND_LIST: readonly Row[] = [
  ...['MCPServer', 'MCPServerEntry'].flatMap((kind): Row[] => [
    {
      story: '2.3',
      title: `the key of an ${kind} that an inline gateway does not list`,
      wrong: withOwnKey(kind),
      finds: ['own-reference-listed'],
      right: [both(withOwnKey(kind), listed), withOwnKey(kind, KEY, DEFAULT('key'))],
    },
    {
      story: '2.3',
      title: `the key of an ${kind}, beside another default`,
      wrong: withOwnKey(kind, KEY, DEFAULT('exchange')),
      finds: ['own-reference-listed'],
    },
  ]),
  {
    story: '2.3',
    title: 'an exchange with a Secret, of an entry that is not listed',
    wrong: withOwnKey('MCPServerEntry', EXCHANGE_WITH_SECRET),
    finds: ['own-reference-listed'],
    right: both(withOwnKey('MCPServerEntry', EXCHANGE_WITH_SECRET), listed),
  },
  ...[gatewayWorld, proxyWorld].flatMap((world): Row[] => [
    {
      story: '2.1',
      title: `${world.name}: a path in resourceUrl, and no redirectUri`,
      world,
      wrong: withoutRedirect,
      finds: ['login-callback-served'],
      right: [
        both(withoutRedirect, audience('https://mcp.example.com', 'https://mcp.example.com')),
        both(withoutRedirect, audience('https://mcp.example.com/', 'https://mcp.example.com/')),
        set('unused', undefined),
      ],
    },
    {
      story: '2.1',
      title: `${world.name}: an empty redirectUri of an OAuth 2.0 provider`,
      world,
      wrong: (w) => {
        E(w).upstreamProviders = [{ ...GITHUB, oauth2Config: { ...GITHUB.oauth2Config, redirectUri: '' } }]
        if (w.exchange) w.exchange.spec.tokenExchange.subjectProviderName = 'github'
      },
      finds: ['login-callback-served'],
    },
    ...[
      '/mcp/oauth/callback',
      '/callback',
      '',
      '/oauth/callback/',
      '/OAuth/Callback',
      '?a=/oauth/callback',
    ].map((path): Row => ({
      story: '2.1',
      title: `${world.name}: a redirectUri with the path '${path}'`,
      world,
      wrong: inProvider({ redirectUri: `https://mcp.example.com${path}` }),
      finds: ['upstream-redirect-uri-served'],
      right: [
        inProvider({ redirectUri: 'https://mcp.example.com:443/oauth/callback' }),
        inProvider({ redirectUri: 'https://mcp.example.com/oauth/callback?a=b' }),
      ],
    })),
    {
      story: '2.1b',
      title: `${world.name}: an issuer with a path`,
      world,
      wrong: (w) => {
        E(w).issuer = 'https://mcp.example.com/auth'
        w.tokens.spec.inline.issuer = 'https://mcp.example.com/auth'
      },
      finds: ['auth-server-url-without-path'],
      right: (w) => {
        E(w).issuer = 'https://mcp.example.com:8443'
        w.tokens.spec.inline.issuer = 'https://mcp.example.com:8443'
      },
    },
    {
      story: '4 of the first list',
      title: `${world.name}: a scope of a delegate client that is not advertised`,
      world,
      wrong: inServer({
        inboundGrants: {
          tokenExchange: {
            delegateClients: [
              {
                clientId: 'agent',
                clientSecretRef: secret('agent'),
                scopes: ['openid', 'tools:write'],
                audiences: ['https://mcp.example.com/mcp'],
              },
            ],
          },
        },
      }),
      finds: [
        world === gatewayWorld ? 'delegate-client-scopes-advertised' : 'workload-delegate-client-served',
      ],
    },
    {
      story: '4 of the first list',
      title: `${world.name}: a scope of a SPIFFE client that is not advertised`,
      world,
      wrong: spiffe({ methods: ['spiffe_jwt'], scopes: ['tools:write'] }),
      finds: [
        world === gatewayWorld ? 'delegate-client-scopes-advertised' : 'workload-delegate-client-served',
      ],
    },
    {
      story: '4 of the first list',
      title: `${world.name}: a SPIFFE client with a certificate, and no listener`,
      world,
      wrong: spiffe({ methods: ['spiffe_jwt', 'spiffe_x509'] }),
      finds: ['spiffe-client-tls-listener-configured'],
    },
    {
      story: '4 of the first list',
      title: `${world.name}: a SPIFFE client of an unknown trust domain`,
      world,
      wrong: spiffe({ trustDomainRef: 'production', methods: ['spiffe_jwt'] }),
      finds: ['spiffe-client-trust-domain-configured'],
    },
    {
      story: '4 of the first list',
      title: `${world.name}: a SPIFFE client without any trust domain`,
      world,
      wrong: spiffe({}, []),
      finds: ['spiffe-client-trust-domain-configured'],
    },
  ]),
  {
    story: '2.1',
    title: 'the second provider of a gateway',
    wrong: (w) => {
      E(w).upstreamProviders.push({
        ...GITHUB,
        oauth2Config: { ...GITHUB.oauth2Config, redirectUri: '' },
      })
    },
    finds: ['login-callback-served'],
    right: (w) => E(w).upstreamProviders.push(GITHUB),
  },
  {
    story: '4 of the first list',
    title: 'a proxy that exchanges the tokens of anyone',
    world: awsWorld,
    wrong: (w) => {
      w.aws.spec = {
        type: 'tokenExchange',
        tokenExchange: { tokenUrl: 'https://idp.example.com/token', audience: 'wiki' },
      }
      delete w.proxy.spec.oidcConfigRef
    },
    finds: ['remote-proxy-callers-authenticated'],
    right: (w) => {
      w.aws.spec = {
        type: 'tokenExchange',
        tokenExchange: { tokenUrl: 'https://idp.example.com/token', audience: 'wiki' },
      }
    },
  },
  ...[
    'mcp.example.com/mcp',
    '/mcp',
    'https://mcp.example.com/mcp#tools',
    'urn:example:tools',
    'https:///mcp',
  ].map((resourceUrl): Row => ({
    story: '2.8',
    title: `beside an external issuer, the resourceUrl '${resourceUrl}'`,
    wrong: both(EXTERNAL, audience('tools', resourceUrl)),
    finds: ['resource-url-absolute'],
    right: [
      both(EXTERNAL, audience('tools', 'https://mcp.example.com/mcp')),
      both(EXTERNAL, audience('tools', 'http://localhost:4483/mcp')),
      both(EXTERNAL, audience('tools')),
    ],
  })),
  {
    story: '2.8',
    title: 'a proxy whose resourceUrl has a fragment',
    world: awsWorld,
    wrong: set('proxy.spec.oidcConfigRef.resourceUrl', 'https://proxy.example.com/mcp#a'),
    finds: ['resource-url-absolute'],
    right: set('proxy.spec.oidcConfigRef.resourceUrl', 'https://proxy.example.com/mcp'),
  },
  {
    story: '2.8b',
    title: 'a gateway and its backend with one audience',
    wrong: both(
      EXTERNAL,
      audience('tools'),
      set('jira.spec.oidcConfigRef', { name: 'tokens', audience: 'tools' }),
    ),
    finds: ['audience-unique'],
    right: [
      both(EXTERNAL, audience('tools'), set('jira.spec.oidcConfigRef', { name: 'tokens', audience: 'jira' })),
      both(
        EXTERNAL,
        audience('tools'),
        set('jira.spec.oidcConfigRef', { name: 'other', audience: 'tools' }),
        set(
          'other',
          object('MCPOIDCConfig', 'other', { type: 'inline', inline: { issuer: 'https://idp.example.com' } }),
        ),
      ),
    ],
  },
  {
    story: '2.8c',
    title: 'the scope of refresh tokens, for another issuer',
    wrong: both(
      EXTERNAL,
      set('gateway.spec.incomingAuth.oidcConfigRef.scopes', ['openid', 'offline_access']),
    ),
    finds: ['refresh-scope-not-advertised'],
    right: [
      both(EXTERNAL, set('gateway.spec.incomingAuth.oidcConfigRef.scopes', ['openid', 'tools'])),
      set('gateway.spec.incomingAuth.oidcConfigRef.scopes', ['openid', 'offline_access']),
    ],
  },
  ...['host', 'CONNECTION', 'X-Forwarded-Host', 'transfer-encoding', 'Proxy-Authorization', 'te'].flatMap(
    (name): Row[] => [
      {
        story: '2.13',
        title: `the header ${name} in plain text of a proxy`,
        world: awsWorld,
        wrong: set('proxy.spec.headerForward', { addPlaintextHeaders: { [name]: 'x' } }),
        finds: ['forwarded-header-allowed'],
        right: set('proxy.spec.headerForward', { addPlaintextHeaders: { 'X-Host': 'x' } }),
      },
      {
        story: '2.13',
        title: `the header ${name} from a Secret of an entry`,
        wrong: (w) => (w.wiki = ENTRY(fromSecret(name))),
        finds: ['forwarded-header-allowed'],
        right: (w) => (w.wiki = ENTRY(fromSecret('Authorization'))),
      },
    ],
  ),
  ...[
    ['authorization', 'Bearer abc'],
    ['Cookie', 'session=1'],
    ['X-API-Key', '123'],
    ['PRIVATE-TOKEN', 'glpat-x'],
    ['Ocp-Apim-Subscription-Key', '123'],
    ['X-Custom', 'Basic dXNlcjpwYXNz'],
    ['X-Vault-Token', 'hvs.x'],
    ['DD-APPLICATION-KEY', 'x'],
  ].map(([name = '', value]): Row => ({
    story: '2.14',
    title: `the header ${name} in plain text`,
    wrong: (w) => (w.wiki = ENTRY({ addPlaintextHeaders: { [name]: value } })),
    finds: ['forwarded-credential-in-secret'],
    right: (w) => (w.wiki = ENTRY(fromSecret(name))),
  })),
  {
    story: '2.14',
    title: 'an API key in plain text of a proxy, beside headers that are none',
    world: awsWorld,
    wrong: set('proxy.spec.headerForward', { addPlaintextHeaders: { 'X-Tenant-Id': 'a', apikey: 'b' } }),
    finds: ['forwarded-credential-in-secret'],
    right: set('proxy.spec.headerForward', {
      addPlaintextHeaders: {
        'X-Tenant-Id': 'a',
        'X-Atlassian-Token': 'no-check',
        'X-MCP-Toolsets': 'repos,issues',
        'X-MCP-Readonly': 'true',
        'anthropic-version': '2023-06-01',
        'Idempotency-Key': 'a',
        Accept: 'application/json',
      },
    }),
  },
  ...[
    [set('gateway.spec.passthroughHeaders', ['X-Request-Id', 'x-api-key']), fromSecret('X-API-Key')],
    [
      set('gateway.spec.config', { passthroughHeaders: ['X-Tenant'] }),
      { addPlaintextHeaders: { 'x-tenant': 'a' } },
    ],
  ].map(([passing, headers]): Row => ({
    story: '2.15',
    title: `a header that is passed and set: ${JSON.stringify(headers)}`,
    wrong: both(passing as Change, (w) => (w.wiki = ENTRY(headers as object))),
    finds: ['passed-header-set-once'],
    right: [
      both(passing as Change, (w) => (w.wiki = ENTRY(fromSecret('X-Other')))),
      both(passing as Change, (w) => {
        w.wiki = ENTRY(headers as object)
        w.wiki.spec.groupRef = { name: 'other' }
        w.other = object('MCPGroup', 'other')
      }),
    ],
  })),
]

/** Callers bring tokens of the cluster, for which `settings` say where the keys are. */
const clusterTokens =
  (settings: object): Change =>
  (world) => {
    world.tokens.spec = { type: 'kubernetesServiceAccount', kubernetesServiceAccount: settings }
    delete world.exchange
    delete world.gateway.spec.authServerConfig
    delete world.gateway.spec.incomingAuth.oidcConfigRef.resourceUrl
    world.gateway.spec.incomingAuth.oidcConfigRef.audience = 'vmcp'
    world.key = KEY_CONFIG
    world.gateway.spec.outgoingAuth.backends.jira.externalAuthConfigRef.name = 'key'
  }
const KEY_CONFIG = object('MCPExternalAuthConfig', 'key', {
  type: 'headerInjection',
  headerInjection: { headerName: 'X-Api-Key', valueSecretRef: secret('jira') },
})
const EKS = 'https://oidc.eks.eu-central-1.amazonaws.com/id/0123456789ABCDEF0123456789ABCDEF'
const PUBLIC_KEYS = clusterTokens({ issuer: EKS, useClusterAuth: false })
const awsSts =
  (settings: object): Change =>
  (world) => {
    Object.assign(world.aws.spec.awsSts, settings)
  }
const inIssuer =
  (issuer: string): Change =>
  (world) => {
    world.tokens.spec.inline.issuer = issuer
  }
const AUTH0 = inIssuer('https://example.eu.auth0.com/')
const at =
  (remoteUrl: string): Change =>
  (world) => {
    world.proxy.spec.remoteUrl = remoteUrl
  }

/** Failures that nobody reports. */
const SILENT: readonly Row[] = [
  {
    story: 'keys',
    title: 'the keys of the API server, without a token',
    world: gatewayWorld,
    wrong: clusterTokens({}),
    finds: ['incoming-keys-without-token'],
    right: [PUBLIC_KEYS],
  },
  {
    story: 'keys',
    title: 'public keys, with the CA of the cluster',
    world: gatewayWorld,
    wrong: clusterTokens({ issuer: EKS }),
    finds: ['oidc-config-cluster-ca-suited'],
    right: [PUBLIC_KEYS],
  },
  {
    story: 'AWS',
    title: 'the subjects of Auth0 as the name of a session',
    world: awsWorld,
    wrong: AUTH0,
    finds: ['session-name-accepted'],
    right: [both(AUTH0, awsSts({ sessionNameClaim: 'azp' }))],
  },
  {
    story: 'AWS',
    title: 'another region than that of the server',
    world: awsWorld,
    wrong: at('https://aws-mcp.us-east-1.api.aws/mcp'),
    finds: ['aws-region-agreed'],
    right: [
      at('https://aws-mcp.eu-central-1.api.aws/mcp'),
      both(at('https://aws-mcp.us-east-1.api.aws/mcp'), awsSts({ region: 'us-east-1' })),
    ],
  },
  {
    story: 'names',
    title: 'a name that makes no Service',
    world: awsWorld,
    wrong: (world) => {
      world.proxy.metadata.name = 'aws.tools'
    },
    finds: ['service-name-valid'],
    right: [
      (world) => {
        world.proxy.metadata.name = 'aws-tools'
      },
    ],
  },
]

async function findings(world: World, flags: readonly string[] = []): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'vmcp-failures-'))
  try {
    const text = Object.values(world)
      .filter(Boolean)
      .map((each) => stringify(each))
      .join('---\n')
    await writeFile(join(folder, 'all.yaml'), text)
    const { stdout, stderr } = await runCli(['check', '--advice', ...flags, 'all.yaml'], { cwd: folder })
    return (stdout + stderr).split('\n').filter((line) => /: (error|warning|advice): /.test(line))
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** Whether a line is anything but the advice about a deprecated field that still works. */
const isNoNote = (line: string): boolean =>
  !/: advice: .*\((?:delegation-in-inbound-grants|primary-upstream-provider-in-auth-server)\)$/.test(line)

for (const [name, world] of Object.entries({ gatewayWorld, proxyWorld, awsWorld })) {
  t.test(`${name} is right`, async (t) => {
    t.strictSame(await findings(world()), [])
    t.strictSame((await findings(world(), ['--release', '0.63'])).filter(isNoNote), [])
  })
}

for (const { story, title, world = gatewayWorld, wrong, finds, right = [] } of [
  ...ROWS,
  ...SECOND_LIST,
  ...SILENT,
]) {
  t.test(`${story}: ${title}`, async (t) => {
    const changed = (change: Change, ...flags: string[]) => {
      const made = world()
      change(made)
      return findings(made, flags)
    }
    const found = await changed(wrong)
    const ids = new Set(found.map((line) => /\(([^()]*)\)$/.exec(line)?.[1]))
    for (const id of finds) t.ok(ids.has(id), `${id} in\n${found.join('\n')}`)
    for (const change of [right].flat()) {
      t.strictSame((await changed(change)).filter(isNoNote), [])
      t.strictSame((await changed(change, '--release', '0.63')).filter(isNoNote), [], 'in the newest release')
    }
  })
}

t.test('an own reference that is not listed, by release', async (t) => {
  const rows: [spec: object, release: string, says: RegExp | undefined][] = [
    [
      KEY,
      'none',
      /the specification has no credentials for it, releases use its own .* up to 0\.56 vMCP does not start/,
    ],
    [
      KEY,
      '0.44',
      /this release uses its own .*, and vMCP does not start, .*: "environment variable … not set"/,
    ],
    [KEY, '0.56', /this release uses its own .*, and vMCP does not start/],
    [KEY, '0.57', undefined],
    [KEY, '0.63', undefined],
    [EXCHANGE_WITH_SECRET, '0.50', /this release uses its own .*, and vMCP does not start/],
    [{ type: 'unauthenticated' }, 'none', undefined],
    [{ type: 'unauthenticated' }, '0.44', undefined],
    [
      EXCHANGE,
      'none',
      /advice: .*the specification has no credentials for it, releases use its own .*agreed/,
    ],
    [EXCHANGE, '0.44', undefined],
    [EXCHANGE, '0.63', undefined],
  ]
  for (const [spec, release, says] of rows) {
    const world = gatewayWorld()
    withOwnKey('MCPServerEntry', spec)(world)
    const found = (await findings(world, ['--release', release])).filter((line) =>
      line.includes('VirtualMCPServer gateway: spec.outgoingAuth'),
    )
    if (says === undefined) t.strictSame(found, [], release)
    else t.match(found.join('\n'), says, release)
  }
})

t.test('rows of the second list, by release', async (t) => {
  const delegates: Change = inServer({
    delegateClients: [
      {
        clientId: 'agent',
        clientSecretRef: secret('agent'),
        scopes: ['openid'],
        audiences: ['https://mcp.example.com/mcp'],
      },
    ],
  })
  const primary: Change = (w) => {
    w.gateway.spec.incomingAuth.authzConfig = {
      type: 'inline',
      inline: { policies: [PERMIT], primaryUpstreamProvider: 'okta' },
    }
  }
  const sessions: Change = (w) => {
    w.gateway.spec.sessionStorage = { provider: 'redis', address: 'redis.tools.svc:6379' }
    w.gateway.spec.config = {
      sessionStorage: { provider: 'redis', address: 'redis.tools.svc:6379', tls: {} },
    }
  }
  const checkingJira: Change = (w) =>
    (w.jira.spec.oidcConfigRef = { name: 'tokens', audience: 'https://mcp.example.com/mcp' })
  const byDefault: Change = (w) =>
    (w.gateway.spec.outgoingAuth = { default: w.gateway.spec.outgoingAuth.backends.jira })
  const byEntry: Change = (w) => delete w.gateway.spec.outgoingAuth.source
  const forOther: Change = (w) => {
    const { jira } = w.gateway.spec.outgoingAuth.backends
    w.gateway.spec.outgoingAuth = { backends: { wiki: jira } }
  }
  const OTHER_PROVIDER: Change = (w) => (w.exchange.spec.tokenExchange.subjectProviderName = 'octa')
  const awsBehindGitHub: Change = (w) => {
    w.exchange.spec = {
      type: 'awsSts',
      awsSts: { region: 'eu-west-1', fallbackRoleArn: 'arn:aws:iam::123456789012:role/admin' },
    }
    w.gateway.spec.authServerConfig.upstreamProviders = [
      {
        name: 'github',
        type: 'oauth2',
        oauth2Config: {
          authorizationEndpoint: 'https://github.com/login/oauth/authorize',
          tokenEndpoint: 'https://github.com/login/oauth/access_token',
          clientId: 'vmcp',
        },
      },
    ]
  }
  const all = ['none', '0.44', '0.55', '0.63']
  const rows: [
    title: string,
    change: Change,
    id: string,
    said: readonly string[],
    unsaid: readonly string[],
  ][] = [
    ['1', withoutRedirect, 'login-callback-served', all, []],
    ['1', inProvider({ redirectUri: 'https://mcp.example.com/' }), 'upstream-redirect-uri-served', all, []],
    ['8', both(EXTERNAL, audience('tools', '/mcp')), 'resource-url-absolute', all, []],
    ['13', (w) => (w.wiki = ENTRY(fromSecret('Host'))), 'forwarded-header-allowed', all, []],
    ['SPIFFE', spiffe({ trustDomainRef: 'other' }), 'spiffe-client-trust-domain-configured', ['none'], []],
    // In these releases the API server refuses the reference itself.
    ['SPIFFE', spiffe({ trustDomainRef: 'other' }), 'release-accepts', ['0.50', '0.63'], ['none']],
    ['SPIFFE', spiffe({}), 'spiffe-client-tls-listener-configured', ['none', '0.62'], []],
    ['deprecated', delegates, 'delegation-in-inbound-grants', ['none', '0.47', '0.63'], ['0.43', '0.46']],
    ['deprecated', primary, 'primary-upstream-provider-in-auth-server', ['none', '0.29', '0.63'], ['0.28']],
    ['deprecated', sessions, 'session-storage-tls-in-spec', ['none', '0.50'], ['0.55', '0.63']],
    ['deprecated', sessions, 'release-accepts', ['0.55', '0.63'], ['none']],
    ...[byDefault, byEntry].flatMap((change): (typeof rows)[number][] => [
      ['5', both(checkingJira, change), 'backend-credentials-configured', ['none', '0.46'], ['0.47', '0.63']],
      [
        '5',
        both(checkingJira, change),
        'workload-credentials-configured',
        ['none', '0.46'],
        ['0.47', '0.63'],
      ],
      ['5', both(OTHER_PROVIDER, change), 'auth-config-served', ['0.47', '0.63'], ['none', '0.46']],
      // For entries of `backends`, the operator fills in the first provider.
      ['18', both(awsBehindGitHub, change), 'aws-subject-token-readable', ['0.47', '0.63'], ['none', '0.46']],
    ]),
    ['5', both(checkingJira, forOther), 'backend-credentials-configured', ['none', '0.46', '0.63'], []],
  ]
  for (const [title, change, id, said, unsaid] of rows)
    for (const release of [...said, ...unsaid]) {
      const world = gatewayWorld()
      change(world)
      const found = (await findings(world, ['--release', release])).filter((line) => line.endsWith(`(${id})`))
      t.equal(found.length > 0, said.includes(release), `${title}: ${id} in ${release}`)
    }
})

t.test('what a rule says, by release', async (t) => {
  const roleArn = 'arn:aws:iam::123456789012:role/admin'
  const passing = (...headers: string[]) => set('gateway.spec.passthroughHeaders', headers)
  const UP_TO_48 = /: warning: .*"azp" is a string, not a list: up to release 0\.48 no `claim` matches;/
  const NOT_STARTED = /: warning: .*may not be passed on: the server does not start/
  const NO_REFERENCE = set('gateway.spec.outgoingAuth', {
    source: 'discovered',
    default: { type: 'externalAuthConfigRef' },
  })
  const NO_PROVIDER: Change = (w) => {
    w.gateway.spec.incomingAuth.authzConfig = cedar(PERMIT)
    Object.assign(E(w), { upstreamProviders: [], inboundGrants: { tokenExchange: {} } })
  }
  const BESIDE_DISCOVERED: Change = (w) => {
    const { backends } = w.gateway.spec.outgoingAuth
    w.gateway.spec.outgoingAuth = { source: 'discovered', backends, default: backends.jira }
  }
  const ENTRY_OVERRULED = both(withOwnKey('MCPServerEntry', EXCHANGE), (w) => {
    w.gateway.spec.outgoingAuth.source = 'discovered'
    w.gateway.spec.outgoingAuth.backends.wiki = w.gateway.spec.outgoingAuth.backends.jira
  })
  const ENTRY_REPEATED = both(ENTRY_OVERRULED, (w) => {
    w.gateway.spec.outgoingAuth.backends.wiki.externalAuthConfigRef = w.wiki.spec.externalAuthConfigRef
  })
  const DROPPED = /: warning: .* is dropped after the start; set/
  const EITHER = /: warning: .* is dropped after the start \(up to release 0\.46\), or counts only for/
  const rows: [world: () => World, change: Change, id: string, says: Record<string, RegExp | undefined>][] = [
    [
      gatewayWorld,
      BESIDE_DISCOVERED,
      'outgoing-auth-inline-used',
      { none: EITHER, '0.46': DROPPED, '0.47': undefined, '0.63': undefined },
    ],
    [
      gatewayWorld,
      ENTRY_OVERRULED,
      'outgoing-auth-inline-used',
      {
        none: EITHER,
        '0.46': DROPPED,
        '0.63':
          /backends\[wiki\]: with source 'discovered' MCPExternalAuthConfig "[a-z-]+" of the backend itself goes before it;/,
      },
    ],
    [gatewayWorld, ENTRY_REPEATED, 'outgoing-auth-inline-used', { '0.63': undefined }],
    [
      awsWorld,
      set('aws.spec.awsSts.roleClaim', 'azp'),
      'role-mapping-claim-shape-fits',
      { none: UP_TO_48, '0.48': UP_TO_48, '0.50': undefined, '0.63': undefined },
    ],
    [
      awsWorld,
      set('aws.spec.awsSts.roleClaim', 'scope'),
      'role-mapping-claim-shape-fits',
      { '0.63': /: warning: .*up to release 0\.48 no `claim` matches, later only one that is the whole/ },
    ],
    [
      awsWorld,
      set('aws.spec.awsSts.roleMappings', [{ roleArn }]),
      'role-mapping-has-condition',
      { none: /: warning: .*operator refuses/, '0.44': /: error: .*operator refuses/ },
    ],
    [
      gatewayWorld,
      NO_REFERENCE,
      'outgoing-auth-default-ref-configured',
      { none: /: warning: .*does not reconcile/, '0.63': /: error: .*does not reconcile/ },
    ],
    [
      gatewayWorld,
      withOwnKey('MCPServerEntry', { type: 'xaa', xaa: XAA }),
      'newer-subject-provider-exists',
      { none: undefined, '0.63': undefined },
    ],
    [
      gatewayWorld,
      both(withOwnKey('MCPServerEntry', { type: 'xaa', xaa: XAA }), (w) => {
        E(w).upstreamProviders.push(GITHUB)
      }),
      'newer-subject-provider-exists',
      { none: undefined, '0.63': /chooses none of several providers, so no call gets a token/ },
    ],
    [
      gatewayWorld,
      passing('authorization'),
      'passthrough-header-allowed',
      { none: NOT_STARTED, '0.42': /: warning: .*: from release 0\.43 on/, '0.43': NOT_STARTED },
    ],
    [
      gatewayWorld,
      passing('Host'),
      'passthrough-header-allowed',
      { '0.42': NOT_STARTED, '0.63': NOT_STARTED },
    ],
    [
      gatewayWorld,
      issuer({ allowedActors: undefined, actorMatcher: 'claims.groups.exists(g, size(g) > 2.0)' }),
      'actor-matcher-compiles',
      {
        none: /: warning: .*, so workloads of releases from 0\.59 do not start/,
        '0.58': undefined,
        '0.63': /: warning: .*, so the workload does not start/,
      },
    ],
    [
      gatewayWorld,
      NO_PROVIDER,
      'primary-upstream-provider-chosen',
      { none: /: warning: .*add a provider/, '0.63': /: warning: .*add a provider/ },
    ],
  ]
  for (const [world, change, id, says] of rows)
    for (const [release, text] of Object.entries(says)) {
      const made = world()
      change(made)
      const found = (await findings(made, ['--release', release])).filter((line) => line.endsWith(`(${id})`))
      if (text === undefined) t.strictSame(found, [], `${id} in ${release}`)
      else t.match(found.join('\n'), text, `${id} in ${release}`)
    }
})
