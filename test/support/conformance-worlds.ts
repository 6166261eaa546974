import { createHash } from 'node:crypto'
import { API_VERSION, DEFAULT_API_GROUP } from '../../src/kinds/index.ts'
import { referencesOf } from '../../src/relations/references.ts'
import { DEMANDED_OF_WORKLOADS, examplesAt, rulePlaces } from '../../src/kinds/places.ts'
import type { ReleaseSchema } from '../../src/release/schema.ts'
import { isObject } from '../../src/rule/resource.ts'
import { knownReleases } from './releases.ts'

type Json = Record<string, unknown>

/** An object to judge, and the other objects of its cluster. */
export interface World {
  /** A digest of the objects, by which recorded verdicts are found. */
  readonly id: string
  readonly title: string
  readonly object: Json
  readonly others: readonly Json[]
}

const secret = (name: string) => ({ name, key: 'value' })
const ISSUER = 'https://auth.example.com'
const RESOURCE = 'https://mcp.example.com/mcp'

/** The examples of all rules with the objects to which they refer, and objects at the bounds of each field. */
export function worlds(): readonly World[] {
  const found = new Map<string, World>()
  for (const { title, ...built } of [...exampleWorlds(), ...boundaryWorlds(), ...probeWorlds()]) {
    // As in a request: JSON has no undefined fields.
    const each = { title, ...(JSON.parse(JSON.stringify(built)) as Pick<World, 'object' | 'others'>) }
    const id = createHash('sha256')
      .update(canonical([each.object, each.others]))
      .digest('hex')
      .slice(0, 12)
    if (!found.has(id)) found.set(id, { id, ...each })
  }
  return [...found.values()]
}

const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, field: unknown) =>
    isObject(field)
      ? Object.fromEntries(Object.entries(field).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : field,
  )

function exampleWorlds(): Omit<World, 'id'>[] {
  return rulePlaces().flatMap((place) => {
    const { rule, kind, at } = place
    return examplesAt(place).map(({ title, resource, others }): Omit<World, 'id'> => {
      const object = runnable(
        at.length > 0 && kind.kind === 'VirtualMCPServer' ? gatewayWith(resource) : resource,
      )
      const given = others.map(runnable)
      const isWhole = rule.id === 'reference-found'
      return {
        title: `${rule.id}: ${title}`,
        object,
        others:
          rule.reads.length === 0 ? beside(object) : isWhole ? given : [...given, ...besides(object, given)],
      }
    })
  })
}

/** Puts an embedded authorization server into a VirtualMCPServer that releases accept otherwise. */
const gatewayWith = (resource: Json): Json => ({
  ...resource,
  spec: { ...GATEWAY, authServerConfig: (resource.spec as Json).authServerConfig },
})

const GATEWAY = {
  groupRef: { name: 'tools' },
  incomingAuth: { type: 'oidc', oidcConfigRef: { name: 'tools', audience: RESOURCE, resourceUrl: RESOURCE } },
}
const SERVING = ['VirtualMCPServer', { ...GATEWAY, authServerConfig: server() }] as const

/** The resource with the audience in `oidcConfigRef`, where releases read it. */
function runnable(resource: Json): Json {
  const { kind, spec } = resource
  if (!isObject(spec)) return resource
  const { incomingAuth } = spec
  if (kind !== 'VirtualMCPServer' || !isObject(incomingAuth) || !isObject(incomingAuth.oidcConfigRef))
    return resource
  const { audience, oidcConfigRef, ...rest } = incomingAuth
  if (audience === undefined || 'audience' in oidcConfigRef) return resource
  return {
    ...resource,
    spec: { ...spec, incomingAuth: { ...rest, oidcConfigRef: { ...oidcConfigRef, audience } } },
  }
}

/** The MCPGroups, MCPOIDCConfigs and Secrets to which the example refers without including them. */
function besides(object: Json, others: readonly Json[]): Json[] {
  const nameOf = ({ kind, metadata }: Json) => `${kind as string} ${(metadata as Json).name as string}`
  const given = new Set([object, ...others].map(nameOf))
  const lacking = [object, ...others].flatMap(beside).filter((each) => {
    const isNew = !given.has(nameOf(each))
    given.add(nameOf(each))
    return isNew && ['MCPGroup', 'MCPOIDCConfig', 'Secret'].includes(each.kind as string)
  })
  return lacking
}

/** The objects to which an object refers, so that its verdict does not depend on missing objects. */
function beside(object: Json): Json[] {
  const kind = object.kind as string
  const server = (object.spec as Json | undefined)?.authServerConfig as Json | undefined
  const issuer = typeof server?.issuer === 'string' ? server.issuer : ISSUER
  const specs: Readonly<Record<string, unknown>> = {
    MCPGroup: {},
    MCPOIDCConfig: { type: 'inline', inline: { issuer } },
    MCPExternalAuthConfig: { type: 'unauthenticated' },
  }
  const named = new Map(referencesOf(kind, object).map(({ to }) => [`${to.kind} ${to.name}`, to]))
  const others = [...named.values()].map((to) => resourceOf(to.kind, to.name, specs[to.kind]))
  const members = membersOf(object)
  return [...others, ...members, ...secretsOf([object, ...members])]
}

/** The members of a VirtualMCPServer's group: one for each key of `backends`, and one more. */
function membersOf({ kind, spec }: Json): Json[] {
  if (kind !== 'VirtualMCPServer') return []
  const { groupRef, outgoingAuth } = (spec ?? {}) as {
    groupRef?: unknown
    outgoingAuth?: { backends?: unknown }
  }
  const names =
    isObject(outgoingAuth) && isObject(outgoingAuth.backends) ? Object.keys(outgoingAuth.backends) : []
  const members = [...names, 'other']
    .filter((name) => /^[a-z0-9-]+$/.test(name))
    .map((name) =>
      resourceOf('MCPServerEntry', name, {
        ...DEMANDED_OF_WORKLOADS.MCPServerEntry,
        groupRef,
        externalAuthConfigRef: { name: 'key' },
      }),
    )
  const headerInjection = { headerName: 'X-Api-Key', valueSecretRef: secret('key') }
  return [
    ...members,
    resourceOf('MCPExternalAuthConfig', 'key', { type: 'headerInjection', headerInjection }),
  ]
}

const resourceOf = (kind: string, name: string, spec: unknown): Json => ({
  apiVersion: `${DEFAULT_API_GROUP}/${API_VERSION}`,
  kind,
  metadata: { name, namespace: 'default' },
  spec,
})

/** The Secrets with all keys to which the objects refer. */
function secretsOf(objects: readonly unknown[]): Json[] {
  const keys = new Map<string, Set<string>>()
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(visit)
    else if (isObject(value)) {
      const { name, key } = value
      if (typeof name === 'string' && typeof key === 'string' && name !== '' && key !== '')
        keys.set(name, (keys.get(name) ?? new Set()).add(key))
      Object.values(value).forEach(visit)
    }
  }
  objects.forEach(visit)
  const given = new Set(
    objects
      .filter((each) => (each as Json).kind === 'Secret')
      .map((each) => ((each as Json).metadata as Json).name),
  )
  return [...keys]
    .filter(([name]) => !given.has(name) && /^[a-z0-9.-]+$/.test(name))
    .map(([name, of]) => ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name, namespace: 'default' },
      data: Object.fromEntries([...of].map((key) => [key, Buffer.from('s'.repeat(40)).toString('base64')])),
    }))
}

/** Objects with every field of the specification, except fields that exclude each other. */
const BASES: readonly (readonly [kind: string, spec: Json])[] = [
  ['MCPGroup', { description: 'tools' }],
  ['MCPExternalAuthConfig', { type: 'unauthenticated' }],
  [
    'MCPExternalAuthConfig',
    {
      type: 'tokenExchange',
      tokenExchange: {
        tokenUrl: 'https://idp.example.com/token',
        audience: 'jira',
        clientId: 'vmcp',
        clientSecretRef: secret('idp'),
        scopes: ['read'],
        subjectTokenType: 'access_token',
        subjectProviderName: 'okta',
        externalTokenHeaderName: 'X-Token',
      },
    },
  ],
  [
    'MCPExternalAuthConfig',
    { type: 'headerInjection', headerInjection: { headerName: 'X-Api-Key', valueSecretRef: secret('key') } },
  ],
  ['MCPExternalAuthConfig', { type: 'bearerToken', bearerToken: { tokenSecretRef: secret('token') } }],
  ['MCPExternalAuthConfig', { type: 'upstreamInject', upstreamInject: { providerName: 'okta' } }],
  [
    'MCPExternalAuthConfig',
    {
      type: 'awsSts',
      awsSts: {
        region: 'eu-central-1',
        service: 'execute-api',
        fallbackRoleArn: 'arn:aws:iam::123456789012:role/reader',
        roleMappings: [
          { claim: 'admins', roleArn: 'arn:aws:iam::123456789012:role/admin', priority: 1 },
          {
            matcher: '"dev" in claims["groups"]',
            roleArn: 'arn:aws:iam::123456789012:role/dev',
            priority: 2,
          },
        ],
        roleClaim: 'groups',
        sessionDuration: 3600,
        sessionNameClaim: 'sub',
      },
    },
  ],
  [
    'MCPExternalAuthConfig',
    {
      type: 'xaa',
      xaa: {
        idpTokenUrl: 'https://idp.example.com/token',
        targetTokenUrl: 'https://api.example.com/token',
        targetAudience: 'https://api.example.com',
      },
    },
  ],
  ['MCPExternalAuthConfig', { type: 'obo', obo: {} }],
  ['MCPExternalAuthConfig', { type: 'embeddedAuthServer', embeddedAuthServer: server() }],
  SERVING,
  ['VirtualMCPServer', { groupRef: { name: 'tools' }, incomingAuth: { type: 'anonymous' } }],
  [
    'VirtualMCPServer',
    {
      groupRef: { name: 'tools' },
      incomingAuth: {
        type: 'oidc',
        oidcConfigRef: { name: 'tools', audience: 'tools', scopes: ['openid'], resourceUrl: RESOURCE },
      },
      outgoingAuth: {
        source: 'inline',
        default: { type: 'externalAuthConfigRef', externalAuthConfigRef: { name: 'fallback' } },
        backends: {
          jira: { type: 'externalAuthConfigRef', externalAuthConfigRef: { name: 'jira' } },
          wiki: { type: 'discovered' },
        },
      },
    },
  ],
  [
    'MCPOIDCConfig',
    {
      type: 'inline',
      inline: {
        issuer: ISSUER,
        clientId: 'vmcp',
        clientSecretRef: secret('oidc'),
        jwksUrl: `${ISSUER}/jwks`,
        introspectionUrl: `${ISSUER}/introspect`,
      },
    },
  ],
  [
    'MCPOIDCConfig',
    {
      type: 'kubernetesServiceAccount',
      kubernetesServiceAccount: {
        serviceAccount: 'vmcp',
        namespace: 'default',
        issuer: 'https://kubernetes.default.svc',
      },
    },
  ],
  [
    'MCPServer',
    {
      ...DEMANDED_OF_WORKLOADS.MCPServer,
      groupRef: { name: 'tools' },
      externalAuthConfigRef: { name: 'none' },
    },
  ],
  [
    'MCPRemoteProxy',
    {
      ...DEMANDED_OF_WORKLOADS.MCPRemoteProxy,
      groupRef: { name: 'tools' },
      externalAuthConfigRef: { name: 'none' },
      oidcConfigRef: { name: 'tools', audience: 'tools' },
    },
  ],
  [
    'MCPServerEntry',
    {
      ...DEMANDED_OF_WORKLOADS.MCPServerEntry,
      groupRef: { name: 'tools' },
      externalAuthConfigRef: { name: 'none' },
    },
  ],
]

/** An embedded authorization server that has a provider of each type. */
function server(): Json {
  return {
    issuer: ISSUER,
    authorizationEndpointBaseUrl: ISSUER,
    signingKeySecretRefs: [secret('keys')],
    hmacSecretRefs: [secret('keys')],
    tokenLifespans: { accessTokenLifespan: '1h', refreshTokenLifespan: '168h', authCodeLifespan: '10m' },
    upstreamProviders: [
      {
        name: 'okta',
        type: 'oidc',
        oidcConfig: {
          issuerUrl: 'https://okta.example.com',
          clientId: 'vmcp',
          clientSecretRef: secret('okta'),
          redirectUri: `${ISSUER}/oauth/callback`,
          scopes: ['openid', 'offline_access'],
          additionalAuthorizationParams: { prompt: 'consent' },
        },
      },
      {
        name: 'github',
        type: 'oauth2',
        oauth2Config: {
          authorizationEndpoint: 'https://github.example.com/authorize',
          tokenEndpoint: 'https://github.example.com/token',
          clientId: 'vmcp',
          clientSecretRef: secret('github'),
          redirectUri: `${ISSUER}/oauth/callback`,
          scopes: ['read:user'],
          userInfo: {
            endpointUrl: 'https://github.example.com/user',
            httpMethod: 'GET',
            additionalHeaders: { Accept: 'application/json' },
            fieldMapping: { subjectFields: ['id'], nameFields: ['name'], emailFields: ['email'] },
          },
          tokenResponseMapping: {
            accessTokenPath: 'access_token',
            scopePath: 'scope',
            refreshTokenPath: 'refresh_token',
            expiresInPath: 'expires_in',
          },
        },
      },
    ],
    storage: {
      type: 'redis',
      redis: {
        sentinelConfig: { masterName: 'main', sentinelAddrs: ['sentinel:26379'], db: 0 },
        aclUserConfig: { usernameSecretRef: secret('redis'), passwordSecretRef: secret('redis') },
        dialTimeout: '5s',
        readTimeout: '3s',
        writeTimeout: '3s',
        tls: {},
        sentinelTls: {},
      },
    },
  }
}

const ISSUERS = {
  issuerUrl: 'https://idp.example.com',
  expectedAudience: 'tools',
  allowedDelegateClients: ['agent'],
  allowedActors: ['robot'],
}
const BINDINGS = [{ subject: 'robot', allowedResources: [RESOURCE] }]
const DELEGATE = {
  clientId: 'agent',
  clientSecretRef: secret('agent'),
  scopes: ['openid'],
  audiences: [RESOURCE],
}
const GRANT = { maxAssertionAge: '5m', subjectBindings: BINDINGS }
const NAMED = { name: 'idp', issuerUrl: 'https://idp.example.com' }
const POLICY = {
  issuerRef: 'idp',
  expectedAudience: 'tools',
  allowedDelegateClients: ['agent'],
  allowedActors: ['robot'],
}
const SPIFFE = {
  spiffeTrustDomains: [
    {
      name: 'prod',
      trustDomain: 'example.com',
      methods: ['spiffe_jwt'],
      bundleSource: { type: 'file', file: { configMapName: 'bundle', configMapKey: 'bundle' } },
    },
  ],
  inboundGrants: {
    spiffeClientAuth: [
      {
        clientId: 'agent',
        trustDomainRef: 'prod',
        principalPattern: 'spiffe://example.com/agent/*',
        methods: ['spiffe_jwt'],
        scopes: ['openid'],
        audiences: [RESOURCE],
      },
    ],
  },
}

const spiffeDomain = (fields: object) => ({
  ...SPIFFE,
  spiffeTrustDomains: [{ ...SPIFFE.spiffeTrustDomains[0], ...fields }],
})
const spiffeClients = (...clients: readonly object[]) => ({
  ...SPIFFE,
  inboundGrants: {
    spiffeClientAuth: clients.map((fields) => ({ ...SPIFFE.inboundGrants.spiffeClientAuth[0], ...fields })),
  },
})
const asserting = (fields: object = {}) => [
  { issuerUrl: 'https://idp.example.com', jwtBearerGrant: { ...GRANT, ...fields } },
]
const trusting = (inboundGrants: object) => ({ trustedIssuers: [NAMED], inboundGrants })
const GITHUB = {
  authorizationEndpoint: 'https://github.example.com/authorize',
  tokenEndpoint: 'https://github.example.com/token',
}

/**
 * Paths and values in an embedded authorization server: settings that the specification lacks, and values that the CRDs
 * accept but the operator refuses.
 */
const SERVER_PROBES: readonly (readonly [at: string, ...values: readonly unknown[]])[] = [
  ['issuer', 'http://auth.example.com', 'http://localhost:8080', 'https://auth.example.com:99999'],
  ['insecureAllowHTTP', true],
  ['allowConfidentialClientRegistration', true],
  ['allowPrivateKeyJWTRegistration', true],
  ['disableUpstreamTokenInjection', true],
  ['forceConfidentialRedirectUris', ['https://app.example.com/cb'], ['https://localhost/cb']],
  ['baselineClientScopes', ['openid'], ['jira'], ['openid', 'openid']],
  ['cimd', { enabled: true }, { enabled: true, cacheFallbackTtl: '1ms' }, { enabled: true, cacheMaxSize: 1 }],
  ['primaryUpstreamProvider', 'okta', 'gitlab'],
  ['registrationRateLimit', { maxTokens: 1, refillPeriod: '1s' }, { maxTokens: 1, refillPeriod: '1ns' }],
  [
    'tlsListener',
    { certificateSecretRef: secret('tls'), privateKeySecretRef: secret('tls') },
    { certificateSecretRef: { name: '', key: '' }, privateKeySecretRef: secret('tls') },
  ],
  ['tokenLifespans.accessTokenLifespan', '1s', '25h', '0s'],
  ['tokenLifespans.refreshTokenLifespan', '1m', '1h', '9000h'],
  ['tokenLifespans.authCodeLifespan', '1s', '15m', '1h'],
  [
    'storage',
    { type: 'memory' },
    { type: 'memory', maxDCRClients: 0 },
    { type: 'memory', redis: { addr: 'redis:6379', aclUserConfig: { passwordSecretRef: secret('redis') } } },
  ],
  [
    'storage.redis',
    { addr: 'redis:6379', aclUserConfig: { passwordSecretRef: secret('redis') } },
    { addr: 'redis', clusterMode: true, aclUserConfig: { passwordSecretRef: secret('redis') } },
  ],
  ['storage.redis.dialTimeout', '0s', '1h'],
  ['storage.redis.sentinelConfig.sentinelAddrs', [], ['sentinel'], ['']],
  [
    'delegateClients',
    [DELEGATE],
    [DELEGATE, DELEGATE],
    [{ ...DELEGATE, scopes: ['jira'] }],
    [{ ...DELEGATE, audiences: ['https://api.example.com'] }],
    [{ ...DELEGATE, clientId: 'https://agent.example.com' }],
  ],
  [
    'trustedIssuers',
    [ISSUERS],
    [ISSUERS, ISSUERS],
    [{ issuerUrl: 'https://idp.example.com' }],
    [{ ...ISSUERS, issuerUrl: ISSUER }],
    [{ ...ISSUERS, issuerUrl: 'http://idp.example.com' }],
    [{ ...ISSUERS, issuerUrl: 'http://localhost:8080' }],
    [{ ...ISSUERS, issuerUrl: 'http://idp.example.com', insecureAllowHTTP: true }],
    [{ ...ISSUERS, issuerUrl: 'https://idp.example.com?tenant=1' }],
    [{ ...ISSUERS, issuerUrl: 'https://user@idp.example.com' }],
    [{ ...ISSUERS, issuerUrl: 'idp' }],
    [{ ...ISSUERS, jwksUrl: 'http://idp.example.com/jwks' }],
    [{ ...ISSUERS, jwksUrl: 'https://10.0.0.1/jwks' }],
    [{ ...ISSUERS, jwksUrl: 'https://10.0.0.1/jwks', allowPrivateIPs: true }],
    [{ ...ISSUERS, jwksUrl: 'https://idp.example.com/jwks#keys' }],
    [{ ...ISSUERS, actorClaim: 'sub' }],
    [{ ...ISSUERS, actorMatcher: 'claims.sub == "x"' }],
    [{ ...ISSUERS, actorMatcher: 'claims.' }],
    [{ ...ISSUERS, actorMatcher: 'actor.sub == "x"' }],
    [{ ...ISSUERS, actorMatcher: '"x"' }],
    [{ ...ISSUERS, allowedActors: undefined }],
    [{ ...ISSUERS, allowedDelegateClients: ['*'] }],
    asserting(),
    asserting({ acceptedAudiences: [RESOURCE] }),
    asserting({ acceptedAudiences: ['https://auth.example.com/token'] }),
    asserting({ subjectBindings: [{ subject: 'robot', allowedResources: ['https://other.example.com'] }] }),
    asserting({ maxAssertionAge: '720h' }),
  ],
  [
    'inboundGrants',
    {},
    { tokenExchange: {} },
    { jwtBearer: {} },
    { tokenExchange: { delegateClients: [DELEGATE] } },
  ],
  [
    '',
    trusting({ tokenExchange: { issuerPolicies: [POLICY] } }),
    trusting({ tokenExchange: { issuerPolicies: [{ ...POLICY, allowedActors: undefined }] } }),
    trusting({ tokenExchange: { issuerPolicies: [{ ...POLICY, actorMatcher: 'claims.' }] } }),
    trusting({ jwtBearer: { issuerPolicies: [{ issuerRef: 'idp', ...GRANT }] } }),
    trusting({
      jwtBearer: { issuerPolicies: [{ issuerRef: 'idp', ...GRANT, acceptedAudiences: [RESOURCE] }] },
    }),
    trusting({ tokenExchange: {} }),
    { upstreamProviders: undefined, inboundGrants: { tokenExchange: {} } },
    { upstreamProviders: undefined, inboundGrants: {} },
    { upstreamProviders: undefined, inboundGrants: { tokenExchange: { delegateClients: [DELEGATE] } } },
    { upstreamProviders: undefined, delegateClients: [DELEGATE] },
    {
      upstreamProviders: [],
      trustedIssuers: asserting(),
    },
    { issuer: 'http://localhost:8080', allowConfidentialClientRegistration: true },
    {
      issuer: 'http://localhost:8080',
      allowConfidentialClientRegistration: true,
      insecureAllowConfidentialOverLoopbackHTTP: true,
    },
    { issuer: 'http://auth.example.com', insecureAllowHTTP: true },
    { issuer: 'http://auth.example.com', insecureAllowHTTP: true, allowPrivateKeyJWTRegistration: true },
    {
      allowConfidentialClientRegistration: true,
      forceConfidentialRedirectUris: ['https://app.example.com/cb'],
    },
    { allowConfidentialClientRegistration: true, forceConfidentialRedirectUris: ['https://localhost/cb'] },
    SPIFFE,
    spiffeDomain({ bundleSource: { type: 'workload_api', workloadAPI: {} } }),
    spiffeDomain({
      bundleSource: {
        type: 'bundle_endpoint',
        endpoint: { url: 'https://spire.example.com', profile: 'https_web' },
      },
    }),
    spiffeDomain({
      bundleSource: { type: 'bundle_endpoint', endpoint: { url: 'http://10.0.0.1', profile: 'https_web' } },
    }),
    spiffeClients({ scopes: ['jira'] }),
    spiffeClients({ resources: ['https://other.example.com'] }),
    spiffeClients({ audiences: ['https://other.example.com'] }),
    spiffeClients({}, { clientId: 'other', principalPattern: 'spiffe://example.com/agent/one' }),
    {
      ...spiffeClients({ methods: ['spiffe_x509'] }),
      spiffeTrustDomains: spiffeDomain({ methods: ['spiffe_x509'] }).spiffeTrustDomains,
    },
  ],
  [
    'upstreamProviders.0.oidcConfig.issuerUrl',
    'https://okta.example.com/',
    'https://',
    'https://10.0.0.1',
    'https://okta.example.com?x=1',
    'https://user@okta.example.com',
  ],
  [
    'upstreamProviders.0.oidcConfig.redirectUri',
    'https://auth.example.com/cb#x',
    'http://auth.example.com/cb',
    'http://localhost/cb',
    '/cb',
    'myapp://cb',
  ],
  ['upstreamProviders.0.oidcConfig.scopes', ['profile'], ['openid openid'], ['']],
  ['upstreamProviders.0.oidcConfig.subjectClaim', 'oid', ''],
  ['upstreamProviders.0.oidcConfig.allowPrivateIPs', true],
  ['upstreamProviders.0.oidcConfig.omitScopeOnRefresh', true],
  [
    'upstreamProviders.0.oidcConfig.additionalAuthorizationParams',
    { client_id: 'x' },
    { access_type: 'offline' },
    { nonce: 'x' },
    { prompt: 'none' },
    { resource: 'x' },
  ],
  [
    'upstreamProviders.0.oidcConfig.additionalTokenParams',
    { audience: 'x' },
    { client_secret: 'x' },
    { scope: 'x' },
    { resource: 'x' },
  ],
  ['upstreamProviders.0.oidcConfig.userInfoOverride', { endpointUrl: 'https://okta.example.com/userinfo' }],
  [
    'upstreamProviders.0.oidcConfig.caBundleRef',
    { configMapRef: { name: 'ca', key: 'ca.crt' } },
    { configMapRef: { name: 'ca', key: '' } },
  ],
  [
    'upstreamProviders.0.oidcConfig',
    { issuerUrl: 'https://okta.example.com', dcrConfig: {} },
    { issuerUrl: 'https://okta.example.com', clientId: '', dcrConfig: {} },
  ],
  [
    'upstreamProviders.1.oauth2Config.redirectUri',
    'https://auth.example.com/cb#x',
    'http://auth.example.com/cb',
  ],
  [
    'upstreamProviders.1.oauth2Config.authorizationEndpoint',
    'http://github.example.com/authorize',
    'http://localhost/authorize',
    'https://github.example.com/authorize?x=1',
    'https://10.0.0.1/authorize',
  ],
  ['upstreamProviders.1.oauth2Config.insecureAllowHTTP', true],
  [
    'upstreamProviders.1.oauth2Config.tokenEndpointAuthMethod',
    'none',
    'client_secret_basic',
    'client_secret_post',
  ],
  ['upstreamProviders.1.oauth2Config.clientSecretRef', undefined],
  ['upstreamProviders.1.oauth2Config.additionalTokenParams', { audience: 'x' }, { code: 'x' }],
  [
    'upstreamProviders.1.oauth2Config.additionalAuthorizationParams',
    { state: 'x' },
    { response_mode: 'query' },
  ],
  ['upstreamProviders.1.oauth2Config.userInfo.httpMethod', 'POST'],
  [
    'upstreamProviders.1.oauth2Config.userInfo.endpointUrl',
    'http://github.example.com/user',
    'https://10.0.0.1/user',
  ],
  ['upstreamProviders.1.oauth2Config.userInfo.additionalHeaders', { Authorization: 'x' }, { Host: 'x' }],
  [
    'upstreamProviders.1.oauth2Config.identityFromToken',
    { subjectPath: 'id' },
    { subjectPath: ' ' },
    { subjectPath: '@upstreamjwt' },
    { subjectPath: 'a..b' },
  ],
  [
    'upstreamProviders.1.oauth2Config',
    { ...GITHUB, dcrConfig: { registrationEndpoint: 'https://github.example.com/register' } },
    {
      ...GITHUB,
      dcrConfig: { discoveryUrl: 'https://github.example.com/.well-known/oauth-authorization-server' },
    },
    { ...GITHUB, clientId: 'public', tokenEndpointAuthMethod: 'client_secret_basic' },
    { ...GITHUB, clientId: 'public' },
  ],
  ['upstreamProviders.0.name', 'default', 'synthetic', 'a'],
]

/** Paths and values, as in SERVER_PROBES, of whole VirtualMCPServers and of the other kinds. */
const PROBES: readonly (readonly [
  base: readonly [string, Json],
  at: string,
  ...values: readonly unknown[],
])[] = [
  [SERVING, 'incomingAuth.oidcConfigRef.resourceUrl', undefined, 'https://other.example.com', 'tools'],
  [SERVING, 'incomingAuth.oidcConfigRef.audience', 'tools', `${RESOURCE}/`],
  [SERVING, 'incomingAuth.oidcConfigRef.scopes', ['openid'], ['jira'], []],
  [SERVING, 'passthroughHeaders', ['X-Trace'], ['Authorization'], ['cookie'], ['a b'], ['']],
  [SERVING, 'replicas', 2],
  [
    SERVING,
    'authServerUpstreamFilter',
    { rules: [{ groups: ['dev'], upstreamProviders: ['okta'] }] },
    { rules: [{ groups: ['dev'], upstreamProviders: ['gitlab'] }] },
    {
      claim: 'groups',
      defaultUpstreams: ['gitlab'],
      rules: [{ groups: ['dev'], upstreamProviders: ['okta'] }],
    },
  ],
  [
    SERVING,
    'incomingAuth.authzConfig',
    { type: 'inline', inline: { policies: ['permit(principal, action, resource);'] } },
    { type: 'inline', inline: { policies: ['permit('] } },
    {
      type: 'inline',
      inline: { policies: ['permit(principal, action, resource);'], primaryUpstreamProvider: 'gitlab' },
    },
    { type: 'inline', inline: { policies: ['permit(principal, action, resource);'], entitiesJson: '{' } },
    { type: 'configMap', configMap: { name: 'policies' } },
  ],
  [
    ['VirtualMCPServer', GATEWAY],
    'incomingAuth.authzConfig',
    { type: 'inline', inline: { policies: ['permit(principal, action, resource);'] } },
    {
      type: 'inline',
      inline: { policies: ['permit(principal, action, resource);'], primaryUpstreamProvider: 'okta' },
    },
  ],
  [
    ['VirtualMCPServer', GATEWAY],
    'passthroughHeaders',
    ['X-Trace'],
    ['Authorization'],
    ['cookie'],
    ['a b'],
    [''],
    ['x-forwarded-for'],
  ],
  [
    ['VirtualMCPServer', GATEWAY],
    'config',
    { passthroughHeaders: ['Host'] },
    { incomingAuth: { type: 'anonymous' } },
    { outgoingAuth: { source: 'inline' } },
  ],
  [
    ['VirtualMCPServer', GATEWAY],
    'incomingAuth',
    { type: 'anonymous', oidcConfigRef: { name: 'tools', audience: 'tools' } },
  ],
  [
    ['MCPOIDCConfig', { type: 'inline', inline: { issuer: ISSUER } }],
    'inline',
    { issuer: 'http://auth.example.com' },
    { issuer: 'http://auth.example.com', insecureAllowHTTP: true },
    { issuer: 'ftp://auth.example.com', insecureAllowHTTP: true },
    { issuer: 'http://localhost:8080' },
    { issuer: ISSUER, jwksUrl: 'http://auth.example.com/jwks' },
    { issuer: ISSUER, jwksUrl: 'https://10.0.0.1/jwks' },
    { issuer: `${ISSUER}?x=1` },
    { issuer: `${ISSUER}#x` },
    { issuer: 'https://user@auth.example.com' },
    { issuer: ISSUER, caBundleRef: { configMapRef: { name: 'ca', key: 'ca.crt' } } },
    { issuer: ISSUER, introspectionUrl: 'http://auth.example.com/i' },
    { issuer: ISSUER, clientSecretRef: secret('oidc') },
  ],
  [
    ['MCPRemoteProxy', { ...DEMANDED_OF_WORKLOADS.MCPRemoteProxy }],
    'remoteUrl',
    'http://remote.example.com/mcp',
    'https://10.0.0.1/mcp',
    'http://localhost/mcp',
    'https://user:pass@remote.example.com/mcp',
    'http://svc.default.svc.cluster.local/mcp',
  ],
  [
    [
      'MCPRemoteProxy',
      { ...DEMANDED_OF_WORKLOADS.MCPRemoteProxy, oidcConfigRef: { name: 'tools', audience: 'tools' } },
    ],
    'authzConfig',
    { type: 'inline', inline: { policies: ['permit(principal, action, resource);'] } },
    { type: 'inline', inline: { policies: ['permit('] } },
  ],
  [
    [
      'MCPRemoteProxy',
      { ...DEMANDED_OF_WORKLOADS.MCPRemoteProxy, oidcConfigRef: { name: 'tools', audience: 'tools' } },
    ],
    'headerForward',
    { addPlaintextHeaders: { 'X-Env': 'prod' } },
    { addPlaintextHeaders: { Host: 'x' } },
    { addPlaintextHeaders: { Authorization: 'x' } },
  ],
  [
    ['MCPServerEntry', { ...DEMANDED_OF_WORKLOADS.MCPServerEntry, groupRef: { name: 'tools' } }],
    'remoteUrl',
    'http://remote.example.com/mcp',
    'https://10.0.0.1/mcp',
    'http://localhost/mcp',
    'https://user:pass@remote.example.com/mcp',
    'http://svc.default.svc.cluster.local/mcp',
  ],
  [
    ['MCPServerEntry', { ...DEMANDED_OF_WORKLOADS.MCPServerEntry, groupRef: { name: 'tools' } }],
    'caBundleRef',
    { configMapRef: { name: 'ca', key: 'ca.crt' } },
    { configMapRef: { name: 'ca', key: '' } },
  ],
]

function probeWorlds(): Omit<World, 'id'>[] {
  const whole: readonly (readonly [readonly [string, Json], string, ...(readonly unknown[])])[] = [
    ...PROBES,
    ...SERVER_PROBES.flatMap(([at, ...values]) => [
      [
        ['MCPExternalAuthConfig', { type: 'embeddedAuthServer', embeddedAuthServer: server() }],
        `embeddedAuthServer.${at}`,
        ...values,
      ] as const,
      [SERVING, `authServerConfig.${at}`, ...values] as const,
    ]),
  ]
  return whole.flatMap(([[kind, spec], at, ...values]) =>
    values.map((value) => {
      const keys = at.split('.').filter((key) => key !== '')
      const object = resourceOf(kind, 'example', changed(spec, keys, value, at.endsWith('.')))
      return { title: `${kind} spec.${at} = ${JSON.stringify(value)}`, object, others: beside(object) }
    }),
  )
}

/**
 * The value with `to` at a path. If `merges`, the fields of `to` are added to the object there; undefined removes a
 * field.
 */
function changed(value: unknown, [key, ...rest]: readonly string[], to: unknown, merges: boolean): unknown {
  if (key === undefined) return merges ? withoutUndefined({ ...(value as Json), ...(to as Json) }) : to
  if (Array.isArray(value)) return value.with(Number(key), changed(value[Number(key)], rest, to, merges))
  return withoutUndefined({ ...(value as Json), [key]: changed((value as Json)[key], rest, to, merges) })
}

const withoutUndefined = (value: Json): Json =>
  Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined))

/**
 * The objects of BASES, and each of them with one field absent, empty, at a bound of the newest release or just beyond
 * it.
 */
function boundaryWorlds(): Omit<World, 'id'>[] {
  const newest = knownReleases().at(-1)
  return BASES.flatMap(([kind, spec]) => {
    const schema = newest?.schemas[kind]?.properties?.spec
    const variants = schema === undefined ? [] : [...variantsOf(spec, schema, 'spec')]
    return [{ what: 'as it is', value: spec as unknown }, ...variants].map(({ what, value }) => {
      const object = resourceOf(kind, 'example', value)
      return {
        title: `${kind} ${typeof spec.type === 'string' ? spec.type : ''}: ${what}`,
        object,
        others: isObject(value) ? beside(object) : [],
      }
    })
  })
}

interface Variant {
  readonly what: string
  readonly value: unknown
}

/** The variants of a value that differ from it in one place. */
function* variantsOf(value: unknown, schema: ReleaseSchema, path: string): Generator<Variant> {
  for (const [what, other] of boundsOf(value, schema)) yield { what: `${path} ${what}`, value: other }
  if (Array.isArray(value)) {
    const [first] = value as unknown[]
    for (const { what, value: item } of variantsOf(first, schema.items ?? {}, `${path}[0]`))
      yield { what, value: value.with(0, item) }
    for (const [i, item] of value.entries()) {
      if (i > 0 && canonical(Object.keys((item ?? {}) as Json)) !== canonical(Object.keys(first ?? {})))
        for (const variant of variantsOf(item, schema.items ?? {}, `${path}[${i}]`))
          yield { what: variant.what, value: value.with(i, variant.value) }
    }
  } else if (isObject(value)) {
    for (const [name, field] of Object.entries(value)) {
      const rest = Object.fromEntries(Object.entries(value).filter(([other]) => other !== name))
      yield { what: `${path}.${name} absent`, value: rest }
      const of =
        schema.properties?.[name] ??
        (typeof schema.additionalProperties === 'object' ? schema.additionalProperties : {})
      for (const variant of variantsOf(field, of, `${path}.${name}`))
        yield { what: variant.what, value: { ...value, [name]: variant.value } }
    }
  }
}

function* boundsOf(value: unknown, schema: ReleaseSchema): Generator<readonly [string, unknown]> {
  if (typeof value === 'string') {
    yield ['empty', '']
    if (schema.enum !== undefined) yield ['of another value', 'nonsense']
    const { minLength = 0, maxLength } = schema
    if (minLength > 1) yield ['shorter than its bound', value.slice(0, minLength - 1)]
    if (maxLength !== undefined) {
      yield ['at its bound', value + 'x'.repeat(Math.max(0, maxLength - value.length))]
      yield ['beyond its bound', value + 'x'.repeat(Math.max(0, maxLength + 1 - value.length))]
    }
    if (schema.pattern !== undefined) yield ['with a space', `${value} x`]
  } else if (typeof value === 'number') {
    for (const [what, bound, step] of [
      ['least', schema.minimum, -1],
      ['greatest', schema.maximum, 1],
    ] as const)
      if (bound !== undefined) {
        yield [`at its ${what}`, bound]
        yield [`beyond its ${what}`, bound + step]
      }
  } else if (Array.isArray(value)) {
    yield ['empty', []]
    yield ['twice', [...(value as unknown[]), ...(value as unknown[])]]
    const { maxItems } = schema
    if (maxItems !== undefined) {
      const many = (count: number) =>
        Array.from({ length: count }, (_, i) => distinct((value as unknown[])[i % value.length], i))
      yield ['at its bound', many(maxItems)]
      yield ['beyond its bound', many(maxItems + 1)]
    }
  } else if (isObject(value)) {
    yield ['empty', {}]
    yield ['with an unknown field', { ...value, unknownField: 'x' }]
    const { maxProperties } = schema
    if (maxProperties !== undefined)
      yield [
        'beyond its bound',
        Object.fromEntries(Array.from({ length: maxProperties + 1 }, (_, i) => [`k${i}`, 'x'])),
      ]
  }
}

/**
 * The item at index `i` of a list that repeats an item: later ones get other names, because names may have to be
 * unique.
 */
export function distinct(item: unknown, i: number): unknown {
  if (typeof item === 'string') return i === 0 ? item : `${item}-${i}`
  return isObject(item) && typeof item.name === 'string' && i > 0
    ? { ...item, name: `${item.name}-${i}` }
    : item
}
