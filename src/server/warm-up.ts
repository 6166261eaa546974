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

/** How often the warm-up judges each example: after two rounds the judge hardly gets faster. */
const ROUNDS = 2
/** The most milliseconds of CPU time for the warm-up; on a server of 2024, two rounds take a fifth of this time. */
const MOST_CPU = 3_000
/** The most milliseconds of elapsed time for the warm-up, in a container whose CPU is throttled. */
const LONGEST = 10_000

/**
 * Judges a valid and an invalid example of each rule before the first review arrives: V8 compiles code when it first
 * runs, so a first review would take ten times as long as later ones. The requests go over loopback to a second webhook
 * with the same code, so that none of them is logged, counted in metrics, or causes reads from the API server.
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
    // The process calls itself, so its certificate need not be verified.
    socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false })
    // Between two requests no other listener handles errors of the socket; an unhandled one would end the process.
    socket.on('error', () => undefined)
    await once(socket, 'secureConnect', { signal })
    const { group } = parts.judge().world
    const examples = [...exampleRequests(group)]
    const rounds = Array.from({ length: ROUNDS }, () => examples).flat()
    for (const request of [...rounds, ...longRequests(group)]) {
      const { user, system } = process.cpuUsage(begun)
      if ((user + system) / 1e3 > MOST_CPU) break
      socket.write(request)
      await once(socket, 'data', { signal })
    }
  } catch (error) {
    if (!ended.aborted) throw error
  } finally {
    socket?.destroy()
    await webhook.close()
  }
}

/** HTTP requests with a valid and an invalid example of each rule, for /mutate and /validate. */
function* exampleRequests(group: string): Iterable<string> {
  // Takes one place in the schemas for each rule: other places of the rule run the same code.
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
      for (const path of ['/mutate', '/validate']) yield requestOf(path, request)
    }
  }
}

/** Number of matchers in a long request: 12 KB together. All `||` operands differ, so that no cache has them. */
const MATCHERS = 6
const PARTS = 20
const LONG = 1

/** HTTP requests with long matchers, because the CEL parser is the slowest code until V8 compiles it. */
function* longRequests(group: string): Iterable<string> {
  for (let i = 0; i < LONG; i++) {
    const roleMappings = Array.from({ length: MATCHERS }, (_, j) => ({
      roleArn: `arn:aws:iam::123456789012:role/${j}`,
      matcher: Array.from({ length: PARTS }, (_, k) => partOf(`${i}x${j}x${k}`)).join(' || '),
    }))
    yield requestOf('/validate', {
      uid: 'warm-up',
      kind: { group, version: API_VERSION, kind: 'MCPExternalAuthConfig' },
      operation: 'CREATE',
      name: 'example',
      namespace: 'default',
      object: {
        apiVersion: `${group}/${API_VERSION}`,
        kind: 'MCPExternalAuthConfig',
        metadata: { name: 'example', namespace: 'default' },
        spec: { type: 'awsSts', awsSts: { region: 'eu-central-1', roleMappings } },
      },
      oldObject: null,
    })
  }
}

const partOf = (n: string) =>
  `[1, 2].all(x, ["${n}"].exists(y, x > size(y) + 1)) && (has(claims.a) ? claims.b : claims.c${n}) == "d"`

function requestOf(path: string, request: object): string {
  const body = JSON.stringify({ apiVersion: REVIEW_VERSION, kind: 'AdmissionReview', request })
  const head = [
    `POST ${path}?timeout=10s HTTP/1.1`,
    'host: localhost',
    'accept: application/json, */*',
    'accept-encoding: gzip',
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
  ]
  return `${head.join('\r\n')}\r\n\r\n${body}`
}
