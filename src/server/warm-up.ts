import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { connect, type TLSSocket } from 'node:tls'
import { pino } from 'pino'
import type { ServingPair } from '../certificates/serving-pair.ts'
import { API_VERSION } from '../kinds/index.ts'
import { examplesAt, rulePlaces } from '../kinds/places.ts'
import { REVIEW_VERSION } from './admission-review.ts'
import { buildWebhook, type Parts } from './app.ts'
import { Bodies } from './bodies.ts'
import { createMetrics } from './metrics.ts'

/** How often each of them is judged: after twice the times no longer fall much. */
const ROUNDS = 2
/** Milliseconds of CPU time: two rounds take a fifth of it on a server of 2024. */
const MOST_CPU = 3_000
/** Milliseconds, for a container whose CPU is throttled. */
const LONGEST = 10_000

/**
 * Judges a right and a wrong example of each rule before the first review comes: V8 compiles what runs for the first
 * time, and a first review would take ten times as long as later ones. The requests go over loopback to a second webhook
 * of the same code, so that nothing of them is in the log and the metrics of the first one, and nothing is read from the
 * API server.
 */
export async function warmUp(parts: Parts, pair: ServingPair, ended: AbortSignal): Promise<void> {
  const quiet = pino({ base: null }, { write: () => undefined })
  const bodies = new Bodies(0)
  const own = { ...parts, logger: quiet, metrics: createMetrics(), live: undefined, bodies }
  const webhook = buildWebhook(own, pair)
  const signal = AbortSignal.any([ended, AbortSignal.timeout(LONGEST)])
  const begun = process.cpuUsage()
  let socket: TLSSocket | undefined
  try {
    await webhook.listen({ host: '127.0.0.1', port: 0 })
    const { port } = webhook.server.address() as AddressInfo
    // The process calls itself, so no certificate has to be checked.
    socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false })
    // Between two requests nothing else listens for an error, which would end the process.
    socket.on('error', () => undefined)
    await once(socket, 'secureConnect', { signal })
    const requests = [...exampleRequests(parts.judge().world.group)]
    for (let i = 0; i < ROUNDS * requests.length; i++) {
      const { user, system } = process.cpuUsage(begun)
      if ((user + system) / 1e3 > MOST_CPU) break
      socket.write(requests[i % requests.length] ?? '')
      await once(socket, 'data', { signal })
    }
  } catch (error) {
    if (!ended.aborted) throw error
  } finally {
    socket?.destroy()
    await webhook.close()
  }
}

/** A right and a wrong example of each rule in reviews as the API server sends them, to both paths. */
function* exampleRequests(group: string): Iterable<string> {
  // The same code runs at the other places of a rule, and in its other examples.
  const places = new Map(rulePlaces().map((place) => [place.rule.id, place]))
  for (const place of places.values()) {
    const examples = Object.values(
      Object.groupBy(examplesAt(place), ({ findings }) => String(findings.length > 0)),
    )
    for (const { resource, old } of examples.flatMap((each = []) => each.slice(0, 1))) {
      const request = {
        uid: 'warm-up',
        kind: { group, version: API_VERSION, kind: place.kind.kind },
        operation: old === undefined ? 'CREATE' : 'UPDATE',
        name: 'example',
        namespace: 'default',
        object: resource,
        oldObject: old ?? null,
      }
      const body = JSON.stringify({ apiVersion: REVIEW_VERSION, kind: 'AdmissionReview', request })
      for (const path of ['/mutate', '/validate']) {
        const head = [
          `POST ${path}?timeout=10s HTTP/1.1`,
          'host: localhost',
          'accept: application/json, */*',
          'accept-encoding: gzip',
          'content-type: application/json',
          `content-length: ${Buffer.byteLength(body)}`,
        ]
        yield `${head.join('\r\n')}\r\n\r\n${body}`
      }
    }
  }
}
