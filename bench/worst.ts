import { setTimeout } from 'node:timers/promises'
import { bytesOf, type Candidate } from '../test/support/worst-cases/candidate.ts'
import { ROWS } from '../test/support/worst-cases/rows.ts'
import { reviewOf } from '../test/support/review.ts'
import { ATTACKS } from './attacks.ts'
import { openConnection, requestOf, timed } from './client.ts'
import { milliseconds, table } from './figures.ts'
import { ready, startServer } from './servers.ts'

/** Milliseconds in which the collector ends what the request began. */
const AFTER = 300

/** What the worst bodies cost, each as the first request of a server that has just become ready. */
export async function worst(): Promise<string> {
  const rows: string[][] = []
  for (const [title, body] of worstBodies()) {
    const server = await ready(await startServer('vmcp-admission'))
    const ask = await openConnection(server.port, /^HTTP\/1.1 (200|400)/)
    const before = server.cpu()
    server.forgetPeak()
    const resting = server.memory('VmRSS')
    const taken = await timed(ask, requestOf('/validate', body))
    await setTimeout(AFTER)
    rows.push([
      title,
      `${(body.length / 1e3).toFixed(0)} KB`,
      milliseconds(server.cpu() - before),
      milliseconds(taken),
      `${(server.memory('VmHWM') - resting).toFixed(0)} MB`,
    ])
    await server.stop()
  }
  return table(['the first request', 'body', 'CPU', 'answered after', 'more memory'], rows)
}

function* worstBodies(): Iterable<[string, string]> {
  for (const [title, body] of Object.entries(ATTACKS)) yield [title, body(0)]
  const candidates = ROWS.map(({ title, size, at }) => ({
    title: title.replace('N', String(size)),
    ...at(size),
  }))
  for (const candidate of candidates) yield [candidate.title, reviewTextOf(candidate)]
  // Of each kind, an update from each object that is created above to the one after it.
  for (const [i, { title, object, oldObject }] of candidates.entries()) {
    const next = candidates.slice(i + 1).find((each) => each.object.kind === object.kind)
    if (oldObject === undefined && next !== undefined && bytesOf(object) + bytesOf(next.object) < 3e6)
      yield [`${next.title}, before it ${title}`, reviewTextOf({ ...next, oldObject: object })]
  }
}

const reviewTextOf = ({ object, oldObject }: Candidate) =>
  JSON.stringify(reviewOf(object, oldObject === undefined ? {} : { operation: 'UPDATE', oldObject }))
