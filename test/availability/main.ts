/**
 * The webhook under a constant stream of writes, through a real API server and a real load balancer with health checks
 * (haproxy): certificates and CA rotate, replicas are replaced and killed, the API server restarts, and everything dies.
 * Prints what failed, phase by phase. Run: npm run availability, with KUBEBUILDER_ASSETS and haproxy on the PATH.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type ApiServer, startApiServer } from '../e2e/api-server.ts'
import { installCrds, kubectl } from '../e2e/cluster.ts'
import { type Excuse, OUTCOMES, RESOURCES, Stream } from '../e2e/stream.ts'
import { waitFor } from '../e2e/wait-for.ts'
import { freePort } from '../support/free-port.ts'

const WRITES = Number(process.env.WRITES ?? 10_000)
const AT_A_TIME = 8
const SECONDS = { leaf: 30, ca: 120, propagation: 15, delay: 10 }
const MAIN = fileURLToPath(new URL('../../src/server/main.ts', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'vmcp-availability-'))

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
    // The timeout of kubelet's probes: on a busy machine a slow answer does not mean a dead replica.
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

async function metric(replica: Replica, name: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${replica.probe}/metrics`)).text()
  const line = text.split('\n').find((each) => each.startsWith(`${name} `))
  return Number(line?.slice(name.length) ?? NaN)
}

const leafExpiry = (replica: Replica) =>
  metric(replica, 'vmcp_admission_certificate_expiry_timestamp_seconds{certificate="leaf"}')

/** Waits until every replica serves a renewed leaf certificate. */
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

  const stream = new Stream(api, AT_A_TIME)
  const enter = (phase: string, excuse?: Excuse) => {
    process.stdout.write(`${phase} ...\n`)
    stream.enter(phase, excuse)
  }
  enter('quiet')
  const streaming = stream.run()
  await setTimeout(10_000)

  enter('renewal of the leaves')
  await leavesRenewed(replicas)

  enter('rotation of the CA, and leaves of the new one')
  const rotations = () =>
    Promise.all(replicas.map((each) => metric(each, 'vmcp_admission_certificate_rotations_total')))
  const before = await rotations()
  const areRotated = async () => (await rotations()).every((count, i) => count > (before[i] ?? Infinity))
  await waitFor(areRotated, { seconds: 2 * SECONDS.ca, what: 'the CA to rotate, for every replica' })
  await leavesRenewed(replicas)

  enter('rolling restart of both replicas')
  for (const i of [0, 1]) {
    await end(replica(i), 'SIGTERM')
    await start(i)
    await setTimeout(2_000)
  }

  // Only what was in flight on it may fail: what was begun before it was gone.
  let gone = Infinity
  const isLost: Excuse = (outcome, begun) =>
    (outcome === 'webhook failed' || outcome === 'not patched') && begun <= gone
  enter('kill -9 of one replica', isLost)
  const killed = stream.tallies.at(-1)
  await end(replica(0), 'SIGKILL')
  gone = performance.now()
  await setTimeout(5_000)
  enter('its successor')
  await start(0)
  await setTimeout(5_000)

  enter('restart of the API server', (outcome) => outcome === 'no answer')
  await api.restart()
  await setTimeout(10_000)

  enter('to the end')
  while (stream.answered < WRITES) await setTimeout(200)
  stream.stop()
  await streaming

  const columns = ['phase', ...OUTCOMES, 'of these to be expected']
  process.stdout.write(`\n| ${columns.join(' | ')} |\n|${columns.map(() => '---|').join('')}\n`)
  for (const { phase, counts, excused } of stream.tallies)
    process.stdout.write(
      `| ${[phase, ...OUTCOMES.map((each) => counts.get(each) ?? 0), excused].join(' | ')} |\n`,
    )
  process.stdout.write(`\n${stream.answered} writes answered\n`)
  for (const { phase, texts } of stream.tallies)
    for (const text of texts) process.stdout.write(`${phase}: ${text}\n`)
  let faults = stream.tallies.reduce((sum, each) => sum + each.faults, 0)
  if ((killed?.excused ?? 0) > AT_A_TIME) faults += 1

  process.stdout.write('\nevery replica dead:\n')
  const finalizer = { metadata: { finalizers: ['example.com/hold'] } }
  await api.request('PATCH', `${RESOURCES}/create-1`, finalizer, 'application/merge-patch+json')
  await api.request('PATCH', `${RESOURCES}/create-2`, finalizer, 'application/merge-patch+json')
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
