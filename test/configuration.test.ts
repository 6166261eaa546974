import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Logger } from 'pino'
import t from 'tap'
import { FILE_NAME } from '../src/configuration/file.ts'
import { readFlags, UsageError } from '../src/configuration/flags.ts'
import { ConfigurationSchema } from '../src/configuration/file-schema.ts'
import { readConfiguration } from '../src/configuration/read-file.ts'
import { ignoreComment } from '../src/cli/input/ignore-comments.ts'
import { submissionOf } from '../src/engine/index.ts'
import { judgeOf } from './support/review.ts'
import { ignoreAnnotation } from '../src/engine/ignored.ts'
import { type Settings } from '../src/engine/settings.ts'
import { errorMessage } from '../src/rule/error-message.ts'
import { ConfigurationFile } from '../src/server/configuration-file.ts'
import { SERVER_FLAGS } from '../src/server/configuration.ts'
import { createMetrics } from '../src/server/metrics.ts'
import { runCli } from './support/cli.ts'

const GROUP = 'toolhive.stacklok.dev'
const HEAD = `apiVersion: ${GROUP}/v1beta1\nkind: MCPServerEntry\nmetadata:\n  name: weather\n`
const SPEC = `spec:
  remoteUrl: https://weather.example.com/mcp
  transport: streamable-http
  groupRef:
    name: tools
`
const ENTRY = HEAD + SPEC
const OF_SHOP = HEAD + '  namespace: shop\n' + SPEC
const MISSING =
  'spec.groupRef.name: Not found: "tools": no MCPGroup of this name in the given files yet (reference-found)'
const WARNING = `warning: MCPServerEntry weather: ${MISSING}`
const WRONG = ENTRY.replace('streamable-http', 'smoke')
const ERRORS = 'severities: [schema-enum=error]\n'
const of = (exemption: string) => `exemptions:\n  - id: reference-found\n    reason: later\n${exemption}`
const ignored = (by: string) =>
  `ignored warning: MCPServerEntry weather: ${MISSING}: ignored by the ${by}: later`
const above = (line: string, comment: string, text = ENTRY) =>
  text.replace(new RegExp(`^( *)${line}`, 'm'), (whole, indent: string) => `${indent}${comment}\n${whole}`)
const LATER = ignoreComment('reference-found', 'later')
const annotated = (lines: string) =>
  ENTRY.replace(
    '  name: weather\n',
    `  name: weather\n  annotations:\n    ${ignoreAnnotation(GROUP)}: |\n${lines}`,
  )

/** Rules that need more than files: a cluster or the stored object. */
const ELSEWHERE = [
  'secret-reference-found',
  'deleted-resource-unreferenced',
  'auth-config-change-meant',
  'unresolved-placeholder',
  'written-subject-provider-exists',
]

/** Runs `check` in a new folder with these files and returns its lines without the counts. */
async function checked(files: Readonly<Record<string, string>>, args: readonly string[]) {
  const folder = await mkdtemp(join(tmpdir(), 'vmcp-admission-configuration-'))
  try {
    for (const [name, text] of Object.entries(files)) {
      await mkdir(dirname(join(folder, name)), { recursive: true })
      await writeFile(join(folder, name), text)
    }
    const { status, stdout, stderr } = await runCli(args, { cwd: folder })
    const [lines = '', counts = ''] = stdout.split('\n\n')
    return { status, lines: counts === '' ? [] : lines.split('\n'), counts: counts || lines, stderr }
  } finally {
    await rm(folder, { recursive: true })
  }
}

const C = 'vmcp-admission.yaml'

t.test('findings that are exempt or ignored', async (t) => {
  type Row = [
    title: string,
    files: Record<string, string>,
    lines: (string | RegExp)[],
    args?: string,
    stderr?: RegExp,
  ]
  const rows: Row[] = [
    ['nothing is', { 'a.yaml': ENTRY }, [`a.yaml:9:11: ${WARNING}`]],
    ['by id', { 'a.yaml': ENTRY, [C]: of('') }, [`a.yaml:9:11: ${ignored('configuration')}`]],
    [
      'found above',
      { 'x/y/a.yaml': ENTRY, [C]: of('') },
      [`x/y/a.yaml:9:11: ${ignored('configuration')}`],
      'x/y',
    ],
    [
      'not above the repository',
      { 'x/y/a.yaml': ENTRY, 'x/.git/HEAD': '', [C]: of('') },
      [`x/y/a.yaml:9:11: ${WARNING}`],
      'x/y',
    ],
    [
      'a manifest of that name is none, and is judged',
      { [C]: ENTRY, 'vmcp-admission.yml': ENTRY.replace('weather', 'other') },
      [`${C}:9:11: ${WARNING}`, /^vmcp-admission\.yml:9:11: .*other/],
    ],
    ['off', { 'a.yaml': ENTRY, [C]: of('') }, [`a.yaml:9:11: ${WARNING}`], '. --config-file off'],
    [
      'named',
      { 'a.yaml': ENTRY, 'b.txt': of('') },
      [`a.yaml:9:11: ${ignored('configuration')}`],
      'a.yaml --config-file b.txt',
    ],
    [
      'by object and path',
      {
        'a.yaml': ENTRY,
        [C]: of(
          '    object: {kind: MCP*Entry, namespace: default, name: w*r}\n    path: spec.groupRef.name\n',
        ),
      },
      [`a.yaml:9:11: ${ignored('configuration')}`],
    ],
    [
      'another object is not among the judged ones',
      { 'a.yaml': ENTRY, [C]: of('    object: {name: other}\n') },
      [`a.yaml:9:11: ${WARNING}`],
    ],
    [
      'another path',
      { 'a.yaml': ENTRY, [C]: of('    path: spec.remoteUrl\n') },
      [
        `${C}:2:5: note: the exemption of 'reference-found' at spec.remoteUrl excuses nothing: remove it`,
        `a.yaml:9:11: ${WARNING}`,
      ],
    ],
    [
      'an exemption of many objects may be for files that are not checked',
      { 'a.yaml': ENTRY, [C]: of('    path: spec.remoteUrl\n') },
      [`a.yaml:9:11: ${WARNING}`],
      'a.yaml',
    ],
    [
      'an exemption of many objects may be for what cannot be read',
      { 'a.yaml': ENTRY, 'b.yaml': 'a: [', [C]: of('    path: spec.remoteUrl\n') },
      [`a.yaml:9:11: ${WARNING}`],
      '.',
      /^b\.yaml:\S+ cannot read: /,
    ],
    [
      'an exemption of many objects may be for what a patch results in',
      {
        'a.yaml': ENTRY,
        'b.yaml': ENTRY,
        'kustomization.yaml': 'patches: [{ path: b.yaml }]',
        [C]: of('    path: spec.remoteUrl\n'),
      },
      [`a.yaml:9:11: ${WARNING}`, /^b\.yaml:1:1: note: not judged, because /],
    ],
    [
      'an exemption of one object that excuses nothing',
      { 'a.yaml': ENTRY, [C]: of('    object: {name: weather}\n    path: spec.remoteUrl\n') },
      [
        `${C}:2:5: note: the exemption of 'reference-found' at spec.remoteUrl excuses nothing: remove it`,
        `a.yaml:9:11: ${WARNING}`,
      ],
      'a.yaml',
    ],
    [
      'whether another finds something only a cluster can tell',
      {
        'a.yaml': above('groupRef', ignoreComment('secret-reference-found', 'later')),
        [C]: `exemptions: [${ELSEWHERE.map((id) => `{ id: ${id}, reason: x }`).join()}]`,
      },
      [`a.yaml:10:11: ${WARNING}`],
    ],
    [
      'expired',
      { 'a.yaml': ENTRY, [C]: of('    expires: 2026-01-31\n') },
      [
        `${C}:2:5: note: the exemption of 'reference-found' expired after 2026-01-31 and no longer holds: remove it or give it another day`,
        `a.yaml:9:11: ${WARNING}`,
      ],
    ],
    [
      'not expired',
      { 'a.yaml': ENTRY, [C]: of('    expires: 2999-01-31\n') },
      [`a.yaml:9:11: ${ignored('configuration')}`],
    ],
    ['severity', { 'a.yaml': ENTRY, [C]: 'severities: [reference-found=off]' }, []],
    [
      'a flag wins over the file',
      { 'a.yaml': ENTRY, [C]: 'severities: [reference-found=off]' },
      [`a.yaml:9:11: ${WARNING.replace('warning', 'error')}`],
      '. --severity reference-found=error',
    ],
    [
      'the profile',
      { 'a.yaml': ENTRY.replace('/mcp', '/${X}'), [C]: `profile: strict\n${of('')}` },
      [/error: .*unresolved-placeholder/, `a.yaml:9:11: ${ignored('configuration')}`],
    ],
    [
      'the profile of the flag',
      { 'a.yaml': ENTRY.replace('/mcp', '/${X}'), [C]: `profile: strict\n${of('')}` },
      [/note: .*not judged/, `a.yaml:9:11: ${ignored('configuration')}`],
      '. --profile standard',
    ],
    [
      'the default namespace',
      { 'a.yaml': ENTRY, [C]: of('    object: {namespace: shop}\n') + 'namespaces: {default: shop}' },
      [`a.yaml:9:11: ${ignored('configuration')}`],
    ],
    [
      'a namespace that is left out',
      { 'a.yaml': OF_SHOP, [C]: 'namespaces: {leaveOut: [sh*]}' },
      [
        `note: 1 resource not judged: in namespaces that ${C} leaves out: MCPServerEntry shop/weather (a.yaml:1)`,
      ],
    ],
    [
      'a kind that is not known, in a namespace that is left out',
      {
        'a.yaml': above(
          'kind:',
          ignoreComment('kind-known', 'x'),
          OF_SHOP.replace('MCPServerEntry', 'MCPServerEntries'),
        ),
        [C]: 'namespaces: {leaveOut: [sh*]}',
      },
      [
        `note: 1 resource not judged: in namespaces that ${C} leaves out: MCPServerEntries shop/weather (a.yaml:1)`,
      ],
    ],
    [
      'placeholders',
      { 'a.yaml': ENTRY.replace(': tools', ": '@@GROUP@@'"), [C]: "placeholders: ['@@*@@']" },
      ['a.yaml:9:11: note: spec.groupRef.name: not judged, because @@GROUP@@ is filled in later'],
    ],
    [
      'a comment above the key',
      { 'a.yaml': above('name: tools', LATER) },
      [`a.yaml:10:11: ${ignored('comment')}`],
    ],
    [
      'above the map around it',
      { 'a.yaml': above('groupRef:', LATER) },
      [`a.yaml:10:11: ${ignored('comment')}`],
    ],
    [
      'behind the value',
      { 'a.yaml': ENTRY.replace('tools', `tools ${LATER}`) },
      [`a.yaml:9:11: ${ignored('comment')}`],
    ],
    ['at the top', { 'a.yaml': `${LATER}\n# Words\n\n${ENTRY}` }, [`a.yaml:12:11: ${ignored('comment')}`]],
    [
      'before the first ---',
      { 'a.yaml': `${LATER}\n---\n${ENTRY}` },
      [`a.yaml:11:11: ${ignored('comment')}`],
    ],
    [
      'above another key',
      { 'a.yaml': above('transport:', LATER) },
      [
        `a.yaml:7:3: note: 'reference-found' is not found here: remove the comment that ignores it`,
        `a.yaml:10:11: ${WARNING}`,
      ],
    ],
    [
      'at the top of another document',
      {
        'a.yaml': `${LATER}\n${HEAD.replace('weather', 'b')}${SPEC.replace('tools', 'b').replace('spec', 'spec')}---\n${ENTRY}`,
      },
      [/a.yaml:10:11: ignored warning: MCPServerEntry b: /, `a.yaml:20:11: ${WARNING}`],
    ],
    [
      'in another document of another kind',
      { 'a.yaml': `kind: Pod\n${LATER}\nspec: {}\n---\n${ENTRY}` },
      [
        `a.yaml:2:1: note: 'reference-found' is not found here: remove the comment that ignores it`,
        `a.yaml:13:11: ${WARNING}`,
      ],
    ],
    [
      'a comment without a reason',
      { 'a.yaml': above('name: tools', '# vmcp-admission: ignore[reference-found]') },
      [
        `a.yaml:9:5: note: 'reference-found' has no effect without a reason: write # vmcp-admission: ignore[ID] reason`,
        `a.yaml:10:11: ${WARNING}`,
      ],
    ],
    [
      'a comment for an unknown id',
      { 'a.yaml': above('name: tools', '# vmcp-admission: ignore[reference-fund] x') },
      [
        `a.yaml:9:5: note: 'reference-fund' is not the id of a rule; did you mean 'reference-found'`,
        `a.yaml:10:11: ${WARNING}`,
      ],
    ],
    [
      'a comment with too many ids',
      { 'a.yaml': above('name: tools', `# vmcp-admission: ignore[${','.repeat(900_000)}] x`) },
      [
        ...Array.from(
          { length: 100 },
          () => 'a.yaml:9:5: note: it names no id: write # vmcp-admission: ignore[ID] reason',
        ),
        'a.yaml:9:5: note: it names 899901 more ids than the 100 that are read: write a comment for each field',
        `a.yaml:10:11: ${WARNING}`,
      ],
    ],
    [
      'a glob that backtracks',
      { 'a.yaml': ENTRY, [C]: 'namespaces: {leaveOut: ["*a*a*a*a*a*a*a*ab"]}' },
      [`a.yaml:9:11: ${WARNING}`],
      `--namespace ${'a'.repeat(60)} .`,
    ],
    [
      'a comment without an id',
      { 'a.yaml': above('name: tools', '# vmcp-admission: ignore this') },
      [
        'a.yaml:9:5: note: it names no id: write # vmcp-admission: ignore[ID] reason',
        `a.yaml:10:11: ${WARNING}`,
      ],
    ],
    [
      'a comment for an error',
      {
        'a.yaml': above('transport:', '# vmcp-admission: ignore[schema-enum] x', WRONG),
        [C]: ERRORS + of(''),
      },
      [
        /a.yaml:8:14: ignored error: .*\(schema-enum\): ignored by the comment: x/,
        `a.yaml:10:11: ${ignored('configuration')}`,
      ],
    ],
    [
      'a comment for an error, where warnings may be ignored',
      {
        'a.yaml': above('transport:', '# vmcp-admission: ignore[schema-enum] x', WRONG),
        [C]: ERRORS + of('allowIgnores: warnings'),
      },
      [
        `a.yaml:7:3: note: 'schema-enum' has no effect on an error: comments ignore warnings only (allowIgnores)`,
        /a.yaml:8:14: error: .*\(schema-enum\)/,
        `a.yaml:10:11: ${ignored('configuration')}`,
      ],
    ],
    [
      'a comment where none may be',
      { 'a.yaml': above('name: tools', LATER), [C]: 'allowIgnores: none' },
      [
        `a.yaml:9:5: note: 'reference-found' has no effect: the configuration allows no ignores in manifests`,
        `a.yaml:10:11: ${WARNING}`,
      ],
    ],
    [
      'what cannot be judged',
      {
        'a.yaml': above(
          'transport:',
          '# vmcp-admission: ignore[schema-type] x',
          ENTRY.replace('streamable-http', '3'),
        ),
        [C]: of(''),
      },
      [
        `a.yaml:7:3: note: 'schema-type' cannot be ignored: nothing behind it is judged, or the API server refuses it`,
        /warning: .*\(schema-type\)/,
        `a.yaml:10:11: ${ignored('configuration')}`,
      ],
    ],
    [
      'an annotation',
      { 'a.yaml': annotated('      reference-found: later\n') },
      [`a.yaml:12:11: ${ignored('annotation')}`],
    ],
    [
      'an annotation without a reason',
      { 'a.yaml': annotated('      reference-found\n') },
      [
        /a.yaml:6:50: warning: .*: 'reference-found' has no effect without a reason: write ID: reason \(ignore-effective\)/,
        `a.yaml:12:11: ${WARNING}`,
      ],
    ],
    [
      'a kind that is not known',
      {
        'a.yaml': above(
          'kind:',
          ignoreComment('kind-known', 'x'),
          ENTRY.replace('MCPServerEntry', 'MCPServerEntries'),
        ),
      },
      [/a.yaml:3:7: ignored warning: .*\(kind-known\): ignored by the comment: x/],
    ],
    [
      'a kind that is not known, where no comment may be',
      {
        'a.yaml': above(
          'kind:',
          ignoreComment('kind-known', 'x'),
          ENTRY.replace('MCPServerEntry', 'MCPServerEntries'),
        ),
        [C]: 'allowIgnores: none',
      },
      [
        `a.yaml:2:1: note: 'kind-known' has no effect: the configuration allows no ignores in manifests`,
        /a.yaml:3:7: warning: .*\(kind-known\)/,
      ],
    ],
  ]
  for (const [title, files, expected, args = '.', talk = /^$/] of rows) {
    const { lines, stderr } = await checked(files, ['check', '--show-ignored', ...args.split(' ')])
    t.match(stderr, talk, title)
    t.equal(lines.length, expected.length, `${title}: ${lines.join('\n')}`)
    for (const [i, line] of expected.entries()) {
      const found = (lines[i] ?? '').replace(`${C}: `, `${C}:0:0: `)
      if (typeof line === 'string') t.equal(found.replace(`${C}:0:0:0: `, `${C}:0:0: `), line, title)
      else t.match(found, line, title)
    }
  }
})

t.test('they are counted, and the exit code is that of the rest', async (t) => {
  const files = {
    'a.yaml': above('transport:', '# vmcp-admission: ignore[schema-enum] x', WRONG),
    [C]: ERRORS + of(''),
  }
  const { status, lines, counts } = await checked(files, ['check', '.'])
  t.same([status, lines], [0, []])
  t.equal(
    counts.trim(),
    '1 resource in 1 file: 0 errors, 0 warnings, 2 ignored (--show-ignored lists them); judged by the specification (no --release)',
  )
  const { lines: text, counts: rest } = await checked(files, ['check', '.', '--output', 'json'])
  const report = JSON.parse([...text, rest].join('')) as { ignored: object[]; counts: object }
  t.match(report.counts, { errors: 0, warnings: 0, ignored: 2 })
  t.match(report.ignored, [
    { id: 'schema-enum', severity: 'error', by: 'comment', reason: 'x' },
    { id: 'reference-found', severity: 'warning', by: 'configuration', reason: 'later' },
  ])
})

t.test('one run has one configuration', async (t) => {
  const files = { 'a/a.yaml': ENTRY, [`a/${C}`]: of(''), 'b/a.yaml': ENTRY, [`b/${C}`]: of('') }
  const { status, stderr } = await checked(files, ['check', 'a', 'b'])
  t.equal(status, 2)
  t.match(stderr, `a/${C} and b/${C} are both for these files: name one with --config-file`)
  t.equal(
    (await checked(files, ['check', 'a', 'b', '--config-file', 'no'])).status,
    2,
    'a file that is missing',
  )
  const misnamed = await checked({ 'a.yaml': ENTRY, 'vmcp-admission.yml': '' }, ['check', '.'])
  t.match(misnamed.stderr, /vmcp-admission\.yml: call it vmcp-admission\.yaml/)
})

t.test('the example of the documentation', async (t) => {
  const page = await readFile(new URL('../docs/configuration.md', import.meta.url), 'utf8')
  const [, example = ''] = /```yaml\n([^]*?)```/.exec(page) ?? []
  t.match(readConfiguration('f', example), {
    profile: 'strict',
    severities: [
      { id: 'unknown-field' },
      { id: 'reference-found', severity: 'off', namespaces: ['sandbox'] },
    ],
    exemptions: [{ id: 'storage-redis-used', expires: '2027-03-31', line: 8, column: 5 }],
    release: '0.63',
    leftOut: ['kube-*', 'sandbox'],
  })
  for (const key of Object.keys(ConfigurationSchema.properties)) t.match(page, `| \`${key}\``)
})

t.test('role and access take the release of the file', async (t) => {
  const config = JSON.stringify({
    apiVersion: 'toolhive.stacklok.dev/v1beta1',
    kind: 'MCPExternalAuthConfig',
    metadata: { name: 'aws' },
    spec: {
      type: 'awsSts',
      awsSts: {
        region: 'eu-central-1',
        fallbackRoleArn: 'arn:aws:iam::123456789012:role/reader',
        roleMappings: [{ claim: 'admins', roleArn: 'arn:aws:iam::123456789012:role/admin' }],
      },
    },
  })
  // In releases up to 0.48, a role claim that is a string matches no mapping.
  const rows: [release: string, flags: string[], outcome: RegExp][] = [
    ["release: '0.44'", [], /^role: \S+:role\/reader /m],
    ["release: '0.58'", [], /^role: \S+:role\/admin /m],
    ["release: '0.44'", ['--release', '0.58'], /^role: \S+:role\/admin /m],
    ["release: '0.44'", ['--release', 'none'], /^role with release 0\.48 and older: /m],
    ["release: '0.44'", ['--config-file', 'off'], /^role with release 0\.48 and older: /m],
    ['release: none', [], /^role with release 0\.48 and older: /m],
  ]
  for (const [release, flags, outcome] of rows) {
    const cwd = t.testdir({
      'aws.json': config,
      'claims.json': JSON.stringify({ groups: 'admins', sub: 'ann' }),
      [FILE_NAME]: release,
    })
    for (const command of ['role', 'access']) {
      const args = ['--config', 'aws.json', '--claims', 'claims.json', ...flags]
      t.match(
        (await runCli([command, ...args], { cwd })).stdout,
        outcome,
        `${command} ${release} ${flags.join(' ')}`,
      )
    }
  }
  // From release 0.47 on, the backend falls back to `default`, so this VirtualMCPServer issues the tokens, which lack
  // the claim.
  const front = [
    { kind: 'MCPGroup', metadata: { name: 'tools' }, spec: {} },
    { kind: 'MCPServer', metadata: { name: 'backend' }, spec: { image: 'a', groupRef: { name: 'tools' } } },
    {
      kind: 'VirtualMCPServer',
      metadata: { name: 'gateway' },
      spec: {
        groupRef: { name: 'tools' },
        authServerConfig: {
          issuer: 'https://mcp.example.com',
          upstreamProviders: [
            {
              name: 'okta',
              type: 'oidc',
              oidcConfig: { issuerUrl: 'https://okta.example.com', clientId: 'a' },
            },
          ],
        },
        outgoingAuth: {
          default: { type: 'externalAuthConfigRef', externalAuthConfigRef: { name: 'aws' } },
        },
      },
    },
  ].map((object) => JSON.stringify({ apiVersion: 'toolhive.stacklok.dev/v1beta1', ...object }))
  const behind = t.testdir({
    'all.json': [config, ...front].join('\n'),
    'claims.json': JSON.stringify({ groups: ['admins'], sub: 'ann' }),
  })
  for (const [release, outcome] of [
    ['0.40', /^role: \S+:role\/admin /m],
    ['v0.40.0', /^role: \S+:role\/admin /m],
    ['v0.63.0', /^role: \S+:role\/reader /m],
  ] as const) {
    const args = ['--config', 'all.json', '--claims', 'claims.json', '--release', release]
    t.match(
      (await runCli(['role', ...args], { cwd: behind })).stdout,
      outcome,
      `behind a gateway, ${release}`,
    )
  }
  const cwd = t.testdir({ 'a.yaml': 'kind: MCPGroup', [FILE_NAME]: "release: '0.99'" })
  const place = /vmcp-admission\.yaml:1:10: '0\.99' is not a release that is known: they are 0\.26 to /
  for (const args of [
    ['check', 'a.yaml'],
    ['access', 'a.yaml'],
    ['fix', 'a.yaml'],
    ['role', '--config', 'a.yaml', '--claims', '{}'],
  ]) {
    const { status, stderr } = await runCli(args, { cwd })
    t.equal(status, 2, args.join(' '))
    t.match(stderr, place, args.join(' '))
  }
})

t.test('a wrong file', async (t) => {
  const rows: [text: string, ...problems: string[]][] = [
    ['', ...[]],
    ['profiles: strict', '1:1: there is no key "profiles"; did you mean \'profile\''],
    [
      'x: 1',
      '1:1: there is no key "x"; the keys are profile, release, severities, exemptions, allowIgnores, namespaces, placeholders',
    ],
    ['profile: lax', "1:10: 'profile' is one of standard, strict"],
    ['allowIgnores: warning', "1:15: 'allowIgnores' is one of none, warnings, all; did you mean 'warnings'"],
    ['release: 0.63', "1:10: 'release' must be in quotes, such as '0.63'"],
    ["release: ['0.63']", "1:10: 'release' must be a text"],
    ['release: newest', '1:10: "newest" is not a release of the operator such as \'0.63\''],
    [
      "profile: strict\nrelease: '0.99'",
      "2:10: '0.99' is not a release that is known: they are 0.26 to 0.48, 0.50, 0.55 to 0.63; for another one give its CRDs with --crds",
    ],
    ["release: 'none'", ...[]],
    ['release: v0.63.0', ...[]],
    ['severities: a', "1:13: 'severities' must be a list"],
    [`placeholders: ['@${'*'.repeat(500)}']`, "1:16: 'placeholders' has at most 500 characters"],
    [
      'severities:\n  - unknown-fields=off',
      "2:5: 'unknown-fields' is not the id of a rule; docs/rules.md lists them; did you mean 'unknown-field'",
    ],
    [
      'exemptions:\n  - id: a\n    object: {nam: b}',
      "2:5: 'reason' is missing",
      '3:14: there is no key "nam"; did you mean \'name\'',
    ],
    [
      'exemptions:\n  - id: storage-redis-use\n    reason: x',
      "2:9: 'storage-redis-use' is not the id of a rule; did you mean 'storage-redis-used'",
    ],
    [
      'exemptions:\n  - id: api-server-accepts\n    reason: x',
      "2:9: 'api-server-accepts' cannot be ignored: nothing behind it is judged, or the API server refuses it",
    ],
    [
      'exemptions:\n  - id: unknown-field\n    reason: x\n    path: spec.a[0]',
      "4:11: 'spec.a[0]': leave list indexes out, as in spec.list.field",
    ],
    [
      'exemptions:\n  - {id: unknown-field, reason: "", expires: soon}',
      "2:33: 'reason' must not be empty",
      "2:46: 'expires' must be a day such as 2026-12-31",
    ],
    [
      'exemptions:\n  - {id: unknown-field, reason: a, expires: 2026-02-30}',
      '2:45: "2026-02-30" is not a day of the calendar',
    ],
    ['namespaces: {default: A_}', '1:23: "A_" is not the name of a namespace'],
    ['namespaces: {default: "a\\n::error::b"}', '1:23: "a\\n::error::b" is not the name of a namespace'],
    [
      'severities: ["a\\nb=off"]',
      "1:14: 'a\\nb=off' is not ID[:PATH]=error|warning|advice|off[@NAMESPACE,...]",
    ],
    [
      `"a\\nb": 1`,
      `1:1: there is no key "a\\nb"; the keys are profile, release, severities, exemptions, allowIgnores, namespaces, placeholders`,
    ],
    [
      "placeholders: ['*']",
      '1:16: "*" would be found in ordinary values: write the signs around it, such as @@*@@',
    ],
    ['a: [', '1:5: Flow sequence in block collection must be sufficiently indented and end with a ]'],
    ['profile: strict\nprofile: strict', '2:1: Map keys must be unique'],
    [
      'namespaces: {leaveOut: [*-test]}',
      '1:25: write "*-test" in quotes: without them, a text that begins with * is an alias of YAML',
    ],
    [
      'namespaces:\n  default: &a shop\n  leaveOut:\n    - *a\n    - *-b\n    - *-c',
      '5:7: write "*-b" in quotes: without them, a text that begins with * is an alias of YAML',
      '6:7: write "*-c" in quotes: without them, a text that begins with * is an alias of YAML',
    ],
    [
      `placeholders: [&a '@@', ${'*a, '.repeat(200)}]`,
      '1:1: Excessive alias count indicates a resource exhaustion attack',
    ],
    ['- a', '1:1: the file must be a map'],
    [
      'exemptions: [{ id: schema-enum, reason: x, object: { kind: MCPGruop } }]',
      '1:60: "MCPGruop" is not a kind; did you mean \'MCPGroup\'',
    ],
    ['exemptions: [{ id: schema-enum, reason: x, object: { kind: MCPFork } }]'],
  ]
  for (const [text, ...problems] of rows) {
    let message = ''
    try {
      readConfiguration('f', text)
    } catch (error) {
      message = errorMessage(error)
    }
    t.equal(message, problems.map((problem) => `f:${problem}`).join('\n'), text)
  }
})

t.test('at the webhook', (t) => {
  const entry = (annotation: string | undefined, transport = 'streamable-http') => ({
    apiVersion: `${GROUP}/v1beta1`,
    kind: 'MCPServerEntry',
    metadata: { name: 'a', ...(annotation && { annotations: { [ignoreAnnotation(GROUP)]: annotation } }) },
    spec: { remoteUrl: 'https://a.example.com/${X}', transport, groupRef: { name: 'tools' } },
  })
  const BOTH = 'unresolved-placeholder: a tool behind us fills it in\nschema-enum: x'
  const exemption = { id: 'schema-enum', reason: 'x' }
  const all = ['schema-enum', 'unresolved-placeholder']
  const rows: [
    title: string,
    settings: Partial<Settings>,
    annotation: string | undefined,
    found: string[],
    ignored: string[],
  ][] = [
    ['without', {}, undefined, all, []],
    [
      'an annotation is for warnings',
      {},
      BOTH,
      ['schema-enum', 'ignore-effective'],
      ['unresolved-placeholder'],
    ],
    ['or for all', { allowIgnores: 'all' }, BOTH, [], all],
    [
      'or for none',
      { allowIgnores: 'none' },
      BOTH,
      ['schema-enum', 'ignore-effective', 'ignore-effective', 'unresolved-placeholder'],
      [],
    ],
    [
      'nor for the errors of a trial',
      { mode: 'warn' },
      BOTH,
      ['ignore-effective', 'schema-enum'],
      ['unresolved-placeholder'],
    ],
    [
      'the configuration may exempt from errors',
      { exemptions: [exemption] },
      undefined,
      ['unresolved-placeholder'],
      ['schema-enum'],
    ],
    [
      'in another namespace',
      { exemptions: [{ ...exemption, object: { namespace: 'b*' } }] },
      undefined,
      all,
      [],
    ],
    ['a namespace that is left out', { leftOut: ['sh*'] }, undefined, [], []],
    [
      'a warning that is an error here',
      { severities: [{ id: 'unresolved-placeholder', severity: 'error' }] },
      BOTH,
      ['unresolved-placeholder', 'schema-enum', 'ignore-effective', 'ignore-effective'],
      [],
    ],
  ]
  for (const [title, settings, annotation, found, ignored] of rows) {
    const submission = submissionOf(
      { kind: 'MCPServerEntry', name: 'a' },
      { namespace: 'shop', group: GROUP, object: entry(annotation, 'smoke') },
    )
    const severities = [{ id: 'schema-enum', severity: 'error' } as const, ...(settings.severities ?? [])]
    const verdict = judgeOf({ group: GROUP, settings: { ...settings, severities } }).admit(submission)
    t.same([...verdict.errors, ...verdict.warnings].map(({ id }) => id).toSorted(), found.toSorted(), title)
    t.same(verdict.ignored.map(({ finding }) => finding.id).toSorted(), ignored, title)
  }
  t.end()
})

t.test('the server reads the file again', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'vmcp-admission-'))
  t.teardown(() => rm(folder, { recursive: true }))
  const path = join(folder, FILE_NAME)
  const log: [string, string][] = []
  const note = (at: string) => (_: object, message: string) => log.push([at, message])
  const logger = { info: note('info'), warn: note('warn'), error: note('error') } as unknown as Logger
  let now = Date.parse('2027-01-01T12:00:00Z')
  const { values } = readFlags(SERVER_FLAGS, ['--config-file', path, '--severity', 'schema-enum=off'], {})
  const file = new ConfigurationFile(values, logger, () => now)
  await t.rejects(file.open(), new UsageError(`${path}: does not exist`))
  await writeFile(path, 'exemptions: [{ id: schema-enum }]')
  await t.rejects(file.open(), new UsageError(`${path}:1:14: 'reason' is missing`))
  const RIGHT =
    'severities: [schema-enum=warning]\nexemptions: [{ id: unknown-field, reason: x, expires: 2027-01-01 }]\n'
  await writeFile(path, RIGHT)
  await file.open()
  const ids = () => file.settings.exemptions.map(({ id }) => id)
  t.same(ids(), ['unknown-field'])
  t.equal(file.settings.severities.at(-1)?.severity, 'off', 'a flag counts over the file')
  t.match(file.state(), { isRight: true, since: now, exemptions: { active: 1, expired: 0 } })
  log.length = 0
  t.notOk(await file.check(), 'nothing changed')
  await writeFile(path, 'profiles: strict')
  for (let i = 0; i < 2; i++) t.notOk(await file.check(), 'a wrong file changes nothing')
  t.same(ids(), ['unknown-field'])
  t.match(file.state(), { isRight: false, since: now })
  t.same(
    log.splice(0),
    [['error', 'the configuration file is wrong: what was read before stays in use']],
    'said once',
  )
  await writeFile(path, RIGHT)
  t.notOk(await file.check(), 'as before')
  t.match(file.state(), { isRight: true })
  now += 12 * 3_600_000
  t.ok(await file.check(), 'an exemption ends by itself')
  t.same(ids(), [])
  t.match(file.state(), { exemptions: { active: 0, expired: 1 } })
  t.same(log.splice(0), [['warn', 'an exemption of the configuration file has expired']])
  await rm(path)
  t.notOk(await file.check())
  t.match(file.state(), { isRight: false })
  await writeFile(path, '')
  t.ok(await file.check(), 'an empty file is right')
  const metrics = createMetrics()
  metrics.configuration(() => file.state())
  const text = await metrics.registry.metrics()
  t.match(text, /^vmcp_admission_config_last_reload_successful 1$/m)
  t.match(
    text,
    new RegExp(`^vmcp_admission_config_last_reload_success_timestamp_seconds ${now / 1_000}$`, 'm'),
  )
  t.match(text, /^vmcp_admission_config_exemptions\{state="expired"\} 0$/m)
})
