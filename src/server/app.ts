import type { Socket } from 'node:net'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import type { ServingPair } from '../certificates/serving-pair.ts'
import {
  type Admission,
  jsonPatch,
  type Judge,
  type PatchOperation,
  type Submission,
  type Verdict,
} from '../engine/index.ts'
import { probeAnnotation } from '../registration/index.ts'
import { atOnce, isObject, metadataOf, pathText, type Steps } from '../rule/index.ts'
import {
  decodeReview,
  encodeBusy,
  encodePatch,
  encodeProbe,
  encodeVerdict,
  type Review,
} from './admission-review.ts'
import { type Bodies, type HeldBody, RefusedBody } from './bodies.ts'
import { boundConnections, unusedConnections } from './connections.ts'
import { BodyError, parseBody } from './json.ts'
import { mayBlock } from './deletion.ts'
import { type LiveReads, mergeReads, NOTHING_READ } from './live.ts'
import type { Metrics } from './metrics.ts'
import { readBudgetMs } from './read-budget.ts'
import { type ReviewStep, Turns } from './turns.ts'

/** The services on which the webhook depends. */
export interface Parts {
  /** Returns the judge for the current settings and the installed release. */
  readonly judge: () => Judge
  readonly logger: Logger
  readonly metrics: Metrics
  /** Reads the objects that a verdict depends on from the API server; absent without a cluster. */
  readonly live?: LiveReads | undefined
  /** The most reviews that may wait for reads from the API server at the same time. */
  readonly mostInFlight: number
  /** The request bodies that are in memory. */
  readonly bodies: Bodies
  /** Whether answers ask clients to close the connection, so that their next request goes to another replica. */
  readonly isStopping: () => boolean
}

/**
 * Milliseconds for which idle connections are kept: more than the 90 s of an API server, so that it never sends on a
 * connection that was closed here. Also applies before the first request of a connection.
 */
const KEEP_ALIVE = 95_000

/** Milliseconds for a TLS handshake; by default an API server waits 10 s for the whole review. */
const HANDSHAKE = 10_000

/** Milliseconds for the first request of a connection after the server begins to close. */
const FIRST_REQUEST = 1_000

/** Cipher suites with forward secrecy and authenticated encryption: for TLS 1.2 neither CBC nor RSA key exchange. */
const CIPHERS = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
].join(':')

/** The TLS options for a serving certificate, at start and after each change of it. */
export const secureOptions = ({ certificate, key }: ServingPair) =>
  ({ cert: certificate, key, minVersion: 'TLSv1.2', ciphers: CIPHERS }) as const

/** Which clients are answered. */
interface Clients {
  readonly tls: object
  /** Why a request on the connection is refused; undefined when it is accepted. */
  readonly gate: (socket: Socket) => string | undefined
  /** When the CAs of client certificates changed last, by `performance.now()`. */
  readonly changedAt: () => number
}

/** The webhook: POST /validate and /mutate over HTTPS. Fastify validates no body: its Ajv would change it. */
export function buildWebhook(parts: Parts, pair: ServingPair, clients?: Clients): FastifyInstance {
  const app = fastify({
    https: {
      ...secureOptions(pair),
      ...clients?.tls,
      headersTimeout: KEEP_ALIVE,
      handshakeTimeout: HANDSHAKE,
    },
    keepAliveTimeout: KEEP_ALIVE,
    requestTimeout: KEEP_ALIVE,
    return503OnClosing: false,
  }) as unknown as FastifyInstance
  boundConnections(app.server, (address, port) => parts.bodies.isHeld(address, port))
  if (clients !== undefined) {
    const openedAt = new WeakMap<Socket, number>()
    app.server.on('secureConnection', (socket: Socket) => openedAt.set(socket, performance.now()))
    let lastProblem: string | undefined
    app.addHook('onRequest', (request, reply, done) => {
      const { socket } = request.raw
      // The handshake may have verified the client by the previous CAs, so the connection is closed after this request.
      if ((openedAt.get(socket) ?? 0) < clients.changedAt() + HANDSHAKE) reply.header('connection', 'close')
      const problem = clients.gate(socket)
      if (problem !== undefined && problem !== lastProblem)
        parts.logger.warn({ problem }, 'refusing a client')
      lastProblem = problem
      if (problem === undefined) done()
      else refuseClient(parts, reply, problem)
    })
  }
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', (request, _payload, done) =>
    parts.bodies.receive(request.raw, done),
  )
  const dropping = setInterval(() => parts.bodies.dropSlow(), 1_000).unref()
  const closeUnused = unusedConnections(app.server)
  app.addHook('preClose', (done) => {
    setTimeout(closeUnused, FIRST_REQUEST).unref()
    done()
  })
  app.addHook('onClose', (_app, done) => {
    clearInterval(dropping)
    done()
  })
  app.setErrorHandler((error: Error & { statusCode?: number }, request, reply) =>
    refuse(parts, error, request, reply),
  )
  app.setNotFoundHandler((request, reply) => {
    if (request.body !== undefined) parts.bodies.end(request.body as HeldBody)
    answerProblem(parts, reply, 404, 'send a POST to /validate or /mutate')
  })
  const turns = new Turns()
  app.post('/validate', answering(parts, turns, validateReview))
  app.post('/mutate', answering(parts, turns, mutateReview))
  return app
}

/**
 * An answer. `record` counts and logs the review after the answer was sent; `seconds`: the time from the end of the
 * request body to the answer.
 */
interface Answer {
  readonly json: string
  readonly record?: (seconds: number) => void
}
/** Runs a step of the review when the review has its turn; `Turns` orders the steps of all reviews. */
type Take = <T>(step: ReviewStep, work: () => T) => Promise<T>
type Responding = (parts: Parts, review: Review, url: string, take: Take) => Promise<() => Answer>

/** Returns the handler that parses, judges, answers and records a review, each step in its turn. */
function answering(parts: Parts, turns: Turns, respond: Responding) {
  const { bodies } = parts
  const answer = async (held: HeldBody, request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const { client, arrived } = held
    const turn = { bytes: held.bytes, flow: client }
    const take: Take = (step, work) => turns.take(turn, step, work)
    const review = await take('parse', () => {
      const decoded = decodeReview(parseBody(bodies.bytesOf(held)))
      if (typeof decoded === 'string') throw new BodyError(decoded)
      turn.flow = flowOf(parts, client, decoded)
      return decoded
    })
    const answered = await respond(parts, review, request.url, take)
    const { record, seconds } = await take('answer', () => {
      const { json, record } = answered()
      leaving(parts, reply).type('application/json').send(json)
      return { record, seconds: (performance.now() - arrived) / 1_000 }
    })
    if (record !== undefined) await take('record', () => record(seconds))
  }
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const held = request.body as HeldBody | undefined
    if (held === undefined) throw new BodyError('the body is not JSON')
    try {
      const turn = bodies.turn(held)
      if (turn !== undefined) await turn
      await answer(held, request, reply)
    } finally {
      bodies.end(held)
    }
  }
}

/**
 * The flow of a review: its client and namespace. Flows share CPU time fairly. All unknown namespaces of a client
 * belong to one flow, because a client could name a new namespace in each review.
 */
function flowOf({ judge }: Parts, client: string, { submission: { namespace } }: Review): string {
  const { state } = judge().world
  return state === 'no cluster' || state.hasNamespace(namespace) ? `${client}/${namespace}` : client
}

function leaving({ isStopping }: Parts, reply: FastifyReply): FastifyReply {
  return isStopping() ? reply.header('connection', 'close') : reply
}

/**
 * Judges a review by the cache. If the verdict depends on other objects, reads them from the API server and judges
 * again.
 */
async function validateReview(parts: Parts, review: Review, url: string, take: Take): Promise<() => Answer> {
  const { submission } = review
  const { live } = parts
  const judge = parts.judge()
  const nonce = probeIn(submission, judge.world.group)
  if (nonce !== undefined) return () => ({ json: encodeProbe(review, nonce) })
  const byCache = await inTurns(take, judge.inSteps.admit(submission))
  if (live === undefined) return () => answerVerdict(parts, review, byCache)
  const isOpen = byCache.unconfirmed.length > 0
  const isFull = live.waiting >= parts.mostInFlight
  if (isOpen && isFull && deniesByCacheAlone(review, byCache)) return () => shed(parts, review)
  const verdict = !isOpen
    ? atOnce(byCache.with(NOTHING_READ))
    : isFull
      ? await inTurns(take, byCache.with(NOTHING_READ))
      : await confirmed(submission, byCache, { live, take }, readBudgetMs(url))
  return () => answerVerdict(parts, review, verdict)
}

/**
 * Whether every error of the verdict depends on other objects, which may have changed in the cluster since they were
 * cached. False for a deletion: its webhook has failurePolicy Ignore, so a lack of capacity must not deny it.
 */
function deniesByCacheAlone({ submission }: Review, { errors }: Verdict): boolean {
  const areOpen = errors.length > 0 && errors.every(({ error }) => error.dependsOn !== undefined)
  return areOpen && submission.operation !== 'DELETE'
}

/** Runs each step of a judgement when the review has its turn, so that other reviews can run between the steps. */
async function inTurns<T>(take: Take, steps: Steps<T>): Promise<T> {
  for (;;) {
    const step = await take('judge', () => steps.next())
    if (step.done === true) return step.value
  }
}

/** The nonce of a dry run that only tests whether the API server calls the webhook; undefined for any other review. */
function probeIn({ object, dryRun }: Submission, group: string): string | undefined {
  if (!dryRun) return undefined
  const metadata = metadataOf(object)
  const annotations = isObject(metadata.annotations) ? metadata.annotations : {}
  const nonce = annotations[probeAnnotation(group)]
  return typeof nonce === 'string' ? nonce : undefined
}

/** Answers at once that too many reviews wait for reads from the API server; the client may try again. */
function shed({ logger, metrics, mostInFlight }: Parts, review: Review): Answer {
  metrics.shed()
  logger.warn({ ...about(review), waiting: mostInFlight }, 'shed: too many reviews wait for the API server')
  return { json: encodeBusy(review) }
}

/**
 * The most rounds of reads from the API server for one review: a VirtualMCPServer refers to a group, the group to
 * backends, and backends to other objects.
 */
export const MOST_ROUNDS = 4

interface Confirming {
  readonly live: LiveReads
  readonly take: Take
}

/** Reads the objects on which the verdict depends from the API server, within `milliseconds`, and judges again. */
async function confirmed(
  submission: Submission,
  byCache: Admission,
  { live, take }: Confirming,
  milliseconds: number,
): Promise<Verdict> {
  const { namespace, operation } = submission
  const end = performance.now() + milliseconds
  const left = () => Math.max(0, Math.floor(end - performance.now()))
  let read = NOTHING_READ
  let verdict = byCache
  // Each round reads the objects on which the latest verdict depends: objects read before may refer to more objects.
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const asked = verdict.unconfirmed
    if (asked.length === 0) break
    read = mergeReads(read, await live.confirm(namespace, asked, left()))
    verdict = await inTurns(take, verdict.with(read))
    if (!asked.every((name) => read.has(name))) break
  }
  if (operation !== 'DELETE' || verdict.errors.length === 0) return verdict
  const isBlocking = await mayBlock(submission, live, left())
  if (isBlocking === undefined) return inTurns(take, byCache.with(NOTHING_READ))
  return isBlocking ? verdict : { ...verdict, errors: [] }
}

function answerVerdict({ logger, metrics }: Parts, review: Review, verdict: Verdict): Answer {
  const { errors, warnings, exempted, ignored, failures } = verdict
  const json = encodeVerdict(review, verdict)
  const outcome = errors.length > 0 ? 'denied' : warnings.length > 0 ? 'warned' : 'admitted'
  const record = (seconds: number) => {
    metrics.reviewed('validate', review, outcome, seconds)
    metrics.found(verdict, review.submission.dryRun)
    for (const { id, failure } of failures)
      logger.error({ uid: review.uid, rule: id, err: failure }, 'rule failed')
    logger.info({
      ...logged(review, 'validate', outcome, seconds),
      ...(errors.length > 0 ? denied(review, errors) : undefined),
      errors: ids(errors),
      warnings: ids(warnings),
      exempted: exempted.length === 0 ? undefined : exempted,
      ignored: ids(ignored.map(({ finding }) => finding)),
    })
  }
  return { json, record }
}

async function mutateReview(parts: Parts, review: Review, _url: string, take: Take): Promise<() => Answer> {
  const judge = parts.judge()
  const { submission } = review
  if (probeIn(submission, judge.world.group) !== undefined) return () => ({ json: encodePatch(review, []) })
  const patch = await take('judge', () => jsonPatch(judge.complete(submission)))
  return () => answerPatch(parts, review, patch)
}

function answerPatch({ logger, metrics }: Parts, review: Review, patch: readonly PatchOperation[]): Answer {
  const json = encodePatch(review, patch)
  const outcome = patch.length > 0 ? 'patched' : 'admitted'
  const record = (seconds: number) => {
    metrics.reviewed('mutate', review, outcome, seconds)
    logger.info({ ...logged(review, 'mutate', outcome, seconds), added: patch.length })
  }
  return { json, record }
}

/** The most fields of a denial that are logged. */
const MOST_FIELDS = 20
/** The most characters of a path that are logged: it may contain keys of maps, which have any length. */
const LONGEST_FIELD = 256

/** The log fields of a denial: the user, and the paths of the wrong fields, never their values. */
function denied({ submission: { user } }: Review, errors: Verdict['errors']) {
  const fields = new Set(
    errors.slice(0, MOST_FIELDS).map(({ error: { at } }) => pathText(at).slice(0, LONGEST_FIELD)),
  )
  return { user, fields: [...fields] }
}

/** The log fields of a review: with the name of the object, but never its content. */
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

/** Answers a request that is not a review with 4xx and a sentence; logs an internal error and answers it with 500. */
function refuse(
  parts: Parts,
  error: Error & { statusCode?: number },
  request: FastifyRequest,
  reply: FastifyReply,
) {
  if (error instanceof BodyError) return answerProblem(parts, reply, 400, error.message)
  const status = error.statusCode ?? 500
  if (status === 415) return answerProblem(parts, reply, 415, "content-type must be 'application/json'")
  // Reads and drops the rest of the body: a client that is still sending when the connection closes never sees the
  // answer.
  if (error instanceof RefusedBody) {
    if (!error.closes) reply.removeHeader('connection')
    if (status === 503) reply.header('retry-after', '1')
    return answerProblem(parts, reply, status, error.message)
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

/** Answers 403 with plain text: API servers show it to users, unlike the text of a 401 answer or a JSON body. */
function refuseClient(parts: Parts, reply: FastifyReply, problem: string): void {
  parts.metrics.refused(403)
  leaving(parts, reply).code(403).type('text/plain').send(problem)
}

/** The probes, over plain HTTP on a separate port: /livez, /readyz (503 with the reason when not ready), /metrics. */
export function buildProbes(
  { metrics }: Pick<Parts, 'metrics'>,
  whyNotReady: () => string | undefined,
): FastifyInstance {
  const app = fastify()
  app.get('/livez', (_request, reply) => reply.send('ok'))
  app.get('/readyz', (_request, reply) => {
    const reason = whyNotReady()
    return reason === undefined ? reply.send('ok') : reply.code(503).send(`not ready: ${reason}`)
  })
  app.get('/metrics', async (_request, reply) => {
    return reply.type(metrics.registry.contentType).send(await metrics.registry.metrics())
  })
  return app
}
