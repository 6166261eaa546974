/** `vmcp-admission mcp` as a process, driven by the client of the MCP SDK and by hand-written JSON-RPC lines. */
import { execFileSync, spawn } from 'node:child_process'
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Client, InMemoryTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import t, { type Test } from 'tap'
import { BOUNDS } from '../src/cli/mcp/bounds.ts'
import { answer, type CallResult, type ToolCall } from '../src/cli/mcp/answer.ts'
import { Calls } from '../src/cli/mcp/calls.ts'
import { messageLines } from '../src/cli/mcp/lines.ts'
import { serverOf } from '../src/cli/mcp/serve.ts'
import { json } from '../src/cli/output/visible.ts'
import { runCli } from './support/cli.ts'
import { writeInputs } from './support/command-rows.ts'
import { COMPILE_CACHE } from './support/compile-cache.ts'
import { programFile } from './support/programs.ts'

const MAIN = programFile('cli')
t.setTimeout(300_000)

/** Is in files that no call may read and in values that no result may contain. */
const SECRET = 'token-of-the-checkout-4711'

const GROUP = `apiVersion: toolhive.stacklok.dev/v1beta1
kind: MCPGroup
metadata: { name: tools }
`
const issuerOf = (issuer: string) => `apiVersion: toolhive.stacklok.dev/v1beta1
kind: MCPOIDCConfig
metadata: { name: users }
spec: { type: inline, inline: { issuer: "${issuer}" } }
`
const FIXABLE = `apiVersion: toolhive.stacklok.dev/v1beta1
kind: MCPExternalAuthConfig
metadata: { name: calendar }
spec:
  type: token-exchange
  tokenExchange: { tokenUrl: https://idp.example.com/oauth2/token, audience: calendar }
`

/** The working folder, which has a sibling folder that must not be read. */
function newFolder(t: Test): string {
  const root = t.testdir({ outside: { 'secret.yaml': SECRET }, work: { deploy: {} } })
  const folder = join(root, 'work')
  writeInputs(folder)
  writeFileSync(join(folder, 'deploy/group.yaml'), GROUP)
  writeFileSync(join(folder, 'fixable.yaml'), FIXABLE)
  writeFileSync(join(folder, 'password.yaml'), issuerOf(`http://ann:${SECRET}@login.example.com`))
  writeFileSync(join(folder, 'hidden.yaml'), FIXABLE.replace('idp', `ann:${SECRET}@idp`))
  symlinkSync('../outside/secret.yaml', join(folder, 'link.yaml'))
  symlinkSync('../outside', join(folder, 'linked'))
  return folder
}

const environmentIn = (folder: string) => ({ PATH: process.env.PATH ?? '', HOME: folder, ...COMPILE_CACHE })

interface Result {
  readonly content: readonly { readonly type: string; readonly text?: string }[]
  readonly structuredContent?: unknown
  readonly isError?: boolean
}

/** An SDK client connected to a server process in the folder. */
async function connected(t: Test, folder: string, flags: readonly string[] = [], mode?: 'auto') {
  const client = new Client(
    { name: 'test', version: '1' },
    mode === undefined ? {} : { versionNegotiation: { mode } },
  )
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [MAIN, 'mcp', ...flags],
    cwd: folder,
    env: environmentIn(folder),
    stderr: 'pipe',
  })
  await client.connect(transport)
  t.teardown(() => client.close())
  const call = async (name: string, input: object, signal?: AbortSignal) =>
    (await client.callTool(
      { name, arguments: { ...input } },
      { ...(signal && { signal }), timeout: 120_000 },
    )) as Result
  return { client, call }
}

/** An SDK client connected to a server in this process; the folder becomes the working directory. */
async function connectedHere(t: Test, folder: string) {
  const before = process.cwd()
  process.chdir(folder)
  t.teardown(() => process.chdir(before))
  const client = new Client({ name: 'test', version: '1' })
  const [here, there] = InMemoryTransport.createLinkedPair()
  const server = serverOf(new Calls(), [], {})
  await Promise.all([server.connect(there), client.connect(here)])
  t.teardown(() => client.close())
  const call = async (name: string, input: object) =>
    (await client.callTool({ name, arguments: { ...input } })) as Result
  return { client, call }
}

const textOf = ({ content }: Result): string => content.map(({ text }) => text).join('\n')

/** A tool, its input, the arguments of the equivalent command, and a pattern of the text in the result. */
const ROWS: readonly (readonly [tool: string, input: object, args: readonly string[], said: RegExp])[] = [
  ['check', { paths: ['gateway.yaml'] }, ['check', 'gateway.yaml'], /3 errors, 2 warnings/],
  ['check', { paths: ['./deploy/..'] }, ['check', './deploy/..'], /link that leads out of/],
  [
    'check',
    { paths: ['gateway.yaml', 'aws.yaml'], release: '0.63' },
    ['check', '--release', '0.63', 'gateway.yaml', 'aws.yaml'],
    /judged by/,
  ],
  ['check', { paths: ['fixable.yaml'], strict: true }, ['check', '--strict', 'fixable.yaml'], /1 error/],
  [
    'check',
    { paths: ['gone.yaml'] },
    ['check', 'gone.yaml'],
    /gone\.yaml: cannot read: no such file or folder/,
  ],
  ['check', { paths: ['link.yaml'] }, ['check', 'link.yaml'], /a link that leads out of .* is not read/],
  ['check', { paths: ['linked/secret.yaml'] }, ['check', 'linked/secret.yaml'], /a link that leads out of/],
  ['fix', { paths: ['fixable.yaml'] }, ['fix', 'fixable.yaml'], /^\+ {2}type: tokenExchange$/m],
  [
    'fix',
    { paths: ['fixable.yaml'], add_defaults: true },
    ['fix', '--add-defaults', 'fixable.yaml'],
    /subjectTokenType/,
  ],
  [
    'check',
    { paths: ['password.yaml', 'hidden.yaml'] },
    ['check', 'password.yaml', 'hidden.yaml'],
    /\*\*\*@login/,
  ],
  [
    'fix',
    { paths: ['hidden.yaml'] },
    ['fix', 'hidden.yaml'],
    /the diff leaves out the user information of URLs/,
  ],
  ['fix', { paths: ['aws.yaml'] }, ['fix', 'aws.yaml'], /^$/],
  ['plan', { paths: ['gateway.yaml'] }, ['plan', 'gateway.yaml'], /^VirtualMCPServer gateway/m],
  [
    'plan',
    { paths: ['gateway.yaml', 'deploy'] },
    ['plan', '--together', 'gateway.yaml', 'deploy'],
    /^VirtualMCPServer gateway/m,
  ],
  ['plan', { old: 'gateway.yaml', paths: ['deploy'] }, ['plan', 'gateway.yaml', 'deploy'], /removed/],
  ['access', { old: 'deploy', paths: ['aws.yaml'] }, ['access', 'deploy', 'aws.yaml'], /gains: arn:/],
  [
    'access',
    { old: 'deploy', paths: ['aws.yaml'], deny_new: ['*admin*'] },
    ['access', '--deny-new', '*admin*', 'deploy', 'aws.yaml'],
    /denied: /,
  ],
  [
    'access',
    { who: ['*admin*'], paths: ['aws.yaml'] },
    ['access', '--who', '*admin*', 'aws.yaml'],
    /somebody gets 1 role/,
  ],
  [
    'role',
    { path: 'aws.yaml', claims: { sub: 'alice', groups: ['billing-admins'] } },
    ['role', '--config', 'aws.yaml', '--claims', 'claims.json'],
    /^role: arn:/m,
  ],
  [
    'role',
    { path: 'aws.yaml#invoices-aws', claims: { sub: 'alice', groups: ['billing-admins'] } },
    ['role', '--config', 'aws.yaml#invoices-aws', '--claims', 'claims.json'],
    /^role: arn:/m,
  ],
  [
    'role',
    { path: 'gone.yaml', claims: {} },
    ['role', '--config', 'gone.yaml', '--claims', 'claims.json'],
    /cannot read: no such file or folder/,
  ],
]

t.test(
  'a structured result is what --output json prints, and the text what it prints for people',
  async (t) => {
    const folder = newFolder(t)
    const { client, call } = await connected(t, folder)
    // The client validates each result by the output schema of the tool's listing.
    await client.listTools()
    for (const [tool, input, args, said] of ROWS) {
      const title = `${tool} ${JSON.stringify(input)}`
      const result = await call(tool, input)
      const command = await runCli([...args, '--output', 'json'], { cwd: folder })
      t.equal(json(result.structuredContent), command.stdout, title)
      t.notOk(result.isError, title)
      t.match(textOf(result), said, title)
      t.notMatch(JSON.stringify(result), SECRET, title)
      const human = await runCli([...args, '--output', 'human'], { cwd: folder })
      t.equal(textOf(result).startsWith(human.stdout), true, title)
      const asked = { tool, input, args: [], environment: {} } as unknown as ToolCall
      const here = await runCli(args, { cwd: folder, program: () => printed(answer(asked)) })
      t.equal(here.stdout, command.stdout, title)
    }
  },
)

t.test('the text of manifests in the place of a file', async (t) => {
  const folder = newFolder(t)
  const { call } = await connected(t, folder)
  const gateway = readFileSync(join(folder, 'gateway.yaml'), 'utf8')
  const aws = readFileSync(join(folder, 'aws.yaml'), 'utf8')
  const claims = { sub: 'alice', groups: ['billing-admins'] }
  const rows: readonly (readonly [string, object, readonly string[], string])[] = [
    ['check', { manifests: gateway }, ['check', '-'], gateway],
    ['check', { paths: ['deploy'], manifests: gateway }, ['check', 'deploy', '-'], gateway],
    ['fix', { manifests: FIXABLE }, ['fix', '-'], FIXABLE],
    ['plan', { manifests: gateway }, ['plan', '-'], gateway],
    ['plan', { old: 'deploy', manifests: gateway }, ['plan', 'deploy', '-'], gateway],
    ['access', { old: 'aws.yaml', manifests: aws }, ['access', 'aws.yaml', '-'], aws],
    ['role', { manifests: aws, claims }, ['role', '--config', '-', '--claims', 'claims.json'], aws],
    [
      'role',
      { manifests: aws, name: 'invoices-aws', claims },
      ['role', '--config=-#invoices-aws', '--claims', 'claims.json'],
      aws,
    ],
  ]
  for (const [tool, input, args, text] of rows) {
    const result = await call(tool, input)
    const command = await runCli([...args, '--output', 'json'], { cwd: folder, input: text })
    t.equal(json(result.structuredContent), command.stdout, `${tool} ${Object.keys(input).join(' ')}`)
  }
  t.match(textOf(await call('check', { manifests: 'kind: [' })), /<stdin>:1:\d+: cannot read/)
  const token = `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.x`
  t.match((await call('role', { path: 'aws.yaml', claims: token })).structuredContent, { claims: 'token' })
})

async function printed(result: Promise<CallResult>): Promise<number> {
  process.stdout.write((await result).json ?? '')
  return 0
}

t.test('an agent mends a manifest', async (t) => {
  const folder = newFolder(t)
  const { call } = await connectedHere(t, folder)
  const counts = async () =>
    ((await call('check', { paths: ['fixable.yaml'] })).structuredContent as { counts: { errors: number } })
      .counts
  t.match(await counts(), { errors: 1 })
  const { structuredContent } = await call('fix', { paths: ['fixable.yaml'] })
  const { patches } = structuredContent as { patches: { diff: string; whole: boolean }[] }
  t.match(patches, [{ file: 'fixable.yaml', whole: true }])
  execFileSync('patch', ['-p1'], { cwd: folder, input: patches.map(({ diff }) => diff).join('') })
  t.match(await counts(), { errors: 0, warnings: 0 })
})

/** A tool, wrong input, and the error that says what to write instead. */
const WRONG: readonly (readonly [tool: string, input: object, said: RegExp])[] = [
  ['check', {}, /name files or folders as 'paths', or give the text of manifests as 'manifests'/],
  ['check', { path: ['a'] }, /there is no key "path"; did you mean 'paths'/],
  ['check', { paths: 'a' }, /'paths' must be a list/],
  ['check', { paths: [] }, /'paths' must not have fewer than 1 items/],
  ['check', { paths: [1] }, /must be a text/],
  ['check', { paths: ['a'], strict: 'yes' }, /'strict' must be true or false/],
  ['check', { paths: ['../outside/secret.yaml'] }, /is outside of .*: name files below it/],
  ['check', { paths: ['../../etc/passwd'] }, /is outside of/],
  ['check', { paths: ['deploy/../../outside'] }, /is outside of/],
  ['check', { paths: ['/etc/passwd'] }, /'\/etc\/passwd' is outside of/],
  ['check', { paths: ['/dev/stdin'] }, /is outside of/],
  ['check', { paths: ['-'] }, /'-' is not a file: give the text of manifests as 'manifests'/],
  ['check', { paths: ['aws.yaml'], release: '9.9' }, /9\.9/],
  ['check', { manifests: 'x'.repeat(BOUNDS.manifests + 1) }, /'manifests' has at most 1048576 characters/],
  ['fix', { paths: ['..'] }, /is outside of/],
  ['fix', { paths: ['fixable.yaml'], write: true }, /there is no key "write"/],
  ['plan', { old: '../outside', paths: ['aws.yaml'] }, /is outside of/],
  ['plan', { old: 'aws.yaml', paths: ['aws.yaml', 'deploy'] }, /with 'old' name one file or folder/],
  ['access', { paths: ['aws.yaml'] }, /give 'old', .* or 'who'/],
  ['access', { old: 'aws.yaml', who: ['*'], paths: ['aws.yaml'] }, /give 'old', .* or 'who'/],
  ['access', { who: ['*'], deny_new: ['*'], paths: ['aws.yaml'] }, /'deny_new' is for a comparison/],
  ['access', { old: 'git:main:../outside', paths: ['aws.yaml'] }, /is outside of/],
  ['access', { old: 'git:--upload-pack=x', paths: ['aws.yaml'] }, /names no revision/],
  ['role', { claims: {} }, /give the configuration as 'path' or as 'manifests'/],
  ['role', { path: 'aws.yaml' }, /'claims' is missing/],
  ['role', { path: 'aws.yaml', claims: 1 }, /'claims' must be an object such as/],
  ['role', { path: 'aws.yaml', claims: SECRET }, /cannot read|JSON object/],
  ['role', { path: '../outside/secret.yaml#x', claims: {} }, /is outside of/],
  ['role', { path: 'deploy#/../../outside/secret.yaml', claims: {} }, /is outside of/],
  ['role', { path: 'aws.yaml', name: 'x', claims: {} }, /write path FILE#NAME/],
  ['role', { path: 'gateway.yaml#gone', claims: {} }, /holds no awsSts configuration 'gone'/],
  ['explain', { about: 'role-mapping-matcher-compile' }, /did you mean 'role-mapping-matcher-compiles'/],
]

t.test('wrong arguments say what to write instead', async (t) => {
  const { call } = await connectedHere(t, newFolder(t))
  for (const [tool, input, said] of WRONG) {
    const result = await call(tool, input)
    const title = `${tool} ${JSON.stringify(input).slice(0, 100)}`
    t.match(textOf(result), said, title)
    t.notMatch(textOf(result), SECRET, title)
    if (!('structuredContent' in result)) t.equal(result.isError, true, title)
  }
  await t.rejects(call('audit', {}), /Tool audit not found/)
})

t.test('a page of explain, and the resources', async (t) => {
  const folder = newFolder(t)
  const { client, call } = await connectedHere(t, folder)
  const page = await runCli(['explain', 'role-mapping-matcher-compiles'], { cwd: folder })
  const explained = await call('explain', { about: 'role-mapping-matcher-compiles' })
  t.strictSame(explained.content, [{ type: 'text', text: page.stdout }])

  const large = await runCli(['explain', 'VirtualMCPServer'], { cwd: folder })
  t.ok(large.stdout.length > BOUNDS.text, 'more than a text beside a structured result may have')
  t.equal(textOf(await call('explain', { about: 'VirtualMCPServer' })), large.stdout, 'is not cut')

  const { resources } = await client.listResources()
  t.ok(resources.length < 60, 'the rules are not listed')
  t.ok(resources.some(({ uri }) => uri === 'vmcp-admission://docs/model'))
  const { resourceTemplates } = await client.listResourceTemplates()
  t.strictSame(
    resourceTemplates.map(({ uriTemplate }) => uriTemplate),
    ['vmcp-admission://docs/{name}', 'vmcp-admission://rules/{id}'],
  )
  const rule = await client.readResource({ uri: 'vmcp-admission://rules/role-mapping-matcher-compiles' })
  t.match(rule.contents, [{ mimeType: 'text/plain', text: /A matcher is a CEL expression/ }])
  for (const { uri } of resources) {
    const { contents } = await client.readResource({ uri })
    t.match(contents, [{ mimeType: 'text/markdown', text: /^# /m }], uri)
  }
  for (const uri of ['rules/no-such-rule', 'docs/../package.json', 'docs/%2e%2e%2f..', 'other'])
    await t.rejects(client.readResource({ uri: `vmcp-admission://${uri}` }), uri)
  for (const [uri, name, value, found] of [
    ['rules/{id}', 'id', 'role-mapping-', 'role-mapping-matcher-compiles'],
    ['docs/{name}', 'name', 'm', 'model'],
    ['docs/{name}', 'name', 'm', 'model'],
  ] as const) {
    const { completion } = await client.complete({
      ref: { type: 'ref/resource', uri: `vmcp-admission://${uri}` },
      argument: { name, value },
    })
    t.ok(completion.values.includes(found), `${uri} ${value}`)
  }
})

t.test('the flags of the server hold for its calls, variables of commands do not', async (t) => {
  const folder = newFolder(t)
  const strict = ['--severity', 'schema-enum=warning', '--namespace', 'team', '--release', '0.63']
  const { call } = await connected(t, folder, strict)
  const { structuredContent } = await call('check', { paths: ['fixable.yaml'] })
  const { stdout } = await runCli(['check', '--output', 'json', ...strict, 'fixable.yaml'], { cwd: folder })
  t.equal(json(structuredContent), stdout)
  // The release in `--release` refuses a field; without a release there would only be a warning.
  t.match(structuredContent, {
    counts: { errors: 2, warnings: 1 },
    findings: [{ namespace: 'team' }, { namespace: 'team' }, { namespace: 'team' }],
  })
  // The release in a call has precedence over the server's flag.
  t.match(textOf(await call('check', { paths: ['aws.yaml'], release: '0.50' })), /judged by .*0\.50/)

  const none = await connected(t, folder, ['--release', 'none'])
  for (const [tool, input, expected] of [
    ['access', { who: ['*'], paths: ['aws.yaml'] }, { version: 1 }],
    ['role', { path: 'aws.yaml', claims: {} }, { release: null }],
  ] as const)
    t.match((await none.call(tool, input)).structuredContent, expected, tool)

  const below = await connected(t, folder, ['--directory', 'deploy'])
  t.match((await below.call('check', { paths: ['group.yaml'] })).structuredContent, {
    counts: { resources: 1 },
  })
  t.match(textOf(await below.call('check', { paths: ['../aws.yaml'] })), /is outside of/)
  for (const [args, said] of [
    [['deploy'], /name no files: each call names its own/],
    [['--directory', 'gone'], /^vmcp-admission: --directory gone: no such file or folder$/m],
  ] as const)
    t.match(await runCli(['mcp', ...args], { cwd: folder }), { status: 2, stderr: said })
})

t.test('two calls at once, one that is cancelled, and a newer protocol', async (t) => {
  const folder = newFolder(t)
  const { call, client } = await connected(t, folder, [], 'auto')
  t.ok(client.getNegotiatedProtocolVersion()?.startsWith('2026-'))
  const [first, second] = await Promise.all([
    call('check', { paths: ['gateway.yaml'] }),
    call('plan', { paths: ['gateway.yaml'] }),
  ])
  t.match(first, { structuredContent: { counts: { errors: 3 } } })
  t.match(second, { structuredContent: { virtualMCPServers: [{ name: 'gateway' }] } })

  // Judging the file takes far longer than the test may last, so the worker thread must be terminated.
  writeFileSync(join(folder, 'many.yaml'), `${GROUP}---\n`.repeat(20_000))
  const controller = new AbortController()
  const cancelled = call('check', { paths: ['many.yaml'] }, controller.signal)
  const waiting = call('check', { paths: ['aws.yaml'] })
  setTimeout(() => controller.abort(new Error('no longer wanted')), 500)
  await t.rejects(cancelled, /no longer wanted/)
  t.match(await waiting, { structuredContent: { counts: { errors: 0 } } }, 'the next call has its turn')
})

/** Starts a server whose lines the test writes and reads itself. */
function byHand(t: Test, folder: string) {
  const child = spawn(process.execPath, [MAIN, 'mcp'], { cwd: folder, env: environmentIn(folder) })
  t.teardown(() => child.kill())
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve))
  const next = async () => JSON.parse(String((await lines.next()).value)) as Record<string, unknown>
  const send = (message: unknown) => child.stdin.write(`${JSON.stringify(message)}\n`)
  return { child, ended, next, send, write: (text: string) => child.stdin.write(text) }
}

const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'hand', version: '1' } },
}
const ping = (id: number) => ({ jsonrpc: '2.0', id, method: 'ping' })

t.test('a line that is no message is answered, and the next one read', async (t) => {
  const { child, ended, next, send, write } = byHand(t, newFolder(t))
  send(initialize)
  t.match(await next(), { id: 1, result: { protocolVersion: '2025-06-18' } })
  send({ jsonrpc: '2.0', method: 'notifications/initialized' })
  const long = 'x'.repeat(10 * 2 ** 20)
  const call = { name: 'check', arguments: { manifests: long } }
  const rows: readonly (readonly [text: string, error: object])[] = [
    ['{"jsonrpc":', { error: { code: -32_700, message: /not valid JSON/ } }],
    ['\0\u0001\ufffd', { error: { code: -32_700 } }],
    ['[]', { error: { code: -32_600 } }],
    ['{"id":7}', { id: 7, error: { code: -32_600, message: /it needs jsonrpc/ } }],
    [
      JSON.stringify({ jsonrpc: '2.0', id: 8, method: 'tools/call', params: call }),
      { id: 8, error: { message: /at most 8 MB/ } },
    ],
    [
      JSON.stringify({ method: 'tools/call', params: call, jsonrpc: '2.0', id: 'nine' }),
      { id: 'nine', error: { message: /'paths'/ } },
    ],
    // The message has no id; an `id` inside `params` must not be mistaken for one.
    [
      JSON.stringify({ method: 'x', params: { ...call, a: { id: 5 } } }),
      { id: undefined, error: { code: -32_600 } },
    ],
    [
      `{"jsonrpc":"2.0","method":"x","params":"${'"},"id":3}'.replaceAll('"', '\\"').repeat(2 ** 20)}"}`,
      { id: undefined, error: { code: -32_600 } },
    ],
    [JSON.stringify({ jsonrpc: '2.0', id: 10, method: 'no/such' }), { id: 10, error: { code: -32_601 } }],
  ]
  for (const [i, [text, answer]] of rows.entries()) {
    write(`${text}\n`)
    t.match(await next(), answer, text.slice(0, 60))
    send(ping(100 + i))
    t.match(await next(), { id: 100 + i, result: {} }, 'it goes on')
  }
  child.stdin.end()
  t.equal(await ended, 0)
})

t.test('lines that come in pieces', async (t) => {
  const texts = [
    JSON.stringify(ping(1)),
    'x',
    `{"id":${'9'.repeat(BOUNDS.message)}`,
    '',
    JSON.stringify(ping(2)),
  ]
  const whole = Buffer.from(`${texts.join('\n')}\r\n${JSON.stringify(ping(3))}`)
  for (const size of [1 << 20, 65_536, whole.length]) {
    async function* pieces() {
      for (let from = 0; from < whole.length; from += size)
        yield await Promise.resolve(whole.subarray(from, from + size))
    }
    const refused: number[] = []
    const lines: unknown[] = []
    for await (const line of messageLines(pieces(), ({ code }) => refused.push(code)))
      lines.push((JSON.parse(line.toString()) as { id: number }).id)
    t.strictSame(
      [lines, refused],
      [
        [1, 2],
        [-32_700, -32_600],
      ],
      `${size} bytes each`,
    )
  }
})

t.test('every line of standard output is a message', async (t) => {
  const { child, ended, next, send } = byHand(t, newFolder(t))
  send(initialize)
  await next()
  for (const [id, [name, input]] of [...ROWS.slice(0, 3), ...WRONG].entries())
    send({ jsonrpc: '2.0', id: 10 + id, method: 'tools/call', params: { name, arguments: input } })
  const seen = new Set<unknown>()
  while (seen.size < WRONG.length + 3) {
    const { jsonrpc, id } = await next()
    t.equal(jsonrpc, '2.0')
    seen.add(id)
  }
  child.kill('SIGTERM')
  await ended
})

t.test('the bounds of a call', async (t) => {
  const folder = newFolder(t)
  const { call } = await connected(t, folder)
  // A file with 4,000 findings.
  const wrong = (i: number) => FIXABLE.replace('calendar', `c${i}`)
  const many = Array.from({ length: 4_000 }, (_, i) => wrong(i)).join('---\n')
  writeFileSync(join(folder, 'many.yaml'), many)
  const large = await call('check', { paths: ['many.yaml'] })
  t.match(textOf(large), /^the result has \d{7} characters, and at most 1048576 are given: name fewer files$/)
  t.equal(large.isError, true)
  writeFileSync(join(folder, 'fewer.yaml'), many.slice(0, many.indexOf('c400')))
  const fewer = await call('check', { paths: ['fewer.yaml'] })
  t.ok(textOf(fewer).length < BOUNDS.text + 100)
  t.match(textOf(fewer), /… the structured result has the rest\n$/)

  const task: ToolCall = {
    tool: 'check',
    input: { paths: [join(folder, 'many.yaml')] },
    args: ['--config-file', 'off'],
    environment: {},
  }
  const { signal } = new AbortController()
  const bounds = { waiting: 1, seconds: 60, megabytes: 1_000 }
  const slow = new Calls({ ...bounds, seconds: 0.01 })
  await t.rejects(slow.run(task, '', signal), /ended after 0\.01 seconds: name fewer files/)
  const small = new Calls({ ...bounds, megabytes: 20 })
  await t.rejects(small.run(task, '', signal), /more than 20 MB of memory: name fewer files/)
  const few = new Calls(bounds)
  const explain: ToolCall = { ...task, tool: 'explain', input: { about: 'MCPGroup' } }
  const started = [1, 2].map(() => few.run(explain, '', signal))
  await t.rejects(few.run(explain, '', signal), /1 calls are waiting/)
  for (const called of await Promise.all(started)) t.match(called.stdout, /^MCPGroup/)
})
