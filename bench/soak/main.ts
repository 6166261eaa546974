/**
 * The server as the image runs it, under the memory limit of the chart, beside a real API server, with reviews at a
 * modest rate and one bad thing after the other: npm run soak -- [--minutes 60] [--seed 1], with KUBEBUILDER_ASSETS.
 * Prints what it saw, and ends with 1 where a promise is broken. Needs Linux, and root for the disk that is full.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { transformSync } from 'esbuild'
import { startApiServer } from '../../test/e2e/api-server.ts'
import { installCrds, kubectl, ROOT } from '../../test/e2e/cluster.ts'
import { Stream } from '../../test/e2e/stream.ts'
import { startWatchProxy } from '../../test/e2e/watch-proxy.ts'
import { chartMemory, containerEnvironment } from '../../test/support/container.ts'
import { freePort } from '../../test/support/free-port.ts'
import { memoryLimit } from '../../test/support/memory-limit.ts'
import { cleanUp, folder, ready, startServer } from '../servers.ts'
import type { Calls } from './callers.ts'
import { endOf, killAll, messageOf, start } from './children.ts'
import type { Fuzzed } from './fuzz.ts'
import { PHASES } from './phases.ts'
import { type Promised, promises, report } from './report.ts'
import { memoryOf, World } from './world.ts'

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '60' }, seed: { type: 'string', default: '1' } },
})

/** Reviews a second that are sent to the server itself, and fuzzed bodies. */
const REVIEWS = 150
const FUZZED = 1_000_000 / 3_600
/** Writes through the API server: how many at a time, milliseconds after each, and how many objects stay. */
const [WRITERS, PAUSE, KEPT] = [2, 100, 40]
/** Seconds. A certificate is renewed after two thirds of its life: every minute. A CA signs for 6 minutes. */
const CERTIFICATES = { 'leaf-lifetime': 90, 'ca-lifetime': 540, 'ca-propagation': 30 }
/** Milliseconds of the longest phase: a clock that is wrong for longer than a certificate has left ends its service. */
const LONGEST_PHASE = 20_000
const MINUTE = 60_000
/** Milliseconds after which memory at rest is read. */
const REST = 5_000
/** Megabytes of the disk that the log is on. */
const DISK = 16
/** Milliseconds for the start, for the last bodies and for the end. */
const AROUND = 6 * MINUTE

/** A disk of its own for the log; undefined where this user may mount none. */
function mountDisk(): World['parts']['disk'] {
  const at = join(folder, 'disk')
  mkdirSync(at)
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK}m`, 'tmpfs', at], { stdio: 'ignore' })
    return { folder: at, bytes: DISK * 2 ** 20 }
  } catch {
    return undefined
  }
}

/** The clock that a file moves, as JavaScript: stripping its types would take the server's memory. */
function wrongClock(): string {
  const source = readFileSync(new URL('../../test/support/wrong-clock.ts', import.meta.url), 'utf8')
  const file = join(folder, 'wrong-clock.mjs')
  writeFileSync(file, transformSync(source, { loader: 'ts', format: 'esm' }).code)
  return pathToFileURL(file).href
}

async function soak(minutes: number, seed: number): Promise<Promised[]> {
  const clock = join(folder, 'clock')
  writeFileSync(clock, '0')
  process.env.CLOCK_FILE = clock
  const limit = memoryLimit(chartMemory())
  const disk = mountDisk()
  const log = join(disk?.folder ?? folder, 'log')
  const ends: (() => void)[] = []
  const api = await startApiServer()
  try {
    await installCrds(api, 'crds')
    const examples = readdirSync(join(ROOT, 'examples')).filter((name) => name.endsWith('.yaml'))
    await kubectl(api, ['apply', ...examples.flatMap((name) => ['-f', join('examples', name)])])
    const proxy = await startWatchProxy({ teardown: (end: () => void) => void ends.push(end) }, api)
    const port = await freePort()
    const flags = {
      kubeconfig: proxy.kubeconfig,
      port,
      certificates: 'self-managed',
      arming: 'on',
      namespace: 'default',
      'webhook-url': `https://127.0.0.1:${port}`,
      ...CERTIFICATES,
    }
    const server = await startServer(
      'vmcp-admission',
      Object.entries(flags).flatMap(([flag, value]) => [`--${flag}`, String(value)]),
      `${containerEnvironment().NODE_OPTIONS} --import=${wrongClock()}`,
      { log, enter: limit?.enter },
    )
    await ready(server)
    await setTimeout(REST)
    const rest = memoryOf(server)
    const callers = start('callers.ts', port, REVIEWS)
    await messageOf(callers)
    const stream = new Stream(api, WRITERS, PAUSE, KEPT)
    const world = new World({ seed, api, proxy, server, stream, callers, clock, log, disk })
    world.enter('start')
    await world.recovers()
    const before = world.files()
    const over = new AbortController()
    const watched = world.watch(over.signal)
    const count = Math.round(FUZZED * minutes * 60)
    const fuzz = start('fuzz.ts', port, count, FUZZED, seed)
    const fuzzed = messageOf<Fuzzed>(fuzz)
    fuzzed.catch(() => (isStopped = true))
    world.enter('quiet')
    const streamed = stream.run()

    const begun = performance.now()
    const goesOn = () => !isStopped && server.isRunning() && performance.now() < begun + minutes * MINUTE
    const length = Math.min(LONGEST_PHASE, (minutes * MINUTE) / PHASES.length / 1.5)
    while (goesOn()) {
      for (const { name, excuse, run } of PHASES) {
        await setTimeout(length / 4)
        if (!goesOn()) break
        world.enter(name, excuse)
        await run(world, length)
        await world.recovers()
        world.enter('quiet')
        await setTimeout(length / 4)
      }
    }
    const lasted = (performance.now() - begun) / MINUTE
    // A machine that is too slow for the rate has not sent all bodies by then.
    const late = new AbortController()
    void setTimeout(isStopped ? 0 : MINUTE, undefined, { signal: late.signal }).then(
      () => fuzz.send('end'),
      () => undefined,
    )
    const bodies = await fuzzed
    late.abort()
    stream.stop()
    await streamed
    const calls = await endOf<Calls[]>(callers)
    await setTimeout(REST)
    over.abort()
    await watched
    const seen = {
      minutes: lasted,
      load: world.load,
      rest,
      files: [before, world.files()] as const,
      calls,
      bodies,
      count,
      isLimited: limit !== undefined,
    }
    process.stdout.write(`${report(world, seen)}\n\n`)
    return [
      ...(await promises(world, seen)),
      {
        isHeld: (await server.stop()) === 0,
        text: 'it is the same process to the end, and SIGTERM ends it with 0',
      },
      { isHeld: limit?.killed() !== true, text: 'it stays within its memory' },
    ]
  } finally {
    killAll()
    for (const end of ends) end()
    if (disk !== undefined) execFileSync('umount', ['-l', disk.folder])
    await cleanUp()
    limit?.remove()
    await api.stop()
  }
}

let isStopped = false
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => (isStopped = true))
const minutes = Number(values.minutes)
void setTimeout(minutes * MINUTE + AROUND, undefined, { ref: false }).then(() => {
  process.stdout.write('broken: it does not end in time\n')
  process.exit(1)
})
const all = await soak(minutes, Number(values.seed))
for (const { isHeld, text } of all) process.stdout.write(`${isHeld ? 'held' : 'BROKEN'}: ${text}\n`)
process.exit(all.every(({ isHeld }) => isHeld) ? 0 : 1)
