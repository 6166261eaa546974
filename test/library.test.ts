import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { applyPatch, type Operation } from 'rfc6902'
import t from 'tap'
import { loadDocuments } from '../src/cli/input/load.ts'
import { allRules, examplesAt, rulePlaces } from '../src/kinds/places.ts'
import { type Finding, judge, type JudgeOptions, releaseOfCrds } from '../src/library/index.ts'
import { runCli } from './support/cli.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const EXAMPLES = readdirSync(`${ROOT}examples`, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.yaml'))
  .map((path) => `examples/${path}`)

const objectsIn = (path: string): unknown[] =>
  loadDocuments(readFileSync(ROOT + path, 'utf8')).map((document) =>
    'value' in document ? document.value : undefined,
  )
const readJson = (path: string) => JSON.parse(readFileSync(ROOT + path, 'utf8')) as never

const lines = (findings: readonly Omit<Finding, 'index' | 'keys'>[]) =>
  findings
    .map(({ severity, id, kind, namespace, name, path, message }) =>
      JSON.stringify([severity, id, kind, namespace, name, path, message]),
    )
    .toSorted()

t.test('judges every example file as check does', async (t) => {
  const release = readJson('releases/0.63.json')
  const rows: [string[], JudgeOptions][] = [
    [[], {}],
    [['--profile', 'strict'], { profile: 'strict' }],
    [['--release', '0.63', '--namespace', 'tools'], { release, namespace: 'tools' }],
    [['--severity', 'unknown-field=off'], { severities: { 'unknown-field': 'off' } }],
  ]
  for (const [flags, options] of rows) {
    let compared = 0
    for (const path of EXAMPLES) {
      const { stdout } = await runCli(['check', '--output', 'json', ...flags, path], { cwd: ROOT })
      const { findings } = JSON.parse(stdout) as { findings: Finding[] }
      const expected = lines(findings.map((each) => inOtherWords(each)))
      t.strictSame(lines(judge(objectsIn(path), options).findings), expected, [...flags, path].join(' '))
      compared += findings.length
    }
    t.ok(compared > 20, `${flags.join(' ')}: ${compared} findings`)
  }
})

/** Replaces the words for files, which the CLI searches, by those for objects, which the library searches. */
const inOtherWords = (finding: Finding): Finding => ({
  ...finding,
  message: finding.message.replaceAll('in the given files', 'among the given objects'),
})

t.test('finds in every example of every rule what the rule says', async (t) => {
  const ids = new Set<string>()
  for (const place of rulePlaces()) {
    for (const { resource, findings, others = [] } of examplesAt(place)) {
      const found = judge([resource], { others: others }).findings
      if (found.some(({ id }) => id === place.rule.id)) ids.add(place.rule.id)
      else if (findings.length === 0) t.notOk(found.some(({ id }) => id === place.rule.id))
    }
  }
  t.ok(ids.size > allRules().length * 0.8, `${ids.size} of ${allRules().length} rules`)
})

const API = 'toolhive.stacklok.dev/v1beta1'
const sts = (awsSts: object, name = 'aws') => ({
  apiVersion: API,
  kind: 'MCPExternalAuthConfig',
  metadata: { name },
  spec: { type: 'awsSts', awsSts: { region: 'eu-central-1', ...awsSts } },
})

t.test('says where a finding is', async (t) => {
  const wrong = sts({ roleMappings: [{ claim: 'a', matcher: 'true', roleArn: 'x' }] })
  const { findings } = judge([{ kind: 'Secret' }, wrong])
  for (const { index, keys, path, namespace, name } of findings) {
    t.strictSame([index, namespace, name], [1, 'default', 'aws'])
    t.equal(
      path,
      keys.map((key, i) => (typeof key === 'number' ? `[${key}]` : `${i === 0 ? '' : '.'}${key}`)).join(''),
    )
  }
  t.ok(findings.some(({ keys }) => keys.join('/') === 'spec/awsSts/roleMappings/0/roleArn'))
})

t.test('an error that the replaced object has too is a warning', async (t) => {
  const old = sts({ sessionDuration: 5, fallbackRoleArn: 'arn:aws:iam::123456789012:role/reader' })
  const severities = (objects: unknown[], others: unknown[]) =>
    judge(objects, { others }).findings.map(({ severity, message }) => [severity, message.slice(0, 14)])
  t.strictSame(severities([old], [])[0]?.[0], 'error')
  t.strictSame(severities([old], [old]), [['warning', 'stored before:']])
  t.strictSame(severities([old], [sts({}, 'other')])[0]?.[0], 'error')
})

t.test('defaults are a patch, after which nothing is missing', async (t) => {
  const object = sts({ fallbackRoleArn: 'arn:aws:iam::123456789012:role/reader' })
  const { defaults } = judge([{}, object])
  t.match(defaults, [{ index: 1, kind: 'MCPExternalAuthConfig', namespace: 'default', name: 'aws' }])
  const patched = structuredClone(object)
  t.strictSame(
    applyPatch(patched, [...(defaults[0]?.patch ?? [])] as Operation[]),
    defaults[0]?.patch.map(() => null),
  )
  t.notSame(patched, object)
  t.strictSame(judge([patched]).defaults, [])
})

t.test('placeholders are named, and judged where that is strict', async (t) => {
  const object = sts({ region: '${REGION}', fallbackRoleArn: 'arn:aws:iam::123456789012:role/reader' })
  const { findings, placeholders } = judge([object])
  t.strictSame(findings, [])
  t.match(placeholders, [{ index: 0, path: 'spec.awsSts.region', text: '${REGION}' }])
  t.ok(judge([object], { strict: true }).findings.length > 0)
})

t.test('a release comes from its file or from CRDs', async (t) => {
  t.equal(releaseOfCrds([{}, null]), undefined)
  const crd = {
    kind: 'CustomResourceDefinition',
    spec: {
      group: 'toolhive.stacklok.dev',
      names: { kind: 'MCPGroup' },
      versions: [
        {
          name: 'v1beta1',
          served: true,
          schema: {
            openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', maxProperties: 0 } } },
          },
        },
      ],
    },
  }
  const release = releaseOfCrds([crd])
  const group = { apiVersion: API, kind: 'MCPGroup', metadata: { name: 'a' }, spec: { description: 'b' } }
  t.strictSame(judge([group]).findings, [])
  t.match(judge([group], { release }).findings, [{ severity: 'error' }])
})

t.test('wrong options throw, objects never do', async (t) => {
  const rows: [object, RegExp][] = [
    [{ severities: { 'no-such-rule': 'off' } }, /severities: 'no-such-rule' is not the id of a rule/],
    [{ severities: { 'unknown-field': 'fatal' } }, /severities: 'unknown-field=fatal' is not/],
    [{ profile: 'lax' }, /profile: 'lax' is not known/],
    [{ release: '0.63' }, /release: give the contents/],
  ]
  for (const [options, message] of rows) t.throws(() => judge([], options), { name: 'TypeError', message })
  const anything = [
    undefined,
    null,
    1,
    'a',
    [],
    [[]],
    {},
    { apiVersion: API },
    { apiVersion: API, kind: 'MCPServer', spec: 1 },
  ]
  t.doesNotThrow(() => judge(anything, { others: anything }))

  const nested = (levels: number) => {
    let value: object = {}
    for (let i = 1; i < levels; i++) value = i % 2 === 0 ? { a: value } : [value]
    return value
  }
  const holding = (podTemplateSpec: object) => ({
    apiVersion: API,
    kind: 'MCPServer',
    metadata: { name: 'deep', annotations: {} },
    spec: { image: 'jira', podTemplateSpec },
  })
  const cycle: Record<string, unknown> = {}
  Object.assign(cycle, { a: cycle, b: cycle })
  for (const [title, value, ids] of [
    ['as deep as may be', nested(498), []],
    ['one level more', nested(499), ['object-judged-whole']],
    ['100,000 levels', nested(100_000), ['object-judged-whole']],
    ['a cycle', cycle, ['object-judged-whole']],
  ] as const) {
    const deep = holding(value)
    for (const others of [[], [deep]]) {
      const { findings } = judge(
        [deep, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, data: value }],
        { others },
      )
      t.strictSame(
        findings.filter(({ severity }) => severity === 'error').map(({ id }) => id),
        ids,
        title,
      )
    }
  }
  const { findings } = judge([
    { apiVersion: API, kind: 'MCPGroup', metadata: { name: nested(100_000), namespace: cycle }, spec: {} },
  ])
  t.ok(
    findings.some(({ id }) => id === 'object-judged-whole'),
    'in place of a name',
  )
})
