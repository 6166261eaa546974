import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { ATTACKS } from './attacks.ts'
import { openConnection, requestOf, timed } from './client.ts'
import { milliseconds, percentile, table } from './figures.ts'
import { manifests } from './reviews.ts'
import { ready, type Server, startServer } from './servers.ts'
import { resourceOf, reviewOf } from '../test/support/review.ts'

/** Milliseconds of each attack, and of the pause before the first call of the neighbour. */
const LENGTH = 15_000
const BEFORE = 1_500
/** Milliseconds between two calls of the neighbour. */
const INTERVAL = 40

/** A review of 1 KB, of another namespace than the attackers'. */
export function neighbour(): Buffer {
  const [manifest] = manifests('.', 0).filter(({ kind }) => kind === 'MCPServer')
  const object = resourceOf('MCPServer', manifest?.spec, { annotations: { note: 'x'.repeat(300) } })
  return requestOf('/validate', JSON.stringify(reviewOf(object, { namespace: 'neighbour' })))
}

/** Milliseconds of each of the neighbour's calls, until the work is done. */
export async function callsDuring(server: Server, work: Promise<unknown>): Promise<number[]> {
  const ask = await openConnection(server.port)
  const request = neighbour()
  const taken: number[] = []
  let isDone = false
  void work.finally(() => (isDone = true))
  // A body that is set by a callback: the linter does not see it change.
  const goesOn = () => !isDone
  while (goesOn()) {
    taken.push(await timed(ask, request))
    await setTimeout(INTERVAL)
  }
  return taken
}

/** A neighbour with small reviews beside four connections that send the most expensive bodies as fast as they are answered. */
export async function attackers(): Promise<string> {
  const rows: string[][] = []
  for (const name of Object.keys(ATTACKS)) {
    const server = await ready(await startServer('vmcp-admission'))
    const script = fileURLToPath(new URL('attack.ts', import.meta.url))
    const child = spawn(process.execPath, [script, String(server.port), name, String(LENGTH)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let answers = ''
    child.stdout.on('data', (text: Buffer) => (answers += text.toString()))
    const ended = once(child, 'close')
    await setTimeout(BEFORE)
    const before = server.cpu()
    const taken = await callsDuring(server, ended)
    const cpu = (server.cpu() - before) / (LENGTH - BEFORE)
    rows.push([
      name,
      answers.replaceAll(/[{}"]/g, '').replaceAll(',', ', '),
      String(taken.length),
      ...[percentile(taken, 0.5), percentile(taken, 0.99), Math.max(...taken)].map(milliseconds),
      `${(cpu * 100).toFixed(0)} %`,
      `${server.memory('VmHWM').toFixed(0)} MB`,
    ])
    await server.stop()
  }
  const head = [
    'four attackers send',
    'answers by status',
    "neighbour's calls",
    'p50',
    'p99',
    'slowest',
    'CPU',
    'peak',
  ]
  return table(head, rows)
}
