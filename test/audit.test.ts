import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { rootCertificates } from 'node:tls'
import { promisify } from 'node:util'
import t from 'tap'
import { audit } from '../src/cli/commands/audit.ts'
import { access } from '../src/cli/commands/access.ts'
import { steps } from '../src/cli/commands/steps.ts'
import { check } from '../src/cli/commands/check.ts'
import { doctor } from '../src/cli/commands/doctor.ts'
import { accessTo, type LiveCluster, readCluster } from '../src/cli/input/live/index.ts'
import { plan } from '../src/cli/commands/plan.ts'
import { probe } from '../src/cli/commands/probe.ts'
import { role } from '../src/cli/commands/role.ts'
import { UsageError } from '../src/configuration/flags.ts'
import { DEFAULT_API_GROUP, KINDS } from '../src/kinds/index.ts'
import { findBinaries } from './e2e/find-binaries.ts'
import { runCli, runHere } from './support/cli.ts'
import {
  type Answer,
  fakeApiServer,
  json,
  kubeconfigOf,
  nothing,
  page,
  refusal,
} from './support/fake-api-server.ts'

t.setTimeout(240_000)
const folder = mkdtempSync(join(tmpdir(), 'vmcp-audit-'))
t.teardown(() => rmSync(folder, { recursive: true }))

const FORBIDDEN = `mcpgroups.${DEFAULT_API_GROUP} is forbidden: User "ann" cannot list resource "mcpgroups"`

const API = `${DEFAULT_API_GROUP}/v1beta1`
const AWS = `apiVersion: ${API}
kind: MCPExternalAuthConfig
metadata: { name: a }
spec: { type: awsSts, awsSts: { region: eu-central-1, fallbackRoleArn: 'arn:aws:iam::123456789012:role/a' } }
`

/** Reads the cluster with deadlines of 500 ms. */
async function read(t: Parameters<typeof fakeApiServer>[0], plural: string, lists: Answer[], more = {}) {
  const server = await fakeApiServer(t, plural, { lists })
  const wanted = { kubeconfig: server.kubeconfig, group: DEFAULT_API_GROUP, namespaces: () => undefined }
  const live = await readCluster({ ...wanted, ...more }, {}, { answer: 500, idle: 500 })
  return { server, live }
}

const group = (name: string, namespace: string) => ({ metadata: { name, namespace }, spec: {} })
const names = ({ objects }: LiveCluster) =>
  objects.map(({ kind, namespace, name }) => `${kind.kind} ${namespace}/${name}`)

t.test('what a cluster answers', async (t) => {
  const rows: [title: string, plural: string, lists: Answer[], expected: object][] = [
    [
      'pages, in order',
      'mcpgroups',
      [page([group('b', 'two'), group('b', 'one')], { next: 'x' }), page([group('a', 'one'), {}])],
      { names: ['MCPGroup one/a', 'MCPGroup one/b', 'MCPGroup two/b'] },
    ],
    [
      'a kind that is forbidden',
      'mcpgroups',
      [refusal(403, FORBIDDEN)],
      { unread: [`MCPGroup: 403 ${FORBIDDEN}`], unknown: ['MCPGroup'] },
    ],
    ['a kind that is not there', 'mcpgroups', [refusal(404, 'no')], { absent: ['MCPGroup'] }],
    [
      'one reason for all, told once',
      'toolhive',
      [refusal(401, 'Unauthorized')],
      {
        unread: [
          `${KINDS.map(({ kind }) => kind)
            .toSorted()
            .join(', ')}: 401 Unauthorized`,
        ],
        unknown: KINDS.map(({ kind }) => kind),
      },
    ],
  ]
  for (const [title, plural, lists, expected] of rows) {
    const { live } = await read(t, plural, lists)
    const found = {
      names: names(live),
      unread: live.unread,
      absent: live.absent.map(({ kind }) => kind),
      unknown: KINDS.map(({ kind }) => kind).filter((kind) => !live.knows(kind, 'one')),
    }
    t.strictSame(found, { names: [], unread: [], absent: [], unknown: [], ...expected }, title)
  }
  const garbage = await read(t, 'toolhive', [json(200, 'secret')])
  t.strictSame(garbage.live.unread, [`${garbage.server.url}: the answer is not a list`])
  const silent = await read(t, 'toolhive', [nothing])
  t.strictSame(silent.live.unread, [`${silent.server.url}: no answer within 0.5 s`], 'never hanging')
})

t.test('a busy API server is asked again, and not for ever', async (t) => {
  const busy = refusal(429, 'too many requests')
  const down = refusal(503, 'starting')
  const rows: [lists: Answer[], names: string[], unread: string[], asked: number][] = [
    [[busy, down, page([group('a', 'one')])], ['MCPGroup one/a'], [], 3],
    [[busy], [], ['MCPGroup: 429 too many requests'], 3],
    [[down], [], ['MCPGroup: 503 starting'], 3],
    [[refusal(403, FORBIDDEN)], [], [`MCPGroup: 403 ${FORBIDDEN}`], 1],
  ]
  await Promise.all(
    rows.map(async ([lists, found, unread, asked]) => {
      const { server, live } = await read(t, 'mcpgroups', lists)
      t.strictSame([names(live), live.unread, server.asked.length], [found, unread, asked])
    }),
  )
  const ofGroup = (reason: string) => [{ kind: 'MCPGroup', reason }]
  const definitions: [lists: Answer[], unread: object[], asked: number][] = [
    [[busy, down, json(200, {})], [], 3],
    [[busy], ofGroup('429'), 3],
    [[refusal(403, 'no')], ofGroup('403'), 1],
    [[nothing], ofGroup('no answer within 0.5 s'), 1],
  ]
  await Promise.all(
    definitions.map(async ([lists, unread, asked]) => {
      const { server, live } = await read(t, 'customresourcedefinitions/mcpgroups', lists, {
        definitions: true,
      })
      t.strictSame([live.definitionsUnread, server.asked.length], [unread, asked])
    }),
  )
})

t.test('only the namespaces that are wanted', async (t) => {
  const { server, live } = await read(t, 'mcpgroups', [page([])], { namespaces: () => ['one', 'two'] })
  t.strictSame(server.asked.map(({ path }) => /namespaces\/(\w+)\//.exec(path)?.[1]).toSorted(), [
    'one',
    'two',
  ])
  t.strictSame([live.knows('MCPGroup', 'one'), live.knows('MCPGroup', 'three')], [true, false])
  const refused = await read(t, 'mcpgroups', [refusal(403, 'no'), page([])], {
    namespaces: () => ['one', 'two'],
  })
  t.strictSame(refused.live.unread, ["MCPGroup in namespace 'one': 403 no"])
  t.strictSame([refused.live.knows('MCPGroup', 'one'), refused.live.knows('MCPGroup', 'two')], [false, true])
})

t.test('a namespace that a person named exists', async (t) => {
  const missing = refusal(404, 'namespaces "nope" not found')
  const doubt =
    "namespace 'nope' holds none of these resources, and may not exist: the right to get namespaces is missing"
  const rows: [title: string, answer: Answer, status: number, unread: string[], notes: string[]][] = [
    ['an empty one', json(200, { kind: 'Namespace' }), 0, [], []],
    ['a misspelt one', missing, 3, ["namespace 'nope' does not exist"], []],
    ['one that may be misspelt', refusal(403, 'no'), 0, [], [doubt]],
    ['no answer to that', refusal(500, 'no'), 3, ["namespace 'nope': 500 no"], []],
  ]
  for (const [title, answer, status, unread, notes] of rows) {
    const server = await fakeApiServer(t, '/api/v1/namespaces/', { lists: [answer] })
    const args = ['--kubeconfig', server.kubeconfig, '--namespaces', 'nope', '--output', 'json']
    const texts = (each: readonly { message: string }[]) => each.map(({ message }) => message)
    for (const [run, given] of [
      [audit.run, args],
      [probe.run, ['--cluster', ...args]],
    ] as const) {
      const ran = await runHere(t, run, given)
      const report = JSON.parse(ran.stdout) as Record<'unread' | 'notes', { message: string }[]>
      t.strictSame([ran.status, texts(report.unread), texts(report.notes)], [status, unread, notes], title)
    }
    const planned = await runHere(t, plan.run, ['--cluster', ...args])
    const said = [
      ...unread.map((each) => `cluster: cannot read: ${each}\n`),
      ...notes.map((each) => `note: ${each}\n`),
    ]
    t.strictSame([planned.status, planned.stderr], [status, said.join('')], `${title}, planned`)
  }
  const held = await fakeApiServer(t, 'namespaces/one', { lists: [page([group('a', 'one')])] })
  await runHere(t, audit.run, ['--kubeconfig', held.kubeconfig, '--namespaces', 'one'])
  const asked = held.asked.map(({ path }) => path).filter((path) => path.startsWith('/api/v1/'))
  t.strictSame([held.asked.length, asked], [KINDS.length, []], 'one that holds something is there')
  const before = held.asked.length
  await runHere(t, audit.run, ['--kubeconfig', held.kubeconfig, '--namespaces', 'one,one'])
  t.equal(held.asked.length - before, KINDS.length, 'one that is named twice is read once')
})

t.test('policies that are named, where the cluster serves their kind', async (t) => {
  const policies = { metadata: { name: 'staff', namespace: 'one' }, spec: { type: 'httpv1', config: {} } }
  const wanted = {
    policies: (_: unknown, __: string, kind: string) => (kind === 'MCPAuthzConfig' ? ['one'] : []),
  }
  const rows: [string, Parameters<typeof read>[2][number], unknown][] = [
    ['there', page([policies]), [['staff'], [], true]],
    ['no such kind', refusal(404, 'not found'), [[], ['MCPAuthzConfig'], true]],
    ['no right to look', refusal(403, 'no'), [[], [], false]],
  ]
  for (const [title, answer, expected] of rows) {
    const { live } = await read(t, 'authzconfigs', [answer], wanted)
    t.strictSame(
      [
        live.secrets.map(({ name }) => name),
        live.absent.map(({ kind }) => kind),
        live.knows('MCPAuthzConfig', 'one'),
      ],
      expected,
      title,
    )
    t.strictSame([live.unread, live.knows('MCPToolConfig', 'one')], [[], false], title)
  }
})

t.test('of Secrets, the lengths', async (t) => {
  const secret = json(200, {
    metadata: { name: 'keys' },
    data: { long: btoa('hush'), short: btoa('h'), no: 1 },
  })
  const wanted = (names: readonly string[]) => ({
    secrets: () => names.map((name) => ({ namespace: 'one', name })),
  })
  const found = await read(t, 'secrets', [secret], wanted(['keys', 'keys', '../keys']))
  t.equal(found.server.asked.length, 1, 'each once')
  t.strictSame(found.live.secrets, [
    {
      kind: 'Secret',
      namespace: 'one',
      name: 'keys',
      facts: { bytes: { long: 4, short: 1 }, lineBreaks: [], complete: true },
    },
  ])
  t.equal(found.live.knows('Secret', 'one'), true)
  const gone = await read(t, 'secrets', [refusal(404, 'not found')], wanted(['keys']))
  t.strictSame([gone.live.unread, gone.live.knows('Secret', 'one')], [[], true])
  const refused = await read(t, 'secrets', [refusal(403, 'no')], wanted(['keys']))
  t.strictSame(refused.live.unread, ["Secret in namespace 'one': 403 no"])
  t.strictSame([refused.live.knows('Secret', 'one'), refused.live.knows('Secret', 'two')], [false, true])
  const unasked = await read(t, 'secrets', [secret])
  t.strictSame([unasked.server.asked.length, unasked.live.knows('Secret', 'one')], [0, false])
})

t.test('which cluster', async (t) => {
  const { url } = await fakeApiServer(t, 'toolhive', { lists: [page([])] })
  const at = (name: string) => join(folder, name)
  const here = JSON.stringify(kubeconfigOf(url, {}))
  mkdirSync(at('home/.kube'), { recursive: true })
  for (const name of ['here', 'home/.kube/config']) writeFileSync(at(name), here)
  writeFileSync(at('nowhere'), JSON.stringify(kubeconfigOf('http://127.0.0.1:9', {})))
  writeFileSync(at('wrong'), '{}')
  const lookedFor = (where: string) =>
    `there is no kubeconfig: not at ${where}, and this is not a pod with a service account; name one with --kubeconfig FILE`
  const rows: [kubeconfig: string, environment: Record<string, string>, problem?: string | RegExp][] = [
    [at('here'), { KUBECONFIG: at('wrong') }],
    ['', { KUBECONFIG: `${at('none')}${delimiter}${at('here')}${delimiter}${at('wrong')}` }],
    ['', { HOME: at('home') }],
    ['', { HOME: at('home'), KUBERNETES_SERVICE_HOST: '10.0.0.1' }],
    ['', { HOME: folder }, lookedFor(at('.kube/config'))],
    ['', { KUBECONFIG: at('none'), HOME: at('home') }, lookedFor(`$KUBECONFIG (${at('none')})`)],
    ['', { KUBECONFIG: at('wrong') }, `kubeconfig ${at('wrong')}: current-context is not set`],
    ['', { HOME: folder, KUBERNETES_SERVICE_HOST: '10.0.0.1' }, /^in-cluster service account: /],
    [at('nowhere'), {}, 'http://127.0.0.1:9: connect ECONNREFUSED 127.0.0.1:9'],
  ]
  for (const [kubeconfig, environment, problem] of rows) {
    const wanted = { kubeconfig, group: DEFAULT_API_GROUP, namespaces: () => undefined }
    const { server, unread } = await readCluster(wanted, environment)
    if (problem === undefined) t.strictSame([server, unread], [url, []])
    else t.match(unread, [problem])
  }
})

/** The connection that a kubeconfig describes in its current context. */
interface Led {
  readonly server: string
  readonly namespace: string | undefined
  readonly token: string | undefined
  readonly authority: string | undefined
}

const authorities = { one: rootCertificates[0] ?? '', two: rootCertificates[1] ?? '' }
const clusterAt = (server: string) => ({ server, 'certificate-authority': 'ca.crt' })
/** Kubeconfigs by path. Each folder has a `ca.crt` of its own. */
const KUBECONFIGS: Readonly<Record<string, object | null | string>> = {
  'one/config': {
    clusters: [{ name: 'c', cluster: clusterAt('https://one.example.com') }],
    users: [{ name: 'u', user: { token: 'one' } }],
    'current-context': '',
  },
  'two/config': {
    clusters: [
      { name: 'c', cluster: clusterAt('https://two.example.com') },
      { name: 'd', cluster: clusterAt('https://other.example.com') },
    ],
    users: [{ name: 'u', user: { token: 'two' } }],
    contexts: [
      { name: 'x', context: { cluster: 'd', user: 'u', namespace: 'two' } },
      { name: 'y', context: { cluster: 'c', user: 'u' } },
    ],
    'current-context': 'x',
  },
  'two/other': {
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u', namespace: 'other' } }],
    'current-context': 'y',
  },
  'one/empty': null,
  'one/broken': 'a: [',
  'one/twice': { users: ['a', 'b'].map((token) => ({ name: 'u', user: { token } })) },
}
/** Values of $KUBECONFIG as lists of files, and what they give; a string is the error message. */
const LEADING: readonly [files: readonly string[], led: Led | string][] = [
  [
    ['two/config'],
    { server: 'https://other.example.com', namespace: 'two', token: 'two', authority: authorities.two },
  ],
  [
    ['one/config', 'two/config'],
    { server: 'https://other.example.com', namespace: 'two', token: 'one', authority: authorities.two },
  ],
  [
    ['two/other', 'one/config', 'two/config'],
    { server: 'https://one.example.com', namespace: undefined, token: 'one', authority: authorities.one },
  ],
  [
    ['one/missing', '', 'one/empty', 'two/config', 'two/config', 'two/other'],
    { server: 'https://other.example.com', namespace: 'two', token: 'two', authority: authorities.two },
  ],
  [['one/config'], 'kubeconfig one/config: current-context is not set'],
  [['one/empty'], 'kubeconfig one/empty: current-context is not set'],
  [
    ['two/other', 'one/config'],
    `kubeconfig two/other${delimiter}one/config: there is no context 'y' (current-context)`,
  ],
  [['two/config', 'one/broken'], 'kubeconfig one/broken: no YAML at line 1, column 5'],
  [['two/config', 'one/twice'], "kubeconfig one/twice: there are two users 'u'"],
]
const namedIn = (files: readonly string[]) =>
  files.map((file) => (file === '' ? '' : join(folder, file))).join(delimiter)

for (const [name, content] of Object.entries(KUBECONFIGS)) {
  mkdirSync(join(folder, name, '..'), { recursive: true })
  writeFileSync(
    join(folder, name),
    content === null ? '' : typeof content === 'string' ? content : JSON.stringify(content),
  )
}
for (const [name, authority] of Object.entries(authorities))
  writeFileSync(join(folder, name, 'ca.crt'), authority)

t.test('the files of $KUBECONFIG are one', async (t) => {
  for (const [files, led] of LEADING) {
    const opening = accessTo('', { KUBECONFIG: namedIn(files) })
    if (typeof led === 'string') {
      await t.rejects(opening, { message: led.replaceAll(/\w+\/\w+/g, (file) => join(folder, file)) }, led)
      continue
    }
    const { server, namespace, credentials } = await opening
    const { headers, ca } = await credentials()
    const found = {
      server: server.origin,
      namespace,
      token: /^Bearer (.*)/.exec(String((headers as Record<string, string>).Authorization))?.[1],
      authority: String(ca),
    }
    t.strictSame(found, led, files.join(delimiter))
  }
})

const binaries = findBinaries()
const missing = 'missing' in binaries && binaries.missing
const skip = process.env.CI === 'true' ? false : missing

t.test('they lead where kubectl goes', { skip }, async (t) => {
  if ('missing' in binaries) {
    t.fail(binaries.missing)
    return
  }
  const args = ['config', 'view', '--minify', '--flatten', '-o', 'json']
  for (const [files, led] of LEADING) {
    const env = { HOME: folder, KUBECONFIG: namedIn(files) }
    const viewing = promisify(execFile)(binaries.kubectl, args, { env })
    if (typeof led === 'string') {
      await t.rejects(viewing, files.join(delimiter))
      continue
    }
    const { stdout } = await viewing
    const { clusters, contexts, users } = JSON.parse(stdout) as {
      readonly clusters: readonly { cluster: { server: string; 'certificate-authority-data': string } }[]
      readonly contexts: readonly { context: { namespace?: string } }[]
      readonly users: readonly { user: { token: string } }[]
    }
    const found = {
      server: clusters[0]?.cluster.server,
      namespace: contexts[0]?.context.namespace,
      token: users[0]?.user.token,
      authority: Buffer.from(clusters[0]?.cluster['certificate-authority-data'] ?? '', 'base64').toString(),
    }
    t.strictSame(found, led, files.join(delimiter))
  }
})

t.test('a kind that cannot be read, and one that is not there', async (t) => {
  const forbidden = await fakeApiServer(t, 'v1beta1/mcpgroups', { lists: [refusal(403, FORBIDDEN)] })
  const absent = await fakeApiServer(t, 'mcpgroups', { lists: [refusal(404, 'no')] })
  const empty = await fakeApiServer(t, 'toolhive', { lists: [refusal(404, 'no')] })
  const blind = await fakeApiServer(t, 'customresourcedefinitions', { lists: [refusal(403, 'no')] })
  const partly = await fakeApiServer(t, 'customresourcedefinitions', {
    lists: [
      (response) => {
        const [path = '', plural] = /customresourcedefinitions\/(\w+)/.exec(response.req.url ?? '') ?? []
        const kind = KINDS.find((each) => each.plural === plural)?.kind
        const versions = [{ name: 'v1beta1', served: true, schema: { openAPIV3Schema: { type: 'object' } } }]
        const spec = { group: DEFAULT_API_GROUP, names: { kind }, versions }
        if (path.endsWith('mcpgroups')) refusal(400, 'no')(response)
        else json(200, { kind: 'CustomResourceDefinition', metadata: {}, spec })(response)
      },
    ],
  })
  const partlyUnknown =
    'note: the CRDs of MCPGroup could not be read (400), so the specification alone judges these kinds: run it again, or write --release\n\n'
  const unknown =
    'note: the CRDs could not be read (403), so the installed release is not known: grant deploy/rbac/check.yaml, or write --release\n\n'
  const note = `the cluster does not serve MCPGroup (mcpgroups.${DEFAULT_API_GROUP}/v1beta1); is its CRD installed?`
  const counts = {
    files: 0,
    resources: 0,
    others: 0,
    errors: 0,
    warnings: 0,
    advice: 0,
    ignored: 0,
    notes: 0,
    notJudged: 0,
    unread: 0,
  }
  const place = { file: null, line: 0, column: 0 }
  const rows: [string, string[], number, string][] = [
    [
      forbidden.kubeconfig,
      [],
      3,
      `0 resources in ${forbidden.url}: 0 errors, 0 warnings, 1 that could not be read\n`,
    ],
    [
      absent.kubeconfig,
      [],
      0,
      `note: ${note}\n\n0 resources in ${absent.url}: 0 errors, 0 warnings, 1 note\n`,
    ],
    [
      empty.kubeconfig,
      [],
      0,
      `note: the cluster does not serve ${DEFAULT_API_GROUP}/v1beta1; are the CRDs installed? (--api-group names another group)\n\n` +
        `0 resources in ${empty.url}: 0 errors, 0 warnings, 1 note\n`,
    ],
    [blind.kubeconfig, [], 0, `${unknown}0 resources in ${blind.url}: 0 errors, 0 warnings, 1 note\n`],
    [
      partly.kubeconfig,
      [],
      0,
      `${partlyUnknown}0 resources in ${partly.url}: 0 errors, 0 warnings, 1 note\n`,
    ],
    [blind.kubeconfig, ['--release', '0.63'], 0, `0 resources in ${blind.url}: 0 errors, 0 warnings\n`],
    [
      forbidden.kubeconfig,
      ['--output', 'json'],
      3,
      jsonOf({
        version: 1,
        findings: [],
        ignored: [],
        notes: [],
        notJudged: [],
        unread: [{ ...place, message: `MCPGroup: 403 ${FORBIDDEN}` }],
        counts: { ...counts, unread: 1 },
      }),
    ],
    [
      absent.kubeconfig,
      ['--output', 'json'],
      0,
      jsonOf({
        version: 1,
        findings: [],
        ignored: [],
        notes: [{ ...place, message: note }],
        notJudged: [],
        unread: [],
        counts: { ...counts, notes: 1 },
      }),
    ],
  ]
  await Promise.all(
    rows.map(async ([kubeconfig, args, status, stdout]) => {
      const run = await runCli(['audit', '--kubeconfig', kubeconfig, ...args], { cwd: folder })
      const stderr = status === 3 ? `cluster: cannot read: MCPGroup: 403 ${FORBIDDEN}\n` : ''
      t.strictSame(run, { status, stdout, stderr })
    }),
  )
})

const jsonOf = (value: object) => `${JSON.stringify(value, undefined, 2)}\n`

const manifest = (kind: string, name: string, spec: object, namespace?: string) => ({
  apiVersion: `${DEFAULT_API_GROUP}/v1beta1`,
  kind,
  metadata: { name, ...(namespace !== undefined && { namespace }) },
  spec,
})

t.test('a stored object that nests as deep as an API server takes ends no command', async (t) => {
  const deep = `${'{"a":'.repeat(9_990)}1${'}'.repeat(9_990)}`
  const spec = `{"image":"jira","groupRef":{"name":"tools"},"podTemplateSpec":${deep}}`
  const item = `{"metadata":{"name":"deep","namespace":"one","managedFields":[${deep}]},"spec":${spec}}`
  const { kubeconfig } = await fakeApiServer(t, '/mcpservers', {
    lists: [
      (response) =>
        response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(`{"kind":"List","metadata":{"resourceVersion":"1"},"items":[${item}]}`),
    ],
  })
  const file = join(folder, 'group.yaml')
  writeFileSync(file, JSON.stringify({ ...group('tools', 'one'), kind: 'MCPGroup', apiVersion: API }))
  const partly = `cluster: cannot read: MCPServer 'deep' in namespace 'one': fields that nest over 1000 levels deep; judged without them`
  for (const [command, files, found] of [
    [audit, [], /spec\.groupRef\.name: Not found: "tools"/],
    [check, ['--cluster', file], /1 resource in 1 file, beside 1 resource/],
    [plan, ['--cluster', file], /./],
    [access, ['--cluster', file], /nothing decides access/],
    [steps, ['--cluster', file], /./],
  ] as const) {
    const { status, stdout, stderr } = await runHere(t, command.run, ['--kubeconfig', kubeconfig, ...files])
    t.equal(status, 3, command.name)
    t.match(stderr, partly, command.name)
    t.match(stdout + stderr, found, command.name)
  }
})

t.test('exemptions and ignores that excuse nothing', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-admission-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const annotation = `${DEFAULT_API_GROUP}/vmcp-admission-ignore`
  const stored = group('a', 'one') as { metadata: object }
  const ids = [
    'reference-found',
    'secret-reference-found',
    'unknown-field',
    'auth-config-change-meant',
    'subject-provider-chosen',
  ]
  const lines = ids.map((id) => `${id}: x`)
  const annotated = {
    ...stored,
    metadata: { ...stored.metadata, annotations: { [annotation]: lines.join('\n') } },
  }
  const server = await fakeApiServer(t, 'mcpgroups', { lists: [page([annotated])] })
  writeFileSync(
    join(folder, 'vmcp-admission.yaml'),
    JSON.stringify({ exemptions: ids.map((id) => ({ id, reason: 'x', object: { name: 'gone' } })) }),
  )
  const audit = async (...args: string[]) =>
    (await runCli(['audit', '--kubeconfig', server.kubeconfig, '--output', 'line', ...args], { cwd: folder }))
      .stdout
  const idle = `note: MCPGroup one/a: the annotation ignores 'reference-found', which is not found: remove the line\n`
  t.equal(
    (await audit()).split('\n\n')[0],
    `vmcp-admission.yaml:1:16: note: the exemption of 'reference-found' excuses nothing: remove it\n${idle.trimEnd()}`,
  )
  t.equal((await audit('--namespaces', 'one')).split('\n\n')[0], idle.trimEnd(), 'others may be elsewhere')
})

t.test('files are judged and planned without a cluster that cannot be read', async (t) => {
  const kubeconfig = join(folder, 'gone')
  writeFileSync(kubeconfig, JSON.stringify(kubeconfigOf('http://127.0.0.1:9', {})))
  const file = join(folder, 'aws.json')
  writeFileSync(file, JSON.stringify(manifest('MCPExternalAuthConfig', 'aws', { type: 'bearer' })))
  const server = 'http://127.0.0.1:9'
  const stderr = `cluster: cannot read: ${server}: connect ECONNREFUSED 127.0.0.1:9\n`
  const cluster = ['--cluster', '--kubeconfig', kubeconfig]
  const checked = await runCli(['check', ...cluster, 'aws.json'], { cwd: folder })
  t.match(checked, { status: 3, stderr })
  t.match(checked.stdout, /^aws\.json:1:\d+: error: MCPExternalAuthConfig aws: spec\.type: Unsupported value/)
  t.ok(
    checked.stdout.endsWith(
      `1 resource in 1 file, beside 0 resources of ${server}: 1 error, 0 warnings, 1 that could not be read; judged by the specification (no --release)\n`,
    ),
    checked.stdout,
  )
  const gateway = manifest('VirtualMCPServer', 'gateway', {})
  const planned = await runCli(['plan', ...cluster, '-'], { cwd: folder, input: JSON.stringify(gateway) })
  t.strictSame(planned, { status: 3, stdout: '', stderr }, 'what was not read does not pass for new')
  writeFileSync(join(folder, 'claims.json'), '{}')
  const asked = await runCli(['role', ...cluster, '--config', 'aws', '--claims', 'claims.json'], {
    cwd: folder,
  })
  t.strictSame(asked, { status: 3, stdout: '', stderr })
})

t.test('each command that asks the CRDs for the release says where it may not read them', async (t) => {
  const { kubeconfig } = await fakeApiServer(t, 'customresourcedefinitions', { lists: [refusal(403, 'no')] })
  writeFileSync(join(folder, 'group.json'), JSON.stringify(manifest('MCPGroup', 'tools', {})))
  for (const args of [
    ['audit'],
    ['check', '--cluster', 'group.json'],
    ['plan', '--cluster'],
    ['plan', '--cluster', 'group.json'],
    ['steps', '--cluster', 'group.json'],
  ]) {
    const told = async (...more: string[]) => {
      const { stdout, stderr } = await runCli([...args, '--kubeconfig', kubeconfig, ...more], { cwd: folder })
      return (stdout + stderr).split('so the installed release is not known').length - 1
    }
    t.strictSame([await told(), await told('--release', '0.63')], [1, 0], args.join(' '))
  }
})

t.test('where something cannot be read, a script gets a document all the same', async (t) => {
  const at = (name: string) => join(folder, name)
  writeFileSync(at('claims.json'), '{"sub": "ann"}')
  writeFileSync(at('aws.yaml'), AWS)
  const noCluster = ['--kubeconfig', at('nothing')]
  const cluster = `kubeconfig ${at('nothing')}: no such file`
  const lost = 'no such file or folder'
  const claims = ['--claims', at('claims.json')]
  const rows: readonly [command: typeof check, args: readonly string[], unread: string | RegExp][] = [
    [check, [at('lost')], lost],
    [check, ['--cluster', ...noCluster, at('aws.yaml')], cluster],
    [audit, noCluster, cluster],
    [plan, [at('lost')], lost],
    [plan, [at('lost'), at('aws.yaml')], lost],
    [plan, ['--cluster', ...noCluster], cluster],
    [plan, ['--cluster', ...noCluster, at('aws.yaml')], cluster],
    [role, ['--config', at('lost'), ...claims], /^no such file or folder; --cluster reads/],
    [role, ['--config', at('aws.yaml'), '--claims', at('lost')], lost],
    [role, ['--cluster', ...noCluster, '--config', 'a', ...claims], cluster],
    [doctor, noCluster, cluster],
  ]
  for (const [command, args, unread] of rows) {
    const { status, stdout, stderr } = await runHere(t, command.run, [...args, '--output', 'json'])
    const label = `${command.name} ${args.join(' ')}`
    t.equal(status, 3, label)
    t.match(stderr, /\S/, `${label}: talk on stderr`)
    const { findings = [], ...document } = JSON.parse(stdout || '{}') as Record<string, unknown[]>
    const found = document.unread ?? findings
    t.match(found, [{ message: unread }], label)
    t.equal(found.length, 1, label)
  }
})

t.test('the namespace of the kubeconfig is that of documents that name none', async (t) => {
  const server = await fakeApiServer(t, 'mcpgroups', { lists: [page([])] })
  const config = kubeconfigOf(server.url, {})
  const [context] = config.contexts
  const contexts = [{ ...context, context: { ...context?.context, namespace: 'shop' } }]
  writeFileSync(server.kubeconfig, JSON.stringify({ ...config, contexts }))
  const input = ['none', 'tools', '${NAMESPACE}']
    .map((name) =>
      manifest('MCPGroup', name.replace(/\W/g, '').toLowerCase(), {}, name === 'none' ? undefined : name),
    )
    .map((document) => JSON.stringify(document))
    .join('\n---\n')
  const run = async (...more: string[]) => {
    server.asked.length = 0
    const found = await runCli(['check', '--cluster', '--kubeconfig', server.kubeconfig, ...more, '-'], {
      cwd: folder,
      input,
    })
    return {
      ...found,
      asked: server.asked.map(({ path }) => /namespaces\/(\w+)\//.exec(path)?.[1]).toSorted(),
    }
  }
  const shop = await run()
  t.match(shop, { status: 0, stderr: '', asked: ['shop', 'tools'] })
  t.match(
    shop.stdout,
    "<stdin>:5:108: note: not judged beside the cluster, because '${NAMESPACE}' is not the name of a namespace\n",
  )
  t.match(await run('--namespace', 'other'), { status: 0, asked: ['other', 'tools'] })
})

t.test('beside a cluster the placeholders of the settings are those of files alone', async (t) => {
  const { kubeconfig } = await fakeApiServer(t, 'mcpgroups', { lists: [page([])] })
  const text = readFileSync(new URL('../examples/virtual-mcp-server.yaml', import.meta.url), 'utf8')
  const cwd = t.testdir({
    'vmcp-admission.yaml': "placeholders: ['@@*@@']",
    'gateway.yaml': text.replace(/^( *issuer): .*$/m, "$1: '@@ISSUER@@'"),
  })
  const errors = async (...flags: string[]) =>
    (await runCli(['check', ...flags, 'gateway.yaml'], { cwd })).stdout.match(/^.*: error: .*$/gm)
  t.strictSame(await errors(), null)
  t.strictSame(await errors('--cluster', '--kubeconfig', kubeconfig), null)
})

t.test('the API server refuses an object without a name: what is known is said once', async (t) => {
  const causes = [{ field: 'spec.type', message: 'Unsupported value: "openid"' }]
  const answer = { kind: 'Status', code: 422, message: 'MCPOIDCConfig is invalid', details: { causes } }
  const object = manifest('MCPOIDCConfig', '', { type: 'openid' })
  const rows: [leaveOut: string, status: number, counts: RegExp][] = [
    ['other', 1, /: 1 error, 0 warnings/],
    ['def*', 0, /: 0 errors, 0 warnings, .*1 not judged/],
  ]
  for (const [leaveOut, status, counts] of rows) {
    const { kubeconfig } = await fakeApiServer(t, 'mcpoidcconfigs', { lists: [page([]), json(422, answer)] })
    const cwd = t.testdir({
      'generated.json': JSON.stringify({ ...object, metadata: { generateName: 'corporate-' } }),
      'vmcp-admission.yaml': `namespaces: { leaveOut: ['${leaveOut}'] }`,
    })
    const args = ['check', '--cluster', '--server-dry-run', '--kubeconfig', kubeconfig, 'generated.json']
    const ran = await runCli(args, { cwd })
    t.equal(ran.status, status, leaveOut)
    t.match(ran.stdout, counts, leaveOut)
  }
})

t.test('wrong usage', async (t) => {
  const rows: [typeof audit, string[], string][] = [
    [audit, ['a.yaml'], 'audit judges what is in the cluster and takes no files; check --cluster does'],
    [audit, ['--namespaces', 'a,B'], "--namespaces: 'B' is not the name of a namespace"],
    [check, ['--cluster'], 'name the files or folders to check, or - for standard input'],
    [check, ['--kubeconfig', 'x', 'a'], '--kubeconfig needs --cluster'],
    [check, ['--check-secrets', 'a'], '--check-secrets needs --cluster'],
    [plan, ['--kubeconfig=x', 'a'], '--kubeconfig needs --cluster'],
    [plan, ['--namespaces', 'one', 'a'], '--namespaces needs --cluster'],
    [
      plan,
      ['--cluster', '--namespaces', 'one', 'a'],
      '--namespaces is for --cluster alone: with files, the namespaces that they name are read',
    ],
    [role, ['--kubeconfig', 'x', '--config', 'a', '--claims', 'b'], '--kubeconfig needs --cluster'],
    ...['a/b/c', '-', 'A', 'a_b/c', '/a'].map((config): [typeof role, string[], string] => [
      role,
      ['--cluster', '--config', config, '--claims', 'b'],
      `with --cluster, --config is NAME or NAMESPACE/NAME, which '${config}' is not`,
    ]),
  ]
  for (const [command, args, message] of rows)
    await t.rejects(command.run(args, {}), new UsageError(message), args.join(' '))
})
