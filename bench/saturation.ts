import { type Ask, inTurn, openConnection, requestOf, timed } from './client.ts'
import { median, milliseconds, percentile, table } from './figures.ts'
import { mixedReviews, roleMappingReviews } from './reviews.ts'
import { NAMES, type Server, startAll } from './servers.ts'

const STARTS = 2
const ROUNDS = 8
/** Milliseconds of a turn: short, because the speed of a machine drifts and only the ratio within a round counts. */
const TURN = 250
/** Milliseconds until what is hot is compiled. */
const WARM_UP = 3_000
const CONNECTIONS = [1, 4, 16]

interface Turn {
  readonly rate: number
  readonly cpu: number
  readonly latencies: readonly number[]
}

/** As many requests as each server answers, one after the other in turn. */
export async function saturation(): Promise<string> {
  const bodies = { mixed: mixedReviews(), '155 role mappings': roleMappingReviews() }
  const rows = Object.entries(bodies).flatMap(([name, all]) =>
    ['/validate', '/mutate'].flatMap((path) =>
      CONNECTIONS.map((connections) => ({
        title: [name, path, String(connections)],
        requests: all.map((body) => requestOf(path, body)),
        connections,
        rounds: [] as Turn[][],
      })),
    ),
  )
  for (let i = 0; i < STARTS; i++) {
    const servers = [...(await startAll()).values()]
    const opened = await Promise.all(
      servers.map(({ port }) =>
        Promise.all(Array.from({ length: Math.max(...CONNECTIONS) }, () => openConnection(port))),
      ),
    )
    let warmed = ''
    for (const { title, requests, connections, rounds } of rows) {
      const turnOf = (server: Server, j: number, length: number) =>
        turn(server, (opened[j] ?? []).slice(0, connections), requests, length)
      const kind = title.slice(0, 2).join()
      if (kind !== warmed) for (const [j, server] of servers.entries()) await turnOf(server, j, WARM_UP)
      warmed = kind
      for (let round = 0; round < ROUNDS; round++) {
        const turns: Turn[] = []
        for (const [j, server] of servers.entries()) turns.push(await turnOf(server, j, TURN))
        rounds.push(turns)
      }
    }
    for (const { stop } of servers) await stop()
  }
  const head = [
    ...['reviews', 'path', 'connections', 'bare', 'Fastify of bare', 'vmcp-admission', 'of bare'],
    ...['CPU each', 'p50', 'p99', "bare's CPU", "bare's p50", "bare's p99"],
  ]
  const lines = rows.map(({ title, rounds }) => {
    const [bare = [], , ours = []] = NAMES.map((_, j) => rounds.flatMap((round) => round[j] ?? []))
    const rate = (turns: readonly Turn[]) => `${median(turns.map((each) => each.rate)).toFixed(0)}/s`
    const ofBare = (j: number) =>
      median(rounds.map((round) => (round[j]?.rate ?? NaN) / (round[0]?.rate ?? NaN))).toFixed(2)
    return [...title, rate(bare), ofBare(1), rate(ours), ofBare(2), ...times(ours), ...times(bare)]
  })
  return table(head, lines)
}

function times(turns: readonly Turn[]): string[] {
  const latencies = turns.flatMap((each) => each.latencies)
  const cpu = median(turns.map((each) => each.cpu))
  return [cpu, median(latencies), percentile(latencies, 0.99)].map(milliseconds)
}

async function turn(
  server: Server,
  asks: readonly Ask[],
  requests: readonly Buffer[],
  length: number,
): Promise<Turn> {
  const next = inTurn(requests)
  const latencies: number[] = []
  const cpu = server.cpu()
  const start = performance.now()
  const askAgain = async (ask: Ask) => {
    while (performance.now() < start + length) latencies.push(await timed(ask, next.next().value))
  }
  await Promise.all(asks.map(askAgain))
  const seconds = (performance.now() - start) / 1_000
  return { rate: latencies.length / seconds, cpu: (server.cpu() - cpu) / latencies.length, latencies }
}
