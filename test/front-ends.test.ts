import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { applyPatch, type Operation } from 'rfc6902'
import t, { type Test } from 'tap'
import { localPair } from '../src/certificates/local.ts'
import { readRelease } from '../src/cli/input/release.ts'
import { COMMANDS } from '../src/cli/commands.ts'
import { answer } from '../src/cli/mcp/answer.ts'
import { run as runProgram } from '../src/cli/run.ts'
import { UsageError, readFlags } from '../src/configuration/flags.ts'
import { API_VERSION, DEFAULT_API_GROUP, kindNamed, KINDS } from '../src/kinds/index.ts'
import { examplesAt, rulePlaces } from '../src/kinds/places.ts'
import { judge } from '../src/library/index.ts'
import { judgeText } from '../src/pages/playground/judged.ts'
import { ClusterState } from '../src/state/cluster-state.ts'
import { CurrentFindings } from '../src/server/current-findings.ts'
import {
  type Completion,
  createJudge,
  type FileObject,
  type Settings as EngineSettings,
  type StoredObject,
  type World,
} from '../src/engine/index.ts'
import { buildWebhook } from '../src/server/app.ts'
import { Bodies } from '../src/server/bodies.ts'
import { ConfigurationFile } from '../src/server/configuration-file.ts'
import { SERVER_FLAGS } from '../src/server/configuration.ts'
import { createMetrics } from '../src/server/metrics.ts'
import { runCli } from './support/cli.ts'
import { startEditor } from './support/editor.ts'
import { fakeApiServer, json, page } from './support/fake-api-server.ts'
import { knownReleases } from './support/releases.ts'
import { reviewOf } from './support/review.ts'

const KIND = 'MCPExternalAuthConfig'
const pluralOf = ({ kind }: Given['object']): string => kindNamed.get(String(kind))?.plural ?? ''
const OTHER_GROUP = 'auth.example.com'
const CONFIGURATION = 'vmcp-admission.yaml'

/** The settings of a row: names are flags, except `file`, which is the text of the configuration file. */
interface Settings {
  readonly mode?: 'warn'
  readonly profile?: 'strict'
  readonly severity?: string
  readonly release?: '0.63'
  readonly 'api-group'?: string
  readonly defaults?: 'off' | 'outside-lists'
  readonly 'service-account-audience'?: string
  readonly file?: string
}

interface Given {
  readonly id: string
  readonly object: Readonly<Record<string, unknown>>
  readonly settings: Settings
  readonly folder: string
  readonly t: Test
}

/** The severity with which a finding is reported; `none` when it is not. */
type Told = 'error' | 'warning' | 'none'

const objectWith = (spec: object, { group = DEFAULT_API_GROUP, annotations = {}, kind = KIND } = {}) => ({
  apiVersion: `${group}/${API_VERSION}`,
  kind,
  metadata: { name: 'example', namespace: 'default', annotations },
  spec,
})
const authServer = (more: object, oidcConfig: object = {}) => ({
  type: 'embeddedAuthServer',
  embeddedAuthServer: {
    issuer: 'https://auth.example.com',
    upstreamProviders: [
      {
        name: 'okta',
        type: 'oidc',
        oidcConfig: { issuerUrl: 'https://idp.example.com', clientId: 'vmcp', ...oidcConfig },
      },
    ],
    ...more,
  },
})

const WRONG = authServer({ tokenLifespans: { accessTokenLifespan: '7d' } })
const IGNORING = {
  annotations: { [`${DEFAULT_API_GROUP}/vmcp-admission-ignore`]: 'schema-pattern: days are meant' },
}

interface Row {
  readonly title: string
  readonly id: string
  readonly object: Readonly<Record<string, unknown>>
  readonly settings: Settings
  readonly told: Told
  /** Front ends that report another severity, with the reason. */
  readonly but?: Readonly<Partial<Record<FrontEnd, readonly [Told, reason: string]>>>
}

const pattern = { id: 'schema-pattern', object: objectWith(WRONG) }
const strict = { id: 'upstream-oidc-scope-openid', object: objectWith(authServer({}, { scopes: ['email'] })) }
const obo = { id: 'schema-enum', object: objectWith({ type: 'obo', obo: {} }) }
const ofOtherGroup = { id: 'schema-pattern', object: objectWith(WRONG, { group: OTHER_GROUP }) }
const ignoring = { id: 'schema-pattern', object: objectWith(WRONG, IGNORING) }
const bareServer = objectWith({}, { kind: 'MCPServer' })
const rateLimited = objectWith(
  { image: 'ghcr.io/example/mcp', rateLimiting: { shared: { maxTokens: 10 } } },
  { kind: 'MCPServer' },
)
const IS_STORED = 'the API server takes the object: its CRD demands less than those of the known releases'
const OF_THE_CLUSTER = 'an API server lists only objects of the group that is asked for'

/** A row for each setting, after rows without it. */
const ROWS: readonly Row[] = [
  { title: 'without a setting', ...pattern, settings: {}, told: 'error' },
  { title: 'mode warn', ...pattern, settings: { mode: 'warn' }, told: 'warning' },
  {
    title: 'a severity by flag',
    ...pattern,
    settings: { severity: 'schema-pattern=warning' },
    told: 'warning',
  },
  { title: 'a severity off', ...pattern, settings: { severity: 'schema-pattern=off' }, told: 'none' },
  {
    title: 'a severity for one field',
    ...pattern,
    settings: { severity: 'schema-pattern:spec.embeddedAuthServer.tokenLifespans.accessTokenLifespan=off' },
    told: 'none',
  },
  {
    title: 'a severity for another namespace',
    ...pattern,
    settings: { severity: 'schema-pattern=off@elsewhere' },
    told: 'error',
  },
  {
    title: 'severities of the configuration file',
    ...pattern,
    settings: { file: 'severities: [schema-pattern=warning]' },
    told: 'warning',
  },
  {
    title: 'an exemption',
    ...pattern,
    settings: {
      file: `exemptions: [{ id: schema-pattern, object: { kind: ${KIND}, name: exam* }, reason: days are meant }]`,
    },
    told: 'none',
  },
  {
    title: 'a namespace that is left out',
    ...pattern,
    settings: { file: 'namespaces: { leaveOut: [def*] }' },
    told: 'none',
  },
  { title: 'an ignore in the manifest', ...ignoring, settings: {}, told: 'error' },
  { title: 'ignores that are allowed', ...ignoring, settings: { file: 'allowIgnores: all' }, told: 'none' },
  {
    title: 'ignores that are not allowed',
    ...ignoring,
    settings: { severity: 'schema-pattern=warning', file: 'allowIgnores: none' },
    told: 'warning',
  },
  { title: 'without the strict profile', ...strict, settings: {}, told: 'warning' },
  { title: 'the strict profile', ...strict, settings: { profile: 'strict' }, told: 'error' },
  {
    title: 'the strict profile of the file',
    ...strict,
    settings: { file: 'profile: strict' },
    told: 'error',
  },
  { title: 'without a release', ...obo, settings: {}, told: 'error' },
  { title: 'a release that accepts it', ...obo, settings: { release: '0.63' }, told: 'warning' },
  {
    title: 'the release of the file',
    ...obo,
    settings: { file: "release: '0.63'" },
    told: 'warning',
  },
  {
    title: 'a release beside that of the file',
    ...obo,
    settings: { release: '0.63', file: "release: '0.26'" },
    told: 'warning',
  },
  {
    title: 'an older release of the file',
    ...obo,
    settings: { file: "release: '0.26'" },
    told: 'error',
  },
  {
    title: 'a severity beside a release',
    ...obo,
    settings: { release: '0.63', severity: 'schema-enum=off' },
    told: 'none',
  },
  {
    title: 'a field that no release goes without, and the specification does not show',
    id: 'schema-required',
    object: bareServer,
    settings: {},
    told: 'warning',
  },
  {
    title: 'the same where it is off',
    id: 'schema-required',
    object: bareServer,
    settings: { severity: 'schema-required:spec.image=off' },
    told: 'none',
  },
  {
    title: 'a field that no release goes without, in what the specification does not describe',
    id: 'schema-required',
    object: rateLimited,
    settings: {},
    told: 'error',
    but: {
      '/validate': ['warning', IS_STORED],
      'current findings': ['warning', IS_STORED],
      audit: ['warning', IS_STORED],
      replay: ['warning', IS_STORED],
    },
  },
  {
    title: 'another API group that is not named',
    ...ofOtherGroup,
    settings: {},
    told: 'none',
    but: {
      audit: ['error', OF_THE_CLUSTER],
      'current findings': ['error', OF_THE_CLUSTER],
    },
  },
  {
    title: 'another API group',
    ...ofOtherGroup,
    settings: { 'api-group': OTHER_GROUP },
    told: 'error',
  },
]

/** Returns the severity that a front end reports for a row. Throws UsageError when the front end lacks a setting. */
type Asked = (given: Given) => Promise<Told>

const flagsOf = ({ settings }: Given): string[] =>
  Object.entries(settings).flatMap(([name, value]) => (name === 'file' ? [] : [`--${name}=${String(value)}`]))

/** The severity of the row's finding in a list of findings. */
const toldOf = (findings: readonly { id: string; severity: string }[], { id }: Given): Told => {
  const found = findings.filter((each) => each.id === id).map(({ severity }) => severity)
  return found.includes('error') ? 'error' : found.length > 0 ? 'warning' : 'none'
}

/** Runs a command with the object of a row, in a folder that has the configuration file. */
async function run(
  given: Given,
  command: string,
  args: readonly string[],
  input = '',
  program?: typeof runProgram,
) {
  const { settings, folder, object } = given
  writeFileSync(join(folder, 'object.json'), JSON.stringify(object))
  if (settings.file !== undefined) writeFileSync(join(folder, CONFIGURATION), settings.file)
  const result = await runCli([command, ...args], { cwd: folder, input, ...(program && { program }) })
  if (result.status === 2) throw new UsageError(result.stderr)
  return result
}

const findingsIn = ({ stdout }: { stdout: string }) =>
  (JSON.parse(stdout) as { findings: { id: string; severity: string }[] }).findings

const release063 = knownReleases().find(({ version }) => version.startsWith('0.63.'))

/** The CustomResourceDefinition of release 0.63 at an API path; undefined for other paths. */
const definitionOf = (path: string): object | undefined => {
  const kind = KINDS.find((each) => path.includes(`/customresourcedefinitions/${each.plural}.`))
  const schema = kind && release063?.schemas[kind.kind]
  if (schema === undefined) return undefined
  return {
    kind: 'CustomResourceDefinition',
    metadata: {},
    spec: {
      group: DEFAULT_API_GROUP,
      names: { kind: kind?.kind },
      versions: [{ name: API_VERSION, served: true, schema: { openAPIV3Schema: schema } }],
    },
  }
}

/**
 * The flags for reading a cluster with these objects. `--release` is replaced by the CRDs of that release in the
 * cluster.
 */
async function clusterFlags(given: Given, objects: readonly Given['object'][]): Promise<string[]> {
  const { release, ...settings } = given.settings
  const { kubeconfig } = await fakeApiServer(given.t, pluralOf(given.object), {
    lists: [
      (response) => {
        const path = response.req.url ?? ''
        const listed = objects.filter((object) => path.split('?')[0]?.endsWith(`/${pluralOf(object)}`))
        if (!path.includes('/customresourcedefinitions/')) page(listed)(response)
        else if (release === undefined) json(404, {})(response)
        else json(200, definitionOf(path))(response)
      },
    ],
  })
  return [...flagsOf({ ...given, settings }), '--kubeconfig', kubeconfig]
}

const pair = (async () => {
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-front-ends-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  return localPair(folder, ['127.0.0.1'])
})()

/** The settings and state with which the server would judge, from its flags and configuration file. */
async function serverWorld(given: Given): Promise<World & { readonly state: ClusterState }> {
  const { release = '', ...settings } = given.settings
  const flags = flagsOf({ ...given, settings })
  const path = join(given.folder, CONFIGURATION)
  if (settings.file !== undefined) {
    writeFileSync(path, settings.file)
    flags.push(`--config-file=${path}`)
  }
  const { values } = readFlags(SERVER_FLAGS, flags, {})
  const chosen = new ConfigurationFile(values, pino({ enabled: false }))
  if (settings.file !== undefined) await chosen.open()
  const group = values['api-group']
  return {
    group,
    settings: chosen.settings,
    state: new ClusterState({ group, knows: () => true }),
    release: (await readRelease({ release, crds: '' }, group)) ?? chosen.release ?? 'specification',
    defaults: {
      written: values.defaults,
      serviceAccountAudience: values['service-account-audience'],
    },
  }
}

interface Response {
  readonly allowed: boolean
  readonly warnings?: readonly string[]
  readonly status?: {
    readonly message: string
    readonly details: { readonly causes: readonly { readonly field: string; readonly message: string }[] }
  }
  readonly patch?: string
}

/** A webhook without a port. `ask` sends it the review of an object. */
async function startWebhook(world: World) {
  const judge = createJudge(world)
  const app = buildWebhook(
    {
      judge: () => judge,
      logger: pino({ enabled: false }),
      metrics: createMetrics(),
      mostInFlight: 10,
      bodies: new Bodies(0),
      isStopping: () => false,
    },
    await pair,
  )
  return {
    ask: async (path: string, object: Given['object'], namespace = 'default'): Promise<Response> => {
      const [group = ''] = String(object.apiVersion).split('/')
      const kind = { group, version: API_VERSION, kind: object.kind }
      const { name = 'example' } = object.metadata as { name?: string }
      const payload = JSON.stringify(reviewOf(object, { kind, namespace, name }))
      const headers = { 'content-type': 'application/json' }
      const sent = await app.inject({ method: 'POST', url: path, payload, headers })
      return (JSON.parse(sent.payload) as { response: Response }).response
    },
    close: () => app.close(),
  }
}

async function ask(path: string, given: Given, others: readonly object[] = []): Promise<Response> {
  const world = await serverWorld(given)
  for (const other of others as { kind: string }[]) {
    const kind = kindNamed.get(other.kind)
    if (kind !== undefined) world.state.put(kind, other, 'default')
  }
  const webhook = await startWebhook(world)
  const response = await webhook.ask(path, given.object)
  await webhook.close()
  return response
}

const auditEvent = ({ object }: Given): string => {
  const [apiGroup = ''] = String(object.apiVersion).split('/')
  const plural = pluralOf(object)
  return JSON.stringify({
    kind: 'Event',
    apiVersion: 'audit.k8s.io/v1',
    level: 'RequestResponse',
    stage: 'ResponseComplete',
    requestURI: `/apis/${apiGroup}/${API_VERSION}/namespaces/default/${plural}`,
    verb: 'create',
    user: { username: 'ann' },
    objectRef: { resource: plural, namespace: 'default', name: 'example', apiGroup },
    responseStatus: { metadata: {}, code: 201 },
    requestReceivedTimestamp: '2026-11-01T10:00:00.000000Z',
    responseObject: object,
  })
}

/**
 * The reported severity in the output of `steps`, which reports errors only; the outcome shows whether anything else is
 * wrong.
 */
function toldOfSteps({ stdout }: { stdout: string }, { id }: Given): Told {
  const { outcome, errors } = JSON.parse(stdout) as { outcome: string; errors: string[] }
  if (errors.some((text) => text.endsWith(` (${id})`))) return 'error'
  return outcome === 'order' || outcome === 'nothing' ? 'none' : 'warning'
}

/** The names of a type's optional properties. */
type Optional<T> = { [K in keyof T]-?: object extends Pick<T, K> ? K : never }[keyof T]
type None<T extends never> = T
/** Compiles only if these types have no optional properties: callers must state that something is unknown. */
export type NothingIsLeftOut = [
  None<Optional<World>>,
  None<Optional<EngineSettings>>,
  None<Optional<Completion>>,
  None<Optional<FileObject>>,
  None<Optional<StoredObject>>,
]

const FRONT_ENDS = {
  '/validate': async (given) => {
    const { allowed, status, warnings = [] } = await ask('/validate', given)
    const isIn = (text: string | undefined) => text?.includes(`(${given.id})`) === true
    return !allowed && isIn(status?.message) ? 'error' : warnings.some(isIn) ? 'warning' : 'none'
  },
  'current findings': async (given) => {
    if (given.settings.mode !== undefined) throw new UsageError('no mode')
    const world = await serverWorld(given)
    const judge = createJudge(world)
    const findings = new CurrentFindings(world.state, () => judge)
    const kind = kindNamed.get(String(given.object.kind))
    if (kind !== undefined) findings.put(kind, given.object)
    findings.startRound()
    while (findings.work(10));
    return toldOf([...findings.findings()], given)
  },
  check: async (given) =>
    toldOf(findingsIn(await run(given, 'check', ['--output=json', ...flagsOf(given), 'object.json'])), given),
  'check --cluster': async (given) => {
    const flags = await clusterFlags(given, [])
    return toldOf(
      findingsIn(await run(given, 'check', ['--output=json', '--cluster', ...flags, 'object.json'])),
      given,
    )
  },
  audit: async (given) => {
    const flags = await clusterFlags(given, [given.object])
    return toldOf(findingsIn(await run(given, 'audit', ['--output=json', ...flags])), given)
  },
  replay: async (given) =>
    toldOf(
      findingsIn(
        await run(given, 'replay', ['--output=json', ...flagsOf(given), '-'], `${auditEvent(given)}\n`),
      ),
      given,
    ),
  steps: async (given) => {
    mkdirSync(join(given.folder, 'old'))
    writeFileSync(join(given.folder, 'old/group.json'), JSON.stringify(OLD))
    return toldOfSteps(
      await run(given, 'steps', ['--output=json', ...flagsOf(given), 'old', 'object.json']),
      given,
    )
  },
  'steps --cluster': async (given) => {
    const flags = await clusterFlags(given, [])
    return toldOfSteps(
      await run(given, 'steps', ['--output=json', '--cluster', ...flags, 'object.json']),
      given,
    )
  },
  fix: async (given) => {
    const { stdout } = await run(given, 'fix', [...flagsOf(given), 'object.json'])
    return stdout === '' ? 'none' : 'warning'
  },
  mcp: async (given) => {
    const program = async ([, ...args]: readonly string[]) => {
      const input = { paths: ['object.json'] }
      const { json = '', isError } = await answer({ tool: 'check', input, args, environment: {} })
      process.stdout.write(json)
      return isError ? 2 : 0
    }
    return toldOf(findingsIn(await run(given, 'mcp', flagsOf(given), '', program)), given)
  },
  lsp: async (given) => {
    const { settings, object, t } = given
    const text = JSON.stringify(object)
    const editor = await startEditor(
      t,
      { 'object.json': text, ...(settings.file !== undefined && { [CONFIGURATION]: settings.file }) },
      flagsOf(given),
    )
    await editor.open('object.json', text)
    // A second file with a constant finding is judged after the first; once it is shown, the first has been judged.
    await editor.open('last.yaml', 'a: [')
    await editor.shown('last.yaml')
    await editor.rest()
    const shown = await editor.shown('object.json', () => true)
    return toldOf(
      shown.map(({ code, severity }) => ({
        id: String(code),
        severity: severity === 1 ? 'error' : 'warning',
      })),
      given,
    )
  },
  library: async (given) => {
    const { settings, object } = given
    const { release, profile, severity, 'api-group': apiGroup, ...others } = settings
    if (Object.keys(others).length > 0) throw new UsageError('no such option')
    const [place = '', value] = severity?.split('=') ?? []
    if (value?.includes('@') === true) throw new UsageError('no namespaces')
    const { findings } = judge([object], {
      ...(release !== undefined && release063 && { release: release063 }),
      ...(profile !== undefined && { profile }),
      ...(severity !== undefined && { severities: { [place]: value as 'off' } }),
      ...(apiGroup !== undefined && { apiGroup }),
    })
    return toldOf(findings, given)
  },
  playground: async (given) => {
    const { release = '', ...others } = given.settings
    if (Object.keys(others).length > 0) throw new UsageError('no such setting')
    const { report } = judgeText(
      JSON.stringify(given.object),
      await readRelease({ release, crds: '' }, DEFAULT_API_GROUP),
    )
    return toldOf(report.findings, given)
  },
} as const satisfies Record<string, Asked>

type FrontEnd = keyof typeof FRONT_ENDS

const OLD = { ...objectWith({}, { kind: 'MCPGroup' }) }

const FLAGS_OF_PAGE = 'the page has a choice of releases, and no other setting'
const TRIALS = 'a trial period is one of the webhook: this command denies nothing'
/** By front end: settings that it does not have, and why. */
const LACKING: Readonly<Partial<Record<FrontEnd, Readonly<Partial<Record<keyof Settings, string>>>>>> = {
  'current findings': { mode: 'the server counts them as errors in a trial period too' },
  check: { mode: TRIALS },
  'check --cluster': { mode: TRIALS },
  audit: { mode: TRIALS },
  replay: { mode: TRIALS },
  steps: { mode: TRIALS },
  'steps --cluster': { mode: TRIALS },
  fix: { mode: TRIALS },
  mcp: { mode: TRIALS },
  lsp: { mode: TRIALS },
  library: {
    mode: TRIALS,
    file: 'it reads no file: the program that calls it leaves objects and findings out',
  },
  playground: {
    mode: FLAGS_OF_PAGE,
    file: FLAGS_OF_PAGE,
    severity: FLAGS_OF_PAGE,
    profile: FLAGS_OF_PAGE,
    'api-group': FLAGS_OF_PAGE,
  },
}

/** Why a front end cannot report the finding of a row; undefined when it can. */
const SILENT: Readonly<Partial<Record<FrontEnd, (row: Row) => string | undefined>>> = {
  fix: ({ id }) => (id === pattern.id ? undefined : 'the finding has no fix'),
  library: ({ settings }) =>
    settings.severity?.includes('@') === true ? 'its severities are for all namespaces' : undefined,
}

/** How a front end maps severities. */
const SHOWN: Readonly<Partial<Record<FrontEnd, (told: Told) => Told>>> = {
  fix: (told) => (told === 'none' ? 'none' : 'warning'),
  steps: (told) => (told === 'error' ? 'error' : 'none'),
  'steps --cluster': (told) => (told === 'error' ? 'error' : 'none'),
}

const refused = (error: unknown): 'refused' => {
  if (error instanceof UsageError) return 'refused'
  throw error
}

for (const row of ROWS)
  t.test(row.title, async (t) => {
    for (const [frontEnd, asked] of Object.entries(FRONT_ENDS) as [FrontEnd, Asked][]) {
      const folder = t.testdir({})
      const given = { ...row, folder, t }
      const lacking = Object.keys(row.settings).find(
        (name) => LACKING[frontEnd]?.[name as keyof Settings] !== undefined,
      )
      const known = await asked(given).catch(refused)
      if (lacking !== undefined) {
        t.equal(known, 'refused', `${frontEnd} has no setting ${lacking}`)
        continue
      }
      if (SILENT[frontEnd]?.(row) !== undefined) continue
      const [told] = row.but?.[frontEnd] ?? [row.told]
      t.equal(known, SHOWN[frontEnd]?.(told) ?? told, frontEnd)
    }
  })

/** Commands that report no findings, and why. */
const NOT_JUDGING: Readonly<Record<string, string>> = {
  plan: 'it tells effective authentication and no findings, in each namespace',
  access: 'it tells effective authentication and no findings, in each namespace: a role of AWS is in none',
  role: 'it tells the role of a caller; its release is the one of the gateway',
  probe: 'it tells what hosts answer',
  explain: 'it reads no resource',
  completion: 'it reads no resource',
  doctor: 'it reads no resource of the seven kinds',
  init: 'it writes a setup; test/init.test.ts has what check says of it',
  uninstall: 'it reads no resource of the seven kinds',
}

t.test('every command is in the table, or does not judge', async (t) => {
  const named = new Set([
    ...Object.keys(FRONT_ENDS).map((name) => name.split(' ')[0]),
    ...Object.keys(NOT_JUDGING),
  ])
  t.strictSame(
    [...COMMANDS.keys()].filter((name) => !named.has(name)),
    [],
  )
})

/** The scalar values of an object, as `path=value`. */
const leavesOf = (value: unknown, at = ''): string[] =>
  typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([key, each]) => leavesOf(each, `${at}/${key}`))
    : [`${at}=${JSON.stringify(value)}`]

const patched = (object: unknown, patch: readonly unknown[]): unknown => {
  const copy = structuredClone(object)
  applyPatch(copy, patch as Operation[])
  return copy
}

/** The object with the defaults that a front end writes. Throws UsageError when the front end lacks a setting. */
const WRITERS: Readonly<Record<string, (given: Given) => Promise<unknown>>> = {
  '/mutate': async (given) => {
    const { patch } = await ask('/mutate', given, [SERVICE_ACCOUNTS])
    const operations = patch === undefined ? '[]' : Buffer.from(patch, 'base64').toString()
    return patched(given.object, JSON.parse(operations) as unknown[])
  },
  'fix --add-defaults': async (given) => {
    await run(given, 'fix', ['--add-defaults', '--write', ...flagsOf(given), 'object.json'])
    return JSON.parse(readFileSync(join(given.folder, 'object.json'), 'utf8')) as unknown
  },
  library: async ({ object, settings: { 'api-group': apiGroup, ...others } }) => {
    if (Object.keys(others).length > 0) throw new UsageError('no such option')
    const { defaults } = judge([object], apiGroup === undefined ? {} : { apiGroup })
    return patched(object, defaults[0]?.patch ?? [])
  },
  playground: async ({ object, settings }) => {
    if (Object.keys(settings).length > 0) throw new UsageError('no such setting')
    return JSON.parse(judgeText(JSON.stringify(object), undefined).completed) as unknown
  },
}

const SERVICE_ACCOUNTS = {
  ...objectWith(
    { type: 'kubernetesServiceAccount', kubernetesServiceAccount: {} },
    { kind: 'MCPOIDCConfig' },
  ),
  metadata: { name: 'accounts', namespace: 'default' },
}

interface WrittenRow {
  readonly title: string
  readonly object: Given['object']
  readonly settings: Settings
  /** The scalar values that are added. */
  readonly written: readonly string[]
}

const SCOPES = '/spec/embeddedAuthServer/upstreamProviders/0/oidcConfig/scopes'
const IN_LISTS = [`${SCOPES}/0="openid"`, `${SCOPES}/1="offline_access"`]
const LIFESPANS = '/spec/embeddedAuthServer/tokenLifespans'
const OUTSIDE_LISTS = [
  `${LIFESPANS}/accessTokenLifespan="1h"`,
  `${LIFESPANS}/authCodeLifespan="10m"`,
  `${LIFESPANS}/refreshTokenLifespan="168h"`,
  '/spec/embeddedAuthServer/storage/type="memory"',
]
const ALL = [...IN_LISTS, ...OUTSIDE_LISTS]
const bare = { object: objectWith(authServer({})) }
const forAccounts = objectWith(
  { groupRef: { name: 'tools' }, incomingAuth: { type: 'oidc', oidcConfigRef: { name: 'accounts' } } },
  { kind: 'VirtualMCPServer' },
)

const WRITTEN_ROWS: readonly WrittenRow[] = [
  { title: 'without a setting', ...bare, settings: {}, written: ALL },
  { title: 'outside lists', ...bare, settings: { defaults: 'outside-lists' }, written: OUTSIDE_LISTS },
  { title: 'no defaults', ...bare, settings: { defaults: 'off' }, written: [] },
  {
    title: 'a namespace that is left out',
    ...bare,
    settings: { file: 'namespaces: { leaveOut: [def*] }' },
    written: [],
  },
  {
    title: 'another API group that is not named',
    object: objectWith(authServer({}), { group: OTHER_GROUP }),
    settings: {},
    written: [],
  },
  {
    title: 'another API group',
    object: objectWith(authServer({}), { group: OTHER_GROUP }),
    settings: { 'api-group': OTHER_GROUP },
    written: ALL,
  },
  { title: 'no audience', object: forAccounts, settings: {}, written: [] },
  {
    title: 'the audience of service accounts',
    object: forAccounts,
    settings: { 'service-account-audience': 'vmcp' },
    written: ['/spec/incomingAuth/audience="vmcp"'],
  },
  {
    title: 'the audience of service accounts, where releases read it',
    object: forAccounts,
    settings: { 'service-account-audience': 'vmcp', release: '0.63' },
    written: ['/spec/incomingAuth/oidcConfigRef/audience="vmcp"'],
  },
]

const { library: LIBRARY } = LACKING
const AS_BY_DEFAULT = 'it shows what the server writes by default'
const WRITES_LACKING: Readonly<Record<string, Readonly<Partial<Record<keyof Settings, string>>>>> = {
  'fix --add-defaults': { defaults: AS_BY_DEFAULT, 'service-account-audience': AS_BY_DEFAULT },
  library: {
    defaults: AS_BY_DEFAULT,
    'service-account-audience': AS_BY_DEFAULT,
    file: LIBRARY?.file ?? '',
  },
  playground: {
    defaults: AS_BY_DEFAULT,
    'service-account-audience': AS_BY_DEFAULT,
    file: FLAGS_OF_PAGE,
    'api-group': FLAGS_OF_PAGE,
  },
}

// `steps` and `plan` take the defaults into account without printing them; see steps.test.ts and plan.test.ts.
for (const row of WRITTEN_ROWS)
  t.test(`defaults: ${row.title}`, async (t) => {
    for (const [writer, write] of Object.entries(WRITERS)) {
      const lacking = Object.keys(row.settings).find(
        (name) => WRITES_LACKING[writer]?.[name as keyof Settings] !== undefined,
      )
      const written = await write({ id: '', ...row, folder: t.testdir({}), t }).catch(refused)
      if (lacking !== undefined) {
        t.equal(written, 'refused', `${writer} has no setting ${lacking}`)
        continue
      }
      const before = new Set(leavesOf(row.object))
      const added = leavesOf(written).filter((leaf) => !before.has(leaf))
      t.strictSame(added.toSorted(), row.written.toSorted(), writer)
    }
  })

const ROLE = 'arn:aws:iam::123456789012:role'
/**
 * A VirtualMCPServer and an `awsSts` configuration whose `roleClaim` is missing in the tokens that the server issues.
 */
const gatewayAndRoles = (namespace: string | undefined) => {
  const named = (kind: string, name: string, spec: object, place: string | undefined) => ({
    apiVersion: `${DEFAULT_API_GROUP}/${API_VERSION}`,
    kind,
    metadata: { name, ...(place !== undefined && { namespace: place }) },
    spec,
  })
  const groupRef = { name: 'tools' }
  const { embeddedAuthServer } = authServer({})
  const mapping = { claim: 'admins', roleArn: `${ROLE}/admin` }
  const awsSts = {
    region: 'eu-central-1',
    fallbackRoleArn: `${ROLE}/reader`,
    roleClaim: 'department',
    roleMappings: [mapping],
  }
  return [
    named('VirtualMCPServer', 'vmcp', { groupRef, authServerConfig: embeddedAuthServer }, 'team'),
    named('MCPServerEntry', 's3', { groupRef, externalAuthConfigRef: { name: 'aws' } }, 'team'),
    named(KIND, 'aws', { type: 'awsSts', awsSts }, namespace),
  ]
}

t.test(
  'role knows whose callers choose by a configuration: beside it in files, and in a cluster',
  async (t) => {
    const inCluster = gatewayAndRoles('team')
    const { kubeconfig } = await fakeApiServer(t, DEFAULT_API_GROUP, {
      lists: [
        (response) => {
          const [kind, name] = (response.req.url ?? '').replace(/\?.*/, '').split('/').slice(6)
          const found = inCluster.filter((each) => kindNamed.get(each.kind)?.plural === kind)
          if (name === undefined) page(found)(response)
          else json(200, found.find(({ metadata }) => metadata.name === name) ?? {})(response)
        },
      ],
    })
    const stream = (objects: readonly object[]) => objects.map((each) => JSON.stringify(each)).join('\n---\n')
    const cwd = t.testdir({
      'claims.json': JSON.stringify({ department: ['admins'] }),
      files: { 'all.yaml': stream(inCluster) },
      default: {
        'all.yaml': stream(gatewayAndRoles(undefined)),
        [CONFIGURATION]: 'namespaces: { default: team }',
      },
    })
    const rows: [title: string, ...flags: string[]][] = [
      ['files', '--config', 'files/all.yaml'],
      ['the default namespace of the configuration file', '--config', 'default/all.yaml'],
      ['a cluster', '--cluster', '--kubeconfig', kubeconfig, '--config', 'team/aws'],
    ]
    for (const [title, ...flags] of rows)
      for (const command of ['role', 'access']) {
        const { stdout, stderr } = await runCli([command, ...flags, '--claims', 'claims.json'], { cwd })
        t.equal(stderr, '', `${command}: ${title}`)
        t.match(stdout, /VirtualMCPServer vmcp issues the tokens of its callers/, `${command}: ${title}`)
      }
  },
)

t.test(
  'effective authentication is told in a namespace that is left out, where nothing is written',
  async (t) => {
    const [gateway, , aws] = gatewayAndRoles('team')
    const written = {
      ...objectWith({
        type: 'tokenExchange',
        tokenExchange: {
          tokenUrl: 'https://idp.example.com/token',
          audience: 'a',
          subjectProviderName: 'entra',
        },
      }),
      metadata: {
        name: 'exchange',
        namespace: 'team',
        annotations: { [`${DEFAULT_API_GROUP}/subject-provider-written`]: 'entra' },
      },
    }
    const member = {
      ...objectWith(
        { groupRef: { name: 'tools' }, externalAuthConfigRef: { name: 'exchange' } },
        { kind: 'MCPServer' },
      ),
      metadata: { name: 'wiki', namespace: 'team' },
    }
    const stream = (roles: object | undefined) =>
      [gateway, written, member, roles].map((each) => JSON.stringify(each)).join('\n---\n')
    const without = structuredClone(aws) as unknown as { spec: { awsSts: Record<string, unknown> } }
    delete without.spec.awsSts.fallbackRoleArn
    const files = { 'old.yaml': stream(without), 'new.yaml': stream(aws) }
    const cwd = t.testdir({
      judged: files,
      leftOut: { ...files, [CONFIGURATION]: 'namespaces: { leaveOut: [te*] }' },
    })
    const toldIn = async (folder: string, ...args: string[]) => {
      const { stdout, stderr } = await runCli(args, { cwd: join(cwd, folder) })
      t.equal(stderr, '', `${folder}: ${args.join(' ')}`)
      return stdout
    }
    for (const args of [
      ['access', 'old.yaml', 'new.yaml'],
      ['access', '--deny-new=*', 'old.yaml', 'new.yaml'],
      ['access', '--who=*', 'new.yaml'],
      ['plan', 'old.yaml', 'new.yaml'],
    ])
      t.equal(await toldIn('leftOut', ...args), await toldIn('judged', ...args), args.join(' '))
    const next = /the next write of MCPExternalAuthConfig "exchange" writes okta/
    const plan = await toldIn('judged', 'plan', 'new.yaml')
    t.match(plan, next)
    const [table] = plan.replace(' [1]', '').split('\n  [1]')
    t.match(await toldIn('leftOut', 'plan', 'new.yaml'), table)
    t.notMatch(await toldIn('leftOut', 'plan', 'new.yaml'), next)
  },
)

t.test('policies of a ConfigMap are read in YAML by check and in the playground', async (t) => {
  const text = `apiVersion: ${DEFAULT_API_GROUP}/${API_VERSION}
kind: MCPServer
metadata: { name: jira }
spec:
  image: a
  groupRef: { name: tools }
  oidcConfigRef: { name: okta, audience: a }
  authzConfig: { type: configMap, configMap: { name: rules } }
---
apiVersion: v1
kind: ConfigMap
metadata: { name: rules }
data:
  authz.json: |
    version: '1.0'
    type: cedarv1
    cedar:
      policies:
        - permit(principal, action, resource
      entities_json: '[]'
`
  const cwd = t.testdir({ 'all.yaml': text })
  const { stdout } = await runCli(['check', '--output', 'json', 'all.yaml'], { cwd })
  const { findings } = JSON.parse(stdout) as { findings: { id: string }[] }
  const ids = (found: readonly { readonly id: string }[]) => found.map(({ id }) => id)
  t.ok(
    ids(findings).some((id) => id.startsWith('authorization-')),
    ids(findings).join(),
  )
  t.strictSame(ids(judgeText(text, undefined).report.findings), ids(findings))
})

/** The parts of a finding that all front ends report; those without texts are compared without `path` and `message`. */
interface CorpusFinding {
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly severity: string
  readonly id: string
  readonly path?: string
  readonly message?: string
}

/**
 * The examples of all rules with their other objects, each example in a namespace of its own. Only objects of the seven
 * kinds.
 */
function corpus(): Given['object'][] {
  const worlds = rulePlaces().flatMap((place) =>
    examplesAt(place)
      .filter(({ old }) => old === undefined)
      .map(({ resource, others }) => [resource, ...others]),
  )
  const isOurs = ({ kind }: Record<string, unknown>) => kindNamed.has(String(kind))
  return worlds
    .filter((world) => world.every(isOurs) && !PLACEHOLDER.test(JSON.stringify(world)))
    .filter((world) => JSON.stringify(world).length < LARGEST_WORLD)
    .flatMap((world, i) =>
      world.map((object) => ({
        ...object,
        metadata: { name: 'example', ...(object.metadata as object), namespace: `w${i}` },
      })),
    )
}

/** Unresolved placeholders, which only some front ends judge (decision 28). */
const PLACEHOLDER = /\$\{|\{\{|<[A-Z_]+>|\$[A-Z]/
/** The largest example, in characters: an editor shows at most a thousand findings for a file. */
const LARGEST_WORLD = 10_000

const key = ({ kind, namespace, name, severity, id, path, message }: CorpusFinding) =>
  JSON.stringify([namespace, kind, name, severity, id, path, message])

const inReport = (stdout: string) => (JSON.parse(stdout) as { findings: CorpusFinding[] }).findings

/** A cluster state of a server that may not read Secrets and ConfigMaps. */
function stateWith(objects: readonly Given['object'][]): ClusterState {
  const state = new ClusterState({
    group: DEFAULT_API_GROUP,
    knows: (kind) => !['Secret', 'ConfigMap'].includes(kind),
  })
  for (const object of objects) {
    const kind = kindNamed.get(String(object.kind))
    if (kind !== undefined) state.put(kind, object, (object.metadata as { namespace: string }).namespace)
  }
  return state
}

const idIn = (message: string): string => / \(([\w-]+)\)$/.exec(message)?.[1] ?? message

/** The words that differ between front ends, because they look for other objects in different places. */
const WHERE =
  /in the given files|among the given objects|in the cluster|in this text|in namespace '[^']*'|; there is one in namespace '.*?own/g

/** The characters that the API server keeps of each warning when it shortens them. */
const OF_WARNING = 150

/** The finding as the webhook returns it: advice becomes a warning, and a warning is one shortened text. */
function asOfWebhook({ path = '', message = '', severity, ...of }: CorpusFinding): CorpusFinding {
  if (severity === 'error') return { ...of, severity, path, message }
  const text = path === '' ? message : `${path}: ${message}`
  return { ...of, severity: 'warning', message: text.replaceAll(WHERE, 'here').slice(0, OF_WARNING) }
}

/** The finding as a diagnostic: the object and mostly the path are given by the position, and the id is the code. */
function asOfEditor({ namespace, id, severity, message = '' }: CorpusFinding): CorpusFinding {
  const levels: Readonly<Record<string, string>> = { error: '1', warning: '2', advice: '3' }
  const text = message
    .replace(` (${id})`, '')
    .replace(/^(?:spec|metadata)(?:\[[^\]]*\]|[^ [])*: /, '')
    .replace(/(of this name) .*$/, '$1')
  return { kind: '', name: '', namespace, id, severity: levels[severity] ?? severity, message: text }
}

/** How a front end reports the findings of all examples. */
const CORPUS: Readonly<
  Record<
    string,
    {
      /** Removes what the front end does not report of a finding; the default keeps everything. */
      readonly told?: (finding: CorpusFinding) => CorpusFinding
      readonly found: (objects: readonly Given['object'][], given: Given) => Promise<readonly CorpusFinding[]>
    }
  >
> = {
  check: {
    found: async (objects, given) =>
      inReport(
        (await run({ ...given, object: listOf(objects) }, 'check', ['--output=json', 'object.json'])).stdout,
      ),
  },
  audit: {
    found: async (objects, given) => {
      const flags = await clusterFlags(given, objects)
      return inReport((await run(given, 'audit', ['--output=json', ...flags])).stdout)
    },
  },
  '/validate': {
    told: asOfWebhook,
    found: async (objects, given) => {
      const world = await serverWorld(given)
      const state = stateWith(objects)
      const webhook = await startWebhook({ ...world, state })
      const found: CorpusFinding[] = []
      for (const object of objects) {
        const { name, namespace } = object.metadata as { name: string; namespace: string }
        const { status, warnings = [] } = await webhook.ask('/validate', object, namespace)
        const of = { kind: String(object.kind), namespace, name }
        for (const { field, message } of status?.details.causes ?? [])
          found.push({ ...of, severity: 'error', id: idIn(message), path: field, message })
        for (const warning of warnings) {
          const message = warning.slice(`${of.kind} ${name}: `.length)
          found.push({ ...of, severity: 'warning', id: idIn(message), path: '', message })
        }
      }
      await webhook.close()
      return found
    },
  },
  'current findings': {
    told: ({ kind, namespace, name, severity, id }) => ({ kind, namespace, name, severity, id }),
    found: async (objects, given) => {
      const state = stateWith([])
      const judge = createJudge({ ...(await serverWorld(given)), state })
      const findings = new CurrentFindings(state, () => judge)
      for (const object of objects) {
        const kind = kindNamed.get(String(object.kind))
        if (kind !== undefined) findings.put(kind, object)
      }
      findings.startRound()
      while (findings.work(100));
      return [...findings.findings()]
    },
  },
  lsp: {
    told: asOfEditor,
    found: async (objects, given) => {
      const worlds = Map.groupBy(objects, ({ metadata }) => (metadata as { namespace: string }).namespace)
      const files = Array.from(worlds, ([namespace, world]) => ({
        namespace,
        name: `${namespace}.json`,
        text: JSON.stringify(listOf(world), undefined, 1),
      }))
      const editor = await startEditor(given.t, {})
      const found: CorpusFinding[] = []
      for (const { namespace, name, text } of files) {
        await editor.open(name, text)
        await editor.open(`${namespace}-last.yaml`, 'a: [')
        await editor.shown(`${namespace}-last.yaml`)
        // On a busy machine the second file may be judged first.
        await editor.rest()
        for (const { code, severity, message } of await editor.shown(name, () => true)) {
          // Notes about older releases have no id.
          if (code === undefined) continue
          found.push({
            ...{ kind: '', namespace, name: '', severity: String(severity), id: String(code) },
            message: typeof message === 'string' ? message : message.value,
          })
        }
        for (const each of [name, `${namespace}-last.yaml`]) await editor.close(each)
      }
      return found
    },
  },
  library: { found: async (objects) => judge(objects).findings },
  playground: {
    found: async (objects) => judgeText(JSON.stringify(listOf(objects)), undefined).report.findings,
  },
  mcp: {
    found: async (objects, given) => {
      const program = async ([, ...args]: readonly string[]) => {
        const input = { paths: ['object.json'] }
        const { json = '' } = await answer({ tool: 'check', input, args, environment: {} })
        process.stdout.write(json)
        return 0
      }
      return inReport((await run({ ...given, object: listOf(objects) }, 'mcp', [], '', program)).stdout)
    },
  },
}

/**
 * Whether all front ends can report the finding: an API server drops unknown fields, /mutate resolves
 * `subject-provider-chosen`, only a write tells of names of Services, and only `audit` reads ConfigMaps.
 */
const isOfAll = ({ id }: CorpusFinding) =>
  !['unknown-field', 'subject-provider-chosen', 'service-name-valid', 'config-map-reference-found'].includes(
    id,
  )

const whole = (finding: CorpusFinding) => finding

const listOf = (items: readonly Given['object'][]) => ({ apiVersion: 'v1', kind: 'List', items })

t.test('every front end tells the findings of all examples of rules in the same bytes', async (t) => {
  const objects = corpus()
  const given: Given = { id: '', object: {}, settings: {}, folder: t.testdir({}), t }
  let expected: readonly CorpusFinding[] = []
  for (const [name, { told = whole, found }] of Object.entries(CORPUS)) {
    const findings = await found(objects, given)
    if (name === 'check') expected = findings
    const keys = (all: readonly CorpusFinding[]) =>
      new Set(all.filter(isOfAll).map((each) => key(told(each)).replaceAll(WHERE, 'here')))
    const [those, these] = [keys(expected), keys(findings)]
    t.ok(these.size > 2_000, `${name}: ${these.size} findings`)
    t.strictSame(
      [...those].filter((each) => !these.has(each)).slice(0, 8),
      [],
      `${name} tells all that check tells`,
    )
    t.strictSame([...these].filter((each) => !those.has(each)).slice(0, 8), [], `${name} tells nothing more`)
  }
})
