import type { Socket } from 'node:net'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import type { ServingPair } from '../certificates/local.ts'
import { type Engine, mutate, type Submission, validate } from '../review/index.ts'
import type { Verdict } from '../review/judge.ts'
import { jsonPatch } from '../review/patch.ts'
import { probeAnnotation } from '../kinds/registration.ts'
import { isObject } from '../rule/resource.ts'
import {
  decodeReview,
  encodeBusy,
  encodePatch,
  encodeProbe,
  encodeVerdict,
  type Review,
} from './admission-review.ts'
import { BodyError, parseBody } from './json.ts'
import { mayBlock } from './deletion.ts'
import { type Live, restsOn, UNCONFIRMED } from './live.ts'
import type { Metrics } from './metrics.ts'
import { patience } from './patience.ts'
import { grouping } from './together.ts'

/** What the server is made of. */
export interface Parts {
  readonly engine: Engine
  readonly logger: Logger
  readonly metrics: Metrics
  /** Reads from the API server what a verdict rests on; absent without a cluster. */
  readonly live?: Live | undefined
  /** How many reviews may wait for it at a time. */
  readonly mostInFlight: number
  /** Whether every answer asks the client to go elsewhere with its next request. */
  readonly isStopping: () => boolean
}

/**
 * An update carries the old and the new object. etcd stores at most 1.5 MiB an object, JSON can be twice as long as
 * what is stored: 2 × 2 × 1.5 MiB, and 1 MiB for the rest of the review, as controller-runtime reckons it.
 */
const BODY_LIMIT = 7 * 1024 * 1024
/**
 * Longer than the 90 s for which the API server keeps an idle connection, so that it never meets one we closed; also for
 * one that it opened and has not used yet.
 */
const KEEP_ALIVE = 95_000

/** What TLS serves with: at the start, and again whenever the pair changes. */
export const secureOptions = ({ certificate, key }: ServingPair) =>
  ({ cert: certificate, key, minVersion: 'TLSv1.2' }) as const

/** The webhook: POST /validate and /mutate over HTTPS. Fastify validates nothing here: its Ajv would change bodies. */
export function buildWebhook(
  parts: Parts,
  pair: ServingPair,
  clients?: { readonly tls: object; readonly gate: (socket: Socket) => string | undefined },
): FastifyInstance {
  const app = fastify({
    https: { ...secureOptions(pair), ...clients?.tls, headersTimeout: KEEP_ALIVE },
    bodyLimit: BODY_LIMIT,
    keepAliveTimeout: KEEP_ALIVE,
    requestTimeout: KEEP_ALIVE,
    return503OnClosing: false,
  }) as unknown as FastifyInstance
  if (clients !== undefined) {
    let told: string | undefined
    app.addHook('onRequest', (request, reply, done) => {
      const problem = clients.gate(request.raw.socket)
      if (problem !== undefined && problem !== told) parts.logger.warn({ problem }, 'refusing a client')
      told = problem
      if (problem === undefined) done()
      else refuseClient(parts, reply, problem)
    })
  }
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, body, done) =>
    done(null, body),
  )
  app.setErrorHandler((error: Error & { statusCode?: number }, request, reply) =>
    refuse(parts, error, request, reply),
  )
  app.setNotFoundHandler((_request, reply) =>
    answerProblem(parts, reply, 404, 'send a POST to /validate or /mutate'),
  )
  const together = grouping()
  app.post('/validate', answering(parts, together, validateReview))
  app.post('/mutate', answering(parts, together, mutateReview))
  return app
}

/** What is sent, and what is counted and logged once it is on its way. */
interface Answer {
  readonly json: string
  readonly record?: () => void
}
type Responding = (
  parts: Parts,
  review: Review,
  start: number,
  request: FastifyRequest,
) => Answer | Promise<Answer>

/** Parses, judges, answers and records a review; each step together with the others that came in the same turn. */
function answering(parts: Parts, together: ReturnType<typeof grouping>, respond: Responding) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const text = (request.body as string | undefined) ?? ''
    const others = together(text.length)
    await others
    const body = parseBody(text)
    await others
    const start = performance.now()
    const review = decodeReview(body)
    if (typeof review === 'string') throw new BodyError(review)
    const answer = respond(parts, review, start, request)
    const { json, record } = answer instanceof Promise ? await answer : answer
    await others
    leaving(parts, reply).type('application/json').send(json)
    await others
    record?.()
  }
}

function leaving({ isStopping }: Parts, reply: FastifyReply): FastifyReply {
  return isStopping() ? reply.header('connection', 'close') : reply
}

/** Judges at once, unless the verdict rests on other objects: these are read first, and it is judged once more. */
function validateReview(
  parts: Parts,
  review: Review,
  start: number,
  request: FastifyRequest,
): Answer | Promise<Answer> {
  const { submission } = review
  const nonce = probeIn(submission, parts.engine.group)
  if (nonce !== undefined) return { json: encodeProbe(review, nonce) }
  const verdict = validate(submission, parts.engine)
  const names = parts.live === undefined ? [] : restsOn(verdict)
  if (parts.live === undefined || names.length === 0) return answerVerdict(parts, review, verdict, start)
  if (parts.live.waiting >= parts.mostInFlight) return unconfirmed(parts, review, verdict, start)
  return confirmed(parts, parts.live, review, names, patience(request.url)).then((sure) =>
    answerVerdict(parts, review, sure, start),
  )
}

/** What a probe carries; undefined for any other review. */
function probeIn({ object, dryRun }: Submission, group: string): string | undefined {
  if (!dryRun) return undefined
  const metadata = isObject(object) && isObject(object.metadata) ? object.metadata : {}
  const annotations = isObject(metadata.annotations) ? metadata.annotations : {}
  const nonce = annotations[probeAnnotation(group)]
  return typeof nonce === 'string' ? nonce : undefined
}

/** Without room to read: what the view says, and no verdict where that alone would deny. A deletion fails open. */
function unconfirmed(parts: Parts, review: Review, { errors }: Verdict, start: number): Answer {
  const { submission } = review
  const isOpen = errors.length > 0 && errors.every(({ error }) => error.restsOn !== undefined)
  if (isOpen && submission.operation !== 'DELETE') return shed(parts, review)
  return answerVerdict(parts, review, validate(submission, parts.engine, UNCONFIRMED), start)
}

/** A clear answer where the API server would otherwise wait in vain: the client may try again. */
function shed({ logger, metrics, mostInFlight }: Parts, review: Review): Answer {
  metrics.shed()
  logger.warn({ ...about(review), waiting: mostInFlight }, 'shed: too many reviews wait for the API server')
  return { json: encodeBusy(review) }
}

async function confirmed(
  { engine }: Parts,
  live: Live,
  { submission }: Review,
  names: ReturnType<typeof restsOn>,
  milliseconds: number,
): Promise<Verdict> {
  const { namespace, operation } = submission
  const start = performance.now()
  const end = start + milliseconds
  const tried = submission.dryRun ? undefined : live.dryRuns.with(submission, names, start)
  const verdict = validate(submission, engine, await live.confirm(namespace, names, milliseconds), tried)
  if (operation !== 'DELETE' || verdict.errors.length === 0) return verdict
  return (await mayBlock(submission, live, Math.max(0, Math.floor(end - performance.now()))))
    ? verdict
    : { ...verdict, errors: [] }
}

function answerVerdict(
  { live, logger, metrics }: Parts,
  review: Review,
  verdict: Verdict,
  start: number,
): Answer {
  const { errors, warnings, exempted, failures } = verdict
  live?.dryRuns.hear(review.submission, errors.length === 0, start)
  const json = encodeVerdict(review, verdict)
  const outcome = errors.length > 0 ? 'denied' : warnings.length > 0 ? 'warned' : 'admitted'
  const seconds = (performance.now() - start) / 1000
  const record = () => {
    metrics.reviewed('validate', review, outcome, seconds)
    metrics.found(verdict, review.submission.dryRun)
    for (const { id, failure } of failures)
      logger.error({ uid: review.uid, rule: id, err: failure }, 'rule failed')
    logger.info({
      ...logged(review, 'validate', outcome, seconds),
      errors: ids(errors),
      warnings: ids(warnings),
      exempted: exempted.length === 0 ? undefined : exempted,
    })
  }
  return { json, record }
}

function mutateReview({ engine, logger, metrics }: Parts, review: Review, start: number): Answer {
  if (probeIn(review.submission, engine.group) !== undefined) return { json: encodePatch(review, []) }
  const patch = jsonPatch(mutate(review.submission, engine))
  const json = encodePatch(review, patch)
  const outcome = patch.length > 0 ? 'patched' : 'admitted'
  const seconds = (performance.now() - start) / 1000
  const record = () => {
    metrics.reviewed('mutate', review, outcome, seconds)
    logger.info({ ...logged(review, 'mutate', outcome, seconds), added: patch.length })
  }
  return { json, record }
}

/** What is logged of a review: who and what, never the object. */
function logged(review: Review, webhook: string, verdict: string, seconds: number) {
  return { webhook, verdict, ...about(review), ms: Math.round(seconds * 1e6) / 1e3 }
}

function about({ uid, name, submission }: Review) {
  const { operation, kind, namespace, dryRun } = submission
  return { uid, operation, kind, namespace, name, dryRun }
}

function ids(findings: readonly { readonly id: string }[]): string[] | undefined {
  return findings.length === 0 ? undefined : [...new Set(findings.map(({ id }) => id))]
}

/** Whatever is no review: 4xx with a sentence. What is our own fault: 500, logged; the API server then applies failurePolicy. */
function refuse(
  parts: Parts,
  error: Error & { statusCode?: number },
  request: FastifyRequest,
  reply: FastifyReply,
) {
  if (error instanceof BodyError) return answerProblem(parts, reply, 400, error.message)
  const status = error.statusCode ?? 500
  if (status === 415) return answerProblem(parts, reply, 415, "content-type must be 'application/json'")
  if (status === 413) {
    // The rest of the body is read and dropped: a client that still sends when we close never sees the answer.
    reply.removeHeader('connection')
    return answerProblem(parts, reply, 413, `the body is over ${BODY_LIMIT} bytes`)
  }
  if (status >= 500) parts.logger.error({ err: error, path: request.routeOptions.url }, 'request failed')
  return answerProblem(
    parts,
    reply,
    status,
    status >= 500 ? 'internal error; the log of the server says more' : error.message,
  )
}

function answerProblem(parts: Parts, reply: FastifyReply, status: number, problem: string): FastifyReply {
  parts.metrics.refused(status)
  return leaving(parts, reply)
    .code(status)
    .type('application/json')
    .send(JSON.stringify({ error: problem }))
}

/** The API server shows its user the text of a 403, and nothing of a 401 or of JSON. */
function refuseClient(parts: Parts, reply: FastifyReply, problem: string): void {
  parts.metrics.refused(403)
  leaving(parts, reply).code(403).type('text/plain').send(problem)
}

/** The probes, over plain HTTP on a port of their own: /livez, /readyz, /metrics. */
export function buildProbes({ metrics }: Parts, isReady: () => boolean): FastifyInstance {
  const app = fastify()
  app.get('/livez', (_request, reply) => reply.send('ok'))
  app.get('/readyz', (_request, reply) => (isReady() ? reply.send('ok') : reply.code(503).send('not ready')))
  app.get('/metrics', async (_request, reply) => {
    return reply.type(metrics.registry.contentType).send(await metrics.registry.metrics())
  })
  return app
}
