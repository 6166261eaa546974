import { spawn } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Configuration } from 'oidc-provider'
import t, { type Test } from 'tap'
import { makeAuthority, signLeaf } from '../src/certificates/x509.ts'
import { problemWithKeys } from '../src/probe/keys.ts'
import { expectedIssuer, possibleDocuments } from '../src/probe/metadata.ts'
import { probe, type Target, targetsOf } from '../src/probe/index.ts'
import type { ask as Ask } from '../src/probe/request.ts'
import { ALL_IDS } from '../src/engine/engine-ids.ts'
import { PROBE_IDS } from '../src/engine/probe-ids.ts'
import { runCli, spawnCli } from './support/cli.ts'
import { type LoginProvider, type ProviderSetup, startProvider } from './support/login-provider.ts'
import { programFile } from './support/programs.ts'

const MAIN = programFile('cli')
const WRONG_CLOCK = new URL('support/wrong-clock.ts', import.meta.url).href
const DAY = 86_400_000
const now = Date.now()
const authority = await makeAuthority('probe', { now: now - 10 * DAY, lifetime: 30 * DAY })
const stranger = await makeAuthority('stranger', { now, lifetime: DAY })
const tls = await signLeaf(authority, ['localhost', '127.0.0.1', '::1'], { now, lifetime: DAY })
const folder = mkdtempSync(join(tmpdir(), 'vmcp-probe-'))
t.teardown(() => rmSync(folder, { recursive: true }))

const key = (type: 'rsa' | 'ec' | 'ed25519', options: object = {}) => {
  const { privateKey } = generateKeyPairSync(type as 'rsa', options as { modulusLength: number })
  return privateKey.export({ format: 'jwk' })
}
const RSA = { ...key('rsa', { modulusLength: 2048 }), use: 'sig', alg: 'RS256' }
const ED25519 = { ...key('ed25519'), use: 'sig', alg: 'EdDSA' }
const SETTINGS = {
  jwks: { keys: [RSA] },
  cookies: { keys: ['for-tests'] },
  features: { devInteractions: { enabled: false } },
  scopes: ['openid', 'profile', 'offline_access'],
} as Configuration
const settings = (more: Configuration): Configuration =>
  ({ ...SETTINGS, ...more, features: { ...SETTINGS.features, ...more.features } }) as Configuration

const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'
const ASSERTION = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const offering =
  (...grants: readonly string[]): NonNullable<ProviderSetup['extend']> =>
  (provider) => {
    for (const grant of grants) provider.registerGrantType(grant, () => undefined, [])
  }
/** Changes the provider's answer at a path. */
const answering =
  (path: string, change: (context: { body: unknown; status: number; redirect(to: string): void }) => void) =>
  (provider: Parameters<NonNullable<ProviderSetup['extend']>>[0]) =>
    provider.use(async (context, next) => {
      await next()
      if (context.path === path) change(context)
    })
const discovery = (change: (document: Record<string, unknown>) => void) =>
  answering('/.well-known/openid-configuration', ({ body }) => change(body as Record<string, unknown>))

const object = (kind: string, spec: object, name = 'example') => ({
  apiVersion: 'toolhive.stacklok.dev/v1beta1',
  kind,
  metadata: { name, namespace: 'tools' },
  spec,
})
const caBundleRef = { configMapRef: { name: 'ca', key: 'ca.crt' } }
const configMap = (text = authority.certificate) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'ca', namespace: 'tools' },
  data: { 'ca.crt': text },
})

type Manifests = (url: string, port: number) => readonly object[]
const oidc =
  (more: object = {}): Manifests =>
  (issuer) => [
    object('MCPOIDCConfig', {
      type: 'inline',
      inline: { issuer, jwksAllowPrivateIP: true, caBundleRef, ...more },
    }),
    configMap(),
  ]
const server = (more: object) =>
  object('MCPExternalAuthConfig', {
    type: 'embeddedAuthServer',
    embeddedAuthServer: { issuer: 'https://auth.tools.example.com', ...more },
  })
const resolved = (
  more: Readonly<Record<string, unknown>> | ((url: string) => object),
  url: string,
): object => (typeof more === 'function' ? more(url) : more)
const login =
  (more: Parameters<typeof resolved>[0] = {}): Manifests =>
  (issuerUrl) => {
    const given = resolved(more, issuerUrl)
    const client = 'dcrConfig' in given ? {} : { clientId: 'vmcp' }
    const oidcConfig = { issuerUrl, caBundleRef, ...client, ...given }
    return [server({ upstreamProviders: [{ name: 'corp', type: 'oidc', oidcConfig }] }), configMap()]
  }
const oauth2 =
  (more: (url: string) => object = () => ({})): Manifests =>
  (url) => {
    const oauth2Config = {
      authorizationEndpoint: `${url}/auth`,
      tokenEndpoint: `${url}/token`,
      userInfo: { endpointUrl: `${url}/me` },
      clientId: 'vmcp',
      caBundleRef,
      ...more(url),
    }
    return [server({ upstreamProviders: [{ name: 'corp', type: 'oauth2', oauth2Config }] }), configMap()]
  }
const trusted =
  (more: Parameters<typeof resolved>[0] = {}): Manifests =>
  (issuerUrl) => [
    server({
      trustedIssuers: [
        {
          issuerUrl,
          allowPrivateIPs: true,
          caBundleRef,
          ...resolved(more, issuerUrl),
        },
      ],
    }),
    configMap(),
  ]
const exchange =
  (more: object = {}): Manifests =>
  (url) => [
    object('MCPExternalAuthConfig', {
      type: 'tokenExchange',
      tokenExchange: { tokenUrl: `${url}/token`, audience: 'jira', ...more },
    }),
  ]
const xaa: Manifests = (url) => [
  object('MCPExternalAuthConfig', {
    type: 'xaa',
    xaa: {
      idpTokenUrl: `${url}/token`,
      targetTokenUrl: `${url}/token`,
      targetAudience: 'jira',
      insecureTargetTokenUrl: true,
    },
  }),
]
const entry =
  (more: object = {}): Manifests =>
  (url) => [object('MCPServerEntry', { groupRef: { name: 'g' }, remoteUrl: `${url}/mcp`, ...more })]
const wants401 = answering('/mcp', (context) => {
  context.status = 401
})

/** Serves the protected resource metadata that the operator serves for `resourceUrl: URL/mcp`, with changes. */
const metadata =
  (change: object = {}, path = '/mcp'): NonNullable<ProviderSetup['extend']> =>
  (provider) => {
    const body = {
      resource: `${provider.issuer}/mcp`,
      authorization_servers: [provider.issuer],
      bearer_methods_supported: ['header'],
      scopes_supported: ['openid'],
      ...change,
    }
    answering(`/.well-known/oauth-protected-resource${path}`, (context) => {
      context.status = 200
      context.body = body
    })(provider)
  }
/** A server with a public URL whose callers log in at an issuer. */
const published =
  (path = '/mcp', kind: 'VirtualMCPServer' | 'MCPServer' = 'VirtualMCPServer'): Manifests =>
  (url) => {
    const oidcConfigRef = { name: 'example', audience: 'tools', resourceUrl: url + path }
    const spec = kind === 'MCPServer' ? { oidcConfigRef } : { incomingAuth: { type: 'oidc', oidcConfigRef } }
    return [...oidc({ insecureAllowHTTP: true })(url, 0), object(kind, spec)]
  }

interface Row {
  readonly title: string
  readonly provider?: ProviderSetup
  readonly manifests: Manifests
  readonly args?: readonly string[]
  /** The expected findings. */
  readonly found?: readonly (readonly [id: string, path: string, message: RegExp])[]
  readonly notes?: readonly RegExp[]
}

const INLINE = 'spec.inline'
const UPSTREAM = 'spec.embeddedAuthServer.upstreamProviders[0].oidcConfig'
const OAUTH2 = 'spec.embeddedAuthServer.upstreamProviders[0].oauth2Config'
const RESOURCE_URL = 'spec.incomingAuth.oidcConfigRef.resourceUrl'
const TRUSTED = 'spec.embeddedAuthServer.trustedIssuers[0]'
const good: ProviderSetup = { tls, configuration: settings({}) }
const plain: ProviderSetup = { configuration: settings({}) }
const serving = (extend: NonNullable<ProviderSetup['extend']>, otherwise = good): ProviderSetup => ({
  ...otherwise,
  extend,
})

const ROWS: readonly Row[] = [
  { title: 'an issuer of callers', manifests: oidc() },
  {
    title: 'an issuer that calls itself with a slash at the end',
    provider: { ...good, issuer: (url) => `${url}/` },
    manifests: oidc(),
    found: [
      [
        'probe-issuer-equal',
        `${INLINE}.issuer`,
        /says "https:\/\/localhost:\d+\/", which differs by the slash at its end, so every token is refused with 401; write "/,
      ],
    ],
  },
  {
    title: 'the same, written with the slash',
    provider: { ...good, issuer: (url) => `${url}/` },
    manifests: (url) => oidc()(`${url}/`, 0),
  },
  {
    title: 'an issuer that calls itself otherwise',
    provider: { ...good, issuer: () => 'https://idp.corp' },
    manifests: oidc(),
    found: [['probe-issuer-equal', `${INLINE}.issuer`, /says "https:\/\/idp\.corp", so every token/]],
  },
  {
    title: 'the same beside jwksUrl, where the issuer itself is never asked',
    provider: { ...good, issuer: (url) => `${url}/` },
    manifests: (url) => oidc({ jwksUrl: `${url}/jwks` })(url, 0),
    found: [['probe-issuer-equal', `${INLINE}.issuer`, /slash at its end/]],
  },
  {
    title: 'an issuer without a document, beside jwksUrl',
    provider: good,
    manifests: (url) => oidc({ jwksUrl: `${url}/jwks` })(`${url}/realms/none`, 0),
  },
  {
    title: 'an issuer for every tenant',
    provider: serving(discovery((document) => (document.issuer = 'https://idp.corp/{tenant}/v2'))),
    manifests: oidc(),
    found: [['probe-issuer-equal', `${INLINE}.issuer`, /write the issuer of one tenant/]],
  },
  {
    title: 'an issuer without a document',
    manifests: (url) => oidc()(`${url}/realms/none`, 0),
    found: [
      ['probe-discovery-served', `${INLINE}.issuer`, /openid-configuration answers 404, so every token/],
    ],
  },
  {
    title: 'an address of a page',
    provider: serving(answering('/.well-known/openid-configuration', (context) => (context.body = '<html>'))),
    manifests: oidc(),
    found: [['probe-discovery-served', `${INLINE}.issuer`, /is not a JSON object/]],
  },
  {
    title: 'a document without keys',
    provider: serving(discovery((document) => delete document.jwks_uri)),
    manifests: oidc(),
    found: [['probe-discovery-served', `${INLINE}.issuer`, /has no jwks_uri/]],
  },
  ...[
    { field: 'scopes_supported', value: 'openid email', problem: 'is not a list of strings' },
    { field: 'grant_types_supported', value: [{}], problem: 'is not a list of strings' },
    { field: 'issuer', value: ['https://idp.corp'], problem: 'is not a string' },
    { field: 'jwks_uri', value: 1, problem: 'is not a string' },
  ].map(({ field, value, problem }): Row => {
    const extend = discovery((document) => (document[field] = value))
    const message = new RegExp(
      `cannot be read: ${field} ${problem}, so every token is refused with 401; the `,
    )
    return {
      title: `a document whose ${field} ${problem}`,
      provider: serving(extend),
      manifests: (url) => [...oidc()(url, 0), ...exchange()('https://example.okta.com', 0)],
      found: [['probe-discovery-served', `${INLINE}.issuer`, message]],
      notes: [/example\.okta\.com\/token is not asked/],
    }
  }),
  {
    title: 'a document with a null, which is as if the field were not there',
    provider: serving(discovery((document) => (document.scopes_supported = null))),
    manifests: login({ scopes: ['openid', 'groups'] }),
  },
  {
    title: 'an Age that is not a number',
    provider: serving((provider) =>
      provider.use(async (context, next) => {
        await next()
        context.set('Age', 'abc')
      }),
    ),
    manifests: oidc(),
  },
  {
    title: 'a document of a mebibyte and more',
    provider: serving(discovery((document) => (document.padding = 'x'.repeat(2 ** 20)))),
    manifests: oidc(),
    found: [['probe-host-reachable', `${INLINE}.issuer`, /longer than 1 MiB/]],
  },
  {
    title: 'keys for signatures that nobody verifies',
    provider: {
      ...good,
      configuration: settings({
        jwks: { keys: [ED25519] },
        enabledJWA: { idTokenSigningAlgValues: ['EdDSA'] },
      } as object),
    },
    manifests: oidc(),
    found: [
      ['probe-keys-usable', `${INLINE}.issuer`, /jwks holds no key that is used: one is for EdDSA, so every/],
    ],
  },
  {
    title: 'the same keys, of a trusted issuer',
    provider: {
      ...good,
      configuration: settings({
        jwks: { keys: [ED25519] },
        enabledJWA: { idTokenSigningAlgValues: ['EdDSA'] },
      } as object),
    },
    manifests: trusted(),
  },
  {
    title: 'no keys',
    provider: serving(answering('/jwks', (context) => (context.body = { keys: [] }))),
    manifests: oidc(),
    found: [['probe-keys-usable', `${INLINE}.issuer`, /jwks holds no key, so/]],
  },
  {
    title: 'a jwksUrl where nothing is',
    manifests: (url) => oidc({ jwksUrl: `${url}/keys` })(url, 0),
    found: [['probe-keys-usable', `${INLINE}.jwksUrl`, /\/keys answers 404/]],
  },
  {
    title: 'a jwksUrl that wants the token of the pod',
    provider: serving(
      answering('/jwks', (context) => {
        context.status = 401
      }),
    ),
    manifests: (url) => oidc({ jwksUrl: `${url}/jwks`, jwksAuthTokenPath: '/var/run/token' })(url, 0),
  },
  {
    title: 'an introspection endpoint',
    manifests: (url) => oidc({ introspectionUrl: `${url}/introspect` })(url, 0),
  },
  {
    title: 'an authority that is not trusted',
    manifests: oidc({ caBundleRef: undefined }),
    found: [
      [
        'probe-certificate-trusted',
        `${INLINE}.issuer`,
        /^the certificate of localhost:\d+ is not of an authority that is trusted \(\w+\); name its authority in caBundleRef/,
      ],
    ],
  },
  {
    title: 'an authority that is not in the bundle',
    manifests: (url) => [oidc()(url, 0)[0] ?? {}, configMap(stranger.certificate)],
    found: [['probe-certificate-trusted', `${INLINE}.issuer`, /only those of ConfigMap "ca" are trusted/]],
  },
  {
    title: 'a bundle in a ConfigMap that is not given',
    manifests: (url) => oidc()(url, 0).slice(0, 1),
    notes: [/certificate of localhost:\d+ is not judged: ConfigMap 'ca'/],
  },
  {
    title: 'a certificate that has expired',
    provider: {
      ...good,
      tls: await signLeaf(authority, ['localhost'], { now: now - 5 * DAY, lifetime: DAY }),
    },
    manifests: oidc(),
    found: [['probe-certificate-trusted', `${INLINE}.issuer`, /certificate of localhost:\d+ has expired/]],
  },
  {
    title: 'a certificate for another name',
    provider: { ...good, tls: await signLeaf(authority, ['idp.corp'], { now, lifetime: DAY }) },
    manifests: oidc(),
    found: [['probe-certificate-trusted', `${INLINE}.issuer`, /is for another name: .*DNS:idp\.corp/]],
  },
  {
    title: 'a private address that is not allowed',
    manifests: oidc({ jwksAllowPrivateIP: false }),
    found: [
      [
        'probe-address-allowed',
        `${INLINE}.issuer`,
        /localhost is at the private address \S+ here; .*set jwksAllowPrivateIP: true/,
      ],
    ],
  },
  {
    title: 'a redirect',
    provider: serving(
      answering('/.well-known/openid-configuration', (context) => context.redirect('https://idp.corp/x')),
    ),
    manifests: oidc(),
    found: [
      [
        'probe-redirect-free',
        `${INLINE}.issuer`,
        /redirects to "https:\/\/idp\.corp\/x", which the probe does not follow/,
      ],
    ],
  },
  {
    title: 'a redirect of a trusted issuer to another host',
    provider: serving(
      answering('/.well-known/openid-configuration', (context) => context.redirect('https://idp.corp/x')),
    ),
    manifests: trusted(),
    found: [['probe-redirect-free', `${TRUSTED}.issuerUrl`, /which the operator refuses to follow/]],
  },
  {
    title: 'keys on a host that no resource names',
    provider: serving(discovery((document) => (document.jwks_uri = 'https://keys.corp.test/jwks'))),
    manifests: oidc(),
    notes: [/https:\/\/keys\.corp\.test\/jwks is not asked: no resource names its host/],
  },
  {
    title: 'keys at a private address that no resource names',
    provider: serving(discovery((document) => (document.jwks_uri = 'https://10.255.255.1/jwks'))),
    manifests: oidc({ jwksAllowPrivateIP: false }),
    args: ['--yes'],
    found: [
      [
        'probe-address-allowed',
        `${INLINE}.issuer`,
        /^leads to 10\.255\.255\.1, which is at the private address 10\.255\.255\.1 here, so the probe sent no request/,
      ],
      ['probe-address-allowed', `${INLINE}.issuer`, /^localhost is at the private address/],
    ],
  },
  {
    title: 'plain http that is not allowed is asked on this machine alone',
    provider: plain,
    manifests: (url) => [...oidc()(url, 0), ...oidc()('http://idp.corp.test', 0).slice(0, 1)],
    notes: [/http:\/\/idp\.corp\.test is not asked: plain http/],
  },
  {
    title: 'a host that does not listen',
    manifests: () => oidc()('https://localhost:1', 0),
    found: [
      ['probe-host-reachable', `${INLINE}.issuer`, /^localhost:1 cannot be asked from here: ECONNREFUSED/],
    ],
  },
  {
    title: 'an issuer that an embedded authorization server is',
    manifests: (url) => [...oidc()('https://auth.tools.example.com', 0), ...login()(url, 0)],
    notes: [/https:\/\/auth\.tools\.example\.com is not asked: an embedded authorization server/],
  },
  { title: 'a login provider', manifests: login({ scopes: ['openid', 'offline_access'] }) },
  {
    title: 'a login provider that calls itself with a slash at the end',
    provider: { ...good, issuer: (url) => `${url}/` },
    manifests: login(),
    found: [
      ['probe-issuer-equal', `${UPSTREAM}.issuerUrl`, /slash at its end, so the server does not start/],
    ],
  },
  {
    title: 'a login provider that refreshes nothing',
    provider: { ...good, configuration: settings({ scopes: ['openid'] }) },
    manifests: login({ scopes: ['openid', 'offline_access'] }),
    found: [
      [
        'probe-grant-supported',
        `${UPSTREAM}.issuerUrl`,
        /grant type refresh_token, so offline_access gives no refresh/,
      ],
      [
        'probe-scope-supported',
        `${UPSTREAM}.issuerUrl`,
        /does not list the scope "offline_access", which it may leave out or refuse; it lists "openid"/,
      ],
    ],
  },
  {
    title: 'the same for the scopes that the operator sends where none are written',
    provider: { ...good, configuration: settings({ scopes: ['openid'] }) },
    manifests: login(),
    found: [
      ['probe-grant-supported', `${UPSTREAM}.issuerUrl`, /grant type refresh_token/],
      ['probe-scope-supported', `${UPSTREAM}.issuerUrl`, /does not list the scope "offline_access"/],
    ],
  },
  {
    title: 'a login provider that lists nothing',
    provider: serving(
      discovery((document) => {
        delete document.grant_types_supported
        delete document.scopes_supported
        delete document.token_endpoint_auth_methods_supported
      }),
    ),
    manifests: login({ scopes: ['openid', 'offline_access', 'groups'] }),
  },
  {
    title: 'a login provider without S256',
    provider: serving(discovery((document) => (document.code_challenge_methods_supported = ['plain']))),
    manifests: login(),
    found: [['probe-pkce-supported', `${UPSTREAM}.issuerUrl`, /PKCE method S256/]],
  },
  {
    title: 'a login provider that takes no secret in the body',
    provider: { ...good, configuration: settings({ clientAuthMethods: ['client_secret_basic'] }) },
    manifests: login({ clientSecretRef: { name: 'corp', key: 'secret' } }),
    found: [
      [
        'probe-client-method-supported',
        `${UPSTREAM}.issuerUrl`,
        /does not list the client authentication "client_secret_post", so token requests are refused/,
      ],
    ],
  },
  {
    title: 'the same for a client without a secret',
    provider: { ...good, configuration: settings({ clientAuthMethods: ['client_secret_basic'] }) },
    manifests: login(),
  },
  {
    title: 'registration, offered',
    provider: { ...good, configuration: settings({ features: { registration: { enabled: true } } }) },
    manifests: login({ dcrConfig: {} }),
  },
  {
    title: 'registration, not offered',
    manifests: login({ dcrConfig: {} }),
    found: [
      [
        'probe-registration-offered',
        `${UPSTREAM}.issuerUrl`,
        /the provider names no registration_endpoint, so the client is registered at https:\/\/localhost:\d+\/register, and the authorization server does not start/,
      ],
    ],
  },
  {
    title: 'registration by a document, not offered',
    manifests: oauth2((url) => ({
      clientId: undefined,
      dcrConfig: { discoveryUrl: `${url}/.well-known/openid-configuration` },
    })),
    found: [['probe-registration-offered', `${OAUTH2}.dcrConfig.discoveryUrl`, /registration_endpoint/]],
  },
  {
    title: 'registration by a document of another issuer',
    provider: {
      ...good,
      issuer: () => 'https://idp.corp',
      configuration: settings({ features: { registration: { enabled: true } } }),
    },
    manifests: oauth2((url) => ({
      clientId: undefined,
      dcrConfig: { discoveryUrl: `${url}/.well-known/openid-configuration` },
    })),
    found: [
      [
        'probe-issuer-equal',
        `${OAUTH2}.dcrConfig.discoveryUrl`,
        /says the issuer is "https:\/\/idp\.corp", but its address says "https:\/\/localhost/,
      ],
    ],
  },
  {
    title: 'registration at an endpoint',
    provider: { ...good, configuration: settings({ features: { registration: { enabled: true } } }) },
    manifests: login((url) => ({ dcrConfig: { registrationEndpoint: `${url}/reg` } })),
  },
  {
    title: 'registration of a client that only a certificate proves',
    provider: {
      ...good,
      configuration: settings({
        clientAuthMethods: ['private_key_jwt'],
        clientDefaults: { token_endpoint_auth_method: 'private_key_jwt' },
        features: { registration: { enabled: true } },
      }),
    },
    manifests: login({ dcrConfig: {} }),
    found: [['probe-client-method-supported', `${UPSTREAM}.issuerUrl`, /so the client is not registered/]],
  },
  { title: 'a provider of OAuth 2.0', manifests: oauth2() },
  {
    title: 'a provider of OAuth 2.0 that does not know a scope',
    manifests: oauth2(() => ({ scopes: ['openid', 'repo'] })),
    found: [['probe-scope-supported', `${OAUTH2}.tokenEndpoint`, /does not list the scope "repo"/]],
  },
  {
    title: 'a provider of OAuth 2.0 with a certificate for another name',
    provider: { ...good, tls: await signLeaf(authority, ['idp.corp'], { now, lifetime: DAY }) },
    manifests: oauth2(),
    found: ['authorizationEndpoint', 'tokenEndpoint', 'userInfo.endpointUrl'].map(
      (field) => ['probe-certificate-trusted', `${OAUTH2}.${field}`, /another name/] as const,
    ),
  },
  { title: 'a trusted issuer', manifests: trusted() },
  { title: 'keys of a trusted issuer', manifests: trusted((url) => ({ jwksUrl: `${url}/jwks` })) },
  {
    title: 'a trusted issuer that calls itself otherwise',
    provider: { ...good, issuer: (url) => `${url}/` },
    manifests: trusted(),
    found: [['probe-issuer-equal', `${TRUSTED}.issuerUrl`, /so every token of it is refused/]],
  },
  {
    title: 'a trusted issuer at a private address that is not allowed',
    manifests: trusted({ allowPrivateIPs: false }),
    found: [['probe-address-allowed', `${TRUSTED}.issuerUrl`, /set allowPrivateIPs: true/]],
  },
  {
    title: 'a token exchange, offered',
    provider: serving(offering(EXCHANGE), plain),
    manifests: exchange(),
  },
  {
    title: 'a token exchange, not offered',
    provider: plain,
    manifests: exchange(),
    found: [
      [
        'probe-grant-supported',
        'spec.tokenExchange.tokenUrl',
        /grant type urn:\S+:token-exchange, so requests are refused; it lists/,
      ],
    ],
  },
  {
    title: 'a token endpoint whose server cannot be told',
    provider: serving((provider) => {
      for (const path of ['openid-configuration', 'oauth-authorization-server'])
        answering(`/.well-known/${path}`, ({ body }) => {
          ;(body as { token_endpoint: string }).token_endpoint = 'https://idp.corp/token'
        })(provider)
    }, plain),
    manifests: exchange({ scopes: ['jira'] }),
  },
  {
    title: 'an assertion of one provider for another, offered',
    provider: serving(offering(EXCHANGE, ASSERTION), plain),
    manifests: xaa,
  },
  {
    title: 'an assertion of one provider for another, not offered',
    provider: serving(offering(EXCHANGE), plain),
    manifests: xaa,
    found: [['probe-grant-supported', 'spec.xaa.targetTokenUrl', /jwt-bearer/]],
  },
  {
    title: 'a remote server that wants a token, which is configured',
    provider: serving(wants401, plain),
    manifests: entry({ externalAuthConfigRef: { name: 'jira' } }),
  },
  {
    title: 'a remote server that wants a token',
    provider: serving(wants401, plain),
    manifests: entry(),
    found: [['probe-credential-configured', 'spec.remoteUrl', /answers 401 without a token/]],
  },
  {
    title: 'a remote server that gets its token from a gateway',
    provider: serving(wants401, plain),
    manifests: (url) => [
      ...entry()(url, 0),
      object('VirtualMCPServer', {
        groupRef: { name: 'g' },
        outgoingAuth: {
          source: 'inline',
          backends: { example: { type: 'externalAuthConfigRef', externalAuthConfigRef: { name: 'jira' } } },
        },
      }),
    ],
  },
  {
    title: 'a proxy, whose callers may bring the token',
    provider: serving(wants401, plain),
    manifests: (url) => [object('MCPRemoteProxy', { remoteUrl: `${url}/mcp` })],
  },
  {
    title: 'a server that serves its protected-resource metadata',
    provider: serving(metadata(), plain),
    manifests: published(),
  },
  {
    title: 'the same for a workload at the root of its host',
    provider: serving((provider) => metadata({ resource: `${provider.issuer}/` }, '')(provider), plain),
    manifests: published('/', 'MCPServer'),
  },
  {
    title: 'a server whose Ingress routes its path only',
    provider: plain,
    manifests: published(),
    found: [
      [
        'probe-resource-metadata-served',
        RESOURCE_URL,
        /\/\.well-known\/oauth-protected-resource\/mcp answers 404, so clients do not find where to log in; route this path/,
      ],
    ],
  },
  {
    title: 'a server that answers the metadata with a page',
    provider: serving(
      answering('/.well-known/oauth-protected-resource/mcp', (context) => {
        context.status = 200
        context.body = '<html></html>'
      }),
      plain,
    ),
    manifests: published(),
    found: [['probe-resource-metadata-served', RESOURCE_URL, /is not a JSON object/]],
  },
  {
    title: 'a server that names its issuer in the place of a list of issuers',
    provider: serving(metadata({ authorization_servers: 'https://idp.corp' }), plain),
    manifests: published(),
    found: [
      [
        'probe-resource-metadata-served',
        RESOURCE_URL,
        /cannot be read: authorization_servers is not a list of strings, so clients do not find/,
      ],
    ],
  },
  {
    title: 'a server that calls itself otherwise',
    provider: serving((provider) => metadata({ resource: `${provider.issuer}/mcp/` })(provider), plain),
    manifests: published(),
    found: [
      [
        'probe-resource-metadata-agrees',
        RESOURCE_URL,
        /its metadata names the resource "http:\/\/localhost:\d+\/mcp\/", which differs by the slash at its end, so clients refuse it; either another server answers at this URL, or/,
      ],
    ],
  },
  {
    title: 'a server that sends logins elsewhere',
    provider: serving(metadata({ authorization_servers: ['https://idp.corp'] }), plain),
    manifests: published(),
    found: [
      [
        'probe-resource-metadata-agrees',
        RESOURCE_URL,
        /sends users to log in at "https:\/\/idp\.corp", not at "http:\/\/localhost:\d+";/,
      ],
    ],
  },
  {
    title: 'a server that names no login',
    provider: serving(metadata({ authorization_servers: [] }), plain),
    manifests: published(),
    found: [
      [
        'probe-resource-metadata-agrees',
        RESOURCE_URL,
        /sends users to log in at no server, not at "http:\/\/localhost:\d+";/,
      ],
    ],
  },
  {
    title: 'the same where the issuer is not known, and where callers are anonymous',
    provider: serving(metadata({ authorization_servers: ['https://idp.corp'] }), plain),
    manifests: (url) => [
      ...published()(url, 0).slice(2),
      object(
        'VirtualMCPServer',
        { incomingAuth: { type: 'anonymous', oidcConfigRef: { name: 'example', resourceUrl: `${url}/no` } } },
        'open',
      ),
    ],
  },
  {
    title: 'a server with a certificate of an authority that only its clients may know',
    manifests: published(),
    notes: [/^the certificate of localhost:\d+ is not judged: clients may trust its authority$/],
  },
  {
    title: 'values that are filled in later, and names for documentation',
    manifests: () => [...oidc()('https://${HOST}', 0), ...oidc()('https://example.okta.com', 0).slice(0, 1)],
    notes: [/https:\/\/example\.okta\.com is not asked: a name for documentation/],
  },
]

interface Printed {
  readonly findings: readonly {
    readonly id: string
    readonly severity: string
    readonly path: string
    readonly line: number
    readonly message: string
  }[]
  readonly ignored: readonly { readonly id: string }[]
  readonly notes: readonly { readonly message: string }[]
}

function writeManifests(manifests: readonly object[]): string {
  const file = join(folder, 'manifests.yaml')
  writeFileSync(file, manifests.map((each) => JSON.stringify(each, undefined, 2)).join('\n---\n'))
  return 'manifests.yaml'
}

const run = (args: readonly string[], environment: Readonly<Record<string, string>> = {}) =>
  runCli(['probe', ...args], { cwd: folder, environment })

async function probed(provider: LoginProvider, manifests: Manifests, ...args: string[]) {
  const file = writeManifests(manifests(provider.url, provider.port))
  const ended = await run(['--output', 'json', ...args, file])
  return { ...ended, ...(JSON.parse(ended.stdout) as Printed) }
}

for (const { title, provider: setup = good, manifests, args = [], found = [], notes = [] } of ROWS)
  t.test(title, async (t) => {
    const provider = await startProvider(setup)
    t.teardown(() => provider.close())
    const { findings, notes: noted, status, stderr } = await probed(provider, manifests, ...args)
    t.strictSame(
      findings.map(({ id, path }) => [id, path]),
      found.map(([id, path]) => [id, path]),
      JSON.stringify(findings),
    )
    for (const [i, [, , message]] of found.entries()) t.match(findings[i]?.message, message)
    t.equal(noted.length, notes.length, JSON.stringify(noted))
    for (const [i, note] of notes.entries()) t.match(noted[i]?.message, note)
    t.equal(status, findings.some(({ severity }) => severity === 'error') ? 1 : 0, stderr)
    for (const request of provider.requests) t.match(request, /^(?:GET|HEAD) /)
    for (const names of provider.headers)
      t.strictSame([...names].sort(), ['accept', 'connection', 'host', 'user-agent'])
  })

t.test('every id of the probe has a row', async (t) => {
  const shown = new Set([...ROWS.flatMap(({ found = [] }) => found.map(([id]) => id)), 'probe-clock-agrees'])
  t.strictSame(
    PROBE_IDS.map(({ id }) => id).filter((id) => !shown.has(id)),
    [],
  )
  for (const { id } of PROBE_IDS) t.ok(ALL_IDS.has(id), id)
})

const withGood = async (t: Test, setup: ProviderSetup = good) => {
  const provider = await startProvider(setup)
  t.teardown(() => provider.close())
  return provider
}

t.test('a clock that differs', async (t) => {
  const provider = await withGood(t)
  writeManifests(oidc()(provider.url, 0))
  for (const [minutes, found] of [
    [0, []],
    [
      -5,
      [
        /^the clock of localhost:\d+ is 5 minutes ahead of the one here: tokens are not valid yet, or expired/,
      ],
    ],
    [180, [/is 3 hours behind the one here/]],
  ] as const) {
    writeFileSync(join(folder, 'clock'), String(minutes * 60_000))
    // Only the process that runs `probe` has a wrong clock; the provider has the right one.
    const environment = { CLOCK_FILE: join(folder, 'clock'), NODE_OPTIONS: `--import=${WRONG_CLOCK}` }
    const args = ['probe', '--output', 'json', 'manifests.yaml']
    const { stdout } = await spawnCli(args, { cwd: folder, environment })
    const { findings } = JSON.parse(stdout) as Printed
    t.strictSame(
      findings.map(({ id }) => id),
      found.map(() => 'probe-clock-agrees'),
    )
    for (const [i, message] of found.entries()) t.match(findings[i]?.message, message)
  }
})

/** The `probe` module with a resolver that resolves every name to 127.0.0.1. */
const allNamesHere = async (t: Test) => {
  const lookup = () => Promise.resolve([{ address: '127.0.0.1', family: 4 }])
  const mocks = { 'node:dns/promises': { lookup } }
  return {
    ask: (await t.mockImport<{ ask: typeof Ask }>('../src/probe/request.ts', mocks)).ask,
    engine: await t.mockImport<{ probe: typeof probe }>('../src/probe/index.ts', mocks),
  }
}
const oneTarget = (manifests: readonly object[]): readonly Target[] =>
  targetsOf(
    (manifests as { kind: string }[]).map((resource) => ({
      subject: { kind: resource.kind, namespace: 'tools', name: 'example' },
      resource,
    })),
  ).targets
const OPTIONS = {
  timeoutMs: 5_000,
  mostRequests: 1_000,
  deadlineMs: 60_000,
  isPublicOnly: false,
  bundle: () => undefined,
  mayAsk: () => Promise.resolve(true),
}

t.test('the address that is judged is the one that is asked', async (t) => {
  const provider = await withGood(t, plain)
  const { ask } = await allNamesHere(t)
  const url = new URL(provider.url.replace('localhost', 'idp.corp.test'))
  const question = { method: 'GET', url, timeoutMs: 5_000 } as const
  // The name does not exist in DNS, so a second lookup would fail.
  t.match(await ask({ ...question, reach: 'anywhere' }), { status: 404, privateAddress: '127.0.0.1' })
  for (const reach of ['internet', 'other machines'] as const)
    t.strictSame(await ask({ ...question, reach }), { failed: 'private', detail: '127.0.0.1' })
  t.equal(provider.requests.length, 1)
})

t.test('the document of another machine names this one', async (t) => {
  const secret = await withGood(t, plain)
  for (const jwks of [`${secret.url}/jwks`, secret.url.replace('localhost', 'keys.corp.test')]) {
    const provider = await withGood(t, {
      configuration: settings({}),
      extend: discovery((document) => (document.jwks_uri = jwks)),
    })
    // The issuer's and the keys' hosts are both on this machine; only the resource names the issuer's.
    const { engine } = await allNamesHere(t)
    const issuer = provider.url.replace('localhost', 'idp.corp.test')
    const targets = oneTarget(oidc({ insecureAllowHTTP: true, caBundleRef: undefined })(issuer, 0))
    const { findings, notes } = await engine.probe(targets, OPTIONS)
    const said = [...findings.map(({ finding }) => finding.error.detail), ...notes.map(({ text }) => text)]
    t.match(
      said.join('\n'),
      jwks.includes('localhost')
        ? /jwks is not asked: its host is this machine, and no resource names it/
        : /leads to keys\.corp\.test:\d+, which is at the private address 127\.0\.0\.1 here, so the probe sent no request/,
    )
  }
  t.strictSame(secret.requests, [])
})

t.test('a target that cannot be judged leaves the others', async (t) => {
  const provider = await withGood(t, { ...plain, issuer: (url) => `${url}/` })
  const bad = oidc()(`${provider.url}/realms/a`, 0)
  const targets = oneTarget([...bad, ...oidc({ caBundleRef: undefined })(provider.url, 0)])
  const bundle = ({ connecting }: Target) => {
    if (connecting.bundle === undefined) return undefined
    throw new Error('no disk')
  }
  const { findings, notes } = await probe(targets, { ...OPTIONS, bundle })
  t.match(notes, [{ text: `${provider.url}/realms/a cannot be judged: no disk` }])
  t.match(findings, [{ finding: { id: 'probe-issuer-equal' } }])
})

t.test('a host that takes connections and never answers', async (t) => {
  const silent = createServer(() => undefined).listen(0, 'localhost')
  await once(silent, 'listening')
  t.teardown(() => silent.close())
  const { port } = silent.address() as AddressInfo
  writeManifests(oidc({ insecureAllowHTTP: true })(`http://localhost:${port}`, 0))
  const { stdout, status } = await run(['--timeout', '1', 'manifests.yaml'])
  t.match(
    stdout,
    /localhost:\d+ cannot be asked from here: no answer within 1 seconds? \(probe-host-reachable\)/,
  )
  t.equal(status, 0)
})

t.test('other hosts are asked with consent alone', async (t) => {
  const provider = await withGood(t)
  const manifests = [...oidc()(provider.url, 0), ...exchange()('https://nobody.corp.test', 0)]
  writeManifests(manifests)
  const refused = await run(['manifests.yaml'])
  t.equal(refused.status, 2)
  t.match(refused.stderr, /nothing was asked: --yes allows requests to nobody\.corp\.test, and --list prints/)
  t.strictSame(provider.requests, [])
  const listed = await run(['--list', 'manifests.yaml'])
  t.strictSame(listed.status, 0)
  t.equal(
    listed.stdout,
    `${provider.url}  spec.inline.issuer of MCPOIDCConfig tools/example
https://nobody.corp.test/token  spec.tokenExchange.tokenUrl of MCPExternalAuthConfig tools/example
`,
  )
  t.strictSame(provider.requests, [])
  const asked = await run(['--yes', 'manifests.yaml'])
  t.equal(asked.status, 0)
  t.match(asked.stdout, /nobody\.corp\.test cannot be asked from here: its name is not found/)
  t.ok(provider.requests.length > 0)
})

t.test('asks at a terminal', async (t) => {
  writeManifests(exchange()('https://nobody.corp.test', 0))
  const command = `'${process.execPath}' '${MAIN}' probe manifests.yaml`
  for (const [answer, status, said] of [
    ['y\n', 0, /nobody\.corp\.test cannot be asked from here/],
    ['n\n', 2, /nothing was asked/],
    ['\u0004', 2, /nothing was asked/],
  ] as const) {
    const child = spawn('script', ['-qec', command, '/dev/null'], { cwd: folder })
    let shown = ''
    let isAnswered = false
    child.stdout.setEncoding('utf8').on('data', (part: string) => {
      shown += part
      if (isAnswered || !shown.includes('[y/N] ')) return
      isAnswered = true
      child.stdin.write(answer)
    })
    const [code] = (await once(child, 'close')) as [number]
    t.match(
      shown,
      /nobody\.corp\.test {2}\(spec\.tokenExchange\.tokenUrl of MCPExternalAuthConfig tools\/example\)/,
    )
    t.match(shown, said)
    t.equal(code, status, shown)
  }
})

t.test('findings are as those of check', async (t) => {
  const provider = await withGood(t, { ...good, issuer: (url) => `${url}/` })
  const manifests = oidc()(provider.url, 0)
  const off = await probed(provider, () => manifests, '--severity', 'probe-issuer-equal=off')
  t.strictSame([off.status, off.findings], [0, []])
  const annotations = {
    'toolhive.stacklok.dev/vmcp-admission-ignore': 'probe-address-allowed: the same network',
  }
  const [config = {}, bundle = {}] = oidc({ jwksAllowPrivateIP: false })(`${provider.url}/`, 0)
  const metadata = { name: 'example', namespace: 'tools', annotations }
  const ignored = await probed(provider, () => [{ ...config, metadata }, bundle])
  t.strictSame([ignored.status, ignored.findings, ignored.ignored.length], [0, [], 1])
  writeFileSync(
    join(folder, 'vmcp-admission.yaml'),
    'exemptions:\n  - id: probe-issuer-equal\n    reason: moves next week\n',
  )
  const exempted = await probed(provider, () => manifests)
  t.strictSame([exempted.status, exempted.findings, exempted.ignored.length], [0, [], 1])
  const { stdout } = await runCli(['check', 'manifests.yaml'], { cwd: folder })
  t.notMatch(stdout, /excuses nothing/)
  writeFileSync(
    join(folder, 'vmcp-admission.yaml'),
    'exemptions:\n  - id: probe-issuer-equal\n    reason: moved last year\n    expires: 2025-01-31\n  - id: schema-enum\n    reason: not for the probe\n',
  )
  const expired = await probed(provider, () => manifests)
  t.match(expired, {
    status: 1,
    findings: [{ id: 'probe-issuer-equal' }],
    notes: [{ message: /probe-issuer-equal.* expired after 2025-01-31 and no longer holds/ }],
  })
  t.equal(expired.notes.length, 1, 'the rules that other exemptions may be for did not run')
  rmSync(join(folder, 'vmcp-admission.yaml'))
  writeManifests(manifests)
  const sarif = await run(['--output', 'sarif', 'manifests.yaml'])
  t.match(JSON.parse(sarif.stdout), {
    runs: [{ results: [{ ruleId: 'probe-issuer-equal', level: 'error' }] }],
  })
  const human = await run(['--output', 'human', 'manifests.yaml'])
  t.match(human.stdout, /"issuer": "https:\/\/localhost:\d+",?\n.*\^/)
})

t.test('wrong usage', async (t) => {
  for (const [args, said] of [
    [[], /name the files or folders whose addresses to ask, or --cluster alone/],
    [['--cluster', 'manifests.yaml'], /reads no files: write probe --cluster, or probe manifests\.yaml\n/],
    [['--namespaces', 'a', 'manifests.yaml'], /--namespaces needs --cluster/],
    [['--timeout', '0', 'manifests.yaml'], /'0' is not a number of seconds/],
  ] as const) {
    const { status, stderr } = await run(args)
    t.equal(status, 2)
    t.match(stderr, said)
  }
})

t.test('the issuer that a discoveryUrl stands for, as the operator derives it', (t) => {
  for (const [url, issuer] of [
    ['https://idp.corp/.well-known/openid-configuration', 'https://idp.corp'],
    ['https://idp.corp/realms/a/.well-known/openid-configuration', 'https://idp.corp/realms/a'],
    ['https://idp.corp:443/.well-known/oauth-authorization-server/v1/mcp', 'https://idp.corp:443/v1/mcp'],
    ['https://idp.corp/.well-known/oauth-authorization-server/', 'https://idp.corp'],
    ['https://idp.corp/metadata?tenant=a', 'https://idp.corp'],
  ] as const)
    t.equal(expectedIssuer(url), issuer, url)
  t.strictSame(possibleDocuments(new URL('https://kc.corp/realms/a/protocol/openid-connect/token')), [
    'https://kc.corp/realms/a/protocol/openid-connect/.well-known/openid-configuration',
    'https://kc.corp/realms/a/protocol/.well-known/openid-configuration',
    'https://kc.corp/realms/a/.well-known/openid-configuration',
    'https://kc.corp/.well-known/oauth-authorization-server',
  ])
  t.end()
})

t.test('which keys are used', (t) => {
  const ec = (namedCurve: string) => key('ec', { namedCurve })
  const READERS = ['validator', 'trusted', 'upstream'] as const
  for (const [title, jwk, usable] of [
    ['RSA', { ...RSA, kid: 'a' }, 'validator trusted upstream'],
    [
      'RSA without alg and use',
      { ...key('rsa', { modulusLength: 2048 }), kid: 'a' },
      'validator trusted upstream',
    ],
    ['no kid', RSA, 'trusted upstream'],
    ['PS256', { ...RSA, alg: 'PS256', kid: 'a' }, 'upstream'],
    ['short RSA', { ...key('rsa', { modulusLength: 1024 }), kid: 'a' }, 'upstream'],
    ['for encryption', { ...RSA, use: 'enc', kid: 'a' }, ''],
    ['P-256', { ...ec('P-256'), kid: 'a' }, 'validator trusted upstream'],
    ['P-521', { ...ec('P-521'), kid: 'a' }, 'validator upstream'],
    ['secp256k1', { ...ec('secp256k1'), kid: 'a' }, ''],
    ['Ed25519', { ...ED25519, kid: 'a' }, 'trusted upstream'],
    ['a secret', { kty: 'oct', k: 'c2VjcmV0', kid: 'a' }, ''],
    ['broken', { kty: 'RSA', kid: 'a' }, ''],
    ['not an object', 1, ''],
  ] as const) {
    const body = JSON.stringify({ keys: [jwk] })
    t.equal(READERS.filter((reader) => problemWithKeys(body, reader) === undefined).join(' '), usable, title)
    const both = JSON.stringify({ keys: [jwk, { ...RSA, kid: 'b' }] })
    for (const reader of READERS) t.equal(problemWithKeys(both, reader), undefined, `${title} beside RSA`)
  }
  for (const body of ['', '[]', '{}', '{"keys":{}}'])
    t.equal(problemWithKeys(body, 'validator'), 'is not a JSON Web Key Set')
  t.end()
})

t.test('docs/probe.md shows what probe prints', async (t) => {
  const page = readFileSync(new URL('../docs/probe.md', import.meta.url), 'utf8')
  const [, manifests = ''] = /```yaml\n([^]*?)```/.exec(page) ?? []
  const [, shown] = /```console\n\$ vmcp-admission probe login.yaml\n([^]*?)```/.exec(page) ?? []
  const provider = await withGood(t, { ...plain, issuer: (url) => `${url}/` })
  writeFileSync(join(folder, 'login.yaml'), manifests.replaceAll('49400', String(provider.port)))
  const environment = { COLUMNS: '100', VMCP_OUTPUT: 'human' }
  const { stdout } = await run(['login.yaml'], environment)
  t.equal(stdout.replaceAll(String(provider.port), '49400'), shown)
})

/** Resources with `count` issuers on one server, which counts connections and never answers. */
async function silentIssuers(t: Test, count: number) {
  let asked = 0
  const server = createServer((socket) => {
    asked += 1
    socket.on('error', () => undefined)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const folder = t.testdir({
    'a.yaml': Array.from(
      { length: count },
      (_, i) =>
        `apiVersion: toolhive.stacklok.dev/v1beta1\nkind: MCPOIDCConfig\nmetadata: { name: a${i} }\nspec: { type: inline, inline: { issuer: 'http://127.0.0.1:${port}/${i}', insecureAllowHTTP: true } }\n`,
    ).join('---\n'),
  })
  const run = async (args: readonly string[], environment: Record<string, string> = {}) => {
    const { stdout } = await runCli(['probe', '--yes', '--output', 'line', ...args, 'a.yaml'], {
      cwd: folder,
      environment,
    })
    return stdout
  }
  return { run, asked: () => asked }
}

t.test('a run has a bound in requests and in time, and names what it did not ask', async (t) => {
  const bounded = await silentIssuers(t, 40)
  const few = await bounded.run(['--timeout', '1', '--max-requests', '3'])
  t.equal(bounded.asked(), 3)
  t.equal(few.match(/is not asked: a run sends 3 requests at most; --max-requests allows more/g)?.length, 37)
  t.match(few, /, 3 requests sent: /)
  const slow = await silentIssuers(t, 40)
  const some = await slow.run(['--timeout', '1', '--deadline', '2'])
  const left = some.match(/is not asked: a run takes 2 seconds at most; --deadline allows more/g)?.length ?? 0
  t.equal(slow.asked() + left, 40)
  t.ok(left >= 16, String(left))
})

t.test('in CI nothing private is asked, unless a flag allows it', async (t) => {
  const { run, asked } = await silentIssuers(t, 2)
  const CI = { CI: 'true' }
  const refused = /is not asked: it is on this machine or in a private network; --addresses anywhere asks it/g
  t.equal((await run(['--timeout', '1'], CI)).match(refused)?.length, 2)
  t.equal((await run(['--timeout', '1', '--addresses', 'public'])).match(refused)?.length, 2)
  t.equal(asked(), 0)
  t.notMatch(await run(['--timeout', '1', '--addresses', 'anywhere'], CI), refused)
  t.equal(asked(), 2)
})

t.test('a name that is found at a private address is no public one', async (t) => {
  const { subject, at, connecting, use } = {
    subject: { kind: 'MCPOIDCConfig', namespace: 'a', name: 'a' },
    at: ['spec'],
    connecting: { http: true, allowsPrivate: true, redirects: 'followed' },
    use: { is: 'endpoint', name: 'a' },
  } as const
  const target = { subject, at, connecting, use, url: 'http://idp.corp.test:9/' }
  const { engine } = await allNamesHere(t)
  const { findings, notes } = await engine.probe([target], { ...OPTIONS, isPublicOnly: true })
  t.strictSame(findings, [])
  t.match(notes, [{ text: /^http:\/\/idp\.corp\.test:9\/ is not asked: it is on this machine/ }])
})

t.test('no output names the password of a URL', async (t) => {
  const url = 'https://user:swordfish-7@idp.corp.test/a'
  const folder = t.testdir({
    'a.yaml': `apiVersion: toolhive.stacklok.dev/v1beta1
kind: MCPOIDCConfig
metadata: { name: a }
spec: { type: inline, inline: { issuer: '${url}', jwksUrl: '${url}', introspectionUrl: '${url}' } }
---
apiVersion: toolhive.stacklok.dev/v1beta1
kind: MCPExternalAuthConfig
metadata: { name: b }
spec: { type: tokenExchange, tokenExchange: { tokenUrl: '${url}', audience: '${url}', subjectTokenType: '${url}' } }
---
apiVersion: toolhive.stacklok.dev/v1beta1
kind: VirtualMCPServer
metadata: { name: c }
spec:
  groupRef: { name: g }
  incomingAuth: { type: oidc, oidcConfigRef: { name: a, audience: '${url}', resourceUrl: '${url}' } }
  authServerConfig: { issuer: '${url}', authorizationEndpointBaseUrl: '${url}', upstreamProviders: [{ name: o, type: oidc, oidcConfig: { issuerUrl: '${url}', clientId: c, redirectUri: '${url}' } }] }
---
apiVersion: toolhive.stacklok.dev/v1beta1
kind: MCPServerEntry
metadata: { name: d }
spec: { remoteUrl: '${url}', transport: sse, groupRef: { name: g } }
`,
  })
  const formats = ['human', 'line', 'json', 'sarif', 'github', 'gitlab', 'junit']
  const rows = [
    ['probe', '--list', 'a.yaml'],
    ...formats.flatMap((format) =>
      ['probe', 'check'].map((command) => [
        command,
        '--advice',
        '--output',
        format,
        ...(command === 'probe' ? ['--yes'] : []),
        'a.yaml',
      ]),
    ),
    ['plan', 'a.yaml'],
    ['plan', '--output', 'json', 'a.yaml'],
    ['plan', '--output', 'mermaid', 'a.yaml'],
  ]
  for (const args of rows) {
    const { stdout, stderr } = await runCli(args, { cwd: folder })
    t.not(stdout, '', args.join(' '))
    t.notMatch(stdout + stderr, 'swordfish-7', args.join(' '))
  }
})
