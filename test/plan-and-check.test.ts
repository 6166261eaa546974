import fc from 'fast-check'
import t from 'tap'
import type { Outgoing } from '../src/access/outgoing.ts'
import { type Plan, plansOf } from '../src/access/effective-authentication.ts'
import { stateOf } from '../src/documents/given-objects.ts'
import { DEFAULT_API_GROUP } from '../src/kinds/index.ts'
import { fileOf, judgeOf, resourceOf } from './support/review.ts'

type Json = Record<string, unknown>

const READING = { group: DEFAULT_API_GROUP, namespace: 'default', strict: true }
const named = (kind: string, name: string, spec: Json) => resourceOf(kind, spec, { name })

const MEMBERS = ['jira', 'wiki', 'mail']
const CONFIGS = ['one', 'two', 'three']
const URL = 'https://mcp.example.com/mcp'

/** An MCPExternalAuthConfig spec of each type, and of embedded authorization servers with each kind of provider. */
const SETTINGS: readonly Json[] = [
  { type: 'unauthenticated' },
  { type: 'bearerToken', bearerToken: { tokenSecretRef: { name: 'key', key: 'value' } } },
  {
    type: 'headerInjection',
    headerInjection: { headerName: 'X-Api-Key', valueSecretRef: { name: 'key', key: 'value' } },
  },
  { type: 'awsSts', awsSts: { region: 'eu-central-1', fallbackRoleArn: 'arn:aws:iam::123456789012:role/a' } },
  { type: 'embeddedAuthServer', embeddedAuthServer: serverOf(['okta']) },
  { type: 'upstreamInject', upstreamInject: { providerName: 'okta' } },
  { type: 'upstreamInject', upstreamInject: { providerName: 'gitlab' } },
  ...[
    {},
    { subjectProviderName: 'okta' },
    { subjectProviderName: 'gitlab' },
    { externalTokenHeaderName: 'X-Token' },
  ].map((more) => ({
    type: 'tokenExchange',
    tokenExchange: { tokenUrl: 'https://idp.example.com/token', audience: 'jira', ...more },
  })),
]

function serverOf(providers: readonly string[]): Json {
  return {
    issuer: 'https://auth.example.com',
    upstreamProviders: providers.map((name) => ({
      name,
      type: 'oidc',
      oidcConfig: { issuerUrl: `https://${name}.example.com`, clientId: 'vmcp' },
    })),
  }
}

const configName = fc.constantFrom(...CONFIGS)
const reference = configName.map((name) => ({ externalAuthConfigRef: { name } }))
const strategy = fc.oneof(
  reference.map((ref) => ({ type: 'externalAuthConfigRef', ...ref })),
  fc.constant({ type: 'discovered' }),
)

const outgoingAuth = fc.record(
  {
    source: fc.constantFrom('discovered', 'inline'),
    default: reference.map((ref) => ({ type: 'externalAuthConfigRef', ...ref })),
    backends: fc.dictionary(fc.constantFrom('jira', 'wiki', 'stranger'), strategy, { maxKeys: 2 }),
  },
  { requiredKeys: [] },
)

const incomingAuth = fc.oneof(
  fc.constant({ type: 'anonymous' }),
  fc
    .record(
      {
        audience: fc.constantFrom(URL, 'tools'),
        resourceUrl: fc.constantFrom(URL, 'https://other.example.com'),
      },
      { requiredKeys: [] },
    )
    .map((more) => ({ type: 'oidc', oidcConfigRef: { name: 'corporate', ...more } })),
)

const gateway = fc.record(
  {
    groupRef: fc.constantFrom({ name: 'tools' }, { name: 'tolls' }),
    incomingAuth,
    outgoingAuth,
    authServerConfig: fc.subarray(['okta', 'github'], { minLength: 1 }).map(serverOf),
  },
  { requiredKeys: ['incomingAuth'] },
)

const world = fc
  .record({
    spec: gateway,
    members: fc.dictionary(
      fc.constantFrom(...MEMBERS),
      fc.record({
        kind: fc.constantFrom('MCPServer', 'MCPRemoteProxy', 'MCPServerEntry'),
        config: fc.option(configName),
      }),
      { maxKeys: 3 },
    ),
    configs: fc.dictionary(configName, fc.constantFrom(...SETTINGS), { maxKeys: 3 }),
    oidcConfig: fc.boolean(),
  })
  .map(({ spec, members, configs, oidcConfig }) => [
    named('VirtualMCPServer', 'gateway', spec),
    named('MCPGroup', 'tools', {}),
    ...(oidcConfig
      ? [
          named('MCPOIDCConfig', 'corporate', {
            type: 'inline',
            inline: { issuer: 'https://auth.example.com' },
          }),
        ]
      : []),
    ...Object.entries(configs).map(([name, settings]) => named('MCPExternalAuthConfig', name, settings)),
    ...Object.entries(members).map(([name, { kind, config }]) =>
      named(kind, name, {
        groupRef: { name: 'tools' },
        ...(config !== null && { externalAuthConfigRef: { name: config } }),
      }),
    ),
  ])

/** A failure in the output of `plan`, and rules of which one must report it on the VirtualMCPServer or the workload. */
const TOLD: readonly (readonly [failure: RegExp, ...rules: readonly string[]])[] = [
  [/spec\.incomingAuth\.\S+ (?:must|defaults) /, 'auth-server-audience-is-resource-url'],
  [/names MCPExternalAuthConfig .* not found/, 'reference-found'],
  [/names MCPExternalAuthConfig .* of type/, 'auth-config-type-suited'],
  [/^group: groupRef is missing/, 'group-ref-configured'],
  [/^(?:group|incoming|backend): .*not found/, 'reference-found'],
  [/^incoming: audience is missing/, 'incoming-auth-audience-configured'],
  [/^backend: anonymous callers bring no token/, 'exchanged-token-brought'],
  [/^backend: no externalAuthConfigRef/, 'backend-credentials-configured', 'backend-strategy-chosen'],
  [
    /^backend: not in `backends`/,
    'backend-credentials-configured',
    'backend-strategy-chosen',
    'outgoing-auth-inline-configured',
    'own-reference-listed',
    'own-reference-agreed',
  ],
  [
    /releases (?:use|leave the backend out for) the backend's own reference where/,
    'own-reference-listed',
    'own-reference-agreed',
  ],
  [/releases use `(?:default|backends)`/, 'outgoing-auth-inline-used'],
  [
    /^backend: no embedded authorization server/,
    'upstream-inject-has-auth-server',
    'subject-provider-exists',
  ],
  [
    /^backend: the embedded authorization server has no such/,
    'upstream-inject-provider-exists',
    'subject-provider-exists',
  ],
  [/releases cannot use type|releases ignore externalTokenHeaderName/, 'auth-config-type-suited'],
  [/nothing resolves type 'discovered'/, 'outgoing-auth-inline-type-resolved'],
  [/releases exchange the vMCP-issued JWT/, 'subject-provider-chosen'],
]

/** A note about a change by /mutate, which is no failure. */
const NO_FAILURE = 'note: /mutate wrote the provider'

/** The failures in a plan, without what the plan does not know. */
function failuresOf({ group, incoming, backends, notes }: Plan): string[] {
  return [
    ...(group.reason === null ? [] : [`group: ${group.reason}`]),
    ...(incoming.reason === null ? [] : incoming.reason.split('; ').map((reason) => `incoming: ${reason}`)),
    ...backends.flatMap(failuresOfBackend),
    ...notes.map((note) => `note: ${note}`),
  ].filter((text) => !text.startsWith(NO_FAILURE))
}

function failuresOfBackend({ credentials, source, reason, notes }: Outgoing): string[] {
  const fails = (credentials === 'none' && source === 'none') || credentials === 'unavailable'
  const isMissing = credentials === 'unknown' && reason?.includes('not found') === true
  return [
    ...(fails || isMissing ? [`backend: ${reason ?? ''}`] : []),
    ...notes.map((note) => `note: ${note}`),
  ]
}

t.test('what `plan` knows to fail is a finding of `check`', async (t) => {
  const seen = new Set<RegExp>()
  fc.assert(
    fc.property(world, (objects) => {
      const state = stateOf(objects, READING)
      const found = new Set(
        objects.flatMap((object) => {
          const { errors, warnings } = judgeOf({ state }).file(fileOf(object))
          return [...errors, ...warnings].map(({ id }) => id)
        }),
      )
      for (const failure of plansOf(state).flatMap(failuresOf)) {
        const row = TOLD.find(([pattern]) => pattern.test(failure))
        if (row === undefined) throw new Error(`nobody says which rule tells: ${failure}`)
        const [pattern, ...rules] = row
        seen.add(pattern)
        if (!rules.some((id) => found.has(id)))
          throw new Error(`${failure}: none of ${rules.join(', ')} among ${[...found].join(', ')}`)
      }
    }),
    { numRuns: 500, seed: 17 },
  )
  t.strictSame(
    TOLD.map(([pattern]) => pattern).filter((pattern) => !seen.has(pattern)),
    [],
    'the worlds have every failure',
  )
})
