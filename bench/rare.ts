import { setTimeout } from 'node:timers/promises'
import { inTurn, openConnection, requestOf, timed } from './client.ts'
import { median, milliseconds, percentile, table } from './figures.ts'
import { mixedReviews } from './reviews.ts'
import { NAMES, startAll } from './servers.ts'

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
  return table(
    ['server', 'first call', 'p50 of the first ten', 'slowest of the first ten', 'p50', 'p90'],
    rows,
  )
}
