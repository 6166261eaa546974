import { spawn, spawnSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { once } from 'node:events'
import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { connect } from 'node:tls'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { makeAuthority, signLeaf } from '../src/certificates/x509.ts'
import { readFlags } from '../src/configuration/flags.ts'
import { SERVER_FLAGS } from '../src/server/configuration.ts'
import { COMPILE_CACHE } from './support/compile-cache.ts'
import { kubeconfigOf } from './support/fake-api-server.ts'
import { programFile } from './support/programs.ts'
import { resourceOf, reviewOf } from './support/review.ts'
import { type RunningServer, startServer } from './support/server.ts'

const ROOT = fileURLToPath(new URL('../', import.meta.url))
const MAIN = programFile('server')

function run(args: readonly string[], environment: Record<string, string> = {}) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, ...args], {
    encoding: 'utf8',
    env: { ...process.env, ...COMPILE_CACHE, ...environment },
    timeout: 20_000,
  })
  return { status, stdout, stderr }
}

function post(
  server: RunningServer,
  path: string,
  body: string,
): Promise<{ status: number; body: string; headers: Record<string, unknown> }> {
  return new Promise((resolve, reject) => {
    const options = { method: 'POST', ca: server.ca, headers: { 'content-type': 'application/json' } }
    const sent = request(server.url + path, options, (answer) => {
      let text = ''
      answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body: text, headers: answer.headers }))
    })
    sent.on('error', reject).end(body)
  })
}

t.test('wrong settings end with one clear line and exit code 2', async (t) => {
  const rows: [string[], Record<string, string>, RegExp][] = [
    [['--port', 'https'], {}, /^--port: 'https' is not a port from 0 to 65535$/],
    [['--port', '70000'], {}, /^--port: '70000' is not a port/],
    [['--mode', 'audit'], {}, /^--mode: 'audit' is not one of enforce, warn$/],
    [['--severity', 'no-such-rule=off'], {}, /^--severity: 'no-such-rule' is not the id of a rule/],
    [['--no-such-flag'], {}, /^there is no flag --no-such-flag$/],
    [['--port'], {}, /^--port needs a value: --port PORT$/],
    [['--shutdown-delay', '1m'], {}, /^--shutdown-delay: '1m' is not a whole number$/],
    [['--watch-namespaces', 'a,B'], {}, /^--watch-namespaces: 'B' is not the name of a namespace$/],
    [['--webhook-url', 'localhost'], {}, /^--webhook-url: 'localhost' is not a URL without a path/],
    [
      ['--webhook-url', 'https://a/validate'],
      {},
      /^--webhook-url: 'https:\/\/a\/validate' is not a URL without/,
    ],
    [['--webhook-url', 'http://a:1'], {}, /^--webhook-url: 'http:\/\/a:1' is not https/],
    [
      ['--namespace-selector', 'team in a'],
      {},
      /^--namespace-selector: 'team in a' is not a condition on a label/,
    ],
    [
      ['--check-secrets=maybe'],
      {},
      /^--check-secrets: 'maybe' is not one of off, known-callers, any-caller$/,
    ],
    [[], { VMCP_PROBE_PORT: 'x' }, /^VMCP_PROBE_PORT: 'x' is not a port/],
    [
      [],
      { VMCP_SEVERITY: 'schema-enum=warning;schema-type=off' },
      /^VMCP_SEVERITY: 'schema-type' is always an error/,
    ],
  ]
  for (const [args, environment, message] of rows)
    t.throws(() => readFlags(SERVER_FLAGS, args, environment), { message }, args.join(' '))
  const late: [string[], RegExp][] = [
    [['surplus'], /^'surplus' is not a flag\n/],
    [['--role', 'leader'], /^--role leader writes the webhook configurations: give --arming on or ignore/],
    [
      ['--check-secrets'],
      /^--check-secrets tells whoever reaches the port .* write --check-secrets=any-caller\n/,
    ],
    [
      ['--defaults', 'off', '--service-account-audience', 'a'],
      /^--service-account-audience has no effect with --defaults off: leave one of them out\n/,
    ],
    [
      ['--client-names', 'kube-apiserver'],
      /^--client-names has no effect without the CAs of client certificates: give --client-ca FILE\n/,
    ],
    [['--reports'], /^--reports writes to a cluster: give --kubeconfig FILE\n/],
    [['--check-secrets=any-caller'], /^--check-secrets reads a cluster: give --kubeconfig FILE\n/],
    [['--check-config-maps'], /^--check-config-maps reads a cluster: give --kubeconfig FILE\n/],
    [['--watch-namespaces', 'a'], /^--watch-namespaces reads a cluster: give --kubeconfig FILE\n/],
    [['--kubeconfig', '/no/such/file'], /^kubeconfig \/no\/such\/file: /],
    [['--local-cluster', '/no/such/file'], /^kubeconfig \/no\/such\/file: /],
    [['--local-cluster', 'a', '--arming', 'on'], /^--local-cluster sets --arming itself: leave that out\n/],
  ]
  for (const [args, message] of late) {
    const { status, stdout, stderr } = run(args)
    t.strictSame([status, stdout], [2, ''], args.join(' '))
    t.match(stderr, message)
    t.match(stderr, /--help lists the flags\n$/)
  }
})

t.test('--help names every flag with its variable', async (t) => {
  const { status, stdout } = run(['--help'])
  t.equal(status, 0)
  for (const flag of [
    'host',
    'port',
    'probe-port',
    'cert-dir',
    'mode',
    'api-group',
    'severity',
    'log-level',
  ]) {
    t.match(stdout, new RegExp(`--${flag} .*\\[VMCP_${flag.toUpperCase().replaceAll('-', '_')}[,\\]]`))
  }
})

t.test('certificates and ports', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-admission-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const first = await startServer([], folder)
  t.ok(['ca.crt', 'tls.crt', 'tls.key'].every((name) => existsSync(join(folder, name))))
  t.equal(statSync(join(folder, 'tls.key')).mode & 0o077, 0, 'the key is for its owner only')
  t.equal(await first.stop(), 0, 'SIGTERM ends it with 0')
  const certificate = readFileSync(join(folder, 'tls.crt'), 'utf8')
  const second = await startServer([], folder)
  t.equal(readFileSync(join(folder, 'tls.crt'), 'utf8'), certificate, 'a pair that is there is used')
  t.equal(await second.stop('SIGINT'), 0)
  const third = await startServer([], folder)
  t.equal(await third.stop('SIGHUP'), 0, 'as does the end of the terminal')
  writeFileSync(join(folder, 'ca.crt'), '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n')
  const fourth = await startServer(['--certificates', 'files'], folder)
  await fourth.ready()
  t.ok((await fetch(`${fourth.probeUrl}/metrics`)).ok, 'a CA that cannot be read keeps nobody waiting')
  t.equal(await fourth.stop(), 0)

  rmSync(join(folder, 'tls.key'))
  const half = run(['--port', '0', '--probe-port', '0', '--cert-dir', folder])
  t.strictSame(
    [half.status, half.stderr],
    [1, `cannot start: ${join(folder, 'tls.key')} is missing beside tls.crt\n`],
  )
  writeFileSync(join(folder, 'tls.key'), 'no key')
  const broken = run(['--port', '0', '--probe-port', '0', '--cert-dir', folder])
  t.equal(broken.status, 1)
  t.match(broken.stderr, /^cannot start: .*tls\.key/)

  rmSync(join(folder, 'tls.crt'))
  spawnSync('mkfifo', [join(folder, 'tls.crt')])
  for (const certificates of ['local', 'files']) {
    const flags = ['--port', '0', '--probe-port', '0', '--cert-dir', folder, '--certificates', certificates]
    const { status, stderr } = run(flags)
    t.equal(status, 1, `${certificates}: a FIFO does not keep the process from ending`)
    t.match(stderr, /tls\.crt is not a regular file\n$/)
  }

  const taken = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => taken.once('listening', resolve))
  const { port } = taken.address() as { port: number }
  const busy = run([
    '--port',
    String(port),
    '--probe-port',
    '0',
    '--cert-dir',
    mkdtempSync(join(folder, 'certs-')),
  ])
  taken.close()
  t.equal(busy.status, 2)
  t.match(
    busy.stderr,
    `port ${port} of 127.0.0.1 is in use: name another one with --port, or 0 for a free one`,
  )
})

t.test('npm start prints a line that gets a denial, and leaves nothing that git sees', async (t) => {
  const ports = { VMCP_PORT: '0', VMCP_PROBE_PORT: '0' }
  // In a process group of its own, so that npm, its shell and the server can be stopped together.
  const child = spawn('npm', ['start'], { cwd: ROOT, env: { ...process.env, ...ports }, detached: true })
  t.teardown(() => process.kill(-Number(child.pid)))
  let told = ''
  for await (const text of child.stderr.setEncoding('utf8') as AsyncIterable<string>) {
    told += text
    if (told.includes('check examples/')) break
  }
  const [, line = ''] = /^ {2}(curl .*)$/m.exec(told) ?? []
  const sent = spawnSync('sh', ['-c', line], { cwd: ROOT, encoding: 'utf8' })
  t.match(JSON.parse(sent.stdout), {
    response: { allowed: false, status: { code: 422, details: { causes: [{}, {}, {}] } } },
  })
  const status = spawnSync('git', ['status', '--porcelain', 'certs'], { cwd: ROOT, encoding: 'utf8' })
  t.equal(status.stdout, '')
})

/** Sends the first half of a review. The returned function sends the rest and resolves to the answer. */
async function begunReview({ url, ca }: RunningServer) {
  const review = JSON.stringify(reviewOf(resourceOf('MCPGroup', {})))
  const half = Math.floor(review.length / 2)
  const sent = request(`${url}/validate`, {
    method: 'POST',
    ca,
    headers: {
      'content-type': 'application/json',
      'content-length': review.length,
      expect: '100-continue',
    },
  })
  const answer = once(sent, 'response') as Promise<[IncomingMessage]>
  sent.flushHeaders()
  await once(sent, 'continue')
  sent.write(review.slice(0, half))
  return async () => {
    sent.end(review.slice(half))
    const [message] = await answer
    return { status: message.statusCode, connection: message.headers.connection, body: await json(message) }
  }
}

t.test(
  'what has begun is finished after SIGTERM; unused connections and scrapers wait for nothing',
  async (t) => {
    const server = await startServer()
    const { hostname: host, port } = new URL(server.url)
    const finish = await begunReview(server)
    const unused = connect({ host, port: Number(port), ca: server.ca })
    const plain = createConnection({ host, port: Number(port) })
    const scraper = createConnection({ host, port: Number(new URL(server.probeUrl).port) })
    await Promise.all([once(unused, 'secureConnect'), once(plain, 'connect'), once(scraper, 'connect')])
    for (const socket of [unused, plain, scraper]) socket.resume().on('error', () => undefined)
    const cut = Promise.all([unused, plain].map((socket) => once(socket, 'close')))
    const ended = server.stop()
    const isOpen = () =>
      new Promise<boolean>((resolve) => {
        const socket = createConnection({ host, port: Number(port) }, () => resolve(true))
        socket.on('error', () => resolve(false)).on('connect', () => socket.destroy())
      })
    while (await isOpen()) await new Promise((resolve) => setTimeout(resolve, 20))
    await cut
    const { status, connection, body } = await finish()
    t.strictSame([status, connection], [200, 'close'], 'answered after the unused connections are closed')
    t.match(body, { response: { allowed: true } })
    t.equal(await ended, 0)
  },
)

t.test('a SIGTERM while it still starts ends it in order', async (t) => {
  const silent = createServer().listen(0, '127.0.0.1')
  t.teardown(() => silent.close())
  await once(silent, 'listening')
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-admission-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const kubeconfig = join(folder, 'kubeconfig')
  const { port } = silent.address() as AddressInfo
  writeFileSync(kubeconfig, JSON.stringify(kubeconfigOf(`http://127.0.0.1:${port}`, { token: 'hush' })))
  const flags = ['--kubeconfig', kubeconfig, '--certificates', 'self-managed', '--arming', 'on']
  const child = spawn(process.execPath, [MAIN, '--port', '0', '--probe-port', '0', ...flags])
  const asked = once(silent, 'connection')
  const exit = once(child, 'exit')
  const [socket] = (await asked) as [Socket]
  child.kill('SIGTERM')
  t.strictSame(await exit, [0, null])
  socket.destroy()
})

t.test(
  'beside a cluster that it is not registered in, it says so, and how to reach a first denial',
  async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'vmcp-admission-'))
    t.teardown(() => rmSync(folder, { recursive: true }))
    const kubeconfig = join(folder, 'kubeconfig')
    // Nothing listens at this address; the server waits for the API server.
    writeFileSync(kubeconfig, JSON.stringify(kubeconfigOf('http://127.0.0.1:1', { token: 'hush' })))
    const main = join(ROOT, 'src/server/main.ts')
    const server = await startServer(['--kubeconfig', kubeconfig, '--namespace', 'trial'], folder, {}, main)
    t.teardown(() => server.stop('SIGKILL'))
    const { port } = new URL(server.url)
    for (const line of [
      'no API server asks this process: it registers no webhook (--arming off)',
      `npm start -- --local-cluster ${kubeconfig}`,
      `kubectl --kubeconfig ${kubeconfig} create namespace trial`,
      `--arming on --webhook-url https://127.0.0.1:${port}`,
      'uninstall --kubeconfig',
    ])
      t.ok(server.talk().includes(line), line)
    const named = await startServer([
      '--kubeconfig',
      kubeconfig,
      '--arming',
      'on',
      '--webhook-url',
      'https://127.0.0.2:8443',
    ])
    t.notMatch(named.talk(), /no API server asks/)
    t.equal(
      new X509Certificate(readFileSync(join(named.folder, 'tls.crt'))).checkIP('127.0.0.2'),
      '127.0.0.2',
    )
    await named.stop('SIGKILL')
  },
)

t.test('before it says that it is ready it has judged examples, and nothing shows it', async (t) => {
  const server = await startServer()
  t.teardown(() => server.stop())
  const reason = await fetch(`${server.probeUrl}/readyz`)
  t.strictSame([reason.status, await reason.text()], [503, 'not ready: warming up'])
  const review = JSON.stringify(reviewOf(resourceOf('MCPGroup', {})))
  t.equal((await post(server, '/validate', review)).status, 200, 'a review that comes meanwhile is answered')
  await server.ready()
  t.equal((await post(server, '/validate', review)).status, 200)
  const metrics = await (await fetch(`${server.probeUrl}/metrics`)).text()
  const reviews = metrics.split('\n').filter((line) => line.startsWith('vmcp_admission_reviews_total{'))
  t.match(reviews, [/ 2$/])
  t.equal(await server.stop(), 0)
  const lines = server.log().trim().split('\n')
  t.match(
    lines.map((line) => (JSON.parse(line) as { msg?: string; webhook?: string }).webhook ?? 'other'),
    ['other', 'validate', 'validate', 'other'],
  )
})

t.test('the reader of the log may end', async (t) => {
  const review = JSON.stringify(reviewOf(resourceOf('MCPGroup', {}), { name: 'x'.repeat(250) }))
  // 200 reviews log more than the pipe buffers, so the server writes to the closed pipe while it runs; without reviews
  // it does so when it stops.
  for (const reviews of [0, 200]) {
    const server = await startServer()
    server.leave()
    for (let i = 0; i < reviews; i++) t.equal((await post(server, '/validate', review)).status, 200)
    await server.ready()
    const metrics = await (await fetch(`${server.probeUrl}/metrics`)).text()
    t.match(metrics, /^vmcp_admission_uncaught_errors_total 0$/m)
    t.match(metrics, /^nodejs_eventloop_lag_seconds \d/m)
    t.equal(await server.stop(), 0)
  }
})

t.test('a second signal ends the wait', async (t) => {
  const server = await startServer(['--shutdown-delay', '600'])
  await server.ready()
  const ended = server.stop('SIGINT')
  const isReady = async () =>
    (await fetch(`${server.probeUrl}/readyz`).catch(() => undefined))?.status === 200
  while (await isReady()) await new Promise((resolve) => setTimeout(resolve, 20))
  t.equal(await server.stop(), 0)
  t.equal(await ended, 0)
})

t.test('over the wire', async (t) => {
  const server = await startServer(['--severity', 'schema-pattern=warning'])
  t.teardown(() => server.stop())
  const config = resourceOf('MCPExternalAuthConfig', {
    type: 'awsSts',
    awsSts: { region: 'Europe', fallbackRoleArn: 'arn:aws:iam::123456789012:role/x' },
  })
  const answer = await post(server, '/validate?timeout=5s', JSON.stringify(reviewOf(config)))
  t.equal(answer.status, 200)
  t.match(JSON.parse(answer.body), {
    response: {
      allowed: true,
      warnings: [/^MCPExternalAuthConfig \S+: spec\.awsSts\.region: Invalid value: "Europe"/],
    },
  })
  t.match(answer.headers, { connection: 'keep-alive', 'keep-alive': 'timeout=95' })

  const { port } = new URL(server.url)
  const handshake = (options: object) =>
    new Promise<string>((resolve) => {
      const socket = connect({ host: '127.0.0.1', port: Number(port), ca: server.ca, ...options }, () => {
        resolve(`${String(socket.getProtocol())} ${String(socket.alpnProtocol)}`)
        socket.destroy()
      })
      socket.on('error', () => resolve('refused'))
    })
  t.equal(await handshake({ ALPNProtocols: ['h2', 'http/1.1'] }), 'TLSv1.3 http/1.1')
  t.equal(await handshake({ maxVersion: 'TLSv1.2' }), 'TLSv1.2 false')
  t.equal(
    await handshake({ minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT:@SECLEVEL=0' }),
    'refused',
  )
  for (const [ciphers, answer] of [
    ['ECDHE-ECDSA-AES128-GCM-SHA256', 'TLSv1.2 false'],
    ['ECDHE-ECDSA-AES256-GCM-SHA384', 'TLSv1.2 false'],
    ['ECDHE-ECDSA-CHACHA20-POLY1305', 'TLSv1.2 false'],
    ['ECDHE-ECDSA-AES128-SHA', 'refused'],
    ['ECDHE-ECDSA-AES256-SHA', 'refused'],
    ['ECDHE-ECDSA-AES128-SHA256', 'refused'],
    ['ECDHE-ECDSA-AES256-SHA384', 'refused'],
    ['ECDHE-ECDSA-AES128-CCM', 'refused'],
  ] as const)
    t.equal(await handshake({ maxVersion: 'TLSv1.2', ciphers }), answer, ciphers)
})

// The tests in this group mostly wait.
t.jobs = 4

t.test(
  'after SIGTERM it serves on for a while, not ready, and asks each client to leave',
  { buffered: true },
  async (t) => {
    const server = await startServer(['--shutdown-delay', '2'])
    await server.ready()
    const review = JSON.stringify(reviewOf(resourceOf('MCPGroup', {})))
    const before = await post(server, '/validate', review)
    t.not(before.headers.connection, 'close')
    const ended = server.stop()
    const ready = async () => (await fetch(`${server.probeUrl}/readyz`)).status
    while ((await ready()) === 200) await new Promise((resolve) => setTimeout(resolve, 20))
    t.equal(await ready(), 503)
    const during = await post(server, '/validate', review)
    t.strictSame([during.status, during.headers.connection], [200, 'close'])
    t.equal((await post(server, '/nowhere', '{}')).headers.connection, 'close', 'also what is refused')
    t.equal(await ended, 0)
  },
)

t.test(
  'an error that nothing expected is logged and counted, and ends it in order with 1',
  { buffered: true },
  async (t) => {
    const odd = 'data:text/javascript,process.on(%22SIGUSR2%22,()=>{throw%20Error(%22odd%22)})'
    const server = await startServer(['--shutdown-delay', '3'], undefined, {
      NODE_OPTIONS: `--import=${odd}`,
    })
    const ended = server.stop('SIGUSR2')
    const metrics = async () => (await fetch(`${server.probeUrl}/metrics`)).text()
    while (!/^vmcp_admission_uncaught_errors_total 1$/m.test(await metrics()))
      await new Promise((resolve) => setTimeout(resolve, 20))
    t.equal((await fetch(`${server.probeUrl}/readyz`)).status, 503)
    const review = JSON.stringify(reviewOf(resourceOf('MCPGroup', {})))
    t.equal((await post(server, '/validate', review)).status, 200, 'a client that still calls is answered')
    t.equal(await ended, 1)
    t.match(server.log(), /^\{"level":"fatal","time":"\d{4}-\d\d-\d\dT[\d:.]+Z",.*"msg":"uncaught error"/m)
  },
)

t.test('a configuration file that changes while it serves', { buffered: true }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-admission-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'vmcp-admission.yaml')
  writeFileSync(file, 'exemptions: [{ id: schema-patterns, reason: a trial }]')
  await t.rejects(startServer(['--config-file', file]), /:1:20: .*did you mean 'schema-pattern'/)
  writeFileSync(file, 'exemptions: [{ id: schema-pattern, reason: a trial }]')
  const server = await startServer(['--config-file', file])
  t.teardown(() => server.stop())
  const config = resourceOf('MCPExternalAuthConfig', {
    type: 'awsSts',
    awsSts: { region: 'Europe', fallbackRoleArn: 'arn:aws:iam::123456789012:role/x' },
  })
  const isAllowed = async () => {
    const { body } = await post(server, '/validate', JSON.stringify(reviewOf(config)))
    return (JSON.parse(body) as { response: { allowed: boolean } }).response.allowed
  }
  t.ok(await isAllowed())
  const metrics = await (await fetch(`${server.probeUrl}/metrics`)).text()
  t.match(metrics, 'vmcp_admission_ignored_findings_total{id="schema-pattern",by="configuration"} 1')
  t.match(metrics, 'vmcp_admission_config_exemptions{state="active"} 1')
  writeFileSync(file, '')
  const until = Date.now() + 15_000
  while (Date.now() < until && (await isAllowed())) await new Promise((resolve) => setTimeout(resolve, 200))
  t.notOk(await isAllowed())
  t.match(server.log(), '"ignored":["schema-pattern"]')
})

t.test('a replica whose certificate has expired is not ready', { buffered: true }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-expired-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const now = Date.now()
  const authority = await makeAuthority('test', { now, lifetime: 86_400_000 })
  const names = ['127.0.0.1', 'vmcp-admission.vmcp-system.svc']
  const leaf = await signLeaf(authority, names, { now, lifetime: 8_000 })
  writeFileSync(join(folder, 'tls.crt'), leaf.certificate)
  writeFileSync(join(folder, 'tls.key'), leaf.key)
  const server = await startServer(['--certificates', 'files'], folder)
  t.teardown(() => server.stop())
  const isReady = async () => (await fetch(`${server.probeUrl}/readyz`)).ok
  const pause = () => new Promise((resolve) => setTimeout(resolve, 50))
  while (Date.now() < now + 7_000 && !(await isReady())) await pause()
  while (await isReady()) await pause()
  t.ok(Date.now() >= now + 7_000, 'but it was ready before')
  t.equal((await fetch(`${server.probeUrl}/livez`)).status, 200)
})
