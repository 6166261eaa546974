import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { globSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { DEFAULT_API_GROUP, kindNamed, KINDS } from '../src/kinds/index.ts'
import { allRules, examplesOf } from '../src/kinds/places.ts'
import { fieldsIn } from '../src/kinds/schema-fields.ts'
import { allows } from '../src/release/allows.ts'
import { type Demanded, demandedFields } from '../src/release/known-fields.ts'
import { OWN_CRD, type Release, releaseOf } from '../src/release/release.ts'
import { ANYTHING, fieldOf, type ReleaseSchema, schemaAt } from '../src/release/schema.ts'
import { type Ignore, parseSeveritySetting, type SeveritySetting } from '../src/engine/settings.ts'
import { findingText, MOST_FINDINGS } from '../src/rule/finding.ts'
import { unknownFields } from '../src/engine/unknown-fields.ts'
import { ClusterState } from '../src/state/cluster-state.ts'
import { readVersion, type Verdict } from '../src/engine/index.ts'
import { ALL_IDS } from '../src/engine/engine-ids.ts'
import { nearestReleases } from '../src/cli/input/release.ts'
import { pathText } from '../src/rule/path.ts'
import { runCli } from './support/cli.ts'
import { stateOf } from './support/cluster-state.ts'
import { knownReleases } from './support/releases.ts'
import { fileOf, judgeOf, resourceOf, submissionOf } from './support/review.ts'

const RELEASES = knownReleases()
const NEWEST = RELEASES.at(-1)
if (NEWEST === undefined) throw new Error('releases/ is empty')
const named = (version: string) => {
  const known = RELEASES.find((each) => each.version === version)
  return {
    name: `operator release ${version.replace(/\.\d+$/, '')}`,
    version: version.replace(/\.\d+$/, ''),
    schemas: new Map(Object.entries(known?.schemas ?? {})),
  }
}
const RELEASE_0_44 = named('0.44.0')
const RELEASE_0_63 = named('0.63.0')

t.test('each known release has the seven kinds, its version and where its CRDs are from', async (t) => {
  t.ok(RELEASES.length >= 19)
  for (const { version, source, schemas } of RELEASES) {
    t.match(version, /^0\.\d+\.\d+$/)
    t.match(source, new RegExp(`^https://github\\.com/stacklok/toolhive/tree/v${version}/`), version)
    t.strictSame(Object.keys(schemas).sort(), KINDS.map(({ kind }) => kind).sort(), version)
  }
})

interface NewerField {
  readonly kind: string
  readonly path: string
  readonly node: Readonly<Record<string, unknown>>
}

/** The paths of the fields that only newer releases have, including nested fields. */
const NEWER = KINDS.flatMap(({ kind, schema }) => {
  const fields = fieldsIn(schema)
  const newer = new Set(fields.filter(({ node }) => node.newer === true).map(({ path }) => path))
  const isInside = (path: string) =>
    [...path.matchAll(/[.[]|$/g)].some(({ index }) => newer.has(path.slice(0, index)))
  return fields.flatMap(({ path, node }): NewerField[] => (isInside(path) ? [{ kind, path, node }] : []))
})

t.test('the release that a field of newer releases names is the first that has it', async (t) => {
  const rows = NEWER.filter(({ node }) => typeof node.since === 'string')
  t.ok(rows.length > 50)
  for (const { kind, path } of rows) {
    const first = RELEASES.find(({ schemas }) => fieldIn(schemas[kind], path) !== undefined)
    const holders = rows.filter((row) => row.kind === kind && path.startsWith(row.path))
    const minors = holders.map(({ node }) => Number(String(node.since).slice(2)))
    t.equal(first?.version.replace(/\.\d+$/, ''), `0.${Math.max(...minors)}`, `${kind} ${path}`)
  }
})

t.test('fields of newer releases have the type of every release, and the bounds of the newest', async (t) => {
  const bounds = [
    'enum',
    'minLength',
    'maxLength',
    'minItems',
    'maxItems',
    'maxProperties',
    'minimum',
    'maximum',
  ]
  const bare = (node: object | undefined) =>
    Object.entries(node ?? {}).flatMap(([keyword, value]) =>
      bounds.includes(keyword)
        ? [[keyword, Array.isArray(value) ? value.toSorted() : (value as unknown)]]
        : [],
    )
  for (const { kind, path, node } of NEWER) {
    if (node.type === undefined) continue
    const found = RELEASES.flatMap(({ schemas }) => fieldIn(schemas[kind], path) ?? [])
    t.strictSame([...new Set(found.map(({ type }) => type))], [node.type], `${kind} ${path}`)
    const decided = new Set(node.decided as string[] | undefined)
    const ours = bare(node).filter(([keyword]) => !decided.has(String(keyword)))
    t.strictSame(
      Object.fromEntries(ours),
      Object.fromEntries(
        bare(fieldIn(NEWEST.schemas[kind], path)).filter(([keyword]) => !decided.has(String(keyword))),
      ),
      `${kind} ${path}`,
    )
  }
})

t.test('every field of the newest release that bears on authentication is known', async (t) => {
  const places = {
    MCPExternalAuthConfig: ['spec'],
    MCPOIDCConfig: ['spec'],
    VirtualMCPServer: [
      'spec.incomingAuth',
      'spec.outgoingAuth',
      'spec.authServerConfig',
      'spec.sessionStorage',
    ],
    MCPServer: ['spec.oidcConfigRef', 'spec.authServerRef', 'spec.authzConfig', 'spec.sessionStorage'],
    MCPRemoteProxy: ['spec.oidcConfigRef', 'spec.headerForward'],
    MCPServerEntry: ['spec'],
  }
  for (const [kind, starts] of Object.entries(places)) {
    const known = new Set(fieldsIn(kindNamed.get(kind)?.schema ?? {}).map(({ path }) => path))
    const theirs = fieldsIn(NEWEST.schemas[kind] ?? {}).map(({ path }) => path)
    const unknown = theirs.filter(
      (path) => starts.some((at) => path.startsWith(`${at}.`)) && !known.has(path),
    )
    t.strictSame(unknown, [], kind)
  }
})

/** The schema of the field at a path; `[]` stands for the items of a list, `<name>` for the values of a map. */
function fieldIn(schema: ReleaseSchema | undefined, path: string): ReleaseSchema | undefined {
  let node = schema
  for (const step of path.split('.')) {
    const name = step.replaceAll('[]', '')
    const values = node?.additionalProperties
    node = name === '<name>' ? (typeof values === 'object' ? values : undefined) : node?.properties?.[name]
    for (let lists = step.length - name.length; lists > 0; lists -= 2) node = node?.items
  }
  return node
}

t.test('the known release that CRDs are of', async (t) => {
  const changed = (...kinds: [kind: string, schema: ReleaseSchema | undefined][]) =>
    new Map([...RELEASE_0_63.schemas, ...kinds.map(([kind, schema]) => [kind, schema ?? {}] as const)])
  const old = RELEASE_0_44.schemas.get('MCPServer')
  const rows: [title: string, schemas: ReadonlyMap<string, ReleaseSchema>, expected: object][] = [
    ['one', RELEASE_0_44.schemas, { versions: '0.44', others: [] }],
    [
      'one, but for a kind of older ones',
      changed(['MCPServer', old]),
      { versions: '0.62 to 0.63', others: [{ kind: 'MCPServer', versions: '0.30 to 0.44' }] },
    ],
    [
      'one, but for a kind of none',
      changed(['MCPServer', { type: 'object' }]),
      { versions: '0.62 to 0.63', others: [{ kind: 'MCPServer', versions: '' }] },
    ],
    ['none', new Map([['MCPServer', {}]]), { versions: '', others: [{ kind: 'MCPServer', versions: '' }] }],
  ]
  for (const [title, schemas, expected] of rows)
    t.strictSame(nearestReleases({ name: '', schemas }), expected, title)
})

/** The version that an installed operator is taken for by its CRDs alone. */
const takenFor = new Map(
  RELEASES.map(
    ({ version }) => [version, readVersion({ name: '', schemas: named(version).schemas })] as const,
  ),
)
const withCrdsOf = (version: string) =>
  [...takenFor].flatMap(([each, taken]) => (taken === takenFor.get(version) ? [each] : []))

t.test('a rule about some releases counts where one of them is in force, named or by its CRDs', (t) => {
  const rules = allRules().filter(({ appliesTo }) => appliesTo !== undefined)
  t.ok(rules.length > 4)
  for (const rule of rules) {
    const { from, to, orUnknown = false } = rule.appliesTo ?? {}
    const example = examplesOf(rule).find(({ findings }) => findings.length > 0)
    const tells = (release: Release | undefined): boolean => {
      const judge = judgeOf({ release, state: stateOf(example?.others ?? []) })
      const { errors, warnings } = judge.file(fileOf(example?.resource))
      return [...errors, ...warnings].some(({ id }) => id === rule.id)
    }
    t.equal(tells(undefined), orUnknown || from === undefined, `${rule.id}: no release`)
    const minorOf = (version: string) => Number(version.split('.')[1])
    const isOf = (version: string) =>
      (from === undefined || minorOf(version) >= minorOf(from)) &&
      (to === undefined || minorOf(version) <= minorOf(to))
    for (const { version } of RELEASES) {
      const release = named(version)
      t.equal(tells(release), isOf(version), `${rule.id}: release ${version}`)
      // An installed operator may be each release whose CRDs have the same newest field.
      const installed = { name: 'the installed operator', schemas: release.schemas }
      t.equal(tells(installed), withCrdsOf(version).some(isOf), `${rule.id}: CRDs of ${version}`)
    }
  }
  t.end()
})

t.test('what a release takes although the specification does not', async (t) => {
  const schema: ReleaseSchema = {
    type: 'object',
    required: ['b'],
    properties: {
      a: { type: 'string', enum: ['x', 'y'], maxLength: 2 },
      b: { type: 'string', minLength: 1 },
      list: { type: 'array', minItems: 1, items: { type: 'string' } },
      free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
      map: {
        type: 'object',
        additionalProperties: { type: 'object', required: ['k'], properties: { k: {}, l: {} } },
      },
    },
  }
  const rows: [keyword: string, at: (string | number | { key: string })[], value: unknown, taken: boolean][] =
    [
      ['required', ['a'], undefined, true],
      ['required', ['b'], undefined, false],
      ['required', ['c'], undefined, false],
      ['required', ['free', 'c'], undefined, true],
      ['required', ['c', 'd'], undefined, false],
      ['required', ['map', { key: 'm' }, 'k'], undefined, false],
      ['required', ['map', { key: 'm' }, 'l'], undefined, true],
      ['enum', ['a'], 'y', true],
      ['enum', ['a'], 'z', false],
      ['enum', ['b'], 'z', true],
      ['enum', ['c'], 'z', false],
      ['minItems', ['list'], [], false],
      ['minItems', ['free', 'list'], [], true],
      ['minLength', ['a'], '', false],
      ['minLength', ['list', 0], '', true],
      ['minLength', ['b'], '', false],
      ['maxLength', ['a'], 'xyz', false],
      ['maxLength', ['b'], 'x'.repeat(99), true],
      ['pattern', ['b'], 'x', false],
      ['type', ['b'], 1, false],
    ]
  for (const [keyword, at, value, taken] of rows)
    t.equal(allows(schema, { keyword, at, value }), taken, `${keyword} ${JSON.stringify(at)}`)
  t.equal(fieldOf(schema, 'constructor'), undefined)
  t.equal(schemaAt(schema, ['map', { key: 'any' }, 'l', 'm']), undefined)
})

t.test('the CRDs of an operator, and those that say nothing', async (t) => {
  const crd = (annotations: object, versions: object[]) => ({
    kind: 'CustomResourceDefinition',
    metadata: { name: 'mcpgroups', annotations },
    spec: { group: DEFAULT_API_GROUP, names: { kind: 'MCPGroup' }, versions },
  })
  const version = (name: string, description: string, served = true) => ({
    name,
    served,
    schema: { openAPIV3Schema: { description, type: 'object', properties: { [name]: { type: 'string' } } } },
  })
  const read = (...crds: unknown[]) => releaseOf(crds, DEFAULT_API_GROUP, 'x')?.schemas.get('MCPGroup')
  const fields = (schema: ReleaseSchema | undefined) => Object.keys(schema?.properties ?? {})
  const both = [version('v1alpha1', 'old'), version('v1beta1', 'new')]
  t.strictSame(fields(read(crd({}, both))), ['v1beta1', 'metadata', 'status'])
  t.notOk(JSON.stringify(read(crd({}, both))).includes('new'), 'descriptions are not kept')
  t.strictSame(fields(read(crd({}, [version('v1alpha1', ''), version('v1beta1', '', false)]))), [
    'v1alpha1',
    'metadata',
    'status',
  ])
  t.equal(read(crd({ [OWN_CRD]: 'the specification' }, both)), undefined, 'ours')
  for (const odd of [
    undefined,
    null,
    1,
    {},
    { kind: 'CustomResourceDefinition' },
    crd({}, []),
    crd({}, [{}]),
  ])
    t.equal(read(odd), undefined, JSON.stringify(odd))
})

const STS = {
  type: 'awsSts',
  awsSts: { region: 'eu-central-1', fallbackRoleArn: 'arn:aws:iam::123456789012:role/a' },
}
const SERVER = { issuer: 'https://auth.example.com' }
const OAUTH2 = {
  name: 'github',
  type: 'oauth2',
  oauth2Config: {
    authorizationEndpoint: 'https://idp.example.com/authorize',
    tokenEndpoint: 'https://idp.example.com/token',
    clientId: 'vmcp',
  },
}
const USER_INFO = { endpointUrl: 'https://idp.example.com/me' }
const server = (settings: object) => ({
  type: 'embeddedAuthServer',
  embeddedAuthServer: { ...SERVER, ...settings },
})

/**
 * The errors and warnings about an object, without those that all embedded authorization servers of these tests have.
 */
function judged(
  kind: string,
  spec: unknown,
  how: {
    release?: Release | undefined
    severities?: SeveritySetting[]
    ignores?: readonly Ignore[]
    stored?: unknown
  },
) {
  const made = (of: unknown) =>
    JSON.parse(JSON.stringify(resourceOf(kind, of, { name: 'a', namespace: 'default' }))) as object
  const { release, severities = [], ignores = [], stored } = how
  const before = stored === undefined ? 'nothing' : { object: made(stored), state: 'no cluster' as const }
  const { errors, warnings } = judgeOf({ release, settings: { severities } }).file(
    fileOf(made(spec), { ignores, stored: before }),
  )
  const texts = (all: typeof errors) => all.map(findingText).filter((text) => !text.endsWith('persistent)'))
  return { errors: texts(errors), warnings: texts(warnings) }
}

t.test('the installed release goes first', async (t) => {
  const rows: [title: string, kind: string, spec: object | undefined, alone: RegExp, beside: RegExp][] = [
    [
      'a type that it has',
      'MCPExternalAuthConfig',
      { type: 'obo', obo: {} },
      /^error: spec\.type: Unsupported value/,
      /^warning: spec\.type: Unsupported value: "obo": operator release 0\.44 stores it, .* \(schema-enum\)$/,
    ],
    [
      'a rule in the place of a required field',
      'MCPExternalAuthConfig',
      server({ upstreamProviders: [OAUTH2] }),
      /^error: .*userInfo: Required value/,
      /^warning: .*userInfo: Required value: .*; operator release 0\.44 takes a user for another one .* \(upstream-oauth2-user-info-configured\)$/,
    ],
    [
      'the same of a second provider, which does not decide who the user is',
      'MCPExternalAuthConfig',
      server({
        upstreamProviders: [
          { ...OAUTH2, name: 'first', oauth2Config: { ...OAUTH2.oauth2Config, userInfo: USER_INFO } },
          OAUTH2,
        ],
      }),
      /^error: .*upstreamProviders\[1\].*userInfo: Required value/,
      /^$/,
    ],
    [
      'a type that it has and runs',
      'MCPExternalAuthConfig',
      {
        type: 'xaa',
        xaa: {
          idpTokenUrl: 'https://a.example.com',
          targetTokenUrl: 'https://b.example.com',
          targetAudience: 'b',
        },
      },
      /^error: spec\.type: Unsupported value/,
      /^$/,
    ],
    [
      'no spec',
      'MCPOIDCConfig',
      undefined,
      /^error: spec: Required value/,
      /^warning: spec: Required value: operator release 0\.44 stores the object, which configures nothing/,
    ],
    [
      'a name that is empty',
      'MCPExternalAuthConfig',
      { type: 'bearerToken', bearerToken: { tokenSecretRef: { name: 'a', key: '' } } },
      /^error: .*key: Invalid value: ""/,
      /^warning: .*key: Invalid value: "": .*; operator release 0\.44 stores the empty text, which names nothing/,
    ],
    [
      'a required field that it requires too',
      'MCPExternalAuthConfig',
      server({}),
      /^error: .*upstreamProviders: Required value/,
      /^error: .*upstreamProviders: Required value/,
    ],
    [
      'a field that it does not have',
      'MCPServer',
      { image: 'a', gruopRef: { name: 'a' } },
      /^error: spec\.gruopRef: no operator release up to 0\.63 has this field; did you mean 'groupRef' \(unknown-field\)$/,
      /^error: spec\.gruopRef: operator release 0\.44 does not have this field; did you mean 'groupRef' \(unknown-field\)$/,
    ],
    [
      'a field that it requires',
      'MCPRemoteProxy',
      {},
      /^warning: spec\.remoteUrl: Required value: no operator release up to 0\.63 takes the object without it \(schema-required\)$/,
      /^error: spec\.remoteUrl: Required value: operator release 0\.44 refuses it \(release-accepts\)$/,
    ],
    [
      'a field that it brought',
      'MCPExternalAuthConfig',
      server({
        upstreamProviders: [{ ...OAUTH2, oauth2Config: { ...OAUTH2.oauth2Config, userInfo: USER_INFO } }],
        cimd: { enabled: true },
      }),
      /^$/,
      /^$/,
    ],
    ['what both take', 'MCPExternalAuthConfig', STS, /^$/, /^$/],
  ]
  for (const [title, kind, spec, alone, beside] of rows) {
    for (const [release, expected] of [
      [undefined, alone],
      [RELEASE_0_44, beside],
    ] as const) {
      const { errors, warnings } = judged(kind, spec, { release })
      const all = [...errors.map((text) => `error: ${text}`), ...warnings.map((text) => `warning: ${text}`)]
      t.match(all.join('\n'), expected, `${title}, ${release?.name ?? 'not known'}`)
      t.ok(all.length <= 1, all.join('\n'))
    }
  }
})

/** A value that has every field of the schema. */
function fullValue(schema: ReleaseSchema): unknown {
  const { type, properties = {}, items, additionalProperties: values } = schema
  if (schema['x-kubernetes-preserve-unknown-fields'] === true) return { anything: { at: ['all'] } }
  if (type === 'array') return [items === undefined ? 'text' : fullValue(items)]
  if (type !== 'object') return type === 'string' || type === undefined ? 'text' : 1
  const fields = Object.entries(properties).map(([name, field]) => [name, fullValue(field)] as const)
  return Object.fromEntries([
    ...fields,
    ...(typeof values === 'object' ? [['any key', fullValue(values)] as const] : []),
  ])
}

t.test('no field that a known release has is unknown where none is named', async (t) => {
  let newer = 0
  for (const { version, schemas } of RELEASES)
    for (const kind of KINDS) {
      const { spec } = schemas[kind.kind]?.properties ?? {}
      const object = { apiVersion: '', kind: kind.kind, metadata: { any: 1 }, spec: fullValue(spec ?? {}) }
      const found = unknownFields(kind, object)
      t.strictSame(found.findings.map(findingText), [], `${kind.kind} of ${version}`)
      if (version.startsWith('0.26.')) t.strictSame(found.newer, [], 'the oldest release has no newer fields')
      newer += found.newer.length
    }
  t.ok(newer > 1_000, `${newer} fields that came with a release`)
})

t.test('a field that no known release has', async (t) => {
  const proxy = { remoteUrl: 'https://a.example.com/mcp', groupRef: { name: 'a' } }
  const rows: [kind: string, spec: object, expected: Record<string, string | undefined>][] = [
    ['MCPRemoteProxy', { remoteURL: 'https://a.example.com/mcp' }, { 'spec.remoteURL': 'remoteUrl' }],
    ['MCPRemoteProxy', { ...proxy, remoteURL: 'x' }, { 'spec.remoteURL': 'remoteUrl' }],
    [
      'MCPRemoteProxy',
      { oidcConfigRef: { name: 'a', clientID: 'b' } },
      { 'spec.oidcConfigRef.clientID': undefined },
    ],
    ['MCPServerEntry', { remote_url: 'x' }, { 'spec.remote_url': 'remoteUrl' }],
    [
      'MCPServer',
      { Image: 'a', resources: { limits: { gpu: 1 } } },
      { 'spec.Image': 'image', 'spec.resources.limits.gpu': 'cpu' },
    ],
    ['MCPServer', { image: 'a', podTemplateSpec: { spec: { containers: [{ named: 'mcp' }] } } }, {}],
    ['MCPServer', { image: 'a', env: [{ name: 'A', values: 'b' }] }, { 'spec.env[0].values': 'value' }],
    ['MCPServer', { image: 'a', env: 'A=b', args: [{ a: 1 }] }, {}],
    [
      'MCPServer',
      { image: 'a', resourceOverrides: { proxyDeployment: { annotations: { 'a/b': 'c' }, label: {} } } },
      { 'spec.resourceOverrides.proxyDeployment.label': 'labels' },
    ],
    ['MCPServer', { image: 'a', '${MORE}': 'b', '{{ .Values.more }}': 'c' }, {}],
    [
      'VirtualMCPServer',
      { config: { aggregation: { conflict_resolution: 'prefix' } } },
      { 'spec.config.aggregation.conflict_resolution': 'conflictResolution' },
    ],
    [
      'MCPExternalAuthConfig',
      { type: 'tokenExchange', tokenExchange: { token_url: 'x', clientID: 'y' } },
      { 'spec.tokenExchange.clientID': 'clientId', 'spec.tokenExchange.token_url': 'tokenUrl' },
    ],
    ['MCPGroup', { colour: 'red' }, { 'spec.colour': undefined }],
  ]
  for (const [kind, spec, expected] of rows) {
    const object = resourceOf(kind, spec, { name: 'a', namespace: 'default' })
    const { errors, warnings } = judgeOf({}).file(fileOf(object))
    const found = [...errors, ...warnings].filter(({ id }) => id === 'unknown-field')
    t.strictSame(
      Object.fromEntries(
        found.map(({ error: { at, detail } }) => [pathText(at), /did you mean '(.*)'/.exec(detail)?.[1]]),
      ),
      expected,
      JSON.stringify(spec),
    )
    t.ok(
      found.every(({ severity }) => severity === 'error'),
      JSON.stringify(spec),
    )
  }
  const status = {
    ...resourceOf('MCPExternalAuthConfig', {}, { name: 'a', namespace: 'default' }),
    status: { colour: 1 },
  }
  t.match(
    judgeOf({}).file(fileOf(status)).warnings.map(findingText),
    [/^status\.colour: is not in the specification/],
    'of the status only the specification says what it holds',
  )
})

t.test('a certain outage is an error where the release is known', async (t) => {
  const url = 'https://mcp.example.com/mcp'
  const login = {
    issuer: 'https://mcp.example.com',
    upstreamProviders: [
      { name: 'okta', type: 'oidc', oidcConfig: { issuerUrl: 'https://okta.example.com', clientId: 'vmcp' } },
    ],
  }
  const gateway = (audience: string, outgoingAuth: object = { source: 'discovered' }, more: object = {}) =>
    resourceOf('VirtualMCPServer', {
      groupRef: { name: 'tools' },
      incomingAuth: { type: 'oidc', oidcConfigRef: { name: 'tokens', audience, resourceUrl: url, ...more } },
      outgoingAuth,
      authServerConfig: login,
    })
  const workload = (audience: string, resourceUrl = url) =>
    resourceOf('MCPServer', {
      image: 'a',
      authServerRef: { kind: 'MCPExternalAuthConfig', name: 'login' },
      oidcConfigRef: { name: 'tokens', audience, resourceUrl },
    })
  const entry = { type: 'externalAuthConfigRef', externalAuthConfigRef: { name: 'login' } }
  const naming = (...names: string[]) =>
    gateway(url, { source: 'inline', backends: Object.fromEntries(names.map((name) => [name, entry])) })
  const state = new ClusterState({ group: DEFAULT_API_GROUP, knows: () => true })
  const put = (kind: string, name: string, spec: object) => {
    const known = kindNamed.get(kind)
    if (known !== undefined) state.put(known, resourceOf(kind, spec, { name }), 'default')
  }
  put('MCPExternalAuthConfig', 'login', { type: 'embeddedAuthServer', embeddedAuthServer: login })
  for (const name of ['jira', 'server-1']) put('MCPServer', name, { image: 'a', groupRef: { name: 'tools' } })

  const [audience, member, callback] = [
    'auth-server-audience-is-resource-url',
    'outgoing-auth-backend-is-member',
    'resource-url-host-agreed',
  ]
  const rows: [title: string, id: string, object: Record<string, unknown>, admit: string, file: string][] = [
    ['another audience', audience, gateway('https://other.example.com'), 'error', 'error'],
    ['the same audience', audience, gateway(url), 'none', 'none'],
    [
      'another audience of a workload',
      `workload-${audience}`,
      workload('https://other.example.com'),
      'warning',
      'error',
    ],
    ['the same audience of a workload', `workload-${audience}`, workload(url), 'none', 'none'],
    ['a misspelt backend', member, naming('jirra', 'server-1'), 'warning', 'error'],
    ['the names of backends', member, naming('jira', 'server-1'), 'none', 'none'],
    ['a backend beside the one that is near', member, naming('jira', 'jirra'), 'warning', 'warning'],
    ['a backend with another number', member, naming('jira', 'server-2'), 'warning', 'warning'],
    ['a backend that is not there yet', member, naming('jira', 'wiki'), 'warning', 'warning'],
    [
      'a callback on another host',
      callback,
      gateway('https://api.example.com', {}, { resourceUrl: 'https://api.example.com' }),
      'error',
      'error',
    ],
    ['a callback on the host of the issuer', callback, gateway(url), 'none', 'none'],
    [
      'a callback of a workload on another host',
      callback,
      workload('https://api.example.com', 'https://api.example.com'),
      'warning',
      'error',
    ],
    ['a callback of a workload on the host of the issuer', callback, workload(url), 'none', 'none'],
  ]
  for (const [title, id, object, admitted, ofFile] of rows) {
    const severityIn = ({ errors, warnings }: Pick<Verdict, 'errors' | 'warnings'>) =>
      [...errors, ...warnings].find((finding) => finding.id === id)?.severity ?? 'none'
    const asWarning = (severity: string) => (severity === 'error' && id !== callback ? 'warning' : severity)
    const kind = String(object.kind)
    const known = judgeOf({ state, release: RELEASE_0_63 })
    t.equal(severityIn(known.admit(submissionOf(kind, object))), admitted, `${title}, webhook`)
    t.equal(severityIn(known.file(fileOf(object))), ofFile, `${title}, file`)
    if (id === callback) continue
    const alone = judgeOf({ state })
    t.equal(severityIn(alone.admit(submissionOf(kind, object))), asWarning(admitted), `${title}, not known`)
    t.equal(severityIn(alone.file(fileOf(object))), asWarning(ofFile), `${title}, file, not known`)
  }
})

t.test('a configuration of type xaa that comes last, and names no provider', async (t) => {
  const providers = (...names: string[]) => ({
    upstreamProviders: names.map((name) => ({
      name,
      type: 'oidc',
      oidcConfig: { issuerUrl: `https://${name}.example.com`, clientId: 'vmcp' },
    })),
  })
  const inline = {
    source: 'inline',
    backends: { jira: { type: 'externalAuthConfigRef', externalAuthConfigRef: { name: 'xaa' } } },
  }
  const rows: [title: string, gateway: object, subject: string | undefined, expected: RegExp | undefined][] =
    [
      [
        'of two',
        { outgoingAuth: inline, authServerConfig: providers('okta', 'github') },
        undefined,
        /subjectProviderName: set xaa\.subjectProviderName: the operator chooses none of several providers, .* VirtualMCPServer "vmcp" has "okta", "github"/,
      ],
      [
        'discovered',
        { authServerConfig: providers('okta') },
        undefined,
        /subjectProviderName: set xaa\.subjectProviderName: for discovered backends the operator chooses no provider/,
      ],
      [
        'no logins',
        { outgoingAuth: inline },
        '',
        /: exchanges the token of a login \(xaa\), and VirtualMCPServer "vmcp" has no authServerConfig/,
      ],
      ['the only one', { outgoingAuth: inline, authServerConfig: providers('okta') }, undefined, undefined],
      [
        'one of two',
        { outgoingAuth: inline, authServerConfig: providers('okta', 'github') },
        'okta',
        undefined,
      ],
    ]
  for (const [title, spec, subjectProviderName, expected] of rows) {
    const state = new ClusterState({ group: DEFAULT_API_GROUP, knows: () => true })
    const others = [
      ['VirtualMCPServer', 'vmcp', { groupRef: { name: 'tools' }, ...spec }],
      ['MCPServer', 'jira', { groupRef: { name: 'tools' }, externalAuthConfigRef: { name: 'xaa' } }],
    ] as const
    for (const [kind, name, spec] of others) {
      const known = kindNamed.get(kind)
      if (known !== undefined) state.put(known, resourceOf(kind, spec, { name }), 'default')
    }
    const xaa = {
      idpTokenUrl: 'https://a.example.com',
      targetTokenUrl: 'https://b.example.com',
      targetAudience: 'b',
      ...(subjectProviderName !== undefined && { subjectProviderName }),
    }
    const object = resourceOf('MCPExternalAuthConfig', { type: 'xaa', xaa }, { name: 'xaa' })
    const { warnings } = judgeOf({ state, release: RELEASE_0_63 }).admit(
      submissionOf('MCPExternalAuthConfig', object, { name: 'xaa' }),
    )
    const found = warnings.filter(({ id }) => id === 'newer-subject-provider-exists').map(findingText)
    t.match(found, expected === undefined ? [] : [expected], title)
    t.equal(found.length, expected === undefined ? 0 : 1, title)
  }
})

t.test('the unknown fields of an object are bounded', async (t) => {
  const many = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`field${i}`, i]))
  const object = resourceOf('MCPServer', { list: [many], ...many }, { name: 'a', namespace: 'default' })
  const { errors } = judgeOf({}).file(fileOf(object))
  const found = errors.filter(({ id }) => id === 'unknown-field')
  t.equal(found.length, MOST_FINDINGS + 1)
  t.equal(found.at(-1)?.more, true)
})

t.test('the newest release', async (t) => {
  const rows: [title: string, kind: string, spec: object, expected: RegExp][] = [
    [
      'a required field in whose place the release has a rule',
      'MCPExternalAuthConfig',
      server({}),
      /^error: spec\.embeddedAuthServer\.upstreamProviders: Required value: [^;]*$/,
    ],
    [
      'a grant without a login',
      'MCPExternalAuthConfig',
      server({ inboundGrants: { tokenExchange: {} } }),
      /^warning: [^\n]*token-only-server-has-caller\)$/,
    ],
    [
      'a combination that its CRD and a rule of ours know',
      'MCPExternalAuthConfig',
      server({
        upstreamProviders: [
          {
            name: 'okta',
            type: 'oidc',
            oidcConfig: { issuerUrl: 'https://okta.example.com', clientId: 'vmcp', dcrConfig: {} },
          },
        ],
      }),
      /^error: [^\n]*exactly one of clientId or dcrConfig must be set[^\n]*\(release-accepts\)$/,
    ],
    [
      'a required field with a default',
      'MCPServer',
      { image: 'a', authServerRef: { name: 'a' }, permissionProfile: { name: 'network' } },
      /^$/,
    ],
    [
      'a bound of a field of its own',
      'MCPServer',
      { image: 'a', oidcConfigRef: { name: 'a', audience: '' } },
      /^error: spec\.oidcConfigRef\.audience: Invalid value: "": .*refuses it \(release-accepts\)$/,
    ],
  ]
  for (const [title, kind, spec, expected] of rows) {
    const { errors, warnings } = judged(kind, spec, { release: RELEASE_0_63 })
    const all = [...errors.map((text) => `error: ${text}`), ...warnings.map((text) => `warning: ${text}`)]
    t.match(all.join('\n'), expected, title)
  }
})

t.test('what a release refuses and a rule says is one finding', async (t) => {
  const gateway = (spec: object) => ({
    groupRef: { name: 'tools' },
    incomingAuth: { type: 'oidc', oidcConfigRef: { name: 'a', audience: 'a' } },
    outgoingAuth: { source: 'discovered' },
    ...spec,
  })
  const issuer = (settings: object, more: object = {}) =>
    server({
      upstreamProviders: [
        { name: 'okta', type: 'oidc', oidcConfig: { issuerUrl: 'https://a.example.com', clientId: 'a' } },
      ],
      trustedIssuers: [{ name: 'ci', issuerUrl: 'https://ci.example.com', ...settings }],
      ...more,
    })
  const refuses = 'operator release 0\\.63 refuses it \\(release-accepts\\)'
  const rows: [title: string, kind: string, spec: object, error: string][] = [
    [
      'an error at another place',
      'VirtualMCPServer',
      gateway({ incomingAuth: { type: 'oidc', oidcConfigRef: { name: 'a' } } }),
      'spec\\.incomingAuth\\.audience: Required value: .*\\(incoming-auth-audience-configured\\)',
    ],
    [
      'a required field: the advice stays',
      'VirtualMCPServer',
      gateway({ groupRef: undefined }),
      `spec\\.groupRef: Required value: no backends are fronted; name the MCPGroup that holds them; ${refuses}`,
    ],
    [
      'a field required inside',
      'VirtualMCPServer',
      gateway({ outgoingAuth: { source: 'inline', default: {} } }),
      `spec\\.outgoingAuth\\.default\\.type: Required value: ${refuses}`,
    ],
    [
      'a ConfigMap without a name',
      'MCPOIDCConfig',
      {
        type: 'inline',
        inline: { issuer: 'https://a.example.com', caBundleRef: { configMapRef: { key: 'ca' } } },
      },
      `spec\\.inline\\.caBundleRef: Invalid value: "object": .*; ${refuses}`,
    ],
    [
      'an age of nothing',
      'MCPExternalAuthConfig',
      issuer({
        jwtBearerGrant: {
          maxAssertionAge: '0s',
          subjectBindings: [{ subject: 'robot', allowedResources: ['https://mcp.example.com'] }],
        },
      }),
      `.*jwtBearerGrant: Invalid value: "object": maxAssertionAge must be .*; ${refuses}`,
    ],
    [
      'no provider, where the release has a rule',
      'MCPExternalAuthConfig',
      server({ upstreamProviders: [] }),
      'spec\\.embeddedAuthServer\\.upstreamProviders: Invalid value: \\[\\]: must have at least 1 item \\(schema-minItems\\)',
    ],
  ]
  for (const [title, kind, spec, error] of rows) {
    const { errors, warnings } = judged(kind, JSON.parse(JSON.stringify(spec)), { release: RELEASE_0_63 })
    t.match(errors.join('\n'), new RegExp(`^${error}$`), title)
    t.strictSame(
      warnings.filter((text) => !text.includes('(delegation-in-inbound-grants)')),
      [],
      title,
    )
  }
})

t.test('what a release refuses stays where the error that says it too is none in the end', async (t) => {
  const okta = (oidcConfig: object) =>
    server({
      upstreamProviders: [
        {
          name: 'okta',
          type: 'oidc',
          oidcConfig: { issuerUrl: 'https://a.example.com', clientId: 'a', ...oidcConfig },
        },
      ],
    })
  const nonce = { additionalAuthorizationParams: { nonce: 'x' } }
  const off = (setting: string) => {
    const parsed = parseSeveritySetting(`${setting}=off`, ALL_IDS)
    if (typeof parsed === 'string') throw new Error(parsed)
    return { severities: [parsed] }
  }
  const id = 'upstream-authorization-params-allowed'
  const exactlyOne = /^[^\n]*oidcConfig: [^\n]*exactly one of clientId or dcrConfig[^\n]*\(release-accepts\)$/
  const gateway = {
    groupRef: { name: 'tools' },
    incomingAuth: { type: 'oidc', oidcConfigRef: { name: 'a' } },
    outgoingAuth: { source: 'discovered' },
  }
  const ignores = [{ id, reason: 'they know', written: 'comment' } as const]
  const rows: [title: string, kind: string, spec: object, how: object, errors: RegExp][] = [
    [
      'an error that is off, at another place',
      'VirtualMCPServer',
      gateway,
      off('incoming-auth-audience-configured'),
      /^spec\.incomingAuth\.oidcConfigRef\.audience: Required value: [^\n]*\(release-accepts\)$/,
    ],
    [
      'the pattern of both that is off',
      'MCPExternalAuthConfig',
      { type: 'awsSts', awsSts: { ...STS.awsSts, fallbackRoleArn: 'reader' } },
      off('schema-pattern:spec.awsSts.fallbackRoleArn'),
      /^spec\.awsSts\.fallbackRoleArn: [^\n]*\(release-accepts\)$/,
    ],
    [
      'an error inside',
      'MCPExternalAuthConfig',
      okta({ ...nonce, dcrConfig: {} }),
      {},
      new RegExp(`\\(${id}\\)$`),
    ],
    [
      'an ignored error inside',
      'MCPExternalAuthConfig',
      okta({ ...nonce, dcrConfig: {} }),
      { ignores },
      exactlyOne,
    ],
    [
      'a stored error inside',
      'MCPExternalAuthConfig',
      okta({ ...nonce, dcrConfig: {} }),
      { stored: okta(nonce) },
      exactlyOne,
    ],
    [
      'both are stored',
      'MCPExternalAuthConfig',
      okta({ ...nonce, dcrConfig: {} }),
      { stored: okta({ ...nonce, dcrConfig: {} }) },
      /^$/,
    ],
  ]
  for (const [title, kind, spec, how, expected] of rows) {
    const { errors, warnings } = judged(kind, spec, { release: RELEASE_0_63, ...how })
    t.match(errors.join('\n'), expected, title)
    t.equal(errors.length, expected.source === '^$' ? 0 : 1, title)
    t.notOk(
      warnings.some((text) => text.endsWith('(release-accepts)')),
      title,
    )
  }
})

t.test('what a release refuses does not rest on a placeholder', async (t) => {
  const issuer = (maxAssertionAge: string) => ({
    name: 'ci',
    issuerUrl: 'https://ci.example.com',
    jwtBearerGrant: {
      maxAssertionAge,
      subjectBindings: [{ subject: 'robot', allowedResources: ['https://mcp.example.com'] }],
    },
  })
  const okta = (oidcConfig: object, name = 'okta') => ({
    name,
    type: 'oidc',
    oidcConfig: { issuerUrl: 'https://a.example.com', clientId: 'a', ...oidcConfig },
  })
  const exchange = { tokenUrl: 'https://a.example.com/token', audience: 'a' }
  const rows: [title: string, kind: string, spec: object, errors: RegExp[]][] = [
    ['of a type', 'MCPExternalAuthConfig', { type: '${AUTH_TYPE}', tokenExchange: exchange }, []],
    [
      'of a type, in an MCPOIDCConfig',
      'MCPOIDCConfig',
      { type: '{{ .Values.oidcType }}', inline: { issuer: 'https://a.example.com' } },
      [],
    ],
    [
      'of a duration',
      'MCPExternalAuthConfig',
      server({ upstreamProviders: [okta({})], trustedIssuers: [issuer('${MAX_AGE}')] }),
      [],
    ],
    [
      'of a key of items',
      'MCPExternalAuthConfig',
      server({ upstreamProviders: [okta({}, '${FIRST}'), okta({}, '${FIRST}')] }),
      [],
    ],
    [
      'of a field that the rule does not name',
      'MCPExternalAuthConfig',
      server({ upstreamProviders: [okta({ issuerUrl: '${ISSUER}', dcrConfig: {} })] }),
      [/exactly one of clientId or dcrConfig must be set/],
    ],
  ]
  for (const [title, kind, spec, expected] of rows) {
    const { errors } = judged(kind, spec, { release: RELEASE_0_63 })
    t.equal(errors.length, expected.length, `${title}: ${errors.join('\n')}`)
    for (const [i, text] of expected.entries()) t.match(errors[i], text, title)
  }
})

t.test('a rule of the CRD that lacks a required field adds nothing', async (t) => {
  const { errors } = judged(
    'MCPExternalAuthConfig',
    server({
      upstreamProviders: [
        { name: 'okta', type: 'oidc', oidcConfig: { issuerUrl: 'https://a.example.com', clientId: 'a' } },
      ],
      trustedIssuers: [{ issuerUrl: 'https://ci.example.com', expectedAudience: 'a' }],
    }),
    { release: RELEASE_0_44 },
  )
  t.match(errors.join('\n'), /^[^\n]*allowedDelegateClients: Required value: [^\n]*$/)
})

t.test('an alternative of newer releases needs no release that is known', async (t) => {
  const oidc = (oidcConfig: object) =>
    server({
      upstreamProviders: [
        { name: 'okta', type: 'oidc', oidcConfig: { issuerUrl: 'https://a.example.com', ...oidcConfig } },
      ],
    })
  const redis = (settings: object) => ({
    ...oidc({ clientId: 'a' }).embeddedAuthServer,
    storage: {
      type: 'redis',
      redis: { tls: {}, aclUserConfig: { passwordSecretRef: { name: 'a', key: 'b' } }, ...settings },
    },
  })
  const rows: [title: string, spec: object, errors: RegExp[]][] = [
    ['dynamic registration', oidc({ dcrConfig: {} }), []],
    ['no client', oidc({}), [/oidcConfig\.clientId: Required value.*\(upstream-oidc-client-id-configured\)/]],
    ['token exchange alone', server({ inboundGrants: { tokenExchange: {} } }), []],
    [
      'delegates alone',
      server({
        delegateClients: [
          { clientId: 'a', clientSecretRef: { name: 'a', key: 'b' }, scopes: ['a'], audiences: ['b'] },
        ],
      }),
      [],
    ],
    ['no delegate', server({ delegateClients: [] }), [/upstreamProviders: Required value/]],
    ['a password alone', server(redis({ addr: 'redis:6379' })), []],
    [
      'a password alone, with Sentinel',
      server(redis({ sentinelConfig: { masterName: 'a', sentinelAddrs: ['a:1'] } })),
      [/usernameSecretRef: Required value.*\(redis-acl-username-configured\)/],
    ],
  ]
  for (const [title, spec, expected] of rows) {
    const { errors } = judged('MCPExternalAuthConfig', spec, {})
    t.equal(errors.length, expected.length, `${title}: ${errors.join('\n')}`)
    for (const [i, text] of expected.entries()) t.match(errors[i], text, title)
  }
})

t.test(
  'severities by the paths of docs/fields.md, and by the constraint that a rule stands for',
  async (t) => {
    const spec = server({
      upstreamProviders: [{ name: 'okta', type: 'oidc', oidcConfig: { issuerUrl: 'https://a.example.com' } }],
    })
    const path = 'upstreamProviders[].oidcConfig.clientId'
    for (const setting of [
      `upstream-oidc-client-id-configured:${path}=off`,
      `upstream-oidc-client-id-configured:spec.embeddedAuthServer.${path}=off`,
      `schema-required:spec.embeddedAuthServer.${path.replace('[]', '')}=off`,
      `schema-required:${path}=warning`,
    ]) {
      const parsed = parseSeveritySetting(setting, ALL_IDS)
      if (typeof parsed === 'string') throw new Error(parsed)
      t.strictSame(judged('MCPExternalAuthConfig', spec, { severities: [parsed] }).errors, [], setting)
    }
    for (const setting of [
      'schema-required:upstreamProviders[].nope=off',
      'schema-required:oidcConfig.clientId=off',
    ])
      t.match(parseSeveritySetting(setting, ALL_IDS), /is not a field of any kind/, setting)
  },
)

t.test('a rule of a CRD that compares with the stored object', async (t) => {
  const text: ReleaseSchema = { type: 'string' }
  const fixed = (schema: ReleaseSchema, rule: string, message?: string): ReleaseSchema => ({
    ...schema,
    'x-kubernetes-validations': [{ rule, ...(message !== undefined && { message }) }],
  })
  const item: ReleaseSchema = {
    type: 'object',
    required: ['name'],
    properties: { name: text, value: fixed(text, 'self == oldSelf', 'value is immutable') },
  }
  const list = (type: string): ReleaseSchema => ({
    type: 'array',
    items: item,
    'x-kubernetes-list-type': type,
    ...(type === 'map' && { 'x-kubernetes-list-map-keys': ['name'] }),
  })
  const spec: ReleaseSchema = {
    type: 'object',
    properties: {
      once: fixed(text, 'self == oldSelf'),
      short: { ...text, maxLength: 3 },
      keyed: list('map'),
      plain: list('atomic'),
      pair: {
        type: 'object',
        properties: { a: text, b: text, c: text },
        'x-kubernetes-validations': [
          { rule: '!(has(self.a) && has(self.b))', message: 'a excludes b' },
          { rule: '!(has(self.a) && has(self.c))', message: 'a excludes c' },
        ],
      },
    },
  }
  const root: ReleaseSchema = { type: 'object', properties: { spec, metadata: ANYTHING } }
  const a = (value: string) => [{ name: 'a', value }]
  const rows: [title: string, stored: object | undefined, now: object, expected: string[]][] = [
    ['nothing is stored', undefined, { once: 'x' }, []],
    ['the same', { once: 'x' }, { once: 'x' }, []],
    ['changed', { once: 'x' }, { once: 'y' }, ['spec.once: failed rule: self == oldSelf']],
    ['it was not there', {}, { once: 'y' }, []],
    ['it goes', { once: 'x' }, {}, []],
    ['an item by its key', { keyed: a('x') }, { keyed: a('y') }, ['spec.keyed[0].value: value is immutable']],
    ['another item', { keyed: a('x') }, { keyed: [{ name: 'b', value: 'y' }, ...a('x')] }, []],
    [
      'three of one key',
      {},
      { keyed: [...a('x'), ...a('x'), ...a('x')] },
      ['spec.keyed[1]: a release refuses it'],
    ],
    ['a list without keys', { plain: a('x') }, { plain: a('y') }, []],
    ['a value that is stored', { short: 'long', once: 'x' }, { short: 'long' }, []],
    ['an object that is stored', { pair: { a: 'x', b: 'x' } }, { pair: { b: 'x', a: 'x' }, once: 'y' }, []],
    [
      'another value in an object',
      { pair: { a: 'x', b: 'x' } },
      { pair: { a: 'y', b: 'x' } },
      ['spec.pair: a excludes b'],
    ],
    [
      'another rule in its place',
      { pair: { a: 'x', b: 'x' } },
      { pair: { a: 'x', c: 'x' } },
      ['spec.pair: a excludes c'],
    ],
    ['items that are stored', { plain: [{}] }, { plain: [{}], once: 'y' }, []],
    [
      'another item without a field',
      { plain: [{ value: 'x' }] },
      { plain: [{ value: 'x' }, { value: 'y' }] },
      ['spec.plain[0].name: a release refuses it', 'spec.plain[1].name: a release refuses it'],
    ],
    ['another value', { short: 'long' }, { short: 'longer' }, ['spec.short: may not be more than 3 bytes']],
    [
      'another value beside a placeholder',
      { short: 'long', once: 'x' },
      { short: 'longer', once: '${X}' },
      ['spec.short: may not be more than 3 bytes'],
    ],
    ['a value that is stored beside a placeholder', { short: 'long' }, { short: 'long', once: '${X}' }, []],
    [
      'an item beside two of one key that are stored',
      { keyed: [...a('x'), ...a('x')] },
      { keyed: [...a('x'), ...a('x'), { name: 'b', value: 'y' }] },
      [],
    ],
    [
      'two of one key, with a placeholder in another field',
      undefined,
      { keyed: [...a('${X}'), ...a('y')] },
      ['spec.keyed[1]: a release refuses it'],
    ],
    ['two whose key is a placeholder', undefined, { keyed: [{ name: '${X}' }, { name: '${X}' }] }, []],
  ]
  const release: Release = { name: 'a release', schemas: new Map([['MCPGroup', root]]) }
  for (const [title, stored, now, expected] of rows) {
    const object = resourceOf('MCPGroup', now, { name: 'a', namespace: 'default' })
    const oldObject = stored && resourceOf('MCPGroup', stored, { name: 'a', namespace: 'default' })
    const before = oldObject && ({ object: oldObject, state: 'no cluster' } as const)
    const { errors } = judgeOf({ release }).file(fileOf(object, { stored: before ?? 'nothing' }))
    t.strictSame(
      errors.map(
        ({ error }) => `${pathText(error.at)}: ${error.detail.replace('; a release refuses it', '')}`,
      ),
      expected,
      title,
    )
  }
})

t.test('check with a release by name, or with CRDs in files', async (t: Test) => {
  const cwd = await mkdtemp(join(tmpdir(), 'vmcp-release-'))
  t.teardown(() => rm(cwd, { recursive: true }))
  const manifest = JSON.stringify(
    resourceOf('MCPExternalAuthConfig', { type: 'obo', obo: {} }, { name: 'a' }),
  )
  await writeFile(join(cwd, 'a.json'), manifest)
  const crd = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `mcpexternalauthconfigs.${DEFAULT_API_GROUP}` },
    spec: {
      group: DEFAULT_API_GROUP,
      names: { kind: 'MCPExternalAuthConfig' },
      versions: [
        { name: 'v1beta1', served: true, schema: { openAPIV3Schema: NEWEST.schemas.MCPExternalAuthConfig } },
      ],
    },
  }
  await writeFile(join(cwd, 'crd.yaml'), JSON.stringify(crd))
  const compared = structuredClone(crd)
  Object.assign(compared.spec.versions[0]?.schema.openAPIV3Schema ?? {}, {
    'x-kubernetes-validations': [{ rule: 'self.spec == oldSelf.spec' }, { rule: 'isURL(self.spec.type)' }],
  })
  await writeFile(join(cwd, 'rules.yaml'), JSON.stringify(compared))
  const wrong = [
    resourceOf('MCPRemoteProxy', { remoteURL: 'https://a.example.com' }),
    resourceOf('MCPGroup', {}, { name: 'Bad_Name', lables: {} }),
    resourceOf('MCPServer', { image: 'a', gruopRef: { name: 'a' } }),
  ]
  await writeFile(join(cwd, 'wrong.yaml'), wrong.map((each) => JSON.stringify(each)).join('\n---\n'))
  const rows: [args: string[], code: number, text: RegExp, file?: string][] = [
    [
      ['--crds', 'rules.yaml'],
      0,
      /2 CEL rules of the release of --crds cannot be evaluated here, .*: MCPExternalAuthConfig$/m,
    ],
    [['--release', '0.63'], 1, /spec\.remoteURL: .*did you mean 'remoteUrl'/, 'wrong.yaml'],
    [['--release', '0.63'], 1, /metadata\.name: Invalid value: "Bad_Name"/, 'wrong.yaml'],
    [['--release', '0.63'], 1, /spec\.gruopRef: .*did you mean 'groupRef'/, 'wrong.yaml'],
    [['--release', '0.63'], 1, /metadata\.lables: .*did you mean 'labels'/, 'wrong.yaml'],
    [[], 1, /error: .*Unsupported value: "obo"/],
    [['--release', '0.44'], 0, /warning: .*: operator release 0\.44 stores it/],
    [['--release', 'v0.44.0'], 0, /warning: .*: operator release 0\.44 stores it/],
    [['--release', 'none'], 1, /error: .*Unsupported value: "obo"/],
    [['--release', '0.26'], 1, /error: .*Unsupported value: "obo"/],
    [['--crds', 'crd.yaml'], 0, /warning: .*: the release of --crds stores it/],
    [
      ['--release', '0.99'],
      2,
      /'0\.99' is not a release that is known: they are 0\.26 to 0\.48, 0\.50, 0\.55 to 0\.63; /,
    ],
    [['--release', '0.49.1'], 2, /'0\.49\.1' is not .* with --crds/],
    [['--release', '0.63'], 0, /warning: .*: operator release 0\.63 stores it/],
    [['--release', '0.44', '--crds', 'crd.yaml'], 2, /give either --release or --crds/],
    [['--crds', 'a.json'], 2, /there is no CustomResourceDefinition of an operator for the group/],
    [['--crds', 'nope'], 2, /--crds nope: cannot read nope: no such file or folder/],
  ]
  for (const [args, code, text, file = 'a.json'] of rows) {
    const run = await runCli(['check', file, ...args], { cwd })
    t.equal(run.status, code, args.join(' '))
    t.match(run.stdout + run.stderr, text, args.join(' '))
  }
})

/** Objects that contain only the parents of one required field, with the path of that field. */
function* lacking(
  { required = [], properties = {}, items, additionalProperties }: Demanded,
  at = '',
): Generator<readonly [place: string, holder: unknown]> {
  for (const name of required) yield [`${at}.${name}`, {}]
  for (const [name, below] of Object.entries(properties))
    for (const [place, holder] of lacking(below, `${at}.${name}`)) yield [place, { [name]: holder }]
  if (items !== undefined) for (const [place, holder] of lacking(items, `${at}[0]`)) yield [place, [holder]]
  if (additionalProperties !== undefined)
    for (const [place, holder] of lacking(additionalProperties, `${at}[any]`)) yield [place, { any: holder }]
}

/** Paths at which the specification has a field that releases have at the key's path (decision 4). */
const TOLD_AT: Readonly<Record<string, string>> = {
  '.spec.incomingAuth.oidcConfigRef.audience': 'spec.incomingAuth.audience',
}

t.test('the clients and the target endpoint of type xaa, which only releases have', (t) => {
  const secret = { name: 'jira', key: 'client-secret' }
  const rows: [settings: object, ...warnings: RegExp[]][] = [
    [{}],
    [{ idpClientId: 'a', idpClientSecretRef: secret, targetClientId: 'a', targetClientSecretRef: secret }],
    [{ targetTokenUrl: 'http://jira.tools.svc/token', insecureTargetTokenUrl: true }],
    [{ targetTokenUrl: 'http://localhost:8080/token' }],
    [
      { idpClientSecretRef: secret, targetClientId: 'vmcp' },
      /^spec\.xaa\.idpClientSecretRef: .* without `idpClientId`; set it, or remove the Secret/,
      /^spec\.xaa\.targetClientId: .* without `targetClientSecretRef`; set it, or remove the client/,
    ],
    [{ targetTokenUrl: 'https://jira.example.com/token#v2' }, /targetTokenUrl: must be .* a fragment/],
    [{ targetTokenUrl: 'https://a:b@jira.example.com/token' }, /targetTokenUrl: must be .* user information/],
    [
      { targetTokenUrl: 'http://jira.tools.svc/token' },
      /targetTokenUrl: use 'https:.*insecureTargetTokenUrl/,
    ],
  ]
  for (const [settings, ...expected] of rows) {
    const xaa = {
      idpTokenUrl: 'https://idp.example.com/token',
      targetTokenUrl: 'https://jira.example.com/token',
      targetAudience: 'https://jira.example.com',
      ...settings,
    }
    const { errors, warnings } = judged(
      'MCPExternalAuthConfig',
      { type: 'xaa', xaa },
      { release: RELEASE_0_63 },
    )
    const told = warnings.filter((text) => text.endsWith('(exchange-settings-accepted)'))
    t.strictSame(errors, [])
    t.equal(told.length, expected.length, JSON.stringify(settings))
    for (const [i, text] of told.entries()) t.match(text, expected[i])
  }
  t.end()
})

t.test('every field that no release goes without is named where it is missing', (t) => {
  let places = 0
  for (const kind of KINDS) {
    const demanded = demandedFields(kind.kind)
    for (const [place, holder] of demanded === undefined ? [] : lacking(demanded)) {
      const { spec = {} } = holder as { spec?: object }
      const { errors, warnings } = judged(kind.kind, spec, {})
      const told = [...errors, ...warnings].filter((text) =>
        text.startsWith(`${TOLD_AT[place] ?? place.slice(1)}: `),
      )
      t.equal(told.length, 1, `${kind.kind}: ${place}`)
      places += 1
    }
  }
  t.ok(places > 150, `${places} places`)
  t.end()
})

t.test('the examples are what the newest release accepts and reconciles', async (t) => {
  const cwd = fileURLToPath(new URL('../', import.meta.url))
  const files = globSync('examples/*.yaml', { cwd })
  t.ok(files.length > 8)
  const run = await runCli(['check', '--release', '0.63', '--output', 'json', ...files], { cwd })
  const { findings } = JSON.parse(run.stdout) as { findings: { id: string; severity: string }[] }
  const isRefused = (id: string) => id === 'unknown-field' || id.endsWith('audience-is-resource-url')
  const refused = findings.filter(({ id, severity }) => severity === 'error' || isRefused(id))
  t.strictSame(refused, [])
})
