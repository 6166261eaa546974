import { readFileSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Ajv, type AnySchemaObject } from 'ajv'
import draft4 from 'ajv-draft-04'
import formats from 'ajv-formats'
import type { Log } from 'sarif'
import t from 'tap'
import { parse } from 'yaml'
import { OUTPUT_SCHEMAS } from '../src/cli/output/schemas.ts'
import { printPolicyReport } from '../src/cli/output/policy-report.ts'
import { IN_CLUSTER, type Report, type ReportedFinding } from '../src/cli/output/report.ts'
import { runCli } from './support/cli.ts'
import { breaksIn, closed, problemWithOutput } from './support/output-schemas.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const EXAMPLES = ['examples/together/three-mistakes.yaml', 'examples']
const FORMATS = ['human', 'line', 'json', 'sarif', 'github', 'gitlab', 'junit', 'openreports'] as const

const folder = await mkdtemp(join(tmpdir(), 'vmcp-admission-output-'))
t.teardown(() => rm(folder, { recursive: true }))
t.setTimeout(300_000)

/** Names and values that contain everything that an output format must escape. */
const AWKWARD = `apiVersion: toolhive.stacklok.dev/v1beta1
kind: MCPExternalAuthConfig
metadata: { name: 'a<b>&"%0A::error,]]>' }
spec: { type: awsSts, awsSts: { region: "eu\\ncentral\\u0001\\ufffe-1 %25 ::" } }
`
await writeFile(join(folder, 'a%20b, c.yaml'), AWKWARD)
await writeFile(join(folder, 'broken.yaml'), 'kind: [')

const exempt = join(folder, '.exempt')
await mkdir(exempt)
await writeFile(
  join(exempt, 'a.yaml'),
  `apiVersion: toolhive.stacklok.dev/v1beta1
kind: MCPExternalAuthConfig
metadata: { name: a }
spec:
  # vmcp-admission: ignore[unknown-field] our fork reads it
  colour: red
  type: other
`,
)
await writeFile(join(exempt, 'vmcp-admission.yaml'), 'exemptions: [{ id: schema-enum, reason: of our fork }]')

const read = (path: string): unknown => JSON.parse(readFileSync(join(ROOT, path), 'utf8'))
const runs: [args: string[], cwd: string][] = [
  ...EXAMPLES.map((path): [string[], string] => [[path], ROOT]),
  [['--advice', 'examples'], ROOT],
  [['.'], folder],
  [['--show-ignored', '.'], exempt],
]

t.test('the exit code does not depend on the format', async (t) => {
  for (const [args, cwd] of runs) {
    const codes = new Set<number | null>()
    for (const format of FORMATS)
      codes.add((await runCli(['check', '--output', format, ...args], { cwd })).status)
    t.equal(codes.size, 1, args.join(' '))
  }
})

t.test('json is of its schema, which names every field', async (t) => {
  // `runCli` throws when the output does not match its schema.
  for (const [args, cwd] of runs) {
    const { stdout } = await runCli(['check', '--output', 'json', ...args], { cwd })
    t.match(JSON.parse(stdout), { version: 1 }, args.join(' '))
    t.match(problemWithOutput(['check', '--output', 'json'], stdout.replace('"notes"', '"remarks"')), /notes/)
  }
})

t.test('an output has every field of its recorded schema, or another version', (t) => {
  for (const [name, { schema }] of Object.entries(OUTPUT_SCHEMAS)) {
    const version = (schema.properties.version as unknown as { const: number }).const
    const path = `test/golden/output-schemas/${name}.${version}.json`
    const recorded = read(path) as object
    t.strictSame(
      breaksIn(recorded, schema),
      [],
      `${path}: grow the version, and record the new schema beside this one`,
    )
  }
  t.end()
})

t.test('what breaks a script that reads an output', (t) => {
  const text = { type: 'string' }
  const of = (properties: object, required: readonly string[]) => ({ type: 'object', properties, required })
  const recorded = of({ a: text, b: { type: 'array', items: of({ c: text }, ['c']) } }, ['a', 'b'])
  const b = (items: object) => of({ a: text, b: { type: 'array', items } }, ['a', 'b'])
  const rows: readonly (readonly [now: object, breaks: readonly string[]])[] = [
    [recorded, []],
    [of({ ...recorded.properties, d: text }, ['a', 'b', 'd']), []],
    [of({ ...recorded.properties, a: { ...text, description: 'A' } }, ['a', 'b']), []],
    [of({ a: text }, ['a']), ['.b is gone']],
    [of(recorded.properties, ['b']), ['.a may be absent']],
    [of({ ...recorded.properties, a: { type: 'number' } }, ['a', 'b']), ['.a is of another type']],
    [
      of({ ...recorded.properties, a: { anyOf: [text, { type: 'null' }] } }, ['a', 'b']),
      ['.a is of another type'],
    ],
    [b(of({ c: { ...text, enum: ['x'] } }, ['c'])), ['.b[].c is of another type']],
    [b(of({}, [])), ['.b[].c is gone']],
    [{ anyOf: [recorded] }, ['the whole is of another type']],
  ]
  for (const [now, breaks] of rows) t.strictSame(breaksIn(recorded, now), breaks, JSON.stringify(now))
  const either = { anyOf: [{ required: ['a'] }, { required: ['b'] }] }
  t.strictSame(breaksIn(either, { anyOf: [{ required: ['a', 'c'] }, { required: ['b'] }] }), [])
  t.strictSame(breaksIn(either, { anyOf: [{ required: ['a'] }, { required: ['c'] }] }), [
    '|1.b may be absent',
  ])
  t.end()
})

t.test('SARIF is of the schema of OASIS', async (t) => {
  const ajv = new draft4.default({ strict: false })
  formats.default(ajv)
  const validate = ajv.compile(read('test/formats/sarif-schema-2.1.0.json') as AnySchemaObject)
  for (const [args, cwd] of runs) {
    const { stdout } = await runCli(['check', '--output', 'sarif', ...args], { cwd })
    const log = JSON.parse(stdout) as Log
    t.ok(validate(log), `${args.join(' ')}: ${JSON.stringify(validate.errors)}`)
    const [run] = log.runs
    const rules = run?.tool.driver.rules ?? []
    for (const { ruleId, ruleIndex, partialFingerprints } of run?.results ?? []) {
      const rule = rules[ruleIndex ?? -1]
      t.equal(rule?.id, ruleId)
      t.match(rule?.help?.markdown, 'page: docs/rules')
      t.match(partialFingerprints?.['vmcpAdmission/v1'], /^[0-9a-f]{64}$/)
    }
    const prints = run?.results?.map(({ partialFingerprints }) => partialFingerprints?.['vmcpAdmission/v1'])
    t.equal(new Set(prints).size, prints?.length, 'each finding has a fingerprint of its own')
  }
})

t.test('SARIF leads to both ends, and says what could not be read', async (t) => {
  const { stdout } = await runCli(['check', '--output', 'sarif', 'examples/together/three-mistakes.yaml'], {
    cwd: ROOT,
  })
  const results = (JSON.parse(stdout) as Log).runs[0]?.results ?? []
  const between = results.find(({ ruleId }) => ruleId === 'upstream-inject-provider-exists')
  t.match(between, {
    level: 'error',
    locations: [
      {
        physicalLocation: {
          artifactLocation: { uri: 'examples/together/three-mistakes.yaml' },
          region: { startLine: 77, startColumn: 17 },
        },
      },
    ],
    relatedLocations: [{ physicalLocation: { region: { startLine: Number } }, message: { text: /octa/ } }],
  })
  const broken = JSON.parse(
    (await runCli(['check', '--output', 'sarif', '.'], { cwd: folder })).stdout,
  ) as Log
  t.match(broken.runs[0], {
    invocations: [
      {
        executionSuccessful: false,
        toolExecutionNotifications: [{ level: 'error', message: { text: String } }],
      },
    ],
  })
  t.match(
    broken.runs[0]?.results?.[0]?.locations?.[0]?.physicalLocation?.artifactLocation?.uri,
    /^a%2520b%2C%20c\.yaml$/,
  )
})

t.test('fingerprints stay when lines move', async (t) => {
  const path = join(folder, 'moving.yaml')
  const text = await readFile(join(ROOT, 'examples/together/three-mistakes.yaml'), 'utf8')
  const outputs: string[][][] = []
  for (const before of ['', '# a line\n\n# more\n']) {
    await writeFile(path, before + text)
    const sarif = JSON.parse(
      (await runCli(['check', '--output', 'sarif', path], { cwd: ROOT })).stdout,
    ) as Log
    const gitlab = JSON.parse(
      (await runCli(['check', '--output', 'gitlab', path], { cwd: ROOT })).stdout,
    ) as {
      fingerprint: string
    }[]
    outputs.push([
      (sarif.runs[0]?.results ?? []).map(({ partialFingerprints }) => JSON.stringify(partialFingerprints)),
      gitlab.map(({ fingerprint }) => fingerprint),
    ])
  }
  t.ok((outputs[0]?.[0]?.length ?? 0) > 3)
  t.strictSame(outputs[0], outputs[1])
  await rm(path)
})

t.test('SARIF counts the columns that it declares', async (t) => {
  const metadata = { name: 'a', annotations: { face: '😀' } }
  const object = { apiVersion: 'toolhive.stacklok.dev/v1beta1', kind: 'MCPOIDCConfig', metadata }
  const text = JSON.stringify({ ...object, spec: { type: 'x' } })
  const cwd = t.testdir({ 'a.json': text })
  const { stdout } = await runCli(['check', '--output', 'sarif', 'a.json'], { cwd })
  const [found] = (JSON.parse(stdout) as Log).runs
  const before = [...text.slice(0, text.lastIndexOf('"x"'))].length
  t.match(found, {
    columnKind: 'unicodeCodePoints',
    results: [{ locations: [{ physicalLocation: { region: { startColumn: before + 1 } } }] }],
  })
})

t.test('ignored findings are named as such', async (t) => {
  const outputOf = async (format: string, ...more: string[]) =>
    (await runCli(['check', '--output', format, ...more, '.'], { cwd: exempt })).stdout
  const json = JSON.parse(await outputOf('json')) as unknown
  t.match(json, {
    findings: [],
    ignored: [
      { id: 'unknown-field', severity: 'error', by: 'comment', reason: 'our fork reads it' },
      { id: 'schema-enum', severity: 'error', by: 'configuration', reason: 'of our fork' },
    ],
    counts: { errors: 0, ignored: 2 },
  })
  const results = async (...more: string[]) =>
    (JSON.parse(await outputOf('sarif', ...more)) as Log).runs[0]?.results
  t.strictSame(await results(), [])
  t.match(await results('--show-ignored'), [
    { ruleId: 'unknown-field', suppressions: [{ kind: 'inSource', justification: 'our fork reads it' }] },
    { ruleId: 'schema-enum', suppressions: [{ kind: 'external', justification: 'of our fork' }] },
  ])
  t.match(
    await outputOf('github', '--show-ignored'),
    '::notice file=a.yaml,line=7,col=9,title=ignored%3A schema-enum::MCPExternalAuthConfig a: spec.type: ',
  )
  t.match(
    await outputOf('github'),
    /^1 resource in 1 file: .*2 ignored \(--show-ignored lists them\); judged by [^\n]*\n$/,
  )
  t.equal(await outputOf('gitlab', '--show-ignored'), '[]\n')
})

t.test('a name cannot forge an annotation', async (t) => {
  const { stdout } = await runCli(['check', '--output', 'github', '.'], { cwd: folder })
  const lines = stdout.trimEnd().split('\n')
  for (const line of lines.slice(0, -1))
    t.match(line, /^::(error|warning|notice) file=[^:,]*(,[a-z]+=[^:,]*)*::/)
  t.match(lines[0], /^::error file=broken\.yaml,line=1,col=\d+,title=not read::/)
  t.match(stdout, 'file=a%2520b%2C c.yaml,')
  t.match(lines.at(-1), /^1 resource in 2 files: /)
})

t.test('GitLab has what it requires of each entry', async (t) => {
  for (const [args, cwd] of runs) {
    const entries = JSON.parse(
      (await runCli(['check', '--output', 'gitlab', ...args], { cwd })).stdout,
    ) as unknown[]
    for (const entry of entries)
      t.match(entry, {
        description: String,
        check_name: String,
        fingerprint: String,
        severity: /^(info|minor|major|critical|blocker)$/,
        location: { path: /^(?!\.\/|\/)/, lines: { begin: /^[1-9]\d*$/ } },
      })
  }
})

t.test('JUnit is XML, with a case for each resource', async (t) => {
  const junit = async (args: string[], cwd: string) =>
    (await runCli(['check', '--output', 'junit', ...args], { cwd })).stdout
  for (const [args, cwd] of runs) {
    const text = await junit(args, cwd)
    t.equal(text.match(/<testcase /g)?.length, Number(/ tests="(\d+)"/.exec(text)?.[1]), args.join(' '))
    t.equal(text.match(/<failure /g)?.length ?? 0, Number(/ failures="(\d+)"/.exec(text)?.[1]))
    t.equal(text.match(/<error /g)?.length ?? 0, Number(/ errors="(\d+)"/.exec(text)?.[1]))
    // Elements must be closed in order, and no text outside of them may contain markup.
    const open: string[] = []
    const rest = text.replaceAll(
      /<(\/?)([a-z-]+)(?: [a-z]+="[^"<&]*(?:&[a-z]+;[^"<&]*)*")*(\/?)>/g,
      (_, end: string, name: string, empty: string) => {
        if (end !== '') t.equal(open.pop(), name)
        else if (empty === '') open.push(name)
        return ''
      },
    )
    t.strictSame(open, [])
    t.notMatch(rest.replace('<?xml version="1.0" encoding="UTF-8"?>', ''), /[<>]|&(?!(amp|lt|gt|quot);)/)
    t.notMatch(text, /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/)
  }
  t.match(await junit(['examples/together/three-mistakes.yaml'], ROOT), 'tests="7" failures="2" errors="0"')
})

/** A validator by the schema of a CRD, without further fields, because the API server would drop them. */
function validatorOf(file: string, wanted: string) {
  const crd = parse(readFileSync(join(ROOT, 'test/formats', file), 'utf8')) as {
    spec: { versions: { name: string; schema: { openAPIV3Schema: AnySchemaObject } }[] }
  }
  const version = crd.spec.versions.find(({ name }) => name === wanted)
  const ajv = new Ajv({ strict: false })
  formats.default(ajv)
  return ajv.compile(closed(version?.schema.openAPIV3Schema ?? { not: {} }))
}

t.test('a report of OpenReports is of its CRD, one for each object with findings', async (t) => {
  const validate = validatorOf('openreports-crd.yaml', 'v1alpha1')
  for (const [args, cwd] of runs) {
    const { stdout } = await runCli(['check', '--output', 'openreports', ...args], { cwd })
    const { items } = JSON.parse(stdout) as { items: { metadata: { namespace: string; name: string } }[] }
    for (const item of items) t.ok(validate(item), JSON.stringify(validate.errors))
    const names = items.map(({ metadata: { namespace, name } }) => `${namespace}/${name}`)
    t.equal(new Set(names).size, names.length, 'each has a name of its own')
    for (const name of names) t.match(name, /^[a-z0-9-]+\/[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/)
  }
  const reports = async (...args: string[]) => {
    const { stdout } = await runCli(['check', '--output', 'openreports', ...args], { cwd: ROOT })
    return (JSON.parse(stdout) as { items: unknown[] }).items
  }
  t.strictSame(await reports('examples/bearer-token.yaml'), [])
  t.strictSame((await reports('examples/together/three-mistakes.yaml')).length, 4)
  t.match(await reports('examples/together/three-mistakes.yaml'), [
    {
      apiVersion: 'openreports.io/v1alpha1',
      kind: 'Report',
      metadata: {
        name: 'mcpoidcconfig-gateway-tokens',
        namespace: 'default',
        labels: { 'app.kubernetes.io/managed-by': 'vmcp-admission' },
      },
      source: 'vmcp-admission',
      scope: {
        apiVersion: 'toolhive.stacklok.dev/v1beta1',
        kind: 'MCPOIDCConfig',
        namespace: 'default',
        name: 'gateway-tokens',
      },
      summary: { pass: 0, fail: 0, warn: 1, error: 0, skip: 0 },
      results: [
        {
          policy: 'auth-server-issuers-accepted',
          result: 'warn',
          severity: 'medium',
          message: /^spec\.inline\.issuer: /,
          properties: { path: 'spec.inline.issuer' },
        },
      ],
    },
    { scope: { kind: 'MCPExternalAuthConfig', name: 'wiki' } },
    { summary: { fail: 1 }, results: [{ policy: 'role-mapping-matcher-compiles', severity: 'high' }] },
    { summary: { fail: 2 } },
  ])
  const ignored = await runCli(['check', '--output', 'openreports', '--show-ignored', '.'], { cwd: exempt })
  t.match(JSON.parse(ignored.stdout), {
    items: [{ summary: { skip: 2 }, results: [{ result: 'skip', properties: { reason: /fork/ } }, {}] }],
  })
})

t.test('a policy report is of its CRD', async (t) => {
  const validate = validatorOf('policyreports-crd.yaml', 'v1alpha2')
  const finding = (severity: ReportedFinding['severity'], name: string): ReportedFinding => ({
    ...IN_CLUSTER,
    severity,
    id: 'schema-enum',
    path: 'spec.type',
    message: 'not supported',
    kind: 'MCPExternalAuthConfig',
    namespace: 'team-a',
    name,
    related: [],
    causes: [],
    fix: null,
  })
  const subject = { file: null, kind: 'MCPExternalAuthConfig' }
  const report: Report = {
    files: [],
    judged: [
      { ...subject, namespace: 'team-a', name: 'wrong' },
      { ...subject, namespace: 'team-a', name: 'doubtful' },
      { ...subject, namespace: 'team-a', name: 'right' },
      { ...subject, namespace: 'team-b', name: 'right' },
    ],
    others: 0,
    findings: [finding('error', 'wrong'), finding('warning', 'wrong'), finding('warning', 'doubtful')],
    ignored: [
      { ...finding('warning', 'right'), reason: 'agreed', by: 'annotation' },
      { ...finding('error', 'right'), namespace: 'team-b', reason: 'agreed', by: 'configuration' },
    ],
    notes: [],
    notJudged: [],
    unread: [],
  }
  const text = printPolicyReport(report, {
    scope: 'the cluster',
    group: 'toolhive.stacklok.dev',
    advice: false,
    quiet: false,
    showIgnored: true,
    plans: () => [],
    names: [],
    terminal: { columns: 80, paint: (_, line) => line },
    source: () => undefined,
  })
  const { items } = JSON.parse(text) as {
    items: { metadata: unknown; summary: unknown; results: unknown[] }[]
  }
  for (const item of items) t.ok(validate(item), JSON.stringify(validate.errors))
  t.match(items, [
    {
      metadata: { namespace: 'team-a' },
      summary: { pass: 1, fail: 1, warn: 2, error: 0, skip: 1 },
      results: [
        {
          policy: 'schema-enum',
          result: 'fail',
          resources: [
            {
              apiVersion: 'toolhive.stacklok.dev/v1beta1',
              kind: 'MCPExternalAuthConfig',
              namespace: 'team-a',
              name: 'wrong',
            },
          ],
        },
        {},
        {},
        { result: 'skip', properties: { reason: 'agreed' } },
      ],
    },
    {
      metadata: { namespace: 'team-b' },
      summary: { pass: 1, fail: 0, skip: 1 },
      results: [{ result: 'skip' }],
    },
  ])
})
