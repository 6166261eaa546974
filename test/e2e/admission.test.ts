import { CustomObjectsApi, KubeConfig } from '@kubernetes/client-node'
import { readdirSync } from 'node:fs'
import root, { type Test } from 'tap'
import { API_VERSION, DEFAULT_API_GROUP, KINDS, kindNamed } from '../../src/kinds/index.ts'
import { mcpExternalAuthConfig } from '../../src/kinds/mcp-external-auth-config/index.ts'
import { type RunningServer, startServer } from '../support/server.ts'
import type { ApiServer } from './api-server.ts'
import { answers, installCrds, kubectl, minorOf, pathOf, register, ROOT } from './cluster.ts'
import { type ExampleFile, exampleFiles, type Manifest } from './example-files.ts'
import { matchesGolden, transcript } from './golden.ts'
import {
  dryRunAll,
  inBatches,
  type RuleExample,
  ruleExamples,
  type Status,
  warningOf,
} from './rule-examples.ts'
import { additions } from './stored-defaults.ts'
import { withApiServer } from './suite.ts'

const FILES = exampleFiles()
const GOOD = FILES.filter(({ bad }) => !bad).flatMap(({ resources }) => resources)
const TRANSCRIPTS = ['invalid-before', 'down-with-fail', 'down-with-ignore'].map(
  (name) => `kubectl/${name}.txt`,
)
const FINALIZER = `${DEFAULT_API_GROUP}/example`

const patched = (name: string, patch: object, ...flags: string[]) => [
  'patch',
  'mcpexternalauthconfig',
  name,
  '--type=merge',
  `--patch=${JSON.stringify(patch)}`,
  ...flags,
]
const labelled = (name: string, label: string) => ['label', 'mcpexternalauthconfig', name, label]
const deleted = (name: string, ...flags: string[]) => ['delete', 'mcpexternalauthconfig', name, ...flags]
const awsSts = (settings: object) => ({ spec: { awsSts: settings } })
const finalizers = (list: readonly string[] | null) => ({ metadata: { finalizers: list } })

await withApiServer(root, async (t, api) => {
  await installCrds(api, 'crds')
  await storeInvalid(api, ['legacy', 'legacy-finalized', 'legacy-unwanted', 'legacy-while-down'])
  const server = await startServer()
  try {
    await register(api, server)
    await answers(api, 422)
    await t.test('examples, as a dry run', (t) => dryRunFiles(t, api))
    await t.test('examples, applied', (t) => applyFiles(t, api))
    await t.test('defaults are stored', (t) => showDefaults(t, api))
    await t.test('examples of rules', (t) => judgeRuleExamples(t, api))
    await t.test('the Kubernetes client sees the causes', (t) => createWithClient(t, api))
    await t.test('a resource that was invalid before we came', (t) => updateInvalid(t, api))
    t.notMatch(server.log(), /"level":"(error|fatal)"/, 'nothing went wrong inside')
  } finally {
    await server.stop('SIGKILL')
  }
  await t.test('no server answers', (t) => goWithoutServer(t, api, server))
})

/** Stores objects that the webhook would deny, before it is registered. */
async function storeInvalid(api: ApiServer, names: readonly string[]): Promise<void> {
  const roleArn = 'arn:aws:iam::123456789012:role/legacy'
  const roleMappings = [{ roleArn, claim: 'legacy', matcher: '"legacy" in claims.groups' }]
  for (const name of names) {
    const { status } = await api.request('POST', pathOf(mcpExternalAuthConfig), {
      apiVersion: `${DEFAULT_API_GROUP}/${API_VERSION}`,
      kind: mcpExternalAuthConfig.kind,
      metadata: { name },
      spec: { type: 'awsSts', awsSts: { region: 'eu-central-1', roleMappings } },
    })
    if (status !== 201) throw new Error(`${name} was answered with ${status}`)
  }
}

interface Stored extends Manifest {
  readonly metadata: {
    readonly name: string
    readonly labels?: Readonly<Record<string, string>>
    readonly generation: number
    readonly resourceVersion: string
  }
}

/** All objects of the seven kinds by kind and name, except those stored before the webhook was registered. */
async function storedByName(api: ApiServer): Promise<Map<string, Stored>> {
  const plurals = KINDS.map(({ plural }) => plural).join(',')
  const list = JSON.parse(await kubectl(api, ['get', plurals, '--output=json'])) as { items: Stored[] }
  const ours = list.items.filter(({ metadata }) => !metadata.name.startsWith('legacy'))
  return new Map(ours.map((resource) => [nameOf(resource), resource]))
}

function nameOf({ kind, metadata }: Manifest): string {
  return `${kind} ${metadata.name}`
}

function goldenName({ path }: ExampleFile): string {
  return path.replace('examples/', 'kubectl/').replace('.yaml', '.txt')
}

async function dryRunFiles(t: Test, api: ApiServer): Promise<void> {
  const texts = await inBatches(FILES, ({ path }) =>
    transcript(api, [['apply', '-f', path, '--dry-run=server']]),
  )
  for (const [i, file] of FILES.entries()) {
    const text = (texts[i] ?? '').replace(' --dry-run=server', '').replaceAll(' (server dry run)', '')
    await matchesGolden(t, goldenName(file), text)
  }
  t.strictSame([...(await storedByName(api)).keys()], [], 'nothing is stored')
}

async function applyFiles(t: Test, api: ApiServer): Promise<void> {
  for (const bad of [true, false]) {
    const files = FILES.filter((file) => file.bad === bad)
    const texts = await inBatches(files, ({ path }) => transcript(api, [['apply', '-f', path]]))
    for (const [i, file] of files.entries()) {
      const text = texts[i] ?? ''
      await matchesGolden(t, goldenName(file), text)
      t.equal(text.includes('exit code'), bad, `${file.path} is ${bad ? 'denied' : 'admitted'}`)
    }
  }
  const names = [...(await storedByName(api)).keys()]
  t.strictSame(names.toSorted(), GOOD.map(nameOf).toSorted(), 'what is admitted is stored, and nothing else')
  const goldens = readdirSync(`${ROOT}test/golden/kubectl`, { recursive: true, encoding: 'utf8' })
  t.strictSame(
    goldens
      .filter((name) => name.endsWith('.txt'))
      .map((name) => `kubectl/${name}`)
      .toSorted(),
    [...FILES.map(goldenName), ...TRANSCRIPTS].toSorted(),
    'no golden text is left over',
  )
}

async function showDefaults(t: Test, api: ApiServer): Promise<void> {
  const before = await storedByName(api)
  const written = GOOD.flatMap((resource) => {
    const added = additions(resource.spec, before.get(nameOf(resource))?.spec, 'spec')
    return Object.keys(added).length === 0 ? [] : [[nameOf(resource), added]]
  })
  const text = JSON.stringify(Object.fromEntries(written), undefined, 2)
  await matchesGolden(t, 'kubectl/stored-defaults.json', `${text}\n`)

  await kubectl(api, ['apply', '-f', 'examples/*.yaml'])
  const again = await storedByName(api)
  const isNew = (await minorOf(api)) >= 36
  for (const [name, { metadata }] of before) {
    const { resourceVersion, generation } = again.get(name)?.metadata ?? {}
    t.equal(generation, metadata.generation, `${name}: the same file again changes nothing`)
    // With an older API server, kubectl sends a list without its defaults, which causes a write of an equal object.
    if (isNew) t.equal(resourceVersion, metadata.resourceVersion, name)
  }

  await kubectl(api, ['label', KINDS.map(({ plural }) => plural).join(','), '--all', 'tier=example'])
  const labelled = await storedByName(api)
  for (const [name, { metadata, spec }] of before) {
    const after = labelled.get(name)
    t.match(after?.metadata, { labels: { tier: 'example' }, generation: metadata.generation }, name)
    t.strictSame(after?.spec, spec, `${name}: a label leaves the spec and its generation`)
  }
}

async function judgeRuleExamples(t: Test, api: ApiServer): Promise<void> {
  for (const { example, answer } of await dryRunAll(api, ruleExamples())) {
    const { title, findings, place, resource } = example
    const unknown = answer.warnings.filter((text) => text.startsWith('unknown field'))
    t.strictSame(unknown, [], `${title}: the CRD knows every field`)
    if (findings.length > 0 && place.rule.severity === 'error') isDenied(t, example, answer)
    else {
      t.equal(answer.status, 201, `${title}: ${answer.body.message ?? 'admitted'}`)
      const own = answer.warnings.filter((text) => text.endsWith(` (${place.rule.id})`))
      const { name } = resource.metadata as { readonly name: string }
      const expected = findings.map((finding) => warningOf(place, name, finding))
      t.strictSame(own.toSorted(), expected.toSorted(), `${title}: exactly its warnings`)
    }
  }
}

function isDenied(t: Test, { title, findings }: RuleExample, answer: { status: number; body: Status }): void {
  const { message, details } = answer.body
  t.equal(answer.status, 422, `${title}: denied`)
  t.match(message ?? '', /^admission webhook "validate\.vmcp-admission\.[^"]+" denied the request: /, title)
  const causes = (details?.causes ?? []).map((cause) => `${cause.field}: ${cause.message}`)
  t.strictSame(causes.toSorted(), findings.toSorted(), `${title}: exactly its causes`)
}

async function createWithClient(t: Test, api: ApiServer): Promise<void> {
  const bad = FILES.find(({ path }) => path.endsWith('role-mapping-with-claim-and-matcher.yaml'))
  const body = bad?.resources[0]
  const plural = kindNamed.get(body?.kind ?? '')?.plural ?? ''
  const configuration = new KubeConfig()
  configuration.loadFromFile(api.kubeconfig)
  const client = configuration.makeApiClient(CustomObjectsApi)
  const place = { group: DEFAULT_API_GROUP, version: API_VERSION, namespace: 'default', plural }
  const failure = await client.createNamespacedCustomObject({ ...place, body }).then(
    () => t.fail('must be denied'),
    (error: unknown) => error as { readonly code: number; readonly body: string },
  )
  if (typeof failure === 'boolean') return
  const status = JSON.parse(failure.body) as Status
  t.equal(failure.code, 422)
  t.match(status, {
    reason: 'Invalid',
    details: { group: DEFAULT_API_GROUP, kind: mcpExternalAuthConfig.kind, name: 'billing-aws' },
  })
  t.strictSame(
    status.details?.causes?.map(({ reason, field }) => [reason, field]),
    [
      ['FieldValueInvalid', 'spec.awsSts.region'],
      ['FieldValueForbidden', 'spec.awsSts.roleMappings[0].matcher'],
      ['FieldValueInvalid', 'spec.awsSts.roleMappings[1].matcher'],
    ],
  )
}

/** Tests the ratchet: an error that the stored object already has does not deny an update. */
async function updateInvalid(t: Test, api: ApiServer): Promise<void> {
  const repaired = [{ roleArn: 'arn:aws:iam::123456789012:role/legacy', claim: 'legacy' }]
  const text = await transcript(api, [
    labelled('legacy', 'team=billing'),
    patched('legacy', { status: { configHash: 'abc' } }, '--subresource=status'),
    patched('legacy', awsSts({ sessionDuration: 1800 })),
    patched('legacy', awsSts({ region: 'europe' })),
    patched('legacy', awsSts({ roleMappings: repaired })),
    patched('legacy-finalized', finalizers([FINALIZER])),
    deleted('legacy-finalized', '--wait=false'),
    patched('legacy-finalized', finalizers(null)),
    ['get', 'mcpexternalauthconfig', 'legacy-finalized'],
    deleted('legacy-unwanted'),
  ])
  await matchesGolden(t, 'kubectl/invalid-before.txt', text)
}

/** Tests both failure policies after the server was killed. */
async function goWithoutServer(t: Test, api: ApiServer, server: RunningServer): Promise<void> {
  await answers(api, 500, 'connection refused')
  const name = 'legacy-while-down'
  const created = ['apply', '-f', 'examples/bad/misspelt-type.yaml']
  const failing = await transcript(api, [
    created,
    patched(name, awsSts({ sessionDuration: 1800 })),
    labelled(name, 'team=billing'),
    patched(name, finalizers([FINALIZER])),
    deleted(name, '--wait=false'),
    patched(name, finalizers(null)),
    ['get', 'mcpexternalauthconfig', name],
  ])
  await matchesGolden(t, 'kubectl/down-with-fail.txt', failing)

  await register(api, server, 'Ignore')
  await answers(api, 201)
  const ignoring = await transcript(api, [
    created,
    patched('legacy', awsSts({ sessionDuration: 3600 })),
    deleted('legacy'),
  ])
  await matchesGolden(t, 'kubectl/down-with-ignore.txt', ignoring)
}
