import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { runCli } from './support/cli.ts'

const folder = mkdtempSync(join(tmpdir(), 'vmcp-admission-replay-'))
t.teardown(() => rmSync(folder, { recursive: true }))

const GROUP = 'toolhive.stacklok.dev'
const object = (name: string, spec: unknown) => ({
  apiVersion: `${GROUP}/v1beta1`,
  kind: 'MCPExternalAuthConfig',
  metadata: { name, namespace: 'tools' },
  spec,
})
const GOOD = { type: 'upstreamInject', upstreamInject: { providerName: 'okta' } }
const BAD = { type: 'upstreamInject', upstreamInject: { providerName: '' } }

/** An audit event about an object, as the API server logs it; `more` replaces fields. */
const event = (verb: string, name: string, spec: unknown, more: object = {}) => ({
  kind: 'Event',
  apiVersion: 'audit.k8s.io/v1',
  level: 'RequestResponse',
  stage: 'ResponseComplete',
  requestURI: `/apis/${GROUP}/v1beta1/namespaces/tools/mcpexternalauthconfigs`,
  verb,
  user: { username: 'alice' },
  objectRef: { resource: 'mcpexternalauthconfigs', namespace: 'tools', name, apiGroup: GROUP },
  responseStatus: { metadata: {}, code: verb === 'create' ? 201 : 200 },
  requestReceivedTimestamp: '2026-11-01T10:00:00.000000Z',
  ...(spec !== undefined && { responseObject: object(name, spec) }),
  ...more,
})

const ofResource = (resource: string, name: string) => ({
  objectRef: { resource, namespace: 'tools', apiGroup: GROUP, ...(name !== '' && { name }) },
})
const OF_SERVERS = ofResource('mcpservers', 'wiki')
const DRY_RUN = { kind: 'DeleteOptions', dryRun: ['All'] }
const DELETED = { deletionTimestamp: '2026-11-01T10:00:00Z' }
const server = (name: string, metadata: object = {}) => ({
  ...object(name, { image: 'a', groupRef: { name: 'tools' }, externalAuthConfigRef: { name: 'a' } }),
  kind: 'MCPServer',
  metadata: { name, namespace: 'tools', ...metadata },
})
const GROUP_OF_BACKENDS = { ...object('tools', {}), kind: 'MCPGroup' }
const SERVER = [
  event('create', 'a', GOOD),
  event('create', 'tools', undefined, {
    ...ofResource('mcpgroups', 'tools'),
    responseObject: GROUP_OF_BACKENDS,
  }),
  event('create', 'wiki', undefined, { ...OF_SERVERS, responseObject: server('wiki') }),
]
const PROVIDER = { issuerUrl: 'https://entra.corp.dev', clientId: 'vmcp' }
/** The event of a VirtualMCPServer whose upstream provider is not the one that the backend names. */
const GATEWAY = event('create', 'gateway', undefined, {
  ...ofResource('virtualmcpservers', 'gateway'),
  responseObject: {
    ...object('gateway', {
      groupRef: { name: 'tools' },
      incomingAuth: { type: 'anonymous' },
      authServerConfig: {
        issuer: 'https://auth.corp.dev',
        signingKeySecretRefs: [{ name: 'keys', key: 'signing' }],
        hmacSecretRefs: [{ name: 'keys', key: 'hmac' }],
        upstreamProviders: [{ name: 'entra', type: 'oidc', oidcConfig: PROVIDER }],
      },
    }),
    kind: 'VirtualMCPServer',
  },
})
const deletion = (more: object) =>
  event('deletecollection', '', undefined, { ...ofResource('mcpservers', ''), ...more })
const listOf = (...items: object[]) => ({
  apiVersion: `${GROUP}/v1beta1`,
  kind: 'MCPServerList',
  metadata: {},
  items,
})

const DENIED = 'spec.upstreamInject.providerName'

/** The creation of an object whose spec nests 9,990 levels deep, which JSON.stringify does not write. */
const DEEP = JSON.stringify(event('create', 'a', 'deep')).replace(
  '"deep"',
  `${'{"a":'.repeat(9_990)}1${'}'.repeat(9_990)}`,
)

/** The events in the log, the exit code, and patterns of the output. */
const ROWS: [title: string, log: unknown[], stdout: RegExp[], status?: number, stderr?: RegExp][] = [
  ['nothing', [], [/^0 writes judged: 0 would have been denied, 0 admitted with a warning\n$/]],
  ['a good object', [event('create', 'a', GOOD)], [/^1 write judged: 0 would/]],
  ['a wrong object', [event('create', 'a', BAD)], [/^would have been denied\n/, new RegExp(DENIED)], 1],
  [
    'what was stored before is a warning when it is stored again',
    [event('create', 'a', BAD), event('update', 'a', { ...BAD, upstreamInject: { providerName: '', x: 1 } })],
    [
      /with a warning\n.*spec\.upstreamInject\.providerName: stored before: /,
      /2 writes judged: 1 would have been denied, 1 admitted/,
    ],
    1,
  ],
  [
    'an object that is older than the log',
    [event('update', 'a', BAD)],
    [/1 update of objects that the log had not shown before/],
    1,
  ],
  [
    'the same finding is told once',
    [
      event('create', 'a', BAD),
      event('delete', 'a', undefined),
      event('create', 'a', BAD, { user: { username: 'bob' } }),
    ],
    [/ {4}2 writes, 2026-\S+ to 2026-\S+, by alice, bob\n/],
    1,
  ],
  [
    'an apply that creates',
    [event('patch', 'a', BAD, { responseStatus: { code: 201 } })],
    [/1 write judged: 1/],
    1,
  ],
  [
    'the object of the request, where the response has none',
    [event('create', 'a', undefined, { level: 'Request', requestObject: object('a', BAD) })],
    [/1 write judged: 1/],
    1,
  ],
  ['another stage', [event('create', 'a', BAD, { stage: 'RequestReceived' })], [/^0 writes/]],
  ['a dry run', [event('create', 'a', BAD, { requestURI: '/apis/x?dryRun=All' })], [/^0 writes/]],
  [
    'a status',
    [event('update', 'a', BAD, { objectRef: { ...event('', 'a', GOOD).objectRef, subresource: 'status' } })],
    [/^0 writes/],
  ],
  [
    'a refusal',
    [event('create', 'a', BAD, { responseStatus: { code: 422 } })],
    [/^0 writes.*\n {2}1 refused at that time/],
  ],
  [
    'another group',
    [event('create', 'a', BAD, { objectRef: { resource: 'pods', apiGroup: '' } })],
    [/^0 writes/],
  ],
  [
    'a deletion of what is not known',
    [event('delete', 'a', undefined)],
    [/1 not judged: deletions of objects that the log/],
  ],
  [
    'a deletion of a collection of which nothing is known',
    [event('deletecollection', '', undefined)],
    [/1 not judged: deletions of whole collections/],
  ],
  [
    'a deletion of a collection',
    [...SERVER, deletion({}), GATEWAY],
    [/^would have been admitted(?:(?!denied)[^])*5 writes judged: 0 would have been denied/],
  ],
  [
    'the same without the deletion, and without the warning that an admitted write would have had',
    [...SERVER, GATEWAY],
    [
      /^would have been denied\n {2}VirtualMCPServer tools\/gateway: (?:(?!with a warning\n)[^])*4 writes judged: 1 would have been denied, 0 admitted with a warning\n$/,
    ],
    1,
  ],
  [
    'a deletion of a collection, with the objects that it deleted',
    [...SERVER, deletion({ responseObject: listOf(server('wiki')) }), GATEWAY],
    [/5 writes judged: 0 would/],
  ],
  [
    'a deletion of some of a collection',
    [...SERVER, deletion({ responseObject: listOf(server('other')) }), GATEWAY],
    [/^would have been denied\n {2}VirtualMCPServer tools\/gateway: /, /5 writes judged: 1 would/],
    1,
  ],
  [
    'a deletion by a selector, of objects that the log does not name',
    [...SERVER, deletion({ requestURI: '/apis/x?labelSelector=team%3Da' }), GATEWAY],
    [
      /4 writes judged: 0 would.*\n {2}1 not judged: deletions by a selector, of objects that the log does not/,
    ],
  ],
  [
    'a deletion that is a dry run by its body alone',
    [...SERVER, event('delete', 'wiki', undefined, { ...OF_SERVERS, requestObject: DRY_RUN }), GATEWAY],
    [/4 writes judged: 1 would/],
    1,
  ],
  [
    'the last finalizer of a deleted object',
    [
      ...SERVER,
      event('delete', 'wiki', undefined, OF_SERVERS),
      event('update', 'wiki', undefined, { ...OF_SERVERS, responseObject: server('wiki', DELETED) }),
      GATEWAY,
    ],
    [/6 writes judged: 0 would(?:(?!had not shown before)[^])*$/],
  ],
  [
    'only metadata',
    [event('create', 'a', undefined, { level: 'Metadata' })],
    [/1 not judged: at level Metadata/],
  ],
  [
    'a patch alone',
    [event('patch', 'a', undefined, { level: 'Request', requestObject: [] })],
    [/1 not judged: patches at/],
  ],
  [
    'a large object',
    [event('create', 'a', undefined, { annotations: { 'audit.k8s.io/truncated': 'true' } })],
    [/1 not judged: shortened by the API server/],
  ],
  [
    'an object that nests as deep as an API server takes, and the next',
    [DEEP, event('create', 'b', GOOD)],
    [/^1 write judged/, /1 not judged: of objects that nest over 1000 levels deep/],
  ],
  [
    'other lines',
    ['{', [], object('a', BAD), event('create', 'a', GOOD)],
    [/^1 write judged/],
    3,
    /^log:1:1: cannot read: not an audit event/,
  ],
]

t.test('what would have happened to writes', async (t) => {
  for (const [title, log, stdout, status = 0, stderr = /^$/] of ROWS) {
    const lines = log.map((line) => (typeof line === 'string' ? line : JSON.stringify(line)))
    writeFileSync(join(folder, 'log'), lines.map((line) => `${line}\n`).join(''))
    const run = await runCli(['replay', 'log'], { cwd: folder })
    t.equal(run.status, status, title)
    for (const text of stdout) t.match(run.stdout, text, title)
    t.match(run.stderr, stderr, title)
  }
})

t.test('settings, formats and wrong usage', async (t) => {
  writeFileSync(join(folder, 'log'), `${JSON.stringify(event('create', 'a', BAD))}\n`)
  const run = (...args: string[]) => runCli(['replay', ...args], { cwd: folder, input: '' })
  const json = await run('--output', 'json', 'log')
  const { findings, ...counts } = JSON.parse(json.stdout) as { findings: object[] }
  t.strictSame(counts, {
    version: 1,
    judged: 1,
    denied: 1,
    warned: 0,
    refused: 0,
    unknownBefore: 0,
    notJudged: {},
  })
  t.match(findings, [{ severity: 'error', name: 'a', path: DENIED, writes: 1, users: ['alice'] }])
  for (const { id } of findings as { id: string }[])
    t.equal((await run('--severity', `${id}=warning`, 'log')).status, 0, id)
  writeFileSync(join(folder, 'left-out.yaml'), 'namespaces: { leaveOut: [tools] }')
  t.match(await run('--config-file', 'left-out.yaml', 'log'), {
    status: 0,
    stdout: /^0 writes judged: .*\n {2}1 not judged: in namespaces that the configuration leaves out\n$/,
  })
  t.equal((await run('-')).status, 0)
  t.match(await run(), { status: 2, stderr: /name audit logs of the API server/ })
  t.match(await run('missing'), { status: 3, stderr: /missing: cannot read: no such file or folder/ })
})
