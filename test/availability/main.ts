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

/**
 * What becomes of one create. `not patched`: admitted without the defaults, which is how a lost mutation shows, as it fails
 * open. `no answer`: the API server itself did not answer, or that it starts or stops.
 */
const OUTCOMES = [
  'admitted',
  'denied',
  'webhook failed',
  'not patched',
  'wrongly admitted',
  'wrongly denied',
  'no answer',
] as const
type Outcome = (typeof OUTCOMES)[number]

/** Whether a failed create was expected, by the time at which it began. */
type Excuse = (outcome: Outcome, begun: number) => boolean

interface Tally {
  readonly phase: string
  readonly excuse: Excuse
  readonly counts: Map<Outcome, number>
  readonly texts: Set<string>
  excused: number
  faults: number
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
    // The timeout of a kubelet: on a busy machine a slow check does not mean a dead replica.
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

/** Creates one resource after the other, and counts the outcomes by the phase of the moment. */
class Stream {
  readonly tallies: Tally[] = []
  readonly #api: ApiServer
  readonly #agent: Agent
  #sent = 0
  #answered = 0
  #stopped = false

  constructor(api: ApiServer) {
    this.#api = api
    this.#agent = new Agent({ keepAlive: true, ca: api.ca })
  }

  get answered(): number {
    return this.#answered
  }

  enter(phase: string, excuse: Excuse = () => false): void {
    process.stdout.write(`${phase} ...\n`)
    this.tallies.push({ phase, excuse, counts: new Map(), texts: new Set(), excused: 0, faults: 0 })
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
      const begun = performance.now()
      const [outcome, text] = await this.#create(number, valid)
      if (outcome !== 'no answer') this.#answered += 1
      // Of the phase in which it ended: a kill is what fails those that are under way.
      const tally = this.tallies.at(-1)
      if (tally === undefined) continue
      tally.counts.set(outcome, (tally.counts.get(outcome) ?? 0) + 1)
      if (text !== '') tally.texts.add(text.slice(0, 600))
      if (outcome !== 'admitted' && outcome !== 'denied')
        tally[tally.excuse(outcome, begun) ? 'excused' : 'faults'] += 1
      if (outcome === 'no answer') await setTimeout(100)
    }
  }

  async #create(number: number, valid: boolean): Promise<[Outcome, string]> {
    const role = valid ? { fallbackRoleArn: 'arn:aws:iam::123456789012:role/reader' } : {}
    const spec = { type: 'awsSts', awsSts: { region: 'eu-central-1', ...role } }
    const body = JSON.stringify({
      apiVersion: `${DEFAULT_API_GROUP}/${API_VERSION}`,
      kind: 'MCPExternalAuthConfig',
      metadata: { name: `create-${number}` },
      spec,
    })
    const answer = await this.#post(body).catch((error: unknown) => ({ status: 0, text: String(error) }))
    const { status, text } = answer
    if (status === 0) return ['no answer', text]
    if (status === 201) {
      if (!valid) return ['wrongly admitted', text]
      return text.includes('"service":"aws-mcp"') ? ['admitted', ''] : ['not patched', '']
    }
    if (text.includes('aws-sts-role-configured')) return valid ? ['wrongly denied', text] : ['denied', '']
    if (text.includes('failed calling webhook')) return ['webhook failed', text]
    return [401, 403, 429, 503].includes(status) ? ['no answer', text] : ['wrongly denied', text]
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
  const line = text.split('\n').find((each) => each.startsWith(`${name} `))
  return Number(line?.slice(name.length) ?? NaN)
}

const leafExpiry = (replica: Replica) =>
  metric(replica, 'vmcp_admission_certificate_expiry_timestamp_seconds{certificate="leaf"}')

/** Until every replica serves another leaf than now. */
async function leavesRenewed(replicas: readonly Replica[]): Promise<void> {
  const before = await Promise.all(replicas.map(leafExpiry))
  const areRenewed = async () =>
    (await Promise.all(replicas.map(leafExpiry))).every((expiry, i) => expiry > (before[i] ?? Infinity))
  await waitFor(areRenewed, { seconds: 3 * SECONDS.leaf, what: 'the leaf of every replica to be renewed' })
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

  stream.enter('renewal of the leaves')
  await leavesRenewed(replicas)

  stream.enter('rotation of the CA, and leaves of the new one')
  const rotations = () =>
    Promise.all(replicas.map((each) => metric(each, 'vmcp_admission_certificate_rotations_total')))
  const before = await rotations()
  const areRotated = async () => (await rotations()).every((count, i) => count > (before[i] ?? Infinity))
  await waitFor(areRotated, { seconds: 2 * SECONDS.ca, what: 'the CA to rotate, for every replica' })
  await leavesRenewed(replicas)

  stream.enter('rolling restart of both replicas')
  for (const i of [0, 1]) {
    await end(replica(i), 'SIGTERM')
    await start(i)
    await setTimeout(2_000)
  }

  // Only what was in flight on it may fail: what was begun before it was gone.
  let gone = Infinity
  const isLost: Excuse = (outcome, begun) =>
    (outcome === 'webhook failed' || outcome === 'not patched') && begun <= gone
  stream.enter('kill -9 of one replica', isLost)
  const killed = stream.tallies.at(-1)
  await end(replica(0), 'SIGKILL')
  gone = performance.now()
  await setTimeout(5_000)
  stream.enter('its successor')
  await start(0)
  await setTimeout(5_000)

  stream.enter('restart of the API server', (outcome) => outcome === 'no answer')
  await api.restart()
  await setTimeout(10_000)

  stream.enter('to the end')
  while (stream.answered < CREATES) await setTimeout(200)
  stream.stop()
  await streaming

  const columns = ['phase', ...OUTCOMES, 'of these to be expected']
  process.stdout.write(`\n| ${columns.join(' | ')} |\n|${columns.map(() => '---|').join('')}\n`)
  for (const { phase, counts, excused } of stream.tallies)
    process.stdout.write(
      `| ${[phase, ...OUTCOMES.map((each) => counts.get(each) ?? 0), excused].join(' | ')} |\n`,
    )
  process.stdout.write(`\n${stream.answered} creates answered\n`)
  for (const { phase, texts } of stream.tallies)
    for (const text of texts) process.stdout.write(`${phase}: ${text}\n`)
  let faults = stream.tallies.reduce((sum, each) => sum + each.faults, 0)
  if ((killed?.excused ?? 0) > AT_A_TIME) faults += 1

  process.stdout.write('\nevery replica dead:\n')
  const finalizer = { metadata: { finalizers: ['example.com/hold'] } }
  await api.request('PATCH', `${resources}/create-1`, finalizer, 'application/merge-patch+json')
  await api.request('PATCH', `${resources}/create-2`, finalizer, 'application/merge-patch+json')
  for (const each of replicas) await end(each, 'SIGKILL')
  const named = ['mcpexternalauthconfig'] as const
  const merged = (name: string, patch: string) => ['patch', ...named, name, '--type=merge', '-p', patch]
  for (const [title, expected, args] of [
    ['label', 'passes', ['label', ...named, 'create-1', 'a=b']],
    ['delete (waits for the finalizer)', 'passes', ['delete', ...named, 'create-2', '--wait=false']],
    ['finalizer removed', 'passes', merged('create-2', '{"metadata":{"finalizers":null}}')],
    ['delete', 'passes', ['delete', ...named, 'create-3']],
    ['spec change', 'is refused', merged('create-4', '{"spec":{"awsSts":{"region":"us-east-1"}}}')],
  ] as const) {
    const { code, stdout, stderr } = await api.kubectl(args)
    const became = code === 0 ? 'passes' : stderr.includes('failed calling webhook') ? 'is refused' : 'fails'
    if (became !== expected) faults += 1
    process.stdout.write(`  ${title} ${became}: ${(stdout + stderr).trim().slice(0, 200)}\n`)
  }
  const policy = 'jsonpath={.webhooks[0].failurePolicy}'
  const stored = await kubectl(api, ['get', 'validatingwebhookconfiguration', 'vmcp-admission', '-o', policy])
  if (stored !== 'Fail') faults += 1
  process.stdout.write(`  failurePolicy: ${stored}\n\n${faults} faults\n`)
  process.exitCode = faults === 0 ? 0 : 1
} finally {
  for (const child of children) child.kill('SIGKILL')
  await api.stop()
  rmSync(folder, { recursive: true })
}
