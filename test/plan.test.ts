import { mkdtempSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { plan } from '../src/cli/commands/plan.ts'
import { stateOf } from '../src/documents/given-objects.ts'
import { changesMarkdown } from '../src/cli/output/plan-markdown.ts'
import { changesMermaid, planMermaid } from '../src/cli/output/plan-mermaid.ts'
import { changesText, planText } from '../src/cli/output/plan-text.ts'
import { UsageError } from '../src/configuration/flags.ts'
import { DEFAULT_API_GROUP } from '../src/kinds/index.ts'
import { mcpServer } from '../src/kinds/mcp-server/index.ts'
import { virtualMcpServer } from '../src/kinds/virtual-mcp-server/index.ts'
import { compare } from '../src/access/comparison.ts'
import type { Outgoing } from '../src/access/outgoing.ts'
import { type Plan, planOf, plansOf } from '../src/access/effective-authentication.ts'
import { ClusterState } from '../src/state/cluster-state.ts'
import { runCli } from './support/cli.ts'
import { resourceOf } from './support/review.ts'

type Spec = Readonly<Record<string, unknown>>

const READING = { group: DEFAULT_API_GROUP, namespace: 'default', strict: false }
const named = (kind: string, name: string, spec: unknown) => resourceOf(kind, spec, { name })
const plansIn = (objects: readonly unknown[], release?: string): Plan[] =>
  plansOf(stateOf(objects, READING), undefined, release)

const group = named('MCPGroup', 'tools', {})
const member = (name: string, config?: unknown, kind = 'MCPServer') =>
  named(kind, name, {
    groupRef: { name: 'tools' },
    ...(config === undefined ? {} : { externalAuthConfigRef: { name: config } }),
  })
const config = (name: string, spec: Spec) => named('MCPExternalAuthConfig', name, spec)
const gateway = (spec: Spec, name = 'gateway') =>
  named('VirtualMCPServer', name, { groupRef: { name: 'tools' }, ...spec })
const server = (...providers: string[]) => ({
  authServerConfig: {
    issuer: 'https://mcp.example.com',
    upstreamProviders: providers.map((name) => ({ name, type: 'oidc' })),
  },
})
const ref = (name: unknown) => ({ type: 'externalAuthConfigRef', externalAuthConfigRef: { name } })
const inline = (outgoingAuth: Spec) => ({ outgoingAuth: { source: 'inline', ...outgoingAuth } })
const exchange = (more: Spec = {}) => ({
  type: 'tokenExchange',
  tokenExchange: { tokenUrl: 'https://okta.example.com/token', audience: 'jira', ...more },
})
const signing = (more: Spec = {}) => ({ type: 'awsSts', awsSts: { region: 'eu-central-1', ...more } })
const GITHUB = {
  authServerConfig: {
    issuer: 'https://mcp.example.com',
    upstreamProviders: [
      {
        name: 'github',
        type: 'oauth2',
        oauth2Config: { tokenEndpoint: 'https://github.com/login/oauth/access_token' },
      },
    ],
  },
}
const unnamed = { type: 'oidc' }
const OPEN_SECOND = {
  authServerConfig: { issuer: 'https://mcp.example.com', upstreamProviders: [{ name: 'okta' }, unnamed] },
}
const OPEN_FIRST = {
  authServerConfig: { issuer: 'https://mcp.example.com', upstreamProviders: [unnamed, { name: 'okta' }] },
}
const inject = (providerName: unknown) => ({ type: 'upstreamInject', upstreamInject: { providerName } })
const header = (headerName: unknown) => ({
  type: 'headerInjection',
  headerInjection: { headerName, valueSecretRef: { name: 'key', key: 'value' } },
})

/** The only backend of the only VirtualMCPServer. */
function backendOf(objects: readonly unknown[], release?: string): Outgoing {
  const [backend] = plansIn(objects, release)[0]?.backends ?? []
  if (backend === undefined) throw new Error('no backend')
  return backend
}

/**
 * How the plan describes each type of configuration: the spec of the VirtualMCPServer, that of the configuration, and
 * the text.
 */
const STRATEGIES: readonly (readonly [string, Spec, string, Spec?])[] = [
  [
    'a provider that is named',
    exchange({ subjectProviderName: 'github' }),
    'token exchange via github',
    server('okta', 'github'),
  ],
  ['the first provider', exchange(), 'token exchange via okta', server('okta', 'github')],
  [
    'an empty name',
    exchange({ subjectProviderName: '' }),
    'token exchange via okta',
    server('okta', 'github'),
  ],
  ['no embedded server', exchange(), 'token exchange of the vMCP-issued JWT'],
  [
    'a named provider without a server',
    exchange({ subjectProviderName: 'okta' }),
    'token exchange via okta, NOT AVAILABLE (no embedded authorization server)',
  ],
  [
    'a provider that is not there',
    exchange({ subjectProviderName: 'github' }),
    'token exchange via github, NOT AVAILABLE (the embedded authorization server has no such provider)',
    server('okta'),
  ],
  [
    'a server without providers',
    exchange(),
    'token exchange, NOT AVAILABLE (the embedded authorization server has no provider)',
    server(),
  ],
  [
    'a first provider that is a placeholder',
    exchange(),
    'token exchange, not all known (the first provider cannot be read)',
    server('${FIRST}', 'github'),
  ],
  [
    'a second provider that is a placeholder',
    exchange(),
    'token exchange via okta',
    server('okta', '${SECOND}'),
  ],
  [
    'a name among providers of which one is a placeholder',
    exchange({ subjectProviderName: 'github' }),
    'token exchange via github, not all known (not all providers can be read)',
    server('okta', '${SECOND}'),
  ],
  [
    'a placeholder as subject provider',
    exchange({ subjectProviderName: '${PROVIDER}' }),
    'token exchange, not all known (subjectProviderName is a placeholder or of a wrong JSON type)',
    server('okta'),
  ],
  [
    'no settings',
    { type: 'tokenExchange' },
    'token exchange, not all known (tokenExchange is missing)',
    server('okta'),
  ],
  [
    'a header of its own',
    exchange({ externalTokenHeaderName: 'X-Token' }),
    'token exchange of the vMCP-issued JWT in X-Token',
  ],
  ['an empty header', exchange({ externalTokenHeaderName: '' }), 'token exchange of the vMCP-issued JWT'],
  [
    'a header that is a placeholder',
    exchange({ externalTokenHeaderName: '${HEADER}' }),
    'token exchange of the vMCP-issued JWT, not all known (externalTokenHeaderName is a placeholder or of a wrong JSON type)',
  ],
  [
    'a header that is a placeholder beside a provider that is not there',
    exchange({ externalTokenHeaderName: '${HEADER}', subjectProviderName: 'github' }),
    'token exchange via github, NOT AVAILABLE (the embedded authorization server has no such provider; externalTokenHeaderName is a placeholder or of a wrong JSON type)',
    server('okta'),
  ],
  [
    'settings that are not an object',
    { type: 'tokenExchange', tokenExchange: 1 },
    'token exchange, not all known (tokenExchange is a placeholder or of a wrong JSON type)',
  ],
  ['an upstream token', inject('github'), 'upstream token of github', server('okta', 'github')],
  [
    'an upstream token without a server',
    inject('github'),
    'upstream token of github, NOT AVAILABLE (no embedded authorization server)',
  ],
  [
    'an upstream token of a placeholder',
    inject('<PROVIDER>'),
    'upstream token, not all known (providerName is a placeholder or of a wrong JSON type)',
    server('okta'),
  ],
  [
    'no settings of upstreamInject',
    { type: 'upstreamInject' },
    'upstream token, not all known (upstreamInject is missing)',
    server('okta'),
  ],
  ['a header', header('X-Api-Key'), 'header X-Api-Key from a Secret'],
  [
    'a header without a name',
    { type: 'headerInjection', headerInjection: {} },
    'a header from a Secret, not all known (headerName is missing)',
  ],
  [
    'a bearer token',
    { type: 'bearerToken', bearerToken: { tokenSecretRef: { name: 'a', key: 'b' } } },
    'bearer token from a Secret',
  ],
  ['AWS', { type: 'awsSts', awsSts: { region: 'eu-central-1' } }, 'SigV4 of an AWS role'],
  [
    'AWS by the first provider',
    signing(),
    'SigV4 of an AWS role, for the token of okta',
    { ...server('okta', 'github'), ...inline({ default: ref('jira') }) },
  ],
  ['AWS, discovered: by the token of vMCP', signing(), 'SigV4 of an AWS role', GITHUB],
  [
    'AWS by a provider that is named',
    signing({ subjectProviderName: 'github' }),
    'SigV4 of an AWS role, for the token of github',
    server('okta', 'github'),
  ],
  [
    'AWS by a provider that is not there',
    signing({ subjectProviderName: 'octa' }),
    'SigV4 of an AWS role, for the token of octa, NOT AVAILABLE (the embedded authorization server has no such provider)',
    server('okta'),
  ],
  [
    'AWS by a provider without a server',
    signing({ subjectProviderName: 'okta' }),
    'SigV4 of an AWS role, for the token of okta, NOT AVAILABLE (no embedded authorization server)',
  ],
  [
    'AWS by a provider that may be there',
    signing({ subjectProviderName: 'octa' }),
    'SigV4 of an AWS role, for the token of octa, not all known (not all providers can be read)',
    OPEN_SECOND,
  ],
  [
    'AWS by a first provider that cannot be read',
    signing(),
    'SigV4 of an AWS role, not all known (the first provider cannot be read)',
    { ...OPEN_FIRST, ...inline({ default: ref('jira') }) },
  ],
  [
    'AWS by a provider of the wrong type',
    signing({ subjectProviderName: 7 }),
    'SigV4 of an AWS role, not all known (subjectProviderName is a placeholder or of a wrong JSON type)',
    server('okta'),
  ],
  [
    'AWS by opaque tokens',
    signing(),
    'SigV4 of an AWS role, for the token of github, NOT AVAILABLE (access tokens of GitHub are opaque, and STS takes JWTs)',
    { ...GITHUB, ...inline({ default: ref('jira') }) },
  ],
  ['none', { type: 'unauthenticated' }, 'NO CREDENTIALS (type unauthenticated)'],
  [
    'an embedded server as a strategy',
    { type: 'embeddedAuthServer', ...server('okta') },
    'embedded authorization server, not all known (the specification does not say what this type sends to a backend)',
  ],
  ['a type of a newer release', { type: 'xaa' }, 'not known (type "xaa" is not in the specification)'],
  ['no type', {}, 'not known (type is missing)'],
  [
    'a type that is a placeholder',
    { type: '${TYPE}' },
    'not known (type is a placeholder or of a wrong JSON type)',
  ],
]

t.test('what a configuration means', async (t) => {
  for (const [title, written, summary, spec = {}] of STRATEGIES) {
    const objects = [group, member('jira', 'jira'), config('jira', written), gateway(spec)]
    t.equal(backendOf(objects).summary, summary, title)
  }
})

const AUTHORIZATION = exchange()

/**
 * Where a backend's configuration comes from: the spec of the VirtualMCPServer, the reference of the backend, and the
 * source, text and notes in the plan.
 */
const SOURCES: readonly (readonly [string, Spec, unknown, string, string, (readonly string[])?])[] = [
  ['the backend itself', {}, 'own', 'discovered', 'token exchange of the vMCP-issued JWT'],
  ['nothing', {}, undefined, 'none', 'NO CREDENTIALS (no externalAuthConfigRef)'],
  [
    'nothing, where releases know a default',
    { outgoingAuth: { default: ref('open') } },
    undefined,
    'none',
    'NO CREDENTIALS (no externalAuthConfigRef)',
    [
      'releases use `default` where the backend has no reference: MCPExternalAuthConfig "open"; some drop it soon after the start',
    ],
  ],
  [
    'nothing, where releases know an entry',
    { outgoingAuth: { default: ref('open'), backends: { jira: ref('own') } } },
    undefined,
    'none',
    'NO CREDENTIALS (no externalAuthConfigRef)',
    [
      'releases use `backends` where the backend has no reference: MCPExternalAuthConfig "own"; some drop it soon after the start',
    ],
  ],
  [
    'the map',
    inline({ backends: { jira: ref('own') } }),
    'open',
    'inline',
    'token exchange of the vMCP-issued JWT',
  ],
  ['the default', inline({ default: ref('own') }), 'own', 'default', 'token exchange of the vMCP-issued JWT'],
  [
    'the default, where releases use the reference of the backend',
    inline({ default: ref('own') }),
    'open',
    'default',
    'token exchange of the vMCP-issued JWT',
    [
      'releases use the backend\'s own reference where `backends` does not list it: MCPExternalAuthConfig "open"',
    ],
  ],
  [
    'not in the map',
    inline({ backends: {} }),
    'own',
    'none',
    'NO CREDENTIALS (not in `backends`, and no `default`)',
    [
      'releases use the backend\'s own reference where `backends` does not list it: MCPExternalAuthConfig "own"',
    ],
  ],
  [
    'a type of releases',
    inline({ backends: { jira: { type: 'discovered' } } }),
    'own',
    'unknown',
    'not known (type "discovered" is not in the specification)',
    [
      "with source 'inline' vMCP does not start: nothing resolves type 'discovered'; name the configuration with type 'externalAuthConfigRef'",
    ],
  ],
  [
    'an entry without a reference',
    inline({ backends: { jira: { type: 'externalAuthConfigRef' } } }),
    undefined,
    'unknown',
    'not known (externalAuthConfigRef is missing)',
  ],
  [
    'an entry that names a placeholder',
    inline({ backends: { jira: ref('${NAME}') } }),
    undefined,
    'unknown',
    'not known (externalAuthConfigRef.name is a placeholder or of a wrong JSON type)',
  ],
  [
    'an entry that is not an object',
    inline({ backends: { jira: 1 } }),
    undefined,
    'unknown',
    'not known (its entry in `backends` is of a wrong JSON type)',
  ],
  [
    'a default that is not an object',
    inline({ default: 1 }),
    undefined,
    'unknown',
    'not known (`backends` or `default` cannot be read)',
  ],
  [
    'a backend that names a placeholder',
    {},
    '{{ .Values.auth }}',
    'unknown',
    'not known (externalAuthConfigRef.name is a placeholder or of a wrong JSON type)',
  ],
  [
    'a source that is a placeholder',
    { outgoingAuth: { source: '${SOURCE}' } },
    'own',
    'unknown',
    'not known (source is a placeholder or of a wrong JSON type)',
  ],
  [
    'an unknown source',
    { outgoingAuth: { source: 'mixed' } },
    'own',
    'unknown',
    'not known (source "mixed" is not in the specification)',
  ],
  [
    'an outgoingAuth that is not an object',
    { outgoingAuth: 'inline' },
    'own',
    'unknown',
    'not known (outgoingAuth is a placeholder or of a wrong JSON type)',
  ],
  [
    'a configuration that is not there',
    {},
    'gone',
    'discovered',
    'not known (MCPExternalAuthConfig "gone" not found in the given files)',
  ],
]

t.test('where the configuration comes from', async (t) => {
  const configs = [config('own', AUTHORIZATION), config('open', { type: 'unauthenticated' })]
  for (const [title, spec, own, source, summary, notes = []] of SOURCES) {
    const found = backendOf([group, member('jira', own), ...configs, gateway(spec)])
    t.same([found.source, found.summary, found.notes], [source, summary, notes], title)
  }
})

t.test('an object that may not be read is not reported as missing', async (t) => {
  const state = new ClusterState({
    group: DEFAULT_API_GROUP,
    knows: () => false,
    where: () => 'in the cluster',
  })
  state.put(mcpServer, member('jira', 'gone'))
  state.put(virtualMcpServer, gateway({}))
  const [found] = plansOf(state)
  t.equal(found?.group.reason, 'could not be looked for in the cluster')
  t.equal(
    found?.backends[0]?.summary,
    'not known (MCPExternalAuthConfig "gone" could not be looked for in the cluster)',
  )
})

const BEARER = { type: 'bearerToken', bearerToken: { tokenSecretRef: { name: 'a', key: 'b' } } }
const FIRST_NOTE =
  'releases exchange the vMCP-issued JWT where a discovered token exchange has no subjectProviderName'

/**
 * Notes about differences between releases: the spec of the VirtualMCPServer, that of the configuration, the notes, and
 * the release, if known.
 */
const NOTES: readonly (readonly [string, Spec, Spec, readonly string[], string?])[] = [
  ['a provider that is filled in', server('okta'), exchange(), [FIRST_NOTE]],
  ['a provider that is named', server('okta'), exchange({ subjectProviderName: 'okta' }), []],
  ['no embedded server', {}, exchange(), []],
  ['filled in inline', { ...server('okta'), ...inline({ default: ref('jira') }) }, exchange(), []],
  [
    'filled in inline for a reference of the backend',
    { ...server('okta'), ...inline({}) },
    exchange(),
    [],
    '0.63',
  ],
  [
    'a header of its own',
    {},
    exchange({ externalTokenHeaderName: 'X-Token' }),
    ['releases ignore externalTokenHeaderName under a VirtualMCPServer: the token goes into Authorization'],
  ],
  ['the usual header', {}, exchange({ externalTokenHeaderName: 'authorization' }), []],
  [
    'a discovered bearer token',
    {},
    BEARER,
    ['releases cannot use type bearerToken for a backend, and drop the backend'],
  ],
  [
    'a bearer token inline',
    inline({ default: ref('jira') }),
    BEARER,
    ['releases cannot use type bearerToken for a backend, and do not reconcile the VirtualMCPServer'],
  ],
  [
    'an embedded server',
    {},
    { type: 'embeddedAuthServer', ...server('okta') },
    ['releases cannot use type embeddedAuthServer for a backend, and drop the backend'],
  ],
]

t.test('where releases do otherwise', async (t) => {
  for (const [title, spec, written, notes, release] of NOTES) {
    const objects = [group, member('jira', 'jira'), config('jira', written), gateway(spec)]
    t.same(backendOf(objects, release).notes, notes, title)
  }
  const named = { ...server('okta'), outgoingAuth: { source: 'discovered', default: ref('jira') } }
  const objects = [group, member('jira'), config('jira', exchange()), gateway(named)]
  t.same(backendOf(objects, '0.63').notes, [], 'filled in where the VirtualMCPServer names it')
})

const issuer = (spec: Spec) => named('MCPOIDCConfig', 'corporate', spec)
const INLINE = issuer({ type: 'inline', inline: { issuer: 'https://id.example.com' } })
const oidc = (more: Spec = { audience: 'mcp' }, name: unknown = 'corporate') => ({
  incomingAuth: { type: 'oidc', oidcConfigRef: { name }, ...more },
})

/** Incoming authentication: the spec of the VirtualMCPServer, the MCPOIDCConfigs, and the text. */
const INCOMING: readonly (readonly [string, Spec, readonly unknown[], string])[] = [
  [
    'anonymous',
    { incomingAuth: { type: 'anonymous' } },
    [],
    'anonymous: no authentication, no access control',
  ],
  ['oidc', oidc(), [INLINE], 'oidc: issuer https://id.example.com, MCPOIDCConfig corporate, audience mcp'],
  [
    'an issuer with user information',
    oidc(),
    [issuer({ type: 'inline', inline: { issuer: 'https://ann:hush@id.example.com' } })],
    'oidc: issuer https://***@id.example.com, MCPOIDCConfig corporate, audience mcp',
  ],
  [
    'the audience where releases have it',
    { incomingAuth: { type: 'oidc', oidcConfigRef: { name: 'corporate', audience: 'mcp' } } },
    [INLINE],
    'oidc: issuer https://id.example.com, MCPOIDCConfig corporate, audience mcp',
  ],
  [
    'audiences that differ',
    {
      incomingAuth: {
        type: 'oidc',
        audience: 'mcp',
        oidcConfigRef: { name: 'corporate', audience: 'tools' },
      },
    },
    [INLINE],
    'oidc: issuer https://id.example.com, MCPOIDCConfig corporate, audience not known (`audience` and `oidcConfigRef.audience` contradict each other)',
  ],
  [
    'no audience',
    oidc({}),
    [INLINE],
    'oidc: issuer https://id.example.com, MCPOIDCConfig corporate, audience not known (audience is missing)',
  ],
  [
    'a placeholder as audience',
    oidc({ audience: '${AUDIENCE}' }),
    [INLINE],
    'oidc: issuer https://id.example.com, MCPOIDCConfig corporate, audience not known (audience is a placeholder or of a wrong JSON type)',
  ],
  [
    'tokens of the cluster',
    oidc(),
    [issuer({ type: 'kubernetesServiceAccount', kubernetesServiceAccount: {} })],
    "oidc: issuer the cluster's API server, MCPOIDCConfig corporate, audience mcp",
  ],
  [
    'no such MCPOIDCConfig',
    oidc(),
    [],
    'oidc: issuer not known, MCPOIDCConfig corporate, audience mcp (MCPOIDCConfig "corporate" not found in the given files)',
  ],
  [
    'an issuer that is a placeholder',
    oidc(),
    [issuer({ type: 'inline', inline: { issuer: 'https://${HOST}' } })],
    'oidc: issuer not known, MCPOIDCConfig corporate, audience mcp (issuer of MCPOIDCConfig corporate is a placeholder or of a wrong JSON type)',
  ],
  [
    'a MCPOIDCConfig of a newer release',
    oidc(),
    [issuer({ type: 'configMap' })],
    'oidc: issuer not known, MCPOIDCConfig corporate, audience mcp (MCPOIDCConfig type "configMap" is not in the specification)',
  ],
  [
    'a MCPOIDCConfig without a type',
    oidc(),
    [issuer({})],
    'oidc: issuer not known, MCPOIDCConfig corporate, audience mcp (type of MCPOIDCConfig corporate is missing)',
  ],
  [
    'no reference',
    { incomingAuth: { type: 'oidc' } },
    [],
    'oidc: issuer not known, audience not known (oidcConfigRef is missing; audience is missing)',
  ],
  [
    'a reference that names a placeholder',
    oidc({ audience: 'mcp' }, '${OIDC}'),
    [],
    'oidc: issuer not known, audience mcp (oidcConfigRef.name is a placeholder or of a wrong JSON type)',
  ],
  ['nothing', {}, [], 'not known (incomingAuth is missing)'],
  ['no type', { incomingAuth: {} }, [], 'not known (type is missing)'],
  [
    'an unknown type',
    { incomingAuth: { type: 'mtls' } },
    [],
    'not known (type "mtls" is not in the specification)',
  ],
]

t.test('how clients authenticate', async (t) => {
  for (const [title, spec, others, summary] of INCOMING) {
    t.equal(plansIn([gateway(spec), ...others])[0]?.incoming.summary, summary, title)
  }
})

const WRITTEN = resourceOf('MCPExternalAuthConfig', exchange({ subjectProviderName: 'okta' }), {
  name: 'written',
  annotations: { [`${DEFAULT_API_GROUP}/subject-provider-written`]: 'okta' },
})

/** Notes about a whole VirtualMCPServer that behaves differently in some releases: its spec, and the notes. */
const WHOLE: readonly (readonly [string, Spec, readonly string[]])[] = [
  ['nothing', { ...oidc(), ...inline({ default: ref('open'), backends: { jira: ref('open') } }) }, []],
  [
    'a configuration that is not there, and is not read',
    { outgoingAuth: { default: ref('gone'), backends: { jira: ref('open') } } },
    ['outgoingAuth.default names MCPExternalAuthConfig "gone" not found in the given files'],
  ],
  [
    'types without a strategy',
    inline({ default: ref('token'), backends: { 'a.b': ref('token') } }),
    [
      'outgoingAuth.backends[a.b] names MCPExternalAuthConfig "token" of type bearerToken',
      'outgoingAuth.default names MCPExternalAuthConfig "token" of type bearerToken',
    ],
  ],
  [
    'an audience beside an embedded server',
    { ...oidc(), ...server('okta') },
    [
      'spec.incomingAuth.audience must be an absolute http(s) URL without a fragment, or every login at the embedded server fails; write the URL of clients, in `resourceUrl` too',
    ],
  ],
  [
    'an audience that is not resourceUrl',
    {
      ...server('okta'),
      incomingAuth: {
        type: 'oidc',
        audience: 'https://mcp.example.com/mcp',
        oidcConfigRef: { name: 'a', resourceUrl: 'https://mcp.example.com' },
      },
    },
    [
      'spec.incomingAuth.audience must equal `resourceUrl`, "https://mcp.example.com", the only audience of tokens of the embedded server, or the operator refuses it',
    ],
  ],
  [
    'an audience that is resourceUrl',
    {
      ...server('okta'),
      incomingAuth: {
        type: 'oidc',
        oidcConfigRef: {
          name: 'a',
          audience: 'https://mcp.example.com',
          resourceUrl: 'https://mcp.example.com',
        },
      },
    },
    [],
  ],
]

t.test('where releases do otherwise with a VirtualMCPServer', async (t) => {
  const objects = [group, config('open', { type: 'unauthenticated' }), config('token', BEARER)]
  for (const [title, spec, notes] of WHOLE) {
    const expected = notes.map((note) => `releases do not reconcile this VirtualMCPServer: ${note}`)
    t.same(plansIn([...objects, gateway(spec)])[0]?.notes, expected, title)
  }
})

t.test('a provider that /mutate wrote, and the next write', async (t) => {
  const others = (...gateways: readonly unknown[]) => [group, member('jira', 'written'), WRITTEN, ...gateways]
  const another = (...providers: readonly string[]) =>
    named('VirtualMCPServer', 'other', { groupRef: { name: 'tools' }, ...server(...providers) })
  const next = '/mutate wrote the provider: the next write of MCPExternalAuthConfig "written"'
  t.same(backendOf(others(gateway(server('okta')))).notes, [])
  t.same(backendOf(others(gateway(server('github', 'okta')))).notes, [`${next} writes github`])
  t.same(backendOf(others(gateway(server('okta')), another('github'))).notes, [`${next} takes it away`])
  const off = planOf(stateOf(others(gateway(server('github', 'okta'))), READING), 'default', 'gateway', false)
  t.same(off?.backends[0]?.notes, [], '--defaults off')
})

t.test('the group where older releases had it', async (t) => {
  const [found] = plansIn([named('VirtualMCPServer', 'gateway', { config: { groupRef: 'tools' } })])
  t.equal(
    found?.group.reason,
    'groupRef is missing; `spec.config.groupRef` is of older releases and not read',
  )
})

/** Resources whose plan contains every part of the output. */
const EVERYTHING = [
  group,
  INLINE,
  gateway({
    ...oidc(),
    ...server('okta', 'github'),
    ...inline({
      backends: {
        github: ref('github'),
        jira: ref('jira'),
        wiki: ref('written'),
        search: ref('key'),
        s3: ref('aws'),
        chat: ref('token'),
        lost: ref('gone'),
        typo: ref('jira'),
      },
    }),
  }),
  member('github'),
  member('jira'),
  member('wiki', undefined, 'MCPRemoteProxy'),
  member('search', undefined, 'MCPServerEntry'),
  member('s3'),
  member('chat'),
  member('lost'),
  member('legacy', 'github'),
  config('github', inject('github')),
  config('jira', exchange({ externalTokenHeaderName: 'X-Token' })),
  WRITTEN,
  config('key', header('X-Api-Key')),
  config('aws', { type: 'awsSts', awsSts: { region: 'eu-central-1' } }),
  config('token', BEARER),
]

t.test('a table for people', async (t) => {
  t.equal(
    planText(plansIn(EVERYTHING)),
    `VirtualMCPServer gateway (namespace default), MCPGroup tools
  incoming: oidc: issuer https://id.example.com, MCPOIDCConfig corporate, audience mcp
  embedded authorization server: issuer https://mcp.example.com, login at okta, github
  note: releases do not reconcile this VirtualMCPServer: spec.incomingAuth.audience must be an absolute http(s) URL without a fragment, or every login at the embedded server fails; write the URL of clients, in \`resourceUrl\` too
  note: releases do not reconcile this VirtualMCPServer: outgoingAuth.backends[chat] names MCPExternalAuthConfig "token" of type bearerToken
  note: releases do not reconcile this VirtualMCPServer: outgoingAuth.backends[lost] names MCPExternalAuthConfig "gone" not found in the given files

  BACKEND                  STRATEGY         CONFIG   FROM    TOKEN                            HEADER         NOTE
  wiki (MCPRemoteProxy)    tokenExchange    written  inline  okta (written by /mutate)        Authorization
  chat                     bearerToken      token    inline  Secret                           not specified  [1]
  github                   upstreamInject   github   inline  github                           Authorization
  jira                     tokenExchange    jira     inline  okta (first provider)            X-Token        [2]
  legacy                   NO CREDENTIALS   -        none    -                                -              not in \`backends\`, and no \`default\` [3]
  lost                     not known        gone     inline  -                                -              MCPExternalAuthConfig "gone" not found in the given files
  s3                       awsSts           aws      inline  okta (first provider) → AWS STS  SigV4
  search (MCPServerEntry)  headerInjection  key      inline  Secret                           X-Api-Key
  typo (not in the group)  tokenExchange    jira     inline  okta (first provider)            X-Token        [2]

  [1] releases cannot use type bearerToken for a backend, and do not reconcile the VirtualMCPServer
  [2] releases ignore externalTokenHeaderName under a VirtualMCPServer: the token goes into Authorization
  [3] releases use the backend's own reference where \`backends\` does not list it: MCPExternalAuthConfig "github"
`,
  )
  t.equal(
    planText(plansIn([gateway({}), named('VirtualMCPServer', 'another', {})])),
    `VirtualMCPServer another (namespace default), no MCPGroup known (groupRef is missing)
  incoming: not known (incomingAuth is missing)

  no backends found

VirtualMCPServer gateway (namespace default), MCPGroup tools (not found in the given files)
  incoming: not known (incomingAuth is missing)

  no backends found
`,
  )
  t.equal(planText([]), 'no VirtualMCPServer found\n')
})

t.test('the data', async (t) => {
  const objects = [group, INLINE, member('jira', 'jira'), config('jira', exchange())]
  const state = stateOf([...objects, gateway({ ...oidc(), ...server('okta') })], READING)
  t.equal(planOf(state, 'default', 'missing'), undefined)
  t.equal(planOf(state, 'other', 'gateway'), undefined)
  t.same(planOf(state, 'default', 'gateway'), {
    namespace: 'default',
    name: 'gateway',
    group: { name: 'tools', reason: null },
    incoming: {
      summary: 'oidc: issuer https://id.example.com, MCPOIDCConfig corporate, audience mcp',
      type: 'oidc',
      oidcConfig: 'corporate',
      oidcType: 'inline',
      issuer: 'https://id.example.com',
      audience: 'mcp',
      reason: null,
    },
    authServer: {
      summary: 'issuer https://mcp.example.com, login at okta',
      issuer: 'https://mcp.example.com',
      providers: ['okta'],
      complete: true,
    },
    backends: [
      {
        kind: 'MCPServer',
        name: 'jira',
        summary: 'token exchange via okta',
        credentials: 'sent',
        source: 'discovered',
        config: 'jira',
        type: 'tokenExchange',
        token: 'upstream',
        provider: 'okta',
        chosen: 'first',
        placement: 'header',
        header: 'Authorization',
        reason: null,
        roles: null,
        notes: [FIRST_NOTE],
      },
    ],
    notes: [
      'releases do not reconcile this VirtualMCPServer: spec.incomingAuth.audience must be an absolute http(s) URL without a fragment, or every login at the embedded server fails; write the URL of clients, in `resourceUrl` too',
    ],
  })
})

t.test('every part of a plan is always there', async (t) => {
  const [first] = plansIn(EVERYTHING)
  const everyBackend = [...STRATEGIES.map(([, written, , spec = {}]) => [spec, written] as const)].map(
    ([spec, written]) => backendOf([member('jira', 'jira'), config('jira', written), gateway(spec)]),
  )
  for (const backend of [...(first?.backends ?? []), ...everyBackend])
    t.same(Object.keys(backend).toSorted(), BACKEND_FIELDS, backend.summary)
  for (const [title, spec, others] of INCOMING)
    t.same(
      Object.keys(plansIn([gateway(spec), ...others])[0]?.incoming ?? {}).toSorted(),
      ['audience', 'issuer', 'oidcConfig', 'oidcType', 'reason', 'summary', 'type'],
      title,
    )
})

const BACKEND_FIELDS = [
  'chosen',
  'config',
  'credentials',
  'header',
  'kind',
  'name',
  'notes',
  'placement',
  'provider',
  'reason',
  'roles',
  'source',
  'summary',
  'token',
  'type',
]

const OLD = [
  group,
  member('github', 'github'),
  member('jira', 'jira'),
  member('wiki'),
  config('github', inject('github')),
  config('jira', exchange({ subjectProviderName: 'okta' })),
  gateway({ ...oidc(), ...server('okta', 'github') }),
  INLINE,
]
const without = (...names: string[]) =>
  OLD.filter(({ metadata }) => !names.includes((metadata as { name: string }).name))

/** The objects that replace OLD, and the lines of the comparison. */
const CHANGES: readonly (readonly [string, readonly unknown[], readonly string[]])[] = [
  ['nothing', OLD, ['nothing changes of what a plan shows']],
  ['another order', OLD.toReversed(), ['nothing changes of what a plan shows']],
  [
    'a type',
    [...without('jira'), member('jira', 'jira'), config('jira', { type: 'unauthenticated' })],
    [
      'VirtualMCPServer gateway (namespace default)',
      '  ~ jira: token exchange via okta → NO CREDENTIALS (type unauthenticated)',
    ],
  ],
  [
    'a reference that goes',
    [...without('jira'), member('jira')],
    [
      'VirtualMCPServer gateway (namespace default)',
      '  ~ jira: token exchange via okta → NO CREDENTIALS (no externalAuthConfigRef)',
    ],
  ],
  [
    'another configuration that does the same',
    [...OLD, member('jira', 'tickets'), config('tickets', exchange({ subjectProviderName: 'okta' }))],
    [
      'VirtualMCPServer gateway (namespace default)',
      '  ~ jira: token exchange via okta [MCPExternalAuthConfig jira] → token exchange via okta [MCPExternalAuthConfig tickets]',
    ],
  ],
  [
    'a provider that is no longer named',
    [...OLD, config('jira', exchange())],
    [
      'VirtualMCPServer gateway (namespace default)',
      '  ~ jira: token exchange via okta [provider given] → token exchange via okta [provider first] [1]',
      '',
      `  [1] ${FIRST_NOTE}`,
    ],
  ],
  [
    'what only releases do',
    [...OLD, gateway({ ...oidc(), ...server('okta', 'github'), outgoingAuth: { default: ref('jira') } })],
    [
      'VirtualMCPServer gateway (namespace default)',
      '  ~ wiki: NO CREDENTIALS (no externalAuthConfigRef) → NO CREDENTIALS (no externalAuthConfigRef) [1]',
      '',
      '  [1] releases use `default` where the backend has no reference: MCPExternalAuthConfig "jira"; some drop it soon after the start',
    ],
  ],
  [
    'backends that come and go',
    [...without('wiki'), member('wiki', 'github', 'MCPRemoteProxy'), member('notes')],
    [
      'VirtualMCPServer gateway (namespace default)',
      '  + wiki (MCPRemoteProxy): upstream token of github',
      '  + notes: NO CREDENTIALS (no externalAuthConfigRef)',
      '  - wiki: NO CREDENTIALS (no externalAuthConfigRef)',
    ],
  ],
  [
    'the providers and the clients',
    [...OLD, gateway({ incomingAuth: { type: 'anonymous' }, ...server('github') })],
    [
      'VirtualMCPServer gateway (namespace default)',
      '  ~ incoming: oidc: issuer https://id.example.com, MCPOIDCConfig corporate, audience mcp → anonymous: no authentication, no access control',
      '  ~ embedded authorization server: issuer https://mcp.example.com, login at okta, github → issuer https://mcp.example.com, login at github',
      '  ~ jira: token exchange via okta → token exchange via okta, NOT AVAILABLE (the embedded authorization server has no such provider)',
    ],
  ],
  [
    'the group',
    [...OLD, gateway({ ...oidc(), groupRef: { name: 'other' } })],
    [
      'VirtualMCPServer gateway (namespace default)',
      '  ~ MCPGroup: tools → other',
      '  - embedded authorization server: issuer https://mcp.example.com, login at okta, github',
      '  - github: upstream token of github',
      '  - jira: token exchange via okta',
      '  - wiki: NO CREDENTIALS (no externalAuthConfigRef)',
    ],
  ],
  ['an MCPGroup that no plan shows', without('tools'), ['nothing changes of what a plan shows']],
  [
    'VirtualMCPServers that come and go',
    [
      ...without('gateway'),
      gateway({ groupRef: { name: 'empty' }, incomingAuth: { type: 'anonymous' } }, 'door'),
    ],
    [
      'VirtualMCPServer door (namespace default): added',
      '  + MCPGroup: empty',
      '  + incoming: anonymous: no authentication, no access control',
      '',
      'VirtualMCPServer gateway (namespace default): removed',
      '  - MCPGroup: tools',
      '  - incoming: oidc: issuer https://id.example.com, MCPOIDCConfig corporate, audience mcp',
      '  - embedded authorization server: issuer https://mcp.example.com, login at okta, github',
      '  - github: upstream token of github',
      '  - jira: token exchange via okta',
      '  - wiki: NO CREDENTIALS (no externalAuthConfigRef)',
    ],
  ],
]

/** The old and the new `awsSts`, and the line of the comparison without its sign and the name of the backend. */
const ROLE_CHANGES: readonly (readonly [string, Spec, Spec, string])[] = [
  [
    'the provider',
    { subjectProviderName: 'okta' },
    { subjectProviderName: 'google' },
    'SigV4 of an AWS role, for the token of okta → SigV4 of an AWS role, for the token of google',
  ],
  [
    'a mapping',
    { roleMappings: [{ matcher: 'claims.sub == "a"', roleArn: 'arn:a' }], fallbackRoleArn: 'arn:z' },
    { roleMappings: [{ matcher: 'claims.sub == "b"', roleArn: 'arn:a' }], fallbackRoleArn: 'arn:z' },
    'SigV4 of an AWS role, for the token of okta [claims.sub == "a": arn:a] → SigV4 of an AWS role, for the token of okta [claims.sub == "b": arn:a]',
  ],
  [
    'priorities',
    { roleMappings: [{ matcher: 'claims.sub == "a"', roleArn: 'arn:a', priority: 2 }] },
    { roleMappings: [{ matcher: 'claims.sub == "a"', roleArn: 'arn:a', priority: 1 }] },
    'SigV4 of an AWS role, for the token of okta [claims.sub == "a": arn:a (priority 2)] → SigV4 of an AWS role, for the token of okta [claims.sub == "a": arn:a (priority 1)]',
  ],
  [
    'the order',
    {
      roleMappings: [
        { matcher: 'claims.sub == "a"', roleArn: 'arn:a' },
        { matcher: 'claims.sub == "b"', roleArn: 'arn:b' },
      ],
    },
    {
      roleMappings: [
        { matcher: 'claims.sub == "b"', roleArn: 'arn:b' },
        { matcher: 'claims.sub == "a"', roleArn: 'arn:a' },
      ],
    },
    'SigV4 of an AWS role, for the token of okta [claims.sub == "a": arn:a; claims.sub == "b": arn:b; otherwise: no role] → SigV4 of an AWS role, for the token of okta [claims.sub == "b": arn:b; claims.sub == "a": arn:a; otherwise: no role]',
  ],
  [
    'the fallback, and the session name',
    { fallbackRoleArn: 'arn:a' },
    { fallbackRoleArn: 'arn:b', sessionNameClaim: 'email' },
    'SigV4 of an AWS role, for the token of okta [otherwise: arn:a] → SigV4 of an AWS role, for the token of okta [otherwise: arn:b; session name: email]',
  ],
]

t.test('what changes for roles of AWS', async (t) => {
  const stateWith = (awsSts: Spec) => [
    group,
    member('s3', 's3'),
    config('s3', signing(awsSts)),
    gateway({ ...oidc(), ...server('okta', 'google'), ...inline({ default: ref('s3') }) }),
  ]
  for (const [title, old, now, line] of ROLE_CHANGES)
    t.equal(
      changesText(compare(plansIn(stateWith(old)), plansIn(stateWith(now)))),
      `VirtualMCPServer gateway (namespace default)\n  ~ s3: ${line}\n`,
      title,
    )
  const groups = stateWith({ roleMappings: [{ claim: 'admins', roleArn: 'arn:a' }] })
  t.match(plansIn(groups)[0]?.backends[0], {
    provider: 'okta',
    chosen: 'first',
    roles: ['"admins" in claims.groups: arn:a', 'otherwise: no role'],
    notes: [
      'roles are chosen by the token that vMCP issues, which lacks "groups": no mapping matches, nobody gets a role; they have sub, name, email, client_id, scp',
    ],
  })
})

t.test('what changes for whom', async (t) => {
  for (const [title, now, lines] of CHANGES)
    t.equal(changesText(compare(plansIn(OLD), plansIn(now))), `${lines.join('\n')}\n`, title)
  const now = [...OLD, config('jira', { type: 'unauthenticated' }), gateway({}, 'second')]
  const [change, second] = compare(plansIn(OLD), plansIn(now))
  t.match(change, {
    namespace: 'default',
    name: 'gateway',
    change: 'changed',
    group: null,
    incoming: null,
    authServer: null,
    backends: [
      {
        kind: 'MCPServer',
        name: 'jira',
        change: 'changed',
        old: { summary: 'token exchange via okta', credentials: 'sent' },
        new: { summary: 'NO CREDENTIALS (type unauthenticated)', credentials: 'none' },
      },
    ],
  })
  t.match(second, { change: 'added', group: { old: null, new: { name: 'tools' } }, authServer: null })
})

const CLASSES = `  classDef none fill:#ffebe9,stroke:#cf222e,color:#82071e
  classDef doubtful fill:#fff8c5,stroke:#9a6700,color:#4d2d00,stroke-dasharray:4
  classDef gone fill:#eaeef2,stroke:#6e7781,color:#57606a,stroke-dasharray:4
`

t.test('a flowchart', async (t) => {
  t.equal(
    planMermaid(plansIn([...OLD, member('lost', 'gone')])),
    `flowchart LR
  n0["VirtualMCPServer<br/>default/gateway"]
  n1(["clients"])
  n1 -->|"oidc: issuer https://id.example.com, MCPOIDCConfig corporate, audience mcp"| n0
  n2(["embedded authorization server<br/>issuer https://mcp.example.com, login at okta, github"])
  n2 -.->|"upstream tokens"| n0
  n3["github<br/>MCPServer"]
  n0 -->|"upstream token of github"| n3
  n4["jira<br/>MCPServer"]
  n0 -->|"token exchange via okta"| n4
  n5["lost<br/>MCPServer"]:::doubtful
  n0 -->|"not known (MCPExternalAuthConfig #34;gone#34; not found in the given files)"| n5
  n6["wiki<br/>MCPServer"]:::none
  n0 -->|"NO CREDENTIALS (no externalAuthConfigRef)"| n6
${CLASSES}`,
  )
  t.equal(planMermaid([]), `flowchart LR\n  n0["no VirtualMCPServer found"]\n${CLASSES}`)
  const now = [
    ...without('wiki'),
    member('notes'),
    config('jira', { type: 'unauthenticated' }),
    gateway({ incomingAuth: { type: 'anonymous' }, ...server('github', 'okta') }),
  ]
  t.equal(
    changesMermaid(compare(plansIn(OLD), plansIn(now))),
    `flowchart LR
  n0["VirtualMCPServer<br/>default/gateway"]
  n1(["clients"]):::none
  n1 -->|"oidc: issuer https://id.example.com, MCPOIDCConfig corporate, audience mcp → anonymous: no authentication, no access control"| n0
  n2(["embedded authorization server"])
  n2 -.->|"issuer https://mcp.example.com, login at okta, github → issuer https://mcp.example.com, login at github, okta"| n0
  n3["jira<br/>MCPServer"]:::none
  n0 -->|"token exchange via okta → NO CREDENTIALS (type unauthenticated)"| n3
  n4["notes<br/>MCPServer"]:::none
  n0 -->|"added: NO CREDENTIALS (no externalAuthConfigRef)"| n4
  n5["wiki<br/>MCPServer"]:::gone
  n0 -.->|"removed: NO CREDENTIALS (no externalAuthConfigRef)"| n5
${CLASSES}`,
  )
  t.equal(
    changesMermaid(compare(plansIn(OLD), [])).split('\n')[1],
    '  n0["VirtualMCPServer<br/>default/gateway<br/>removed"]:::gone',
  )
  const opened = gateway({ incomingAuth: { type: 'anonymous' } }, 'open')
  const comment = changesMarkdown(
    compare(plansIn([...OLD, gateway({}, 'open')]), plansIn([...now, opened])),
    0,
  )
  t.match(
    comment,
    '**vMCP authentication:** **2 gateways open to anyone**, **1 backend loses its credentials**,',
  )
  const rows = comment.split('\n').filter((line) => line.startsWith('| '))
  t.strictSame(
    rows.map((line) => line.split(' | ').slice(0, 3).join(' | ')),
    [
      '| Change | VirtualMCPServer | Of',
      '| --- | --- | ---',
      '| **opens** | default/gateway | callers',
      '| **opens** | default/open | callers',
      '| **loses credentials** | default/gateway | jira',
      '| added | default/gateway | notes',
      '| added | default/open | notes',
      '| removed | default/gateway | wiki',
      '| Change | VirtualMCPServer | Of',
      '| --- | --- | ---',
      '| removed | default/open | wiki',
      '| changed | default/gateway | authorization server',
      '| changed | default/open | jira',
    ],
    'what matters most is first, and the rest is folded',
  )
  t.equal(changesMermaid([]), `flowchart LR\n  n0["nothing changes of what a plan shows"]\n${CLASSES}`)
})

/** Names with a meaning for a terminal, Mermaid or a browser. */
const HOSTILE = [
  'a"]; click n0 "javascript:alert(1)"',
  'two\nlines',
  '\u001b[2Jcleared',
  '\u202eright to left',
  '<img src=x onerror=alert(1)>',
  '`code`',
  '```',
  '%%{init: {"theme": "dark"}}%%',
  'end',
  'direction TB',
  'direction\tTB',
  'style x:#1;',
  'classDef x:#1;',
  '#quot;',
  'ﬂ°quot¶ß',
  'a|b|c{d}(e)[f]',
  'n0@{ shape: circle }',
  '日本 – 😀',
  '@user org/a#1 !2 https://evil.example/a www.evil.example a@evil.example',
  'https://evil.example/`a` ``b`` |c| \\|d',
  '&lt;img src=x&gt; ~~b~~ :x:',
]

/** A line of a flowchart by the grammar of Mermaid, whose labels contain only plain text and entities. */
const LABEL = String.raw`"(?:[\p{L}\p{N} .,:/()_→-]|#\d+;|<br/>)+"`
const LINE = new RegExp(
  String.raw`^(?:flowchart LR|  n\d+(?:\[${LABEL}\]|\(\[${LABEL}\]\))(?::::[a-z]+)?|  n\d+ -\.?->\|${LABEL}\| n\d+|  classDef [a-z]+ [a-z0-9#:,-]+)$`,
  'u',
)
/** What Mermaid searches for in a whole line, inside quotes too. */
const BEFORE_QUOTES = /direction\s+(?:TB|BT|RL|LR)|style.*:\S*#.*;|classDef.*:\S*#.*;|%%|```/

/** A code span in a line of Markdown. */
const CODE = /(?<![\\`])(`+)(?!`)(.+?)(?<!`)\1(?!`)/g

t.test('no name writes syntax', async (t) => {
  for (const name of HOSTILE) {
    const written = plansIn([
      { ...group, metadata: { name } },
      named('MCPServer', name, { groupRef: { name }, externalAuthConfigRef: { name } }),
      named('MCPRemoteProxy', name, { groupRef: { name }, externalAuthConfigRef: { name: `${name} gone` } }),
      config(name, exchange({ subjectProviderName: name, externalTokenHeaderName: name })),
      gateway(
        {
          groupRef: { name },
          ...oidc({ audience: name }, name),
          ...server(name),
          ...inline({ default: ref(name) }),
        },
        name,
      ),
    ])
    const charts = [
      planMermaid(written),
      changesMermaid(compare([], written)),
      changesMermaid(compare(written, [])),
    ]
    for (const line of charts.flatMap((chart) => chart.trimEnd().split('\n'))) {
      t.match(line, LINE, JSON.stringify(name))
      t.notMatch(line, BEFORE_QUOTES, JSON.stringify(name))
    }
    for (const line of changesMarkdown(compare([], written), 0)
      .split('\n')
      .filter((row) => row.startsWith('| '))) {
      const outside = line.replaceAll(CODE, (_, _ticks: string, code: string) => {
        t.notMatch(code, /(?<!\\)\|/, JSON.stringify(name))
        return ''
      })
      t.match(outside, /^\| (?:(?:[^\\|<>*_`[\]]|\\[\\|<>*_`[\]]|\*\*)* \|){5}$/u, JSON.stringify(name))
      t.notMatch(outside, /:\/\/|www\.|[@#!&$~%^]\S/, JSON.stringify(name))
    }
    const texts = [planText(written), changesText(compare([], written))]
    for (const text of texts)
      t.notMatch(text, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028-\u202e]/, JSON.stringify(name))
    t.equal(
      texts[0]?.split('\n').length,
      planText(plansIn(HARMLESS)).split('\n').length,
      JSON.stringify(name),
    )
  }
})

/** The objects that the test above builds from HOSTILE names, with harmless names. */
const HARMLESS = [
  group,
  member('a', 'a'),
  member('b', 'gone', 'MCPRemoteProxy'),
  config('a', exchange({ subjectProviderName: 'a', externalTokenHeaderName: 'a' })),
  gateway({ ...oidc(), ...server('a'), ...inline({ default: ref('a') }) }),
]

t.test('a comment says that credentials are lost or gained only where both sides are known', (t) => {
  const plansOfType = (spec: Spec) =>
    plansIn([group, member('jira', 'jira'), config('jira', spec), gateway(server('okta'))])
  const [none, later] = [{ type: 'unauthenticated' }, { type: 'xaa', xaa: {} }]
  const rows: [old: Spec, now: Spec, change: string][] = [
    [exchange(), none, '**loses credentials**'],
    [none, exchange(), 'gains credentials'],
    [exchange(), later, 'changed'],
    [later, exchange(), 'changed'],
    [none, later, 'changed'],
  ]
  for (const [old, now, change] of rows)
    t.match(
      changesMarkdown(compare(plansOfType(old), plansOfType(now)), 0),
      `| ${change} | default/gateway | jira |`,
      `${String(old.type)} to ${String(now.type)}`,
    )
  t.end()
})

const folder = mkdtempSync(join(tmpdir(), 'vmcp-plan-'))
t.teardown(() => rm(folder, { recursive: true }))

const vmcp = (args: readonly string[], input = '') =>
  runCli(['plan', ...args], { cwd: folder, input, environment: { AUTH: 'jira' } })

const COMMENT = `<!-- vmcp-admission plan -->
**vMCP authentication:** **1 backend loses its credentials**

| Change | VirtualMCPServer | Of | Before | After |
| --- | --- | --- | --- | --- |
| **loses credentials** | default/gateway | jira | token exchange via okta | NO CREDENTIALS (type unauthenticated) |

<details><summary>As a picture</summary>

\`\`\`mermaid
flowchart LR
`

const beginning = (text: string) => new RegExp(`^${text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')}`)

t.test('the command', async (t) => {
  const files = {
    'old.json': OLD,
    'new.json': [...OLD, config('jira', { type: 'unauthenticated' })],
    'gateway.json': [gateway({})],
    'backends.json': [group, member('jira', '${AUTH}'), config('jira', inject('okta'))],
    'more.json': [member('wiki')],
  }
  for (const [name, items] of Object.entries(files))
    await writeFile(join(folder, name), JSON.stringify({ apiVersion: 'v1', kind: 'List', items }))
  await writeFile(join(folder, 'broken.yaml'), 'a: [')
  const changed = `VirtualMCPServer gateway (namespace default)
  ~ jira: token exchange via okta → NO CREDENTIALS (type unauthenticated)
`
  const gone =
    'no VirtualMCPServer in backends.json: this compares gateway.json with backends.json; --together makes them one plan\n'

  /** Arguments, exit code, stdout, stderr and stdin. */
  const runs: readonly (readonly [readonly string[], number, string | RegExp, string | RegExp, string?])[] = [
    [['old.json'], 0, /^VirtualMCPServer gateway .*\n {2}incoming: oidc/, ''],
    [['old.json', 'new.json'], 0, changed, ''],
    [['old.json', '-'], 0, changed, '', JSON.stringify({ kind: 'List', items: files['new.json'] })],
    [['gateway.json', 'backends.json'], 0, /: removed\n/, gone],
    [['--together', '--env', 'gateway.json', 'backends.json'], 0, /jira +upstreamInject +jira/, ''],
    [
      ['--set', 'AUTH=jira', 'gateway.json', 'backends.json', 'more.json'],
      0,
      /jira +upstreamInject(?:.*\n)+.*wiki/,
      '',
    ],
    [['--output', 'mermaid', 'old.json', 'new.json'], 0, /^flowchart LR\n.*\n.*\n.* → NO CREDENTIALS/, ''],
    [['--output', 'markdown', 'old.json', 'new.json'], 0, beginning(COMMENT), ''],
    [
      ['--output', 'markdown', 'old.json', 'old.json'],
      0,
      /\n\*\*vMCP authentication:\*\* nothing changes .*\n$/,
      '',
    ],
    [
      ['--output', 'markdown', 'old.json', 'broken.yaml'],
      3,
      /\n\*\*Not complete:\*\* 1 not read/,
      /cannot read/,
    ],
    [['missing.json'], 3, '', 'missing.json: cannot read: no such file or folder\n'],
    [['--output', 'mermaid', 'broken.yaml'], 3, '', /^broken\.yaml:1:\d+: cannot read: /],
    [
      ['old.json', 'missing.json', 'broken.yaml'],
      3,
      /^VirtualMCPServer/,
      /^missing\.json: cannot read: .*\nbroken\.yaml:1:\d+: cannot read: /,
    ],
  ]
  await twoAtATime(runs, async ([args, status, stdout, stderr, input]) => {
    const run = await vmcp(args, input)
    const title = args.join(' ')
    t.equal(run.status, status, title)
    for (const [found, expected] of [
      [run.stdout, stdout],
      [run.stderr, stderr],
    ] as const) {
      if (typeof expected === 'string') t.equal(found, expected, title)
      else t.match(found, expected, title)
    }
  })
})

async function twoAtATime<T>(items: readonly T[], act: (item: T) => Promise<void>): Promise<void> {
  const left = [...items]
  const work = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await act(item)
  }
  await Promise.all([work(), work()])
}

t.test('wrong usage', async (t) => {
  const rows: readonly (readonly [readonly string[], RegExp])[] = [
    [[], /name the files or folders to plan/],
    [['-', '-'], /only one of the two can be standard input/],
    [['--output', 'text', 'old.json'], /'text' is not one of human, json, mermaid, markdown/],
    [['--output', 'markdown', 'old.json'], /name an old and a new state/],
    [['--strict', 'old.json'], /there is no flag --strict/],
  ]
  for (const [args, message] of rows) {
    const error = await plan.run(args, {}).catch((thrown: unknown) => thrown)
    t.type(error, UsageError, args.join(' '))
    t.match((error as Error).message, message, args.join(' '))
  }
})

t.test('JSON', async (t) => {
  const single = await vmcp(['--output', 'json', 'old.json'])
  t.same(JSON.parse(single.stdout), { version: 1, virtualMCPServers: plansIn(OLD), unread: [] })
  const comparison = await vmcp(['--output', 'json', 'old.json', 'missing.json'])
  t.equal(comparison.status, 3)
  t.same(JSON.parse(comparison.stdout), {
    version: 1,
    changes: compare(plansIn(OLD), []),
    unread: [{ file: 'missing.json', line: 0, column: 0, message: 'no such file or folder' }],
  })
})

t.test('whose configuration a backend gets, by release', async (t) => {
  const objects = (outgoingAuth: Spec, key: Spec = header('X-Api-Key')) => [
    gateway(inline(outgoingAuth)),
    member('jira', 'own'),
    config('own', key),
    config('open', exchange()),
  ]
  const fallback = { default: ref('open') }
  const bare = (outgoingAuth: Spec) => [
    gateway({ outgoingAuth }),
    member('jira'),
    config('own', header('X-Api-Key')),
    config('open', exchange()),
  ]
  const ENDS = 'end at start, as they do not mount its Secret'
  const USED = "releases use the backend's own reference where `backends` does not list it: "
  const OWN = 'MCPExternalAuthConfig "own"'
  const none = objects({ backends: {} })
  const other = objects({ default: ref('open') })
  const rows: [title: string, objects: readonly unknown[], release: string | undefined, expected: object][] =
    [
      [
        'none',
        none,
        undefined,
        { source: 'none', config: null, notes: [`${USED}${OWN}; up to 0.56 they ${ENDS}`] },
      ],
      [
        'none, and no Secret',
        objects({ backends: {} }, exchange()),
        undefined,
        { source: 'none', config: null, notes: [`${USED}${OWN}`] },
      ],
      [
        'the default',
        other,
        undefined,
        { source: 'default', config: 'open', notes: [`${USED}${OWN}; up to 0.56 they ${ENDS}`] },
      ],
      [
        'of a release before 0.57',
        other,
        '0.55',
        {
          source: 'discovered',
          config: 'own',
          notes: [`releases up to 0.56 ${ENDS}: list the backend in \`backends\``],
        },
      ],
      [
        'whose Secret is mounted for another backend',
        objects({ backends: { wiki: ref('own') } }),
        '0.55',
        { source: 'discovered', config: 'own', notes: [] },
      ],
      ['of release 0.57', other, '0.57', { source: 'discovered', config: 'own', notes: [] }],
      ['of a newer one, without a default', none, '0.62', { source: 'discovered', config: 'own', notes: [] }],
      [
        'listed with another configuration',
        objects({ backends: { jira: ref('open') } }),
        '0.62',
        { source: 'inline', config: 'open', notes: [] },
      ],
      ['discovered, none of its own, of release 0.46', bare(fallback), '0.46', { source: 'none' }],
      [
        'discovered, none of its own, of release 0.47',
        bare(fallback),
        '0.47',
        { source: 'default', config: 'open', notes: [] },
      ],
      [
        'discovered, none of its own, with an entry',
        bare({ ...fallback, backends: { jira: ref('own') } }),
        '0.63',
        { source: 'inline', config: 'own', notes: [] },
      ],
      [
        'discovered, none of its own, with an entry that cannot be read',
        bare({ ...fallback, backends: { jira: 7 } }),
        '0.63',
        { source: 'unknown', reason: 'its entry in `backends` is of a wrong JSON type' },
      ],
      [
        'discovered, one of its own',
        [gateway({ outgoingAuth: fallback }), member('jira', 'own'), config('own', header('X-Api-Key'))],
        '0.63',
        { source: 'discovered', config: 'own', notes: [] },
      ],
    ]
  for (const [title, given, release, expected] of rows) {
    const [found] = plansOf(stateOf(given, READING), undefined, release)[0]?.backends ?? []
    t.match(found, expected, title)
  }
})
