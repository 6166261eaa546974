import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { inTurn, openConnection, requestOf, timed } from './client.ts'
import { median, milliseconds, percentile, table } from './figures.ts'
import { mixedReviews } from './reviews.ts'
import { folder, NAMES, ready, startAll, startServer } from './servers.ts'

/** Fresh processes of each server, because no two are equally fast. */
const STARTS = 4
const CALLS = 60
/** Milliseconds between two calls of one server: 4 a second. */
const INTERVAL = 250

/** A cluster with little traffic: code is seldom hot, and every call is felt. Half of the calls are to each path. */
export async function rareCalls(): Promise<string> {
  const requests = mixedReviews().map((body, i) => requestOf(i % 2 === 0 ? '/validate' : '/mutate', body))
  const times = new Map(NAMES.map((name) => [name, [] as number[][]]))
  for (let i = 0; i < STARTS; i++) {
    const servers = await startAll()
    const callers = await Promise.all(
      [...servers].map(async ([name, { port }]) => {
        const taken: number[] = []
        times.get(name)?.push(taken)
        return { ask: await openConnection(port), next: inTurn(requests), taken }
      }),
    )
    for (let call = 0; call < CALLS; call++) {
      for (const { ask, next, taken } of callers) {
        await setTimeout(INTERVAL / NAMES.length)
        taken.push(await timed(ask, next.next().value))
      }
    }
    for (const { stop } of servers.values()) await stop()
  }
  const rows = [...times].map(([name, starts]) => {
    const all = starts.flat()
    const first = starts.map(([each = NaN]) => each)
    const firstTen = starts.flatMap((each) => each.slice(0, 10))
    return [
      name,
      ...[median(first), median(firstTen), Math.max(...firstTen), median(all), percentile(all, 0.9)].map(
        milliseconds,
      ),
    ]
  })
  const calls = table(
    ['server', 'first call', 'p50 of the first ten', 'slowest of the first ten', 'p50', 'p90'],
    rows,
  )
  return `${calls}\n\nThe same reviews after pauses of other lengths, on a server of its own each:\n\n${await pauses()}`
}

/** Milliseconds between two calls, and how many are made. */
const PAUSES = [
  [INTERVAL, 120],
  [10, 400],
  [0, 3_000],
] as const

/** How much slower the same work is after a pause, and how much of a call is the review itself, by the log. */
async function pauses(): Promise<string> {
  const requests = mixedReviews().map((body, i) => requestOf(i % 2 === 0 ? '/validate' : '/mutate', body))
  const rows = PAUSES.map(([pause]) => [pause === 0 ? 'none' : `${pause} ms`])
  for (const name of ['bare node:https', 'vmcp-admission'] as const) {
    const server = await ready(await startServer(name))
    const ask = await openConnection(server.port)
    const next = inTurn(requests)
    for (const [row, [pause, count]] of PAUSES.entries()) {
      const taken: number[] = []
      for (let i = 0; i < count; i++) {
        if (pause > 0) await setTimeout(pause)
        taken.push(await timed(ask, next.next().value))
      }
      rows[row]?.push(milliseconds(median(taken)))
      if (name === 'vmcp-admission') rows[row]?.push(milliseconds(median(await reviewTimes(count))))
    }
    await server.stop()
  }
  return table(['pause', 'p50 of bare', 'p50 of vmcp-admission', 'of that in the review'], rows)
}

/** Milliseconds that the last reviews took, as the log says: from the last byte of the body to the answer. */
async function reviewTimes(count: number): Promise<number[]> {
  // The log is written in batches.
  await setTimeout(1_000)
  const lines = readFileSync(join(folder, 'vmcp-admission.log'), 'utf8').trim().split('\n')
  const times = lines.map((line) => (JSON.parse(line) as { ms?: number }).ms)
  return times.filter((ms) => ms !== undefined).slice(-count)
}
