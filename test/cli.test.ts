import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, open, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters, styleText } from 'node:util'
import t, { type Test } from 'tap'
import { check } from '../src/cli/commands/check.ts'
import { COMMANDS, GROUPS } from '../src/cli/commands.ts'
import { helpOf, overview } from '../src/cli/output/help.ts'
import project from '../package.json' with { type: 'json' }
import { explain } from '../src/cli/commands/explain.ts'
import { widthOf } from '../src/cli/output/terminal.ts'
import { plan } from '../src/cli/commands/plan.ts'
import { readFlags, UsageError } from '../src/configuration/flags.ts'
import { KINDS } from '../src/kinds/index.ts'
import { allRules, examplesAt, examplesOf, rulePlaces } from '../src/kinds/places.ts'
import { fieldsOf } from '../src/kinds/schema-fields.ts'
import { ALL_IDS, ENGINE_IDS } from '../src/engine/engine-ids.ts'
import { PROBE_IDS } from '../src/engine/probe-ids.ts'
import { excerpt, withoutSecrets } from '../src/cli/output/excerpt.ts'
import { progressOn } from '../src/cli/output/progress.ts'
import { wrapped } from '../src/cli/output/terminal.ts'
import { runCli, runHere, spawnCli } from './support/cli.ts'
import { programFile } from './support/programs.ts'

const MAIN = programFile('cli')
const folder = await mkdtemp(join(tmpdir(), 'vmcp-admission-'))
t.teardown(() => rm(folder, { recursive: true }))
t.setTimeout(180_000)

interface Options {
  readonly input?: string | Buffer
  readonly environment?: Readonly<Record<string, string>>
}

/** The environment without the flags' variables (VMCP_*) of the developer who runs the tests. */
const ENVIRONMENT = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !name.startsWith('VMCP_')),
)

const vmcp = (args: readonly string[], options: Options = {}) => runCli(args, { ...options, cwd: folder })

/** Writes files by name and returns their names. */
async function write(files: Readonly<Record<string, string>>): Promise<string[]> {
  for (const [name, content] of Object.entries(files)) {
    const file = join(folder, name)
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, content)
  }
  return Object.keys(files)
}

interface Place {
  readonly file: string
  readonly line: number
  readonly column: number
  readonly message: string
}
interface Finding extends Place {
  readonly severity: string
  readonly id: string
  readonly path: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly related: readonly (Place & Pick<Finding, 'path' | 'kind' | 'name'>)[]
}
interface Printed {
  readonly findings: readonly Finding[]
  readonly notes: readonly Place[]
  readonly unread: readonly Place[]
  readonly counts: Readonly<Record<string, number>>
}

async function printed(
  args: readonly string[],
  options?: Options,
): Promise<Printed & { status: number | null }> {
  const { status, stdout } = await vmcp(['check', '--output', 'json', ...args], options)
  return { status, ...(JSON.parse(stdout) as Printed) }
}

/** The lines of human output, without the counts at the end. */
async function lines(
  args: readonly string[],
  options?: Options,
): Promise<{ status: number | null; lines: string[] }> {
  const { status, stdout } = await vmcp(['check', ...args], options)
  const [findings = ''] = stdout.includes('\n\n') ? stdout.split('\n\n') : ['']
  return { status, lines: findings === '' ? [] : findings.split('\n') }
}

const at = ({ file, line, column }: Place) => `${file}:${line}:${column}`
const whatAndWhere = (finding: Finding) => `${at(finding)} ${finding.severity} ${finding.path} ${finding.id}`

const ROLE = 'arn:aws:iam::123456789012:role/reader'
const manifest = (spec: string, metadata = 'name: reports') => `apiVersion: toolhive.stacklok.dev/v1beta1
kind: MCPExternalAuthConfig
metadata:
  ${metadata}
spec:
${spec.replaceAll(/^(?=.)/gm, '  ')}`
const awsSts = (more: string, metadata?: string) =>
  manifest(`type: awsSts\nawsSts:\n${more.replaceAll(/^(?=.)/gm, '  ')}`, metadata)

const VALID = awsSts(`region: eu-central-1\nfallbackRoleArn: ${ROLE}\n`)
const WRONG = awsSts(`region: europe\nfallbackRoleArn: ${ROLE}\n`)
const WARNED = manifest(
  'type: tokenExchange\ntokenExchange:\n  tokenUrl: http://idp.example.com/token\n  audience: jira\n',
)
const OTHER = 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: other\n'

const ENDS = `apiVersion: toolhive.stacklok.dev/v1beta1
kind: VirtualMCPServer
metadata:
  name: tools
spec:
  groupRef:
    name: tools
  incomingAuth:
    type: oidc
    oidcConfigRef:
      name: corporate
      audience: https://mcp.example.com
      resourceUrl: https://mcp.example.com
  authServerConfig:
    issuer: https://auth.example.com
    upstreamProviders:
      - name: google
        type: oidc
        oidcConfig:
          issuerUrl: https://idp.example.com
          clientId: vmcp
  outgoingAuth:
    source: inline
    backends:
      jira:
        externalAuthConfigRef:
          name: jira
`
const INJECTED = manifest('type: upstreamInject\nupstreamInject:\n  providerName: okta\n', 'name: jira')

await write({
  'valid.yaml': VALID,
  'wrong.yaml': WRONG,
  'warned.yaml': WARNED,
  'other.yaml': OTHER,
  'broken.yaml': 'a: [\n',
  'half.yaml': `${WRONG}---\na: [\n---\n${VALID}`,
  'ends/jira.yaml': `${OTHER}---\n${INJECTED}`,
  'ends/tools.yaml': ENDS,
  'shop/auth/login.yaml': `# Who may log in to the shop.
apiVersion: toolhive.stacklok.dev/v1beta1
kind: MCPExternalAuthConfig
metadata:
  name: shop-login
  namespace: shop
spec:
  type: embeddedAuthServer
  embeddedAuthServer:
    issuer: http://mcp.shop.example.com
    storage:
      type: redis
      redis:
        sentinelConfig:
          masterName: shop
          sentinelAddrs: ["redis-0:26379"]
        aclUserConfig:
          usernameSecretRef: {name: redis, key: user}
          passwordSecretRef: {name: redis}
    tokenLifespans:
      refreshTokenLifespan: 7d
    upstreamProviders:
      - name: Okta
        type: oidc
        oidcConfig:
          issuerUrl: \${OKTA_URL}
          clientId: <CLIENT_ID>
          clientSecretRef: {name: okta, key: client-secret}
          redirectURI: https://mcp.shop.example.com/oauth/callback
`,
  'shop/auth/aws.yaml': `apiVersion: toolhive.stacklok.dev/v1beta1
kind: MCPExternalAuthConfig
metadata:
  name: shop-aws
spec:
  type: awsSts
  awsSts:
    region: {{ .Values.region }}
    roleMappings:
      - roleArn: ${ROLE}
        claim: readers
      - roleArn: ${ROLE}
        matcher: claim.email.endsWith("@shop.example.com")
---
apiVersion: v1
kind: Secret
metadata:
  name: okta
---
apiVersion: toolhive.stacklok.dev/v1alpha1
kind: MCPGroup
metadata:
  name: shop
`,
})

t.test('the exit code does not depend on the format', async (t) => {
  const rows: [args: string[], status: number][] = [
    [['valid.yaml'], 0],
    [['warned.yaml', 'other.yaml'], 0],
    [['wrong.yaml', 'valid.yaml'], 1],
    [['broken.yaml'], 3],
    [['missing.yaml'], 3],
    [['half.yaml'], 3],
  ]
  const runs = rows.flatMap(([args, status]) =>
    ['human', 'json'].map(async (output) => {
      const run = await vmcp(['check', '--output', output, ...args])
      t.equal(run.status, status, `${args.join(' ')} (${output})`)
      if (output === 'json') t.doesNotThrow(() => JSON.parse(run.stdout) as unknown)
      if (status < 2) t.equal(run.stderr, '', 'nothing to talk about')
    }),
  )
  await Promise.all(runs)
})

t.test('data on stdout, talk on stderr', async (t) => {
  const [human, json] = await Promise.all([
    vmcp(['check', 'missing.yaml', 'half.yaml', 'warned.yaml']),
    printed(['missing.yaml', 'half.yaml', 'warned.yaml']),
  ])
  t.match(human.stderr.split('\n'), [
    'missing.yaml: cannot read: no such file or folder',
    /^half\.yaml:1[12]:\d+: cannot read: \S/,
    '',
  ])
  t.strictSame(human.stdout.split('\n'), [
    `half.yaml:8:13: error: MCPExternalAuthConfig reports: spec.awsSts.region: Invalid value: "europe": must be an AWS region, such as 'eu-central-1' (schema-pattern)`,
    `warned.yaml:8:15: warning: MCPExternalAuthConfig reports: spec.tokenExchange.tokenUrl: sends tokens in the clear; use 'https://' (token-exchange-url-https)`,
    '',
    '3 resources in 2 files: 1 error, 1 warning, 2 that could not be read; judged by the specification (no --release)',
    '',
  ])
  t.match(json.unread.map(at), ['missing.yaml:0:0', /^half\.yaml:1[12]:/])
  t.strictSame(json.counts, {
    files: 2,
    resources: 3,
    others: 0,
    errors: 1,
    warnings: 1,
    advice: 0,
    ignored: 0,
    notes: 0,
    notJudged: 0,
    unread: 2,
  })
  t.strictSame(json.findings[0], {
    file: 'half.yaml',
    line: 8,
    column: 13,
    severity: 'error',
    id: 'schema-pattern',
    path: 'spec.awsSts.region',
    message: `Invalid value: "europe": must be an AWS region, such as 'eu-central-1' (schema-pattern)`,
    kind: 'MCPExternalAuthConfig',
    namespace: 'default',
    name: 'reports',
    related: [],
    fix: null,
  })
})

t.test('a finding between objects has the places of its other ends', async (t) => {
  const { findings } = await printed(['ends'])
  const ends = findings.flatMap(({ id, path, related }) =>
    related.map((end) => `${id} ${path} -> ${at(end)} ${end.kind} ${end.name} ${end.path}: ${end.message}`),
  )
  t.strictSame(ends, [
    'auth-config-served spec.upstreamInject.providerName -> ends/tools.yaml:16:5 VirtualMCPServer tools spec.authServerConfig.upstreamProviders: has these providers',
    'upstream-inject-provider-exists spec.outgoingAuth.backends[jira].externalAuthConfigRef.name -> ends/jira.yaml:13:19 MCPExternalAuthConfig jira spec.upstreamInject.providerName: names "okta"',
    'upstream-inject-provider-exists spec.outgoingAuth.backends[jira].externalAuthConfigRef.name -> ends/tools.yaml:16:5 VirtualMCPServer tools spec.authServerConfig.upstreamProviders: has these providers',
  ])
})

t.test('places', async (t) => {
  const object = {
    apiVersion: 'toolhive.stacklok.dev/v1beta1',
    kind: 'MCPExternalAuthConfig',
    metadata: { name: 'reports' },
    spec: { type: 'awsSts', awsSts: { region: 'europe', fallbackRoleArn: ROLE } },
  }
  const flow = `{apiVersion: toolhive.stacklok.dev/v1beta1, kind: MCPExternalAuthConfig, metadata: {name: a},
 spec: {type: awsSts, "awsSts": {region: 'europe', sessionDuration: 1, roleMappings: [{roleArn: "${ROLE}"}, {claim: x}]}}}
`
  const item = (content: string) => `- ${content.replaceAll('\n', '\n  ').trimEnd()}\n`
  const files = {
    'block.yaml': `# A comment.\n\n${WRONG}`,
    'crlf.yaml': `# A comment.\n\n${WRONG}`.replaceAll('\n', '\r\n'),
    'flow.yaml': flow,
    'lines.json': JSON.stringify(object, undefined, 2),
    'one-line.json': JSON.stringify(object),
    'documents.yaml': `---\n# Nothing yet.\n---\n${VALID}--- # The second.\n${WRONG}---\n${OTHER}---\n${WRONG}`,
    'list.yaml': `apiVersion: v1\nkind: List\nitems:\n${item(VALID)}${item(OTHER)}${item(WRONG)}`,
    'typed-list.yaml': `apiVersion: toolhive.stacklok.dev/v1beta1\nkind: MCPExternalAuthConfigList\nitems:\n- metadata: {name: a}\n  spec: {type: bearer}\n`,
    'absent.yaml': awsSts('region: eu-central-1\n'),
    'empty.yaml':
      'apiVersion: toolhive.stacklok.dev/v1beta1\nkind: MCPGroup\nspec: []\nmetadata: {name: a}\n',
  }
  const region = 'error spec.awsSts.region schema-pattern'
  const expected = [
    `block.yaml:10:13 ${region}`,
    `crlf.yaml:10:13 ${region}`,
    `flow.yaml:2:42 ${region}`,
    'flow.yaml:2:69 error spec.awsSts.sessionDuration schema-minimum',
    'flow.yaml:2:87 warning spec.awsSts.roleMappings[0] role-mapping-has-condition',
    'flow.yaml:2:139 error spec.awsSts.roleMappings[1].roleArn schema-required',
    `lines.json:10:17 ${region}`,
    `one-line.json:1:151 ${region}`,
    `documents.yaml:21:13 ${region}`,
    `documents.yaml:36:13 ${region}`,
    `list.yaml:24:15 ${region}`,
    'typed-list.yaml:5:16 error spec.type schema-enum',
    'absent.yaml:7:3 error spec.awsSts aws-sts-role-configured',
    'empty.yaml:3:1 error spec schema-type',
  ]
  const names = await write(files)
  const [json, human] = await Promise.all([printed(names), lines(names)])
  const sorted = json.findings.toSorted(
    (a, b) => names.indexOf(a.file) - names.indexOf(b.file) || a.line - b.line || a.column - b.column,
  )
  t.strictSame(sorted.map(whatAndWhere), expected)
  t.strictSame(
    human.lines.map((line) => line.split(' ')[0]),
    expected.map((line) => `${line.split(' ')[0] ?? ''}:`),
    'people see the same',
  )
  t.strictSame(json.unread, [])
})

t.test('folders and standard input', async (t) => {
  await write({
    'tree/b.yaml': WRONG,
    'tree/a/deep/one.yml': WRONG,
    'tree/a/two.json': JSON.stringify({ apiVersion: 'v1', kind: 'Secret' }),
    'tree/c.YAML': VALID,
    'tree/readme.md': 'a: [',
    'tree/values.yaml.bak': 'a: [',
    'tree/.hidden.yaml': 'a: [',
    'tree/.git/config.yaml': 'a: [',
    'tree/node_modules/x/x.yaml': 'a: [',
    'tree/.explicit.yaml': WRONG,
    'barren/readme.md': '',
  })
  const rows: [args: string[], places: string[], counts: object, input?: string][] = [
    [
      ['tree'],
      ['tree/a/deep/one.yml:8:13', 'tree/b.yaml:8:13'],
      { files: 4, resources: 3, others: 1, errors: 2 },
    ],
    [['tree/a/'], ['tree/a/deep/one.yml:8:13'], { files: 2, resources: 1, others: 1 }],
    [
      ['./tree/b.yaml', 'tree/.explicit.yaml'],
      ['./tree/b.yaml:8:13', 'tree/.explicit.yaml:8:13'],
      { files: 2 },
    ],
    [['-'], ['<stdin>:8:13'], { files: 1, resources: 1 }, WRONG],
    [
      ['valid.yaml', '-', 'wrong.yaml'],
      ['<stdin>:8:13', 'wrong.yaml:8:13'],
      { files: 3, resources: 3 },
      WRONG,
    ],
  ]
  await Promise.all(
    rows.map(async ([args, places, counts, input = '']) => {
      const found = await printed(args, { input })
      t.strictSame(found.findings.map(at), places, args.join(' '))
      t.match(found.counts, { unread: 0, ...counts }, args.join(' '))
    }),
  )
})

/** Runs a command in this process on files of the folder; in the returned output, paths are relative to it. */
async function here(t: Test, command: typeof check, files: readonly string[], flags: readonly string[] = []) {
  const args = files.map((file) => join(folder, file))
  const { status, stdout, stderr } = await runHere(t, command.run, [...flags, ...args])
  const shortened = (text: string) => text.replaceAll(`${folder}/`, '')
  return { status, stdout: shortened(stdout), talk: shortened(stderr).split('\n').slice(0, -1) }
}

t.test('what holds no document', async (t) => {
  await write({ 'barren/deep/readme.md': '', 'nil.yaml': '', 'notes.yml': '# Later.\n---\n' })
  const noFile = 'no file in this folder ends in .yaml, .yml or .json'
  const noDocument = 'there is no document in it'
  const rows: [command: typeof check, files: string[], status: number, talk: string[]][] = [
    [check, ['barren'], 3, [`barren: cannot read: ${noFile}`]],
    [
      check,
      ['notes.yml', 'nil.yaml'],
      3,
      [`notes.yml: cannot read: ${noDocument}`, `nil.yaml: cannot read: ${noDocument}`],
    ],
    [check, ['barren', 'valid.yaml'], 0, [`barren: ${noFile}`]],
    [check, ['nil.yaml', 'other.yaml'], 0, [`nil.yaml: ${noDocument}`]],
    [
      check,
      ['barren', 'missing.yaml'],
      3,
      [`barren: ${noFile}`, 'missing.yaml: cannot read: no such file or folder'],
    ],
    [plan, ['barren'], 3, [`barren: cannot read: ${noFile}`]],
    [
      plan,
      ['barren', 'notes.yml'],
      3,
      [`barren: cannot read: ${noFile}`, `notes.yml: cannot read: ${noDocument}`],
    ],
    [plan, ['barren', 'other.yaml'], 0, [`barren: ${noFile}`]],
  ]
  for (const [command, files, status, talk] of rows) {
    const run = await here(t, command, files)
    t.strictSame([run.status, run.talk], [status, talk], files.join(' '))
  }
  const { status, unread } = await printed(['-'])
  t.match([status, unread], [3, [{ file: '<stdin>', line: 0, column: 0, message: noDocument }]])
})

async function printedHere(t: Test, file: string, flags: readonly string[] = []) {
  const { status, stdout } = await here(t, check, [file], ['--output', 'json', ...flags])
  return { status, ...(JSON.parse(stdout) as Printed) }
}

t.test('a folder or pipe with the name of a manifest', async (t) => {
  await write({ 'odd/a.yaml': WRONG, 'odd/deep/b.yaml': VALID })
  await symlink('.', join(folder, 'odd/self.yaml'))
  await symlink('../a.yaml', join(folder, 'odd/deep/link.yaml'))
  await once(spawn('mkfifo', [join(folder, 'odd/pipe.yaml')]), 'close')
  const { findings, unread, status } = await printed(['odd'])
  t.strictSame(findings.map(at), ['odd/a.yaml:8:13', 'odd/deep/link.yaml:8:13'])
  t.match(unread, [{ file: 'odd/pipe.yaml', message: 'is not a regular file' }])
  t.strictSame([unread.length, status], [1, 3])
})

t.test('output that cannot be written is not a verdict', { skip: !existsSync('/dev/full') }, async (t) => {
  const full = await open('/dev/full', 'w')
  t.teardown(() => full.close())
  const child = spawn(process.execPath, [MAIN, 'check', 'valid.yaml'], {
    cwd: folder,
    env: ENVIRONMENT,
    stdio: ['ignore', full.fd, 'pipe'],
  })
  const talk = child.stderr === null ? '' : text(child.stderr)
  const [status] = (await once(child, 'close')) as [number]
  t.equal(status, 3)
  t.match(await talk, /^vmcp-admission: cannot write the output: ENOSPC[^\n]*\n$/)
})

t.test('counts', async (t) => {
  await write({ 'more/other.yaml': 'kind: Pod\n' })
  const rows: [args: string[], last: string][] = [
    [
      ['valid.yaml'],
      '1 resource in 1 file: 0 errors, 0 warnings; judged by the specification (no --release)',
    ],
    [
      ['valid.yaml', 'wrong.yaml', 'warned.yaml'],
      '3 resources in 3 files: 1 error, 1 warning; judged by the specification (no --release)',
    ],
    [
      ['other.yaml'],
      '0 resources in 1 file (1 document of other kinds not judged): 0 errors, 0 warnings; judged by the specification (no --release)',
    ],
    [
      ['other.yaml', 'more/other.yaml', 'broken.yaml'],
      '0 resources in 3 files (2 documents of other kinds not judged): 0 errors, 0 warnings, 1 that could not be read; judged by the specification (no --release)',
    ],
  ]
  await Promise.all(
    rows.map(async ([args, last]) => {
      const { stdout } = await vmcp(['check', ...args])
      t.equal(stdout.trimEnd().split('\n').at(-1), last)
    }),
  )
})

t.test('severities and namespaces', async (t) => {
  await write({
    'team-b.yaml': awsSts(`region: europe\nfallbackRoleArn: ${ROLE}\n`, 'name: b\n  namespace: team-b'),
  })
  const files = ['wrong.yaml', 'team-b.yaml']
  const pattern = (setting: string) => ['--severity', `schema-pattern${setting}`]
  const rows: [args: string[], severities: (string | undefined)[], environment?: Record<string, string>][] = [
    [[], ['error', 'error']],
    [pattern('=warning'), ['warning', 'warning']],
    [pattern('=warning@default'), ['warning', 'error']],
    [pattern('=warning@team-a,team-b'), ['error', 'warning']],
    [
      ['--namespace', 'team-a', ...pattern('=warning@team-a')],
      ['warning', 'error'],
    ],
    [pattern('=warning@team-a'), ['warning', 'error'], { VMCP_NAMESPACE: 'team-a' }],
    [pattern(':spec.awsSts.region=off'), [undefined, undefined]],
    [pattern(':spec.awsSts.fallbackRoleArn=off'), ['error', 'error']],
    [
      [...pattern('=off'), ...pattern('=warning@team-b')],
      [undefined, 'warning'],
    ],
    [
      [...pattern('=warning@team-b'), ...pattern('=off')],
      [undefined, undefined],
    ],
    [[], ['warning', undefined], { VMCP_SEVERITY: 'schema-pattern=warning;schema-pattern=off@team-b' }],
    [pattern('=off'), [undefined, undefined], { VMCP_SEVERITY: 'schema-pattern=warning' }],
  ]
  await Promise.all(
    rows.map(async ([args, severities, environment = {}]) => {
      const { findings, status } = await printed([...args, ...files], { environment })
      const found = files.map((name) => findings.find(({ file }) => file === name)?.severity)
      const label = `${args.join(' ')} ${JSON.stringify(environment)}`
      t.strictSame(found, severities, label)
      t.equal(status, severities.includes('error') ? 1 : 0, label)
    }),
  )
})

t.test('unknown fields', async (t) => {
  await write({
    'unknown.yaml': manifest(
      `type: awsSts
awsSts:
  region: eu-central-1
  fallBackRoleArn: ${ROLE}
  fallbackRoleArn: ${ROLE}
  colour: blue
token_exchange: {}
`,
    ),
    'group.yaml':
      'apiVersion: toolhive.stacklok.dev/v1beta1\nkind: MCPGroup\nmetadata: {name: a}\nspec: {colour: blue}\n',
    // Releases before the known ones may have had other fields, so nothing is said about them.
    'old.yaml':
      'apiVersion: toolhive.stacklok.dev/v1alpha1\nkind: MCPGroup\nmetadata: {name: b}\nspec: {colour: blue}\n',
  })
  const files = ['unknown.yaml', 'group.yaml', 'old.yaml']
  const [usual, strict, profile, off] = await Promise.all([
    lines(files),
    lines(['--strict', ...files]),
    lines(['--profile', 'strict', ...files]),
    lines(['--strict', '--severity', 'unknown-field=off', 'unknown.yaml']),
  ])
  const line = (place: string, of: string, advice: string) =>
    `${place}: ${of}: no operator release up to 0.63 has this field; ${advice} (unknown-field)`
  const dropped = 'kubectl refuses it, and the API server drops it'
  const expected = (old: string) => [
    ...[
      ['9:5', 'awsSts.fallBackRoleArn', "did you mean 'fallbackRoleArn'"],
      ['11:5', 'awsSts.colour', dropped],
      ['12:3', 'token_exchange', "did you mean 'tokenExchange'"],
    ].map(([at, field, advice = '']) =>
      line(`unknown.yaml:${at}`, `error: MCPExternalAuthConfig reports: spec.${field}`, advice),
    ),
    line('group.yaml:4:8', 'error: MCPGroup a: spec.colour', dropped),
    `old.yaml:4:8: ${old}: MCPGroup b: spec.colour: no operator release with v1beta1 (up to 0.63) has this field, an older one may; write the name that it has in v1beta1, or remove it (unknown-field)`,
  ]
  const isOfFields = (line: string) => line.endsWith('(unknown-field)')
  t.strictSame({ ...usual, lines: usual.lines.filter(isOfFields) }, { status: 1, lines: expected('warning') })
  t.strictSame({ ...strict, lines: strict.lines.filter(isOfFields) }, { status: 1, lines: expected('error') })
  t.strictSame(profile, strict)
  t.strictSame(off, { status: 0, lines: [] })
})

t.test('names of fields that a tool replaces hide no unknown field', async (t) => {
  const templates = Array.from({ length: 1_200 }, (_, i) => `$K${i}: a\n`).join('')
  const server = manifest(`type: awsSts\n${templates}colour: blue\nawsSts: {}\n`)
  const found = async (...flags: string[]) =>
    (await printed([...(await write({ 'templates.yaml': server })), ...flags])).findings
      .filter(({ id }) => id === 'unknown-field')
      .map(({ path }) => path)
  t.strictSame(await found(), ['spec.colour'])
  t.equal((await found('--strict')).length, 1_001)
})

t.test('fields of newer releases are one note', async (t) => {
  const server = (fields: string) =>
    manifest(`type: embeddedAuthServer\nembeddedAuthServer:\n  issuer: https://mcp.example.com\n${fields}`)
  const two = '  cimd: { enabled: true }\n  trustedIssuers: []\n'
  const text =
    'trustedIssuers, cimd (0.29): of operator release 0.44 and later; --release VERSION judges by what yours accepts'
  const rows: [fields: string, flags: string[], notes: string[]][] = [
    ['', [], []],
    [two, [], [`newer.yaml:10:5 ${text}`]],
    [two, ['--strict'], [`newer.yaml:10:5 ${text}`]],
    [two, ['--release', '0.44'], []],
  ]
  for (const [fields, flags, notes] of rows) {
    const run = await printed([...(await write({ 'newer.yaml': server(fields) })), ...flags])
    t.strictSame(
      run.notes.map((note) => `${at(note)} ${note.message}`),
      notes,
      flags.join(' '),
    )
    t.notOk(run.findings.some(({ id }) => id === 'unknown-field'))
  }
})

t.test('unknown fields of newer releases, and of types that are unknown themselves', async (t) => {
  const rows: [spec: string, expected: [path: string, text: RegExp][]][] = [
    ['type: xaa\nxaa: {}\n', [['spec.type', /^Unsupported value/]]],
    ['type: obo\nxaa: {}\n', [['spec.type', /^Unsupported value/]]],
    [
      'type: token_exchange\ntoken_exchange: {}\n',
      [
        ['spec.token_exchange', /did you mean 'tokenExchange'/],
        ['spec.type', /^Unsupported value/],
      ],
    ],
    [
      'type: headerInjection\nheaderInjection: { header: X, value: hush }\n',
      [
        ['spec.headerInjection.header', /did you mean 'headerName'/],
        ['spec.headerInjection.value', /did you mean 'valueSecretRef'/],
      ],
    ],
    [
      'type: tokenExchange\ntokenExchange: { tokenUrl: "https://a", audience: a, subject: a, ex: a }\n',
      [
        ['spec.tokenExchange.ex', /; kubectl refuses it/],
        ['spec.tokenExchange.subject', /; kubectl refuses it/],
      ],
    ],
    [
      'type: unauthenticated\nunauthenticated: {}\n',
      [['spec.unauthenticated', /^no operator release up to 0\.63 has this field; kubectl/]],
    ],
    [
      `type: awsSts\nawsSts: { region: eu-central-1, fallbackRoleArn: ${ROLE}, subjectProviderName: okta, cimd: {} }\n`,
      [['spec.awsSts.cimd', /^no operator release up to 0\.63 has this field; kubectl/]],
    ],
  ]
  const files = await write(Object.fromEntries(rows.map(([spec], i) => [`newer/${i}.yaml`, manifest(spec)])))
  const { findings } = await printed(files)
  for (const [i, [spec, expected]] of rows.entries()) {
    const own = findings.filter(
      ({ file, id }) => file === files[i] && ['schema-enum', 'unknown-field'].includes(id),
    )
    t.match(
      own.map(({ path, message }) => [path, message]),
      expected,
      spec,
    )
    t.equal(own.length, expected.length, spec)
  }
})

t.test('versions and kinds', async (t) => {
  const group = (apiVersion: string, kind = 'MCPGroup') =>
    `${apiVersion === '' ? '' : `apiVersion: ${apiVersion}\n`}kind: ${kind}\nmetadata: {name: a}\n`
  await write({
    'versions.yaml': [
      group('toolhive.stacklok.dev/v1alpha1'),
      group('toolhive.stacklok.dev/v1'),
      group('toolhive.stacklok.dev/v1beta1', 'MCPGruop'),
      group('toolhive.stacklok.dev/v1beta1', 'MCPRegistry'),
      group('toolhive.stacklock.dev/v1beta1'),
      group(''),
      group('example.com/v1', 'Widget'),
      '# Nothing\n',
      'just text\n',
    ].join('---\n'),
    'elsewhere.yaml': WRONG.replace('toolhive.stacklok.dev', 'vmcp.example.com'),
  })
  t.strictSame(await vmcp(['check', '--advice', 'versions.yaml']), {
    status: 0,
    stdout: `versions.yaml:1:13: advice: MCPGroup a: apiVersion: v1alpha1 is deprecated; checked as v1beta1; write v1beta1 (api-version-current)
versions.yaml:5:13: warning: MCPGroup a: apiVersion: v1 is not a version of these resources, and no cluster serves it; checked as v1beta1; write v1beta1 (api-version-current)
versions.yaml:10:7: warning: MCPGruop a: kind: not checked: there are no rules for the kind 'MCPGruop'; did you mean 'MCPGroup' (kind-known)
versions.yaml:14:7: note: not checked: the kind 'MCPRegistry' is deprecated: a later release removes it; install the registry server by its Helm chart, toolhive-registry-server
versions.yaml:17:13: warning: MCPGroup a: apiVersion: not checked: the apiVersion is 'toolhive.stacklock.dev/v1beta1'; did you mean 'toolhive.stacklok.dev/v1beta1' (api-group-known)
versions.yaml:21:1: warning: MCPGroup a: apiVersion: not checked: there is no apiVersion; write 'toolhive.stacklok.dev/v1beta1' (api-group-known)

2 resources in 1 file (6 documents of other kinds not judged): 0 errors, 4 warnings, 1 of advice, 1 note; judged by the specification (no --release)
`,
    stderr: '',
  })
  const { findings } = await printed(['--api-group', 'vmcp.example.com', 'elsewhere.yaml', 'wrong.yaml'])
  t.strictSame(
    findings.map(whatAndWhere),
    [
      'elsewhere.yaml:8:13 error spec.awsSts.region schema-pattern',
      'wrong.yaml:1:13 warning apiVersion api-group-known',
    ],
    'another group',
  )
})

t.test('a document that was meant to be judged, and is not, is reported', async (t) => {
  const ours = 'toolhive.stacklok.dev/v1beta1'
  const write1beta1 = `write '${ours}'`
  const rows: [content: string, told: string | undefined, severity?: string][] = [
    [
      `apiVersion: 1\nkind: MCPGroup`,
      `1:13 apiVersion: not checked: the apiVersion is the number 1; ${write1beta1} (api-group-known)`,
    ],
    [
      `apiVersion: [v1]\nkind: MCPGroup`,
      `1:13 apiVersion: not checked: the apiVersion is a list; ${write1beta1} (api-group-known)`,
    ],
    [
      `apiVersion: true\nkind: MCPGroup`,
      `1:13 apiVersion: not checked: the apiVersion is true; ${write1beta1} (api-group-known)`,
    ],
    [
      `apiVersion:\nkind: MCPGroup`,
      `1:1 apiVersion: not checked: there is no apiVersion; ${write1beta1} (api-group-known)`,
    ],
    [
      `apiversion: ${ours}\nkind: MCPGroup`,
      `1:1 apiVersion: not checked: there is no apiVersion, but 'apiversion'; ${write1beta1} (api-group-known)`,
    ],
    [`apiVersion: ${ours}\nmetadata: { name: a }`, `1:1 kind: not checked: there is no kind (kind-known)`],
    [
      `apiVersion: ${ours}\nKind: MCPGroup`,
      `1:1 kind: not checked: there is no kind, but 'Kind' (kind-known)`,
    ],
    [`apiVersion: ${ours}\nkind: [MCPGroup]`, `2:7 kind: not checked: the kind is a list (kind-known)`],
    [
      `apiVersion: ${ours}\nkind: mcpgroup`,
      `2:7 kind: not checked: there are no rules for the kind 'mcpgroup'; did you mean 'MCPGroup' (kind-known)`,
    ],
    [
      `- apiVersion: v1\n  kind: Secret\n- apiVersion: ${ours}\n  kind: MCPGroup\n  metadata: { name: a }`,
      `3:3 [1]: not checked: kubectl takes no list of resources; write documents with --- between them, or 'kind: List' with 'items' (kind-known)`,
    ],
    [`- apiVersion: v1\n  kind: Secret`, undefined],
    [`apiVersion: ${ours}\nkind: \${KIND}`, undefined],
    [`apiVersion: ${ours}\nkind: MCPToolConfig`, undefined],
    [`apiVersion: ${ours}\nkind: MCPAuthzConfig`, undefined],
    [`apiVersion: 1\nkind: MCPServer`, undefined],
    [
      `api_version: ${ours}\nkind: MCPServer\nmetadata: { name: a }\nspec: {}`,
      `1:1 apiVersion: not checked: there is no apiVersion, but 'api_version'; ${write1beta1} (api-group-known)`,
    ],
    [`kind: Values`, undefined],
  ]
  const files = await write(
    Object.fromEntries(rows.map(([content], i) => [`meant/${i}.yaml`, `${content}\n`])),
  )
  const json = async (...flags: string[]) => {
    const { stdout } = await here(t, check, files, ['--output', 'json', ...flags])
    return JSON.parse(stdout) as Printed
  }
  const [usual, strict] = [await json(), await json('--strict')]
  for (const [i, [content, told]] of rows.entries()) {
    const said = (severity: string) => (told === undefined ? [] : [`${severity} ${told}`])
    const found = ({ findings }: Printed) =>
      findings
        .filter(({ file }) => file === files[i])
        .map(
          ({ line, column, severity, path, message }) => `${severity} ${line}:${column} ${path}: ${message}`,
        )
    t.strictSame(found(usual), said('warning'), content)
    t.strictSame(found(strict), said('error'), `${content}, strict`)
  }
})

t.test('one line for people tells of the same version in many documents', async (t) => {
  const old = (name: string, version = 'v1alpha1') =>
    `apiVersion: toolhive.stacklok.dev/${version}\nkind: MCPGroup\nmetadata: { name: ${name} }\n`
  await write({
    'old/b.yaml': `${old('c')}---\n${old('d', 'v1')}`,
    'old/a.yaml': `${old('a')}---\n${old('b')}`,
  })
  const { stdout } = await vmcp(['check', '--advice', 'old/a.yaml', 'old/b.yaml'])
  t.equal(
    stdout,
    `old/a.yaml:1:13: advice: MCPGroup a and 2 more: apiVersion: v1alpha1 is deprecated; checked as v1beta1; write v1beta1 (api-version-current)
old/b.yaml:5:13: warning: MCPGroup d: apiVersion: v1 is not a version of these resources, and no cluster serves it; checked as v1beta1; write v1beta1 (api-version-current)

4 resources in 2 files: 0 errors, 1 warning, 3 of advice; judged by the specification (no --release)
`,
  )
  const { findings } = await printed(['old'])
  t.equal(findings.length, 4, 'JSON has them all')
  await write({ 'older/a.yaml': `${old('a')}---\n${old('b, namespace: prod')}` })
  const severity = ['--severity', 'api-version-current=error@prod']
  t.match(
    (await lines(['--advice', ...severity, 'older'])).lines,
    [/:1:13: advice: MCPGroup a: /, /:5:13: error: MCPGroup b: /],
    'a line for each severity',
  )
})

t.test('groups and versions that are not ours', async (t) => {
  const rows: [apiVersion: string, kind: string, found: string | undefined, strict?: string][] = [
    ['toolhive.stacklok.com/v1beta1', 'MCPServer', 'warning api-group-known'],
    ['toolhive.stacklok.io/v1alpha1', 'MCPGroup', 'warning api-group-known'],
    ['mcp.toolhive.stacklok.io/v1', 'MCPServer', 'warning api-group-known'],
    ['mcp.stacklok.dev/v1beta1', 'MCPServer', 'warning api-group-known'],
    ['tolhive.staklok.dev/v1beta1', 'MCPServer', 'warning api-group-known'],
    ['toolhive.stacklok.dev', 'MCPServer', 'warning api-group-known'],
    ['example.com/v1', 'VirtualMCPServer', 'warning api-group-known'],
    ['v1', 'MCPRemoteProxy', 'warning api-group-known'],
    ['kagent.dev/v1alpha1', 'MCPServer', undefined],
    ['${GROUP}/v1beta1', 'MCPOIDCConfig', undefined, 'error api-group-known'],
    ['toolhive.stacklok.dev/v1alpha1', 'MCPGroup', 'advice api-version-current'],
    ['toolhive.stacklok.dev/v2', 'MCPGroup', 'warning api-version-current'],
  ]
  const documents = rows.map(
    ([apiVersion, kind]) => `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: { name: a }\n`,
  )
  await write({ 'groups.yaml': documents.join('---\n') })
  const told = async (...flags: string[]) => {
    const { findings, notes } = await printed([...flags, 'groups.yaml'])
    const own = findings.filter(({ path }) => path === 'apiVersion')
    const all = [
      ...own.map((each) => [each.line, `${each.severity} ${each.id}`] as const),
      ...notes.map(({ line }) => [line, undefined] as const),
    ]
    return all.toSorted(([a], [b]) => a - b)
  }
  const line = (i: number) => 1 + 4 * i
  const [usual, strict, off] = await Promise.all([
    told(),
    told('--strict'),
    told('--severity', 'api-group-known=off@default'),
  ])
  t.strictSame(
    usual,
    rows.map(([, , found], i) => [line(i), found]),
  )
  t.strictSame(
    strict,
    rows.map(([, , found, strictly = found?.replace('warning', 'error')], i) => [line(i), strictly]),
  )
  t.strictSame(
    off,
    usual.filter(([, found]) => found !== 'warning api-group-known'),
    'weighed as any other',
  )
})

/** A value with a placeholder, what `check` prints for it, and the flags that fill the placeholder in. */
interface Held {
  readonly title: string
  readonly content: string
  /**
   * The note: its position, the path of the value, the placeholder and the name for --set; absent when the value is
   * judged.
   */
  readonly note?: readonly [place: string, path: string, placeholder: string, name?: string]
  /** The findings without a value for the placeholder. */
  readonly findings?: readonly string[]
  readonly filled?: readonly [flags: string[], findings: string[]]
  readonly strict: readonly string[]
}

const region = (value: string) => awsSts(`region: ${value}\nfallbackRoleArn: ${ROLE}\n`)
const mapping = (matcher: string) =>
  awsSts(`region: eu-central-1\nroleMappings:\n- roleArn: ${ROLE}\n  matcher: ${matcher}\n`)
const WRONG_REGION = ['8:13 schema-pattern', '8:13 unresolved-placeholder']
const HELD: readonly Held[] = [
  {
    title: '${NAME}',
    content: region('${REGION}'),
    note: ['8:13', 'spec.awsSts.region', '${REGION}', 'REGION'],
    filled: [['--set', 'REGION=eu-west-1'], []],
    strict: WRONG_REGION,
  },
  {
    title: '$NAME',
    content: region('$REGION'),
    note: ['8:13', 'spec.awsSts.region', '$REGION', 'REGION'],
    filled: [['--set', 'REGION=nowhere'], ['8:13 schema-pattern']],
    strict: WRONG_REGION,
  },
  {
    title: 'a quoted template',
    content: region('"{{ .Values.region }}"'),
    note: ['8:13', 'spec.awsSts.region', '{{ .Values.region }}', '.Values.region'],
    filled: [['--set', '.Values.region=eu-west-1'], []],
    strict: WRONG_REGION,
  },
  {
    title: 'a template without quotes, with a comment',
    content: region('{{region}}   # filled in later'),
    note: ['8:13', 'spec.awsSts.region', '{{region}}', 'region'],
    filled: [['--set', 'region=eu-west-1'], []],
    strict: WRONG_REGION,
  },
  {
    title: 'a template that is the start of a value, with a function and quotes',
    content: region(`{{ .Values.region | default 'eu' }}-west-1`),
    note: ['8:13', 'spec.awsSts.region', "{{ .Values.region | default 'eu' }}"],
    strict: WRONG_REGION,
  },
  {
    title: '<NAME> within a value',
    content: awsSts('region: eu-central-1\nfallbackRoleArn: arn:aws:iam::<ACCOUNT_ID>:role/reader\n'),
    note: ['9:22', 'spec.awsSts.fallbackRoleArn', '<ACCOUNT_ID>', 'ACCOUNT_ID'],
    filled: [['--set', 'ACCOUNT_ID=123456789012'], []],
    strict: ['9:22 schema-pattern', '9:22 unresolved-placeholder'],
  },
  {
    title: 'an integer',
    content: awsSts(`region: eu-central-1\nfallbackRoleArn: ${ROLE}\nsessionDuration: \${DURATION}\n`),
    note: ['10:22', 'spec.awsSts.sessionDuration', '${DURATION}', 'DURATION'],
    filled: [['--set', 'DURATION=60'], ['10:22 schema-minimum']],
    strict: ['10:22 schema-type'],
  },
  {
    title: 'an integer, as a template',
    content: awsSts(`region: eu-central-1\nfallbackRoleArn: ${ROLE}\nsessionDuration: {{ duration }}\n`),
    note: ['10:22', 'spec.awsSts.sessionDuration', '{{ duration }}', 'duration'],
    filled: [['--set', 'duration=3600'], []],
    strict: ['10:22 schema-type'],
  },
  {
    title: 'a list item beside one that is wrong anyway',
    content: awsSts(
      `region: eu-central-1\nroleMappings:\n- {roleArn: "\${A}", claim: a}\n- {roleArn: b, claim: b}\n`,
    ),
    note: ['10:17', 'spec.awsSts.roleMappings[0].roleArn', '${A}', 'A'],
    findings: ['11:17 schema-pattern'],
    strict: ['10:17 schema-pattern', '10:17 unresolved-placeholder', '11:17 schema-pattern'],
  },
  {
    title: 'a type',
    content: manifest(`type: \${TYPE}\nawsSts:\n  region: eu-central-1\n  fallbackRoleArn: ${ROLE}\n`),
    note: ['6:9', 'spec.type', '${TYPE}', 'TYPE'],
    filled: [
      ['--set', 'TYPE=bearerToken'],
      ['5:1 external-auth-config-matches-type', '7:3 external-auth-config-matches-type'],
    ],
    strict: ['6:9 schema-enum', '6:9 unresolved-placeholder'],
  },
  {
    title: 'a matcher',
    content: mapping('${CLAIM} == "x"'),
    note: ['11:16', 'spec.awsSts.roleMappings[0].matcher', '${CLAIM}', 'CLAIM'],
    filled: [['--set', 'CLAIM=claims.name'], []],
    strict: ['11:16 role-mapping-matcher-compiles', '11:16 unresolved-placeholder'],
  },
  {
    title: 'a matcher, in angle brackets',
    content: mapping('<CLAIM> == "x"'),
    note: ['11:16', 'spec.awsSts.roleMappings[0].matcher', '<CLAIM>', 'CLAIM'],
    filled: [['--set', 'CLAIM=claims.'], ['11:16 role-mapping-matcher-compiles']],
    strict: ['11:16 role-mapping-matcher-compiles', '11:16 unresolved-placeholder'],
  },
  {
    title: 'a string literal of a matcher is text',
    content: mapping(`'"\${GROUP}" in claims.groups && claims.x == "<ADMINS>"'`),
    strict: [],
  },
  {
    title: 'braces and dollars of a matcher are CEL',
    content: mapping(`'{"a": {"b": 1}}.size() == 1 && claims.x.matches("a$")'`),
    strict: [],
  },
  {
    title: 'a dollar in a matcher is wrong',
    content: mapping('$claims.x'),
    findings: ['11:16 role-mapping-matcher-compiles'],
    strict: ['11:16 role-mapping-matcher-compiles'],
  },
  {
    title: 'what only looks like one',
    content: awsSts(`region: eu-central-1\nfallbackRoleArn: ${ROLE}\nroleClaim: a<b>c$1 {x} $ {{\n`),
    strict: [],
  },
]

t.test('placeholders', async (t) => {
  const places = (found: readonly Finding[], file: string) =>
    found
      .filter((finding) => finding.file === file)
      .map(({ line, column, id }) => ({ line, column, text: `${line}:${column} ${id}` }))
      .toSorted((a, b) => a.line - b.line || a.column - b.column)
      .map(({ text }) => text)
  const files = await write(
    Object.fromEntries(HELD.map(({ content }, i) => [`held/${i + 10}.yaml`, content])),
  )
  const [usual, strict] = await Promise.all([printed(['held']), printed(['--strict', 'held'])])
  t.strictSame([usual.unread, strict.unread, strict.notes], [[], [], []])
  await Promise.all(
    HELD.map(async (held, i) => {
      const { title, note, findings = [], filled } = held
      const file = files[i] ?? ''
      t.strictSame(places(usual.findings, file), findings, title)
      t.strictSame(places(strict.findings, file), held.strict, `${title}, strict`)
      const notes = usual.notes.filter((each) => each.file === file)
      t.strictSame(
        notes.map((each) => `${at(each)}: ${each.message}`),
        note ? [noteText(file, note)] : [],
        title,
      )
      if (filled === undefined) return
      const run = await printed([...filled[0], file])
      t.strictSame([places(run.findings, file), run.notes], [filled[1], []], `${title}, filled in`)
    }),
  )
})

t.test('placeholders are one note a file, for people', async (t) => {
  const providers = ['A', 'B', 'C', 'D', 'A'].map(
    (name, i) => `    - {name: p${i}, type: oidc, oidcConfig: {issuerUrl: '\${${name}}', clientId: vmcp}}\n`,
  )
  const many = manifest(
    `type: embeddedAuthServer\nembeddedAuthServer:\n  issuer: https://mcp.example.com\n  upstreamProviders:\n${providers.join('')}`,
  )
  const files = await write({ 'note/many.yaml': many, 'note/one.yaml': region('{{ .region }}') })
  const said = await lines(files)
  const notes = said.lines.filter((line) => line.includes('note: '))
  t.strictSame(notes, [
    'note/many.yaml:10:56: note: 5 values are not judged, because ${A}, ${B}, ${C} and 1 more are filled in later; to judge them: --set A=VALUE; --output json has each place',
    'note/one.yaml:8:13: note: spec.awsSts.region: not judged, because {{ .region }} is filled in later; to judge it: --set .region=VALUE',
  ])
  t.equal((await printed(files)).notes.length, 6, 'JSON has each place')
})

const GATEWAY = `apiVersion: toolhive.stacklok.dev/v1beta1
kind: VirtualMCPServer
metadata: { name: gateway }
spec:
  groupRef: { name: tools }
`
const group = (name: string) =>
  `apiVersion: toolhive.stacklok.dev/v1beta1\nkind: MCPGroup\nmetadata: { name: ${name} }\nspec: {}\n`
const serverIn = (ref: string, more = '') =>
  `apiVersion: toolhive.stacklok.dev/v1beta1\nkind: MCPServer\nmetadata: { name: wiki }\nspec: { image: a, groupRef: ${ref}${more} }\n`
const injecting = (name: string, provider: string) =>
  `apiVersion: toolhive.stacklok.dev/v1beta1\nkind: MCPExternalAuthConfig\nmetadata: { name: ${name} }\nspec: { type: upstreamInject, upstreamInject: { providerName: '${provider}' } }\n`
const AUTH_SERVER = `  authServerConfig:
    issuer: https://mcp.example.com
    hmacSecretRefs: [{ name: keys, key: hmac }]
    signingKeySecretRefs: [{ name: keys, key: signing }]
    storage: { type: redis, redis: { sentinelAddrs: ['a:1'] } }
    upstreamProviders:
      - { name: okta, type: oidc, oidcConfig: { issuerUrl: 'https://okta.example.com', clientId: a, redirectUri: 'https://mcp.example.com/c' } }
`
const secret = (field: string, value: string) =>
  `apiVersion: v1\nkind: Secret\nmetadata: { name: keys }\n${field}: ${value}\n`
const DISCOVERING = [group('tools'), serverIn('{ name: tools }', ', externalAuthConfigRef: { name: cfg }')]
const OF_OTHERS = [
  'authorization-policy-matches',
  'hmac-secret-long-enough',
  'secret-reference-found',
  'reference-found',
  'group-has-backends',
  'outgoing-auth-backend-is-member',
  'backend-credentials-configured',
  'backend-strategy-chosen',
  'upstream-inject-has-auth-server',
  'upstream-inject-provider-exists',
]
/** Documents that are judged together, and `KIND/NAME ID` of the errors and warnings by the rules OF_OTHERS. */
const TOGETHER: readonly {
  readonly title: string
  readonly documents: readonly string[]
  readonly found?: readonly string[]
  readonly strict?: readonly string[]
}[] = [
  {
    title: 'a placeholder is no HMAC secret that is too short',
    documents: [
      GATEWAY + AUTH_SERVER,
      ...DISCOVERING.slice(0, 1),
      secret('stringData', '{ hmac: <HMAC_KEY>, signing: x }'),
    ],
    found: ['group-has-backends'],
    strict: ['group-has-backends', 'hmac-secret-long-enough'],
  },
  {
    title: 'nor what another tool fills in',
    documents: [GATEWAY + AUTH_SERVER, secret('stringData', "{ hmac: '<path:kv/vmcp#hmac>', signing: x }")],
    found: ['reference-found'],
    strict: ['hmac-secret-long-enough', 'reference-found'],
  },
  {
    title: 'a Secret whose keys are filled in later may have any',
    documents: [GATEWAY + AUTH_SERVER, secret('stringData', '${ALL}')],
    found: ['reference-found'],
  },
  {
    title: 'a missing key is reported',
    documents: [GATEWAY + AUTH_SERVER, secret('data', '{ signing: YQ== }')],
    found: ['reference-found', 'secret-reference-found'],
  },
  {
    title: 'whichever provider it is, there is no authorization server',
    documents: [GATEWAY, ...DISCOVERING, injecting('cfg', '${PROVIDER}')],
    found: ['upstream-inject-has-auth-server'],
  },
  {
    title: 'a provider that is filled in later may be the one',
    documents: [GATEWAY + AUTH_SERVER, ...DISCOVERING, injecting('cfg', '${PROVIDER}')],
    strict: ['upstream-inject-provider-exists'],
  },
  {
    title: 'a name that is filled in later may be the one',
    documents: [GATEWAY + AUTH_SERVER, ...DISCOVERING, injecting(`'\${NAME}'`, 'okta')],
    strict: ['reference-found'],
  },
  {
    title: 'so may the namespace of another',
    documents: [GATEWAY + AUTH_SERVER, ...DISCOVERING, injecting("cfg, namespace: '${NAMESPACE}'", 'okta')],
    strict: ['reference-found'],
  },
  {
    title: 'a backend whose group is filled in later may be of any',
    documents: [
      `${GATEWAY}  outgoingAuth: { source: inline, backends: { wiki: { type: externalAuthConfigRef, externalAuthConfigRef: { name: cfg } } } }\n`,
      group('tools'),
      serverIn("{ name: '${GROUP}' }"),
      injecting('cfg', 'okta'),
    ],
    found: ['upstream-inject-has-auth-server'],
    strict: ['group-has-backends', 'reference-found', 'upstream-inject-has-auth-server'],
  },
  {
    title: 'so may it beside one of the group',
    documents: [
      `${GATEWAY}  outgoingAuth: { source: inline, backends: { wiki: { type: externalAuthConfigRef, externalAuthConfigRef: { name: cfg } } } }\n`,
      group('tools'),
      serverIn("{ name: '${GROUP}' }"),
      serverIn('{ name: tools }').replace('name: wiki', 'name: jira'),
      injecting('cfg', 'okta'),
    ],
    found: ['backend-strategy-chosen', 'upstream-inject-has-auth-server'],
    strict: [
      'backend-strategy-chosen',
      'outgoing-auth-backend-is-member',
      'reference-found',
      'upstream-inject-has-auth-server',
    ],
  },
  {
    title: 'a type that is filled in later may be the one beside which nothing is read',
    documents: [
      `${GATEWAY}  outgoingAuth: { source: inline, backends: { wiki: { type: '\${TYPE}', externalAuthConfigRef: { name: cfg } } } }\n`,
      group('tools'),
      serverIn('{ name: tools }'),
      injecting('cfg', 'okta'),
    ],
    strict: ['upstream-inject-has-auth-server'],
  },
  {
    title: 'a key of backends that is filled in later may be that of any',
    documents: [
      `${GATEWAY}  outgoingAuth: { source: inline, backends: { '\${BACKEND}': { type: externalAuthConfigRef, externalAuthConfigRef: { name: cfg } } } }\n`,
      group('tools'),
      serverIn('{ name: tools }'),
    ],
    strict: ['backend-strategy-chosen', 'outgoing-auth-backend-is-member', 'reference-found'],
  },
  {
    title: 'settings of policies that are filled in later may be those that the policies expect',
    documents: [
      serverIn("{ name: '${GROUP}' }, authzConfigRef: { name: staff }"),
      `apiVersion: toolhive.stacklok.dev/v1beta1
kind: MCPAuthzConfig
metadata: { name: staff }
spec:
  type: cedarv1
  config:
    policies:
      - 'permit(principal in Team::"core", action, resource);'
      - 'permit(principal, action, resource) when { principal has claimset_scope && principal.claimset_scope.contains("x") };'
    group_entity_type: '\${TYPE}'
    multi_valued_claims: '\${CLAIMS}'
`,
    ],
    strict: ['authorization-policy-matches', 'reference-found'],
  },
]

t.test('what is filled in later is not held against others', async (t) => {
  const files = await write(
    Object.fromEntries(TOGETHER.map(({ documents }, i) => [`together/${i}.yaml`, documents.join('---\n')])),
  )
  for (const [i, { title, found = [], strict = found }] of TOGETHER.entries()) {
    const file = files[i] ?? ''
    const ids = ({ findings }: { readonly findings: readonly Finding[] }) =>
      [...new Set(findings.map(({ id }) => id))].filter((id) => OF_OTHERS.includes(id)).toSorted()
    t.strictSame(ids(await printedHere(t, file)), found, title)
    t.strictSame(ids(await printedHere(t, file, ['--strict'])), strict, `${title}, strict`)
  }
})

t.test(
  'a key of a map that is filled in later: its siblings are judged, or have placeholders of their own',
  async (t) => {
    const outgoing = (...backends: string[]) =>
      `${GATEWAY}  incomingAuth: { type: oidc, oidcConfigRef: { name: a }, audience: a }\n  outgoingAuth:\n    source: inline\n    backends:\n${backends.map((line) => `      ${line}\n`).join('')}`
    const asking = (params: string) =>
      manifest(`type: embeddedAuthServer
embeddedAuthServer:
  issuer: https://auth.example.com
  hmacSecretRefs: [{ name: keys, key: hmac }]
  signingKeySecretRefs: [{ name: keys, key: signing }]
  upstreamProviders:
    - name: okta
      type: oidc
      oidcConfig:
        issuerUrl: https://okta.example.com
        clientId: a
        additionalAuthorizationParams: ${params}
`)
    const backendsAt = 'spec.outgoingAuth.backends'
    const rows: [title: string, content: string, findings: string[], notes: string[]][] = [
      ['the value below the key', outgoing('${BACKEND}: { type: bogus }'), [], [backendsAt]],
      [
        'a sibling with a placeholder',
        outgoing('${BACKEND}: { type: discovered }', 'jira: { type: "${TYPE}" }'),
        [],
        [backendsAt, `${backendsAt}[jira].type`],
      ],
      [
        'a sibling that is wrong',
        outgoing('${BACKEND}: { type: discovered }', 'jira: { type: bogus }', 'wiki: {}'),
        [`${backendsAt}[jira].type schema-enum`, `${backendsAt}[wiki].type schema-required`],
        [backendsAt],
      ],
      [
        'a sibling whose name is not allowed',
        asking('{ "${K}": x, state: s }'),
        [
          'spec.embeddedAuthServer.upstreamProviders[0].oidcConfig.additionalAuthorizationParams[state] upstream-authorization-params-allowed',
        ],
        ['spec.embeddedAuthServer.upstreamProviders[0].oidcConfig.additionalAuthorizationParams'],
      ],
    ]
    const files = await write(Object.fromEntries(rows.map(([, content], i) => [`keys/${i}.yaml`, content])))
    for (const [i, [title, , findings, notes]] of rows.entries()) {
      const run = await printedHere(t, files[i] ?? '')
      const errors = run.findings.filter(({ severity }) => severity === 'error')
      t.strictSame(
        errors.map(({ path, id }) => `${path} ${id}`),
        findings,
        title,
      )
      t.strictSame(
        run.notes.map(({ message }) => message.split(': ')[0]),
        notes,
        `${title}: notes`,
      )
      t.equal(run.status, findings.length > 0 ? 1 : 0, title)
    }
  },
)

t.test('of a resource that comes twice the last one counts, in whatever file', async (t) => {
  await write({
    'twice/gateway.yaml': [GATEWAY + AUTH_SERVER, ...DISCOVERING].join('---\n'),
    'twice/a.yaml': injecting('cfg', 'gone'),
    'twice/b.yaml': injecting('cfg', 'okta'),
  })
  const told = async (...files: string[]) => {
    const { findings, notes } = await printed(files.map((file) => `twice/${file}.yaml`))
    const ids = findings.map(({ id }) => id).filter((id) => OF_OTHERS.includes(id))
    return [ids, notes.map((each) => `${at(each)}: ${each.message}`)]
  }
  const again = (file: string, last: string) =>
    `twice/${file}.yaml:3:19: comes again in twice/${last}.yaml:3; who refers to it is judged beside the last one`
  t.strictSame(await told('gateway', 'a', 'b'), [[], [again('a', 'b')]])
  t.strictSame(await told('gateway', 'b', 'a'), [['upstream-inject-provider-exists'], [again('b', 'a')]])
})

t.test('a file that two arguments name is read once', async (t) => {
  await write({ 'overlap/a.yaml': VALID.replace('spec:', 'spec:\n  colour: x'), 'overlap/b.yaml': GATEWAY })
  const once = await vmcp(['check', 'overlap'])
  t.match(once.stdout, /colour/)
  for (const names of [
    ['overlap', 'overlap/a.yaml'],
    ['overlap/a.yaml', './overlap/'],
    ['overlap', join(folder, 'overlap')],
  ])
    t.strictSame(await vmcp(['check', ...names]), once, names.join(' '))
})

t.test('a patch of kustomize is not a resource', async (t) => {
  const patch = manifest('awsSts: { region: eu-west-1 }\n')
  const kustomization = (content: object) => JSON.stringify({ kind: 'Kustomization', ...content })
  const note = (place: string, by: string, folder: string) =>
    `${place}: not judged, because ${by} uses it as a patch; to judge the result: kubectl kustomize ${folder} | vmcp-admission check -`
  const rows: [title: string, files: Record<string, string>, findings: number, notes: string[]][] = [
    ['judged alone', { 'p.yaml': patch }, 2, []],
    [
      'patches',
      {
        'kustomization.yaml': kustomization({ patches: [{ path: 'deep/p.yaml' }] }),
        'deep/p.yaml': patch,
        'r.yaml': VALID,
      },
      0,
      [note('deep/p.yaml:1:1', 'kustomization.yaml', '')],
    ],
    [
      'older words, from another folder',
      {
        'base/p.yaml': `${patch}---\n${patch}`,
        'over/kustomization.yml': kustomization({
          patchesStrategicMerge: ['../base/p.yaml', 'kind: A\n'],
          patches: [{ patch: '[]' }, null],
        }),
      },
      0,
      [
        note('base/p.yaml:1:1', 'over/kustomization.yml', 'over'),
        note('base/p.yaml:8:1', 'over/kustomization.yml', 'over'),
      ],
    ],
    [
      'without apiVersion and kind',
      {
        'kustomization.yaml': 'resources: [r.yaml]\npatches:\n- path: p.yaml\n',
        'p.yaml': patch,
        'r.yaml': VALID,
      },
      0,
      [note('p.yaml:1:1', 'kustomization.yaml', '')],
    ],
    [
      'the name without an ending',
      { Kustomization: 'patches: [{ path: p.yaml }]\n', 'p.yaml': patch, 'r.yaml': VALID },
      0,
      [note('p.yaml:1:1', 'Kustomization', '')],
    ],
    [
      'a resource that is a patch too',
      {
        'kustomization.yaml': kustomization({ resources: ['./p.yaml'], patches: [{ path: 'p.yaml' }] }),
        'p.yaml': patch,
      },
      2,
      [],
    ],
    [
      'a resource of one, a patch of another',
      {
        'kustomization.yaml': kustomization({ patchesStrategicMerge: ['base/p.yaml'] }),
        'base/kustomization.yaml': kustomization({ resources: ['p.yaml'] }),
        'base/p.yaml': patch,
      },
      2,
      [],
    ],
    [
      'a file that is not a patch',
      { 'kustomization.yaml': kustomization({ patches: 'p.yaml' }), 'p.yaml': patch },
      2,
      [],
    ],
    [
      'a file that kubectl does not build, and one of another kind',
      {
        'k.yaml': kustomization({ patches: [{ path: 'p.yaml' }] }),
        'kustomization.yaml': 'kind: ConfigMap\npatches: [{ path: p.yaml }]\n',
        'p.yaml': patch,
      },
      2,
      [],
    ],
  ]
  for (const [i, [title, files, findings, notes]] of rows.entries()) {
    const base = `kustomize/${i}`
    await write(
      Object.fromEntries(Object.entries(files).map(([name, content]) => [`${base}/${name}`, content])),
    )
    const { stdout } = await here(t, check, [base], ['--output', 'json'])
    const found = JSON.parse(stdout.replaceAll(new RegExp(`${base}/?`, 'g'), '')) as Printed
    const told = found.notes.map((each) => `${at(each)}: ${each.message}`)
    t.strictSame([found.findings.length, told], [findings, notes], title)
  }
  const one = 'kustomize/2'
  for (const names of [
    [`${one}/over/kustomization.yml`, join(folder, one)],
    [join(folder, one, 'over/kustomization.yml'), `${one}/base/p.yaml`],
  ]) {
    const { findings, notes } = await printed(names)
    t.strictSame([findings, notes.length], [[], 2], 'two spellings of a folder')
  }
  const { talk, status } = await here(t, plan, ['kustomize/1'])
  t.strictSame([status, talk.length], [0, 1])
  t.match(
    talk[0],
    /^kustomize\/1\/deep\/p\.yaml:1:1: not judged, because kustomize\/1\/kustomization\.yaml uses it as a patch/,
  )
})

t.test('where a reference leads elsewhere, a namespace that is assumed is told', async (t) => {
  const inTools = group('tools').replace('name: tools', 'name: tools, namespace: b')
  await write({
    'assumed/none.yaml': `${serverIn('{ name: tools }')}---\n${inTools}`,
    'assumed/named.yaml': `${serverIn('{ name: tools }').replace('name: wiki', 'name: wiki, namespace: a')}---\n${inTools}`,
    'assumed/gone.yaml': serverIn('{ name: tools }'),
    'assumed/empty.yaml': `${serverIn('{ name: tools }')}---\n${group("tools, namespace: ''")}`,
    'assumed/null.yaml': `${serverIn('{ name: tools }', ', toolConfigRef: { name: few }')}---\n${group('tools')}---\n${group('few, namespace: null').replace('MCPGroup', 'MCPToolConfig')}`,
  })
  const told = (namespace: string) =>
    `assumed/none.yaml:3:1: names no namespace, and is judged in '${namespace}'; --namespace NAME says which`
  const rows: [flags: string[], file: string, ids: string[], notes: string[]][] = [
    [[], 'assumed/none.yaml', ['reference-found'], [told('default')]],
    [['--namespace', 'a'], 'assumed/none.yaml', ['reference-found'], [told('a')]],
    [['--namespace', 'b'], 'assumed/none.yaml', [], []],
    [[], 'assumed/named.yaml', ['reference-found'], []],
    [[], 'assumed/gone.yaml', ['reference-found'], []],
    [[], 'assumed/empty.yaml', [], []],
    [['--namespace', 'a'], 'assumed/empty.yaml', [], []],
    [
      [],
      'assumed/null.yaml',
      [],
      ["assumed/null.yaml:12:7: not checked: there are no rules for the kind 'MCPToolConfig'"],
    ],
  ]
  for (const [flags, file, ids, notes] of rows) {
    const { stdout } = await here(t, check, [file], ['--output', 'json', ...flags])
    const found = JSON.parse(stdout) as Printed
    const label = [...flags, file].join(' ')
    t.strictSame(
      [found.findings.map(({ id }) => id), found.notes.map((note) => `${at(note)}: ${note.message}`)],
      [ids, notes],
      label,
    )
  }
})

function noteText(file: string, [place, path, placeholder, name]: NonNullable<Held['note']>): string {
  const advice = name === undefined ? '' : `; to judge it: --set ${name}=VALUE`
  return `${file}:${place}: ${path}: not judged, because ${placeholder} is filled in later${advice}`
}

t.test('notes leave the exit code alone', async (t) => {
  await write({ 'held.yaml': region('${REGION}') })
  const rows: [args: string[], status: number, environment?: Record<string, string>][] = [
    [[], 0, { REGION: 'nowhere' }],
    [['--strict'], 1],
    [['--env'], 1, { REGION: 'nowhere' }],
    [['--env'], 0, { REGION: 'no\nwhere' }],
    [['--env', '--set', 'REGION=eu-west-1'], 0, { REGION: 'nowhere' }],
    [[], 1, { VMCP_STRICT: 'true' }],
    [[], 1, { VMCP_SET: 'A=b;REGION=a=b' }],
    [[], 1, { VMCP_ENV: 'true', REGION: 'nowhere' }],
  ]
  await Promise.all(
    rows.map(async ([args, status, environment = {}]) => {
      const run = await vmcp(['check', ...args, 'held.yaml'], { environment })
      t.equal(run.status, status, `${args.join(' ')} ${JSON.stringify(environment)}`)
    }),
  )
})

t.test('a file that is not a manifest: what to do instead', async (t) => {
  await write({ 'template.yaml': VALID.replace('spec:', 'spec:\n  {{- if .Values.aws }}') })
  await writeFile(join(folder, 'unmarked.yaml'), Buffer.from(VALID, 'utf16le'))
  const image = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0x0d]
  await writeFile(join(folder, 'image.yaml'), Buffer.concat([Buffer.from(image), Buffer.from('{{ x }}')]))
  await symlink('circle.yaml', join(folder, 'circle.yaml'))
  const rows: [file: string, talk: RegExp][] = [
    [
      'template.yaml',
      /^template\.yaml:6:\d+: cannot read: a template is not YAML \(.*\): check what it renders to, as in 'helm template \. \| vmcp-admission check -'; --exclude PATTERN leaves it out$/,
    ],
    ['unmarked.yaml', /^unmarked\.yaml:1:2: cannot read: control characters are not allowed; is it UTF-8\?$/],
    ['image.yaml', /^image\.yaml: cannot read: a binary file, not YAML or JSON$/],
    ['circle.yaml', /^circle\.yaml: cannot read: a link that leads to itself$/],
    [
      'te*.yaml',
      /^te\*\.yaml: cannot read: no such file or folder; a shell replaces \* where it is not quoted$/,
    ],
    [
      'git:main',
      /^git:main: cannot read: no such file or folder; revisions of git are for plan, access and steps$/,
    ],
  ]
  for (const [file, line] of rows) {
    const { status, talk } = await here(t, check, [file])
    t.match([status, talk], [3, [line]], file)
    t.equal(talk.length, 1, file)
  }
})

t.test('templates are one line, and are left out by --exclude', async (t) => {
  const template = '{{- if .Values.aws }}\n'
  await write({
    'charts/a/templates/one.yaml': template,
    'charts/a/templates/deep/two.yaml': `a: b\n---\n${template}---\n${template}`,
    'charts/b/templates/three.yaml': template,
    'charts/b/broken.yaml': 'a: [\n',
    'charts/c/valid.yaml': VALID,
    'charts/d/wrong.yaml': WRONG,
  })
  const folded =
    /^charts\/a\/templates\/deep\/two\.yaml:3:\d+: cannot read: this and 2 more files are templates, not YAML: check what they render to, as in 'helm template \. \| vmcp-admission check -'; --exclude templates leaves them out$/
  const broken = /^charts\/b\/broken\.yaml:\d+:\d+: cannot read: (?!a template)/
  const nothing = /^charts: cannot read: --exclude leaves nothing of it$/
  const rows: [exclude: string[], status: number, errors: number, talk: RegExp[]][] = [
    [[], 3, 1, [broken, folded]],
    [['templates'], 3, 1, [broken]],
    [['templates', 'b'], 1, 1, []],
    [['templates/', 'b*', './d'], 1, 1, []],
    [['templates', 'broken.yaml', 'wrong.*'], 0, 0, []],
    [['FOLDER/charts/?/templates', 'FOLDER/**/b', 'FOLDER/charts/d/wrong.yaml'], 0, 0, []],
    [['FOLDER/charts'], 3, 0, [nothing]],
    [['emplates', 'template', 'templates.', 'charts/a/templates'], 3, 1, [broken, folded]],
  ]
  for (const [exclude, status, errors, talk] of rows) {
    const flags = exclude.flatMap((pattern) => ['--exclude', pattern.replace('FOLDER', folder)])
    const run = await here(t, check, ['charts'], ['--output', 'json', ...flags])
    const { counts } = JSON.parse(run.stdout) as Printed
    t.match([run.status, counts.errors, run.talk], [status, errors, talk], exclude.join(' '))
    t.equal(run.talk.length, talk.length, exclude.join(' '))
  }
  const { unread } = JSON.parse((await here(t, check, ['charts'], ['--output', 'json'])).stdout) as Printed
  t.equal(unread.length, 5, 'scripts get each')
})

t.test('UTF-16 with its mark is read, as kubectl reads it', async (t) => {
  const little = Buffer.from(`\ufeff${WRONG}`, 'utf16le')
  await writeFile(join(folder, 'little.yaml'), little)
  await writeFile(join(folder, 'big.yaml'), Buffer.from(little).swap16())
  const { findings, unread } = await printed(['little.yaml', '-', 'big.yaml'], { input: little })
  t.strictSame([findings.map(at), unread], [['little.yaml:8:13', '<stdin>:8:13', 'big.yaml:8:13'], []])
})

t.test('wrong usage', async (t) => {
  const rows: [args: string[], message: string, environment?: Record<string, string>][] = [
    [['check'], 'name the files or folders to check, or - for standard input'],
    [['check', '-', 'a', '-'], 'standard input can be named only once'],
    [['check', '--outptu', 'json', 'a'], "there is no flag --outptu; did you mean '--output'"],
    [['check', '--quite', 'a'], "there is no flag --quite; did you mean '--quiet'"],
    [['check', '-o', 'json', 'a'], "there is no flag -o; did you mean '--output'"],
    [['check', '-n', 'tools', 'a'], "there is no flag -n; did you mean '--namespace'"],
    [['check', '-v', 'a'], 'there is no flag -v'],
    [
      ['check', '--output', 'xml', 'a'],
      "--output: 'xml' is not one of human, line, json, sarif, github, gitlab, junit, openreports",
    ],
    [
      ['check', 'a', '--output'],
      '--output needs a value: --output human|line|json|sarif|github|gitlab|junit',
    ],
    [
      ['check', 'a', '--output', '--strict'],
      '--output needs a value: --output human|line|json|sarif|github|gitlab|junit',
    ],
    [['check', '--strict=yes', 'a'], '--strict takes no value'],
    [['check', '--set', 'REGION', 'a'], "--set: 'REGION' is not NAME=VALUE"],
    [['check', '--set', '=x', 'a'], "--set: '=x' is not NAME=VALUE"],
    [['check', '--set', 'A=x\ny', 'a'], '--set: the value of A has several lines: give one line'],
    [
      ['check', '--severity', 'schema-pattern', 'a'],
      "--severity: 'schema-pattern' is not ID[:PATH]=error|warning|advice|off[@NAMESPACE,...]",
    ],
    [
      ['check', '--severity', 'schema-pattern=info', 'a'],
      "--severity: 'schema-pattern=info' is not ID[:PATH]=error|warning|advice|off[@NAMESPACE,...]",
    ],
    [['check', '--exclude', '', 'a'], "--exclude: '' is not the name or path of a file or folder"],
    [['check', '--exclude', './', 'a'], "--exclude: './' is not the name or path of a file or folder"],
    [['check', '--severity', 'schema-type=off', 'a'], "--severity: 'schema-type' is always an error"],
    [
      ['check', 'a'],
      "VMCP_OUTPUT: 'xml' is not one of human, line, json, sarif, github, gitlab, junit, openreports",
      { VMCP_OUTPUT: 'xml' },
    ],
    [['check', 'a'], "VMCP_STRICT: 'yes' is not true or false", { VMCP_STRICT: 'yes' }],
    [
      ['check', 'a'],
      "VMCP_SEVERITY: 'schema-type' is always an error",
      { VMCP_SEVERITY: 'schema-enum=off;schema-type=off' },
    ],
    [
      ['explain', 'a', 'b'],
      'name one id, as it ends a finding in parentheses, one kind, or the path of one field',
    ],
    [
      ['explain', 'role-mapping-claim-or-matchr'],
      "'role-mapping-claim-or-matchr' is not an id, a kind or a field; did you mean 'role-mapping-claim-or-matcher'",
    ],
    [
      ['explain', 'schema_required'],
      "'schema_required' is not an id, a kind or a field; did you mean 'schema-required'",
    ],
    [
      ['explain', 'role-mapping-matcher'],
      "'role-mapping-matcher' is not an id, a kind or a field; did you mean 'role-mapping-matcher-compiles', 'role-mapping-matcher-compiles-in-newer-releases', 'role-mapping-matcher-compiles-in-older-releases', 'role-mapping-matcher-needs-claims', 'role-mapping-matcher-type-known' or 'role-mapping-matchers-fit'",
    ],
    [
      ['explain', 'Sentinel-config'],
      "'Sentinel-config' is not an id, a kind or a field; did you mean 'redis-sentinel-config-configured'",
    ],
    [
      ['explain', 'MCPOidcConfigs2'],
      "'MCPOidcConfigs2' is not an id, a kind or a field; did you mean 'MCPOIDCConfig'",
    ],
    [
      ['explain', 'spec.awsStss.region'],
      "'spec.awsStss.region' is not an id, a kind or a field; did you mean 'spec.awsSts.region'",
    ],
    [
      ['explain', 'schema'],
      "'schema' is not an id, a kind or a field; did you mean 'schema-enum', 'schema-format', 'schema-maxItems', 'schema-maxLength', 'schema-maxProperties', 'schema-maximum', 'schema-minItems', 'schema-minLength' and 4 more",
    ],
    [
      ['explain', 'spec'],
      "'spec' is in several places: spec of MCPExternalAuthConfig, spec of VirtualMCPServer, spec of MCPOIDCConfig, spec of MCPServer, spec of MCPGroup, spec of MCPRemoteProxy and spec of MCPServerEntry",
    ],
    [
      ['explain', 'anything-else-at-all'],
      "'anything-else-at-all' is not an id, a kind or a field; `vmcp-admission explain` lists the ids, docs/fields.md the fields",
    ],
  ]
  for (const [[command, ...args], message, environment = {}] of rows) {
    const { run } = command === 'check' ? check : explain
    await t.rejects(run(args, environment), new UsageError(message), message)
  }
})

t.test('wrong usage ends with exit code 2', async (t) => {
  const names = GROUPS.flatMap(([, commands]) => commands.map(({ name }) => name))
  const but = names.slice(0, -1).join(', ')
  const all = `the commands are ${but} and ${names.at(-1)}`
  const rows: [args: string[], message: string, help: string, environment?: Record<string, string>][] = [
    [
      [],
      `name a command: ${but} or ${names.at(-1)}; \`vmcp-admission check .\` judges the manifests here`,
      '--help',
    ],
    [['chek'], "'chek' is not a command; did you mean 'check'", '--help'],
    [['lint', '--help'], "'lint' is not a command; did you mean 'check'", '--help'],
    [['help', 'judge'], `'judge' is not a command; ${all}`, '--help'],
    [['constructor'], `'constructor' is not a command; ${all}`, '--help'],
    [['check'], 'name the files or folders to check, or - for standard input', 'check --help'],
    [
      ['check', 'a'],
      "VMCP_OUTPUT: 'xml' is not one of human, line, json, sarif, github, gitlab, junit, openreports",
      'check --help',
      { VMCP_OUTPUT: 'xml' },
    ],
    [
      ['explain', 'schemaenum'],
      "'schemaenum' is not an id, a kind or a field; did you mean 'schema-enum'",
      'explain --help',
    ],
  ]
  await Promise.all(
    rows.map(async ([args, message, help, environment = {}]) => {
      const stderr = `vmcp-admission: ${message}\nvmcp-admission ${help} shows how it is used\n`
      t.strictSame(await vmcp(args, { environment }), { status: 2, stdout: '', stderr }, args.join(' '))
    }),
  )
})

t.test('a process of its own reads, prints and ends as the same runs do here', async (t) => {
  const rows: readonly (readonly [args: string[], status: number, input?: string])[] = [
    [['check', 'half.yaml', '-'], 3, WARNED],
    [['check', 'wrong.yaml'], 1],
    [['chek'], 2],
  ]
  for (const [args, status, input = ''] of rows) {
    const spawned = await spawnCli(args, { cwd: folder, input })
    t.equal(spawned.status, status, args.join(' '))
    t.strictSame(spawned, await vmcp(args, { input }), args.join(' '))
  }
})

t.test('which version this is, and which ids there are', async (t) => {
  const version = { status: 0, stdout: `${project.version}\n`, stderr: '' }
  t.strictSame(await vmcp(['--version']), version)
  const { status, stdout } = await vmcp(['explain'])
  const ids = stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.split(' ')[0])
  t.strictSame([status, ids], [0, [...ALL_IDS].toSorted()], 'each id once, in order')
})

t.test('help, in every way it is asked for', async (t) => {
  const withoutCommand = async (args: readonly string[]) =>
    (await transcript(args)).split('\n').slice(1).join('\n')
  for (const [args, ways] of [
    [['--help'], [['-h'], ['help']]],
    [
      ['check', '--help'],
      [
        ['help', 'check'],
        ['check', 'a', '-h'],
      ],
    ],
  ] as const) {
    const expected = await withoutCommand(args)
    for (const way of ways) t.equal(await withoutCommand(way), expected, way.join(' '))
  }
})

t.test('explain finds every kind and every field, and names the rules about it', async (t) => {
  const explained = async (name: string) => (await runHere(t, explain.run, [name])).stdout
  for (const { kind, plural, shortNames, description } of KINDS.map(({ schema, ...rest }) => ({
    ...rest,
    description: String((schema as { description?: unknown }).description),
  })))
    for (const name of [kind, kind.toLowerCase(), plural, ...shortNames])
      t.match(await explained(name), `${kind} (${[plural, ...shortNames].join(', ')})\n\n${description}\n`)
  const fields = KINDS.flatMap((kind) => fieldsOf(kind).map(({ path }) => [kind.kind, path] as const))
  for (const [kind, path] of fields)
    for (const given of [
      `${kind}.${path}`,
      `${kind}.${path.replaceAll('[]', '[3]').replaceAll('.<name>', '[a]')}`,
    ])
      t.match((await explained(given)).split('\n')[0], `${path} of ${kind}`, given)
  for (const place of rulePlaces())
    for (const finding of examplesAt(place).flatMap(({ findings }) => findings)) {
      const [path = ''] = finding.split(': ')
      const isField = fields.some(([kind, each]) => kind === place.kind.kind && each === path)
      if (isField) t.match(await explained(`${place.kind.kind}.${path}`), `\n  ${place.rule.id} `, finding)
    }
})

t.test('explain shows an id on one screen, with the lines that differ; --examples shows all', async (t) => {
  const rows = (line: string) => Math.max(1, Math.ceil(widthOf(line) / 80))
  const rules = new Map(allRules().map((rule) => [rule.id, examplesOf(rule)]))
  for (const id of ALL_IDS) {
    const { stdout } = await runHere(t, explain.run, [id])
    const lines = stdout.trimEnd().split('\n')
    t.ok(lines.reduce((sum, line) => sum + rows(line), 0) <= 40, `${id}: ${lines.length} lines`)
    t.match(stdout, `\npage: docs/rules/${id}.md`)
    const examples = rules.get(id)
    if (examples === undefined) continue
    const [first] = /^ {2}[-+] .*\n(?: {2}.*\n)* {2}=> .*\n/m.exec(stdout) ?? []
    t.ok(first, id)
    // The first rejected example is shown as a diff with a similar accepted one.
    const hidden = Number(/… (\d+) more lines/.exec(first ?? '')?.[1] ?? 0)
    t.ok(hidden <= 6, `${id}: ${hidden} changed lines are not shown`)
    const whole = await runHere(t, explain.run, [id, '--examples'])
    const titles = Array.from(
      whole.stdout.matchAll(/^(?:accepted|denied|warned about): (.*)$/gm),
      ([, title]) => title,
    )
    t.strictSame(
      titles,
      examples.map(({ title }) => title),
      id,
    )
  }
})

t.test('what engine ids show is found', async (t) => {
  const shown = ENGINE_IDS.flatMap(({ id, example }) => (example === undefined ? [] : [{ id, ...example }]))
  const without = ENGINE_IDS.filter(({ example }) => example === undefined).map(({ id }) => id)
  t.strictSame(without, [
    'schema-maxItems',
    'schema-maxProperties',
    'api-server-accepts',
    'release-accepts',
    'object-judged-whole',
    'request-kind-agrees',
    'registration-covers-known-kinds',
    'others-known',
    ...PROBE_IDS.map(({ id }) => id),
  ])
  for (const { id, resource, findings, corrected } of shown) {
    await write({ 'shown.json': JSON.stringify(resource), 'corrected.json': JSON.stringify(corrected) })
    const { stdout } = await here(t, check, ['shown.json'], ['--strict', '--output', 'json'])
    const found = (JSON.parse(stdout) as Printed).findings.filter((each) => each.id === id)
    t.strictSame(
      found.map(({ path, message }) => `${path}: ${message}`),
      findings,
      id,
    )
    const after = await here(t, check, ['corrected.json'], ['--strict', '--output', 'json'])
    const { counts, notes } = JSON.parse(after.stdout) as Printed
    t.match([counts, notes], [{ errors: 0 }, []], `${id}, corrected`)
    t.notMatch(after.stdout, id)
  }
})

t.test('the help of a command names each of its flags with the variable', (t) => {
  for (const [name, command] of COMMANDS) {
    const help = helpOf(command)
    for (const flag of Object.keys(command.flags))
      t.match(
        help,
        new RegExp(`^  --${flag} .*\\[VMCP_${flag.toUpperCase().replaceAll('-', '_')}[\\],]`, 'm'),
      )
    t.equal(overview(GROUPS).includes(`\n  ${name} `), name !== 'role', name)
  }
  t.end()
})

t.test('the example of each command is one that it understands', (t) => {
  for (const [name, { examples, flags }] of COMMANDS) {
    const { positionals } = readFlags(flags, examples[0].split(' '), {})
    t.equal(
      positionals.length,
      {
        check: 1,
        fix: 1,
        explain: 1,
        plan: 1,
        access: 2,
        steps: 2,
        probe: 1,
        replay: 1,
        completion: 1,
      }[name] ?? 0,
      name,
    )
    for (const id of name === 'explain' ? positionals : []) t.ok(ALL_IDS.has(id), id)
  }
  t.end()
})

t.test('a reader that stops early is not a failure', async (t) => {
  // The output exceeds the buffer of a pipe.
  const names = Array.from({ length: 800 }, () => 'wrong.yaml')
  const child = spawn(process.execPath, [MAIN, 'check', ...names], { cwd: folder, env: ENVIRONMENT })
  const talk = text(child.stderr)
  child.stdout.once('data', () => child.stdout.destroy())
  const status = await new Promise((resolve) => child.on('close', resolve))
  t.strictSame([status, await talk], [1, ''])
})

/**
 * The output of a command as its user sees it. It is compared with test/golden/cli; UPDATE_GOLDEN=1 writes the file.
 */
async function transcript(args: readonly string[], environment = {}): Promise<string> {
  const { status, stdout, stderr } = await vmcp(args, { environment })
  const talk = stderr === '' ? '' : `(stderr)\n${stderr}`
  const set = Object.entries(environment).map(([name, value]) => `${name}=${String(value)} `)
  return `$ ${set.join('')}vmcp-admission ${args.join(' ')}\n${stdout}${talk}(exit code ${status ?? 'none'})\n`
}

const GOLDEN: Readonly<Record<string, readonly string[]>> = {
  'folder.txt': ['check', 'shop'],
  'unread.txt': ['check', 'wrong.yaml', 'missing.yaml', 'warned.yaml'],
  'explain.txt': ['explain', 'aws-sts-role-configured'],
  'explain-examples.txt': ['explain', 'aws-sts-role-configured', '--examples'],
  'explain-schema.txt': ['explain', 'schema-enum'],
  'explain-kind.txt': ['explain', 'MCPOIDCConfig'],
  'explain-field.txt': ['explain', 'spec.awsSts.roleMappings[].matcher'],
  'help.txt': ['--help'],
  'help-check.txt': ['check', '--help'],
  'help-explain.txt': ['explain', '--help'],
}

/** The terminal widths for which the outputs are compared. */
const FOR_READING = [60, 100]

function goldenFile(name: string): string {
  return fileURLToPath(new URL(`golden/cli/${name}`, import.meta.url))
}

t.test('typical runs', async (t) => {
  const compare = async (name: string, args: readonly string[], environment = {}) => {
    const file = goldenFile(name)
    const found = await transcript(args, environment)
    if (process.env.UPDATE_GOLDEN === '1') await writeFile(file, found)
    t.equal(
      found,
      await readFile(file, 'utf8').catch(() => ''),
      `test/golden/cli/${name} (UPDATE_GOLDEN=1 rewrites it)`,
    )
  }
  await Promise.all(Object.entries(GOLDEN).map(([name, args]) => compare(name, args)))
  for (const columns of FOR_READING) {
    const args = ['check', '--output', 'human', 'shop', 'ends']
    await compare(`human-${columns}.txt`, args, { COLUMNS: String(columns) })
    const lines = (await readFile(goldenFile(`human-${columns}.txt`), 'utf8')).split('\n').slice(1)
    t.strictSame(
      lines.filter((line) => line.length > columns),
      [],
      `no line is longer than ${columns} columns`,
    )
  }
})

t.test('one cause is shown once, with the others named, and counted as often as it is found', async (t) => {
  const server = (name: string) =>
    `apiVersion: toolhive.stacklok.dev/v1beta1\nkind: MCPServer\nmetadata: {name: ${name}}\nspec:\n  image: a\n  groupRef: {name: gone}\n`
  await write({ 'cause/all.yaml': ['a', 'b', 'c', 'd', 'e'].map(server).join('---\n') })
  const { stdout } = await vmcp(['check', '--output', 'human', 'cause'], { environment: { COLUMNS: '120' } })
  t.equal(stdout.match(/^ {2}warning reference-found$/gm)?.length, 1)
  t.match(stdout, /same cause: 4 warnings at MCPServer b, MCPServer c, MCPServer d, MCPServer e\n/)
  t.match(stdout, /: 0 errors, 5 warnings;/)
})

t.test('the lines of a Secret are not shown', async (t) => {
  const secret = 'apiVersion: v1\nkind: Secret\nmetadata:\n  name: keys\nstringData:\n  hmac: hidden\n'
  const config = manifest(
    `type: embeddedAuthServer
embeddedAuthServer:
  issuer: https://auth.example.com
  hmacSecretRefs: [{name: keys, key: hmac}]
  upstreamProviders: [{name: okta, type: oidc, oidcConfig: {issuerUrl: "https://idp.example.com", clientId: a}}]
`,
  )
  await write({ 'secret/all.yaml': `${secret}---\n${config}` })
  const { stdout } = await vmcp(['check', '--output', 'human', 'secret'])
  t.match(stdout, /in the same file, Secret keys: metadata\.name holds too little/)
  t.notMatch(stdout, 'hidden')
})

t.test('no line with a part of a Secret is shown', async (t) => {
  const secret = { kind: 'Secret', apiVersion: 'v1', data: { hmac: 'c2VjcmV0' } }
  const login = {
    apiVersion: 'toolhive.stacklok.dev/v1beta9',
    kind: 'MCPOIDCConfig',
    metadata: { name: 'a' },
    spec: { type: 'x' },
  }
  const [hidden, wrong] = [JSON.stringify(secret), JSON.stringify(login)]
  const item = 'apiVersion: v1\n  kind: Secret\n  stringData:\n    hmac: c2VjcmV0\n'
  const rows: [title: string, text: string, excerpts: boolean][] = [
    ['a document a line', `${hidden}\n${wrong}\n`, true],
    ['a List on one line', JSON.stringify({ kind: 'List', items: [login, secret, login] }), false],
    [
      'an item that begins where a Secret ends',
      `{"items":[\n${hidden.replaceAll(',', ',\n')}, ${wrong.replace(',', ',\n').replace('"spec"', '\n\n\n"spec"')}]}`,
      true,
    ],
    ['items of a List', `items:\n- ${item}- ${wrong}\n`, true],
    ['a list that kubectl does not read', `- ${item}- ${wrong}\n`, false],
    ['a Secret that cannot be read', `${hidden.replace('}', '},"a":1e999')}\n${wrong}\n`, true],
    ['one on the line of a document', `${wrong} ${hidden.replace(/\}$/, ',\n"a":1e999}')}\n`, false],
    [
      'lines of such a Secret',
      `${wrong}\n${hidden.replaceAll(',', ',\n').replace('}', '},"a":1e999')}\n`,
      false,
    ],
  ]
  for (const [title, text, excerpts] of rows) {
    await write({ 'beside/a.yaml': text })
    const { stdout } = await vmcp(['check', '--output', 'human', 'beside'])
    t.match(stdout, /^ {2}(?:warning|error) /m, title)
    t.equal(stdout.includes('│'), excerpts, title)
    t.notMatch(stdout, 'c2VjcmV0', title)
  }
})

t.test('advice is counted, and shown where somebody asks for it', async (t) => {
  const args = ['--set', 'OKTA_URL=https://okta.example.com', 'shop/auth/login.yaml']
  const advised = async (...flags: string[]) => {
    const { status, stdout } = await vmcp(['check', ...flags, ...args])
    return [status, stdout.match(/: advice: /g)?.length ?? 0, /, (\d of advice[^,;\n]*)/.exec(stdout)?.[1]]
  }
  t.strictSame(await advised(), [1, 0, '4 of advice (--advice shows it)'])
  t.strictSame(await advised('--advice'), [1, 4, '4 of advice'])
  t.strictSame(await advised('--profile', 'strict'), [1, 4, '4 of advice'])
  t.strictSame(await advised('--strict'), [1, 4, '4 of advice'])
  const higher = ['--severity', 'redis-tls-enabled=warning']
  t.strictSame(await advised(...higher), [1, 0, '2 of advice (--advice shows it)'])
  const { findings, counts } = await printed(args)
  t.equal(findings.filter(({ severity }) => severity === 'advice').length, counts.advice, 'JSON has it')
})

t.test('quiet', async (t) => {
  for (const output of ['line', 'human']) {
    const clean = await vmcp(['check', '--quiet', '--output', output, 'valid.yaml', 'other.yaml'])
    t.strictSame(clean, { status: 0, stdout: '', stderr: '' }, output)
    const { stdout } = await vmcp(['check', '--quiet', '--output', output, 'shop'])
    t.notMatch(stdout, /note|resources in/)
    t.match(stdout, /role-mapping-matcher-compiles/)
  }
})

t.test('progress', async (t) => {
  const run = (isTTY: boolean, quiet: boolean, steps: number[]) => {
    let [time, shown] = [0, '']
    const stream = { isTTY, write: (text: string) => (shown += text) !== '' } as never
    const progress = progressOn(stream, quiet, () => time)
    for (const step of steps) {
      time = step
      progress.tell(() => `at ${step}`)
    }
    progress.end()
    return shown
  }
  const clear = '\r\u001b[K'
  t.equal(run(true, false, [0, 100, 1_999]), '', 'a short run says nothing')
  t.equal(run(true, false, [1, 2_000, 2_100, 2_300]), `${clear}at 2000${clear}at 2300${clear}`)
  t.equal(run(false, false, [3_000]), '', 'no terminal')
  t.equal(run(true, true, [3_000]), '', 'quiet')
})

t.test('without a command', async (t) => {
  const empty = await mkdtemp(join(folder, 'empty-'))
  const { status, stderr } = await runCli([], { cwd: empty })
  t.strictSame([status, stderr.includes('judges the manifests here')], [2, false])
})

t.test('colours', async (t) => {
  const args = ['check', '--output', 'human', 'wrong.yaml']
  const [plain, forced, none] = await Promise.all([
    vmcp(args),
    vmcp(args, { environment: { FORCE_COLOR: '1' } }),
    vmcp(args, { environment: { NO_COLOR: '1' } }),
  ])
  t.notMatch(plain.stdout, /\u001b/, 'none without a terminal')
  t.equal(none.stdout, plain.stdout)
  t.ok(forced.stdout.includes(styleText(['bold', 'red'], 'error', { validateStream: false })))
  t.equal(stripVTControlCharacters(forced.stdout), plain.stdout)
})

t.test('what a terminal shows', async (t) => {
  const terminal = { columns: 40, paint: (_: unknown, text: string) => text }
  const source = [
    'a: 1',
    '---',
    'name: "two words" # why',
    `  wide: 日本 # https://me:secret@mcp.io`,
    `key: ${'x'.repeat(100)}end`,
    '{"a": {"b": [1, true]}}',
  ]
  const shownIn = withoutSecrets(source.join('\n'), [], [])
  const rows: [line: number, column: number, lines: string[]][] = [
    [3, 7, ['  3 │ name: "two words" # why', '    │       ^^^^^^^^^^^']],
    [
      4,
      9,
      ['  3 │ name: "two words" # why', '  4 │   wide: 日本 # https://***@mcp.io', '    │         ^^^^'],
    ],
    [6, 17, ['  6 │ {"a": {"b": [1, true]}}', '    │                 ^^^^']],
    [1, 1, ['  1 │ a: 1', '    │ ^']],
    [9, 1, []],
  ]
  for (const [line, column, lines] of rows) {
    const shown = excerpt(shownIn, { line, column, context: line === 6 ? 0 : 2 }, terminal, 'red')
    t.strictSame(shown, lines, `${line}:${column}`)
  }
  const long = excerpt(shownIn, { line: 5, column: 6, context: 0 }, terminal, 'red')
  for (const text of long) t.ok(text.length <= 40, text)
  t.strictSame(wrapped('a bb ccc dddd', 6), ['a bb', 'ccc', 'dddd'])
  t.strictSame(wrapped('spec.outgoingAuth.backends', 12), ['spec.', 'outgoingAuth', '.backends'])
})
