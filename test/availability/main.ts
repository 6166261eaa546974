/**
 * The webhook under a constant stream of creates, through a real API server and a real load balancer with health checks
 * (haproxy): certificates and CA rotate, replicas are replaced and killed, the API server restarts, and everything dies.
 * Prints what failed, phase by phase. Run: npm run availability, with KUBEBUILDER_ASSETS and haproxy on the PATH.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { API_VERSION, DEFAULT_API_GROUP } from '../../src/kinds/index.ts'
import { type ApiServer, startApiServer } from '../e2e/api-server.ts'
import { installCrds, kubectl } from '../e2e/cluster.ts'
import { waitFor } from '../e2e/wait-for.ts'
import { freePort } from '../support/free-port.ts'

const CREATES = Number(process.env.CREATES ?? 10_000)
const AT_A_TIME = 8
/** Of so many creates one is invalid. */
const INVALID_EVERY = 10
const SECONDS = { leaf: 30, ca: 120, propagation: 15, delay: 10 }
const MAIN = fileURLToPath(new URL('../../src/server/main.ts', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'vmcp-availability-'))
const resources = `/apis/${DEFAULT_API_GROUP}/${API_VERSION}/namespaces/default/mcpexternalauthconfigs`

/** What became of one create. `noAnswer`: the API server itself did not answer, which is no fault of the webhook. */
type Outcome = 'admitted' | 'denied' | 'wrongly admitted' | 'wrongly denied' | 'webhook failed' | 'noAnswer'

interface Tally {
  readonly phase: string
  readonly counts: Map<Outcome, number>
  readonly texts: Set<string>
}

interface Replica {
  readonly name: string
  readonly probe: number
  readonly child: ChildProcess
}

async function startReplica(api: ApiServer, name: string, ports: Ports, balancer: number): Promise<Replica> {
  const flags = {
    kubeconfig: api.kubeconfig,
    port: ports.port,
    'probe-port': ports.probe,
    certificates: 'self-managed',
    arming: 'on',
    namespace: 'default',
    'webhook-url': `https://127.0.0.1:${balancer}`,
    'leaf-lifetime': SECONDS.leaf,
    'ca-lifetime': SECONDS.ca,
    'ca-propagation': SECONDS.propagation,
    'shutdown-delay': SECONDS.delay,
    'log-level': 'warn',
  }
  const args = Object.entries(flags).flatMap(([flag, value]) => [`--${flag}`, String(value)])
  const child = spawn(process.execPath, [MAIN, ...args], { stdio: ['ignore', 'inherit', 'ignore'] })
  const isReady = async () => {
    const answer = await fetch(`http://127.0.0.1:${ports.probe}/readyz`).catch(() => undefined)
    return answer?.status === 200
  }
  await waitFor(isReady, { seconds: 60, what: `replica ${name} to be ready` })
  return { name, probe: ports.probe, child }
}

interface Ports {
  readonly port: number
  readonly probe: number
}

function startBalancer(port: number, replicas: readonly Ports[]): ChildProcess {
  const servers = replicas.map(
    ({ port: at, probe }, i) =>
      `  server replica-${i} 127.0.0.1:${at} check port ${probe} inter 500ms fall 2 rise 1`,
  )
  const configuration = [
    'defaults',
    '  mode tcp',
    '  timeout connect 1s',
    '  timeout client 5m',
    '  timeout server 5m',
    // As patient as a kubelet: on a busy machine a check that is slow is no replica that is dead.
    '  timeout check 3s',
    '  retries 2',
    '  option redispatch',
    'frontend webhook',
    `  bind 127.0.0.1:${port}`,
    '  default_backend replicas',
    'backend replicas',
    '  balance roundrobin',
    '  option httpchk GET /readyz',
    ...servers,
    '',
  ].join('\n')
  const file = join(folder, 'haproxy.cfg')
  writeFileSync(file, configuration)
  return spawn('haproxy', ['-f', file, '-db', '-q'], { stdio: ['ignore', 'ignore', 'inherit'] })
}

/** Creates one resource after the other, and counts what becomes of them under the phase of the moment. */
class Stream {
  readonly tallies: Tally[] = []
  readonly #api: ApiServer
  readonly #agent: Agent
  #sent = 0
  #stopped = false

  constructor(api: ApiServer) {
    this.#api = api
    this.#agent = new Agent({ keepAlive: true, ca: api.ca })
  }

  get sent(): number {
    return this.#sent
  }

  enter(phase: string): void {
    process.stdout.write(`${phase} ...\n`)
    this.tallies.push({ phase, counts: new Map(), texts: new Set() })
  }

  run(): Promise<unknown> {
    return Promise.all(Array.from({ length: AT_A_TIME }, () => this.#work()))
  }

  stop(): void {
    this.#stopped = true
  }

  async #work(): Promise<void> {
    while (!this.#stopped) {
      const number = this.#sent++
      const valid = number % INVALID_EVERY !== 0
      const [outcome, text] = await this.#create(number, valid)
      // Of the phase in which it ended: a kill is what fails those that are under way.
      const tally = this.tallies.at(-1)
      if (tally === undefined) continue
      tally.counts.set(outcome, (tally.counts.get(outcome) ?? 0) + 1)
      if (text !== '') tally.texts.add(text.slice(0, 600))
      if (outcome === 'noAnswer') await setTimeout(100)
    }
  }

  async #create(number: number, valid: boolean): Promise<[Outcome, string]> {
    const spec = valid ? { type: 'unauthenticated' } : { type: 'awsSts', awsSts: { region: 'eu-central-1' } }
    const body = JSON.stringify({
      apiVersion: `${DEFAULT_API_GROUP}/${API_VERSION}`,
      kind: 'MCPExternalAuthConfig',
      metadata: { name: `create-${number}` },
      spec,
    })
    const answer = await this.#post(body).catch(() => undefined)
    if (answer === undefined) return ['noAnswer', '']
    const { status, text } = answer
    if (status === 201) return valid ? ['admitted', ''] : ['wrongly admitted', text]
    if (text.includes('aws-sts-role-configured')) return valid ? ['wrongly denied', text] : ['denied', '']
    if (text.includes('failed calling webhook')) return ['webhook failed', text]
    // An API server that starts or stops says so itself.
    return status === 503 || status === 429 || status === 403 || status === 401
      ? ['noAnswer', '']
      : ['wrongly denied', text]
  }

  #post(body: string): Promise<{ status: number; text: string }> {
    return new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${this.#api.token}`, 'content-type': 'application/json' }
      const options = { method: 'POST', agent: this.#agent, headers, timeout: 30_000 }
      const sent = request(this.#api.url + resources, options, (answer) => {
        let text = ''
        answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text }))
        answer.on('error', reject)
      })
      sent.on('timeout', () => sent.destroy(new Error('no answer')))
      sent.on('error', reject).end(body)
    })
  }
}

async function metric(replica: Replica, name: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${replica.probe}/metrics`)).text()
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? NaN)
}

async function end(replica: Replica, signal: NodeJS.Signals): Promise<void> {
  const ended = once(replica.child, 'exit')
  replica.child.kill(signal)
  await ended
}

const api = await startApiServer()
const children: ChildProcess[] = []
try {
  await installCrds(api, 'crds')
  const balancer = await freePort()
  const ports: Ports[] = []
  for (let i = 0; i < 2; i++) ports.push({ port: await freePort(), probe: await freePort() })
  const replicas: Replica[] = []
  const replica = (i: number): Replica => {
    const found = replicas[i]
    if (found === undefined) throw new Error(`replica ${i} does not run`)
    return found
  }
  const haproxy = startBalancer(balancer, ports)
  children.push(haproxy)
  const start = async (i: number) => {
    const started = await startReplica(api, `replica-${i}`, ports[i] ?? { port: 0, probe: 0 }, balancer)
    children.push(started.child)
    replicas[i] = started
  }
  await Promise.all([start(0), start(1)])
  const armed = async () => (await metric(replica(0), 'vmcp_admission_armed')) === 1
  await waitFor(armed, { seconds: 60, what: 'the webhook to be armed' })
  await setTimeout(2_000)

  const stream = new Stream(api)
  stream.enter('quiet')
  const streaming = stream.run()
  await setTimeout(10_000)

  stream.enter('rotation of leaves and of the CA')
  const rotations = async () => metric(replica(1), 'vmcp_admission_certificate_rotations')
  const before = await rotations()
  await waitFor(async () => (await rotations()) > before, { seconds: 240, what: 'the CA to rotate' })
  await setTimeout(SECONDS.leaf * 1_000)

  stream.enter('rolling restart of both replicas')
  for (const i of [0, 1]) {
    await end(replica(i), 'SIGTERM')
    await start(i)
    await setTimeout(2_000)
  }

  stream.enter('kill -9 of one replica')
  await end(replica(0), 'SIGKILL')
  await setTimeout(5_000)
  stream.enter('its successor')
  await start(0)
  await setTimeout(5_000)

  stream.enter('restart of the API server')
  await api.restart()
  await setTimeout(10_000)

  stream.enter('to the end')
  while (stream.sent < CREATES) await setTimeout(200)
  stream.stop()
  await streaming

  process.stdout.write(
    '\n| phase | admitted | denied | webhook failed | wrongly admitted | wrongly denied | no answer of the API server |\n|---|---|---|---|---|---|---|\n',
  )
  for (const { phase, counts } of stream.tallies) {
    const columns = [
      'admitted',
      'denied',
      'webhook failed',
      'wrongly admitted',
      'wrongly denied',
      'noAnswer',
    ] as const
    process.stdout.write(`| ${[phase, ...columns.map((each) => counts.get(each) ?? 0)].join(' | ')} |\n`)
  }
  process.stdout.write(`\n${stream.sent} creates\n`)
  for (const { phase, texts } of stream.tallies)
    for (const text of texts) process.stdout.write(`${phase}: ${text}\n`)

  process.stdout.write('\nevery replica dead:\n')
  const finalizer = { metadata: { finalizers: ['example.com/hold'] } }
  await api.request('PATCH', `${resources}/create-1`, finalizer, 'application/merge-patch+json')
  await api.request('PATCH', `${resources}/create-2`, finalizer, 'application/merge-patch+json')
  for (const each of replicas) await end(each, 'SIGKILL')
  for (const [title, args] of [
    ['label', ['label', 'mcpexternalauthconfig', 'create-1', 'a=b']],
    ['delete (waits for the finalizer)', ['delete', 'mcpexternalauthconfig', 'create-2', '--wait=false']],
    [
      'finalizer removed',
      [
        'patch',
        'mcpexternalauthconfig',
        'create-2',
        '--type=merge',
        '-p',
        '{"metadata":{"finalizers":null}}',
      ],
    ],
    ['delete', ['delete', 'mcpexternalauthconfig', 'create-3']],
    [
      'spec change',
      ['patch', 'mcpexternalauthconfig', 'create-4', '--type=merge', '-p', '{"spec":{"type":"bearerToken"}}'],
    ],
  ] as const) {
    const { code, stdout, stderr } = await api.kubectl(args)
    process.stdout.write(`  ${title}: exit code ${code}: ${(stdout + stderr).trim().slice(0, 200)}\n`)
  }
  const policy = 'jsonpath={.webhooks[0].failurePolicy}'
  const stored = await kubectl(api, ['get', 'validatingwebhookconfiguration', 'vmcp-admission', '-o', policy])
  process.stdout.write(`  failurePolicy: ${stored}\n`)
  const faults = stream.tallies.flatMap(({ phase, counts }) =>
    (['webhook failed', 'wrongly admitted', 'wrongly denied'] as const)
      .filter((outcome) => !(phase.startsWith('kill') && outcome === 'webhook failed'))
      .map((outcome) => counts.get(outcome) ?? 0),
  )
  process.exitCode = faults.every((count) => count === 0) ? 0 : 1
} finally {
  for (const child of children) child.kill('SIGKILL')
  await api.stop()
  rmSync(folder, { recursive: true })
}
