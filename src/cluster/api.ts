import { Agent as HttpAgent, type IncomingMessage, request as httpRequest, STATUS_CODES } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest, type RequestOptions } from 'node:https'
import { isObject, parsedJson } from '../rule/index.ts'
import type { Access } from './access.ts'
import { Deadline } from './deadline.ts'
import { ServerClock } from './server-clock.ts'
import type { Times } from './times.ts'

/**
 * Thrown for answers other than 200 or 201. The message is the status, with the text of the API server if it sent one.
 */
export class StatusError extends Error {
  readonly status: number
  /** The pause that the API server requests, in milliseconds. */
  readonly retryAfter: number

  constructor(status: number, text: string, retryAfter = 0) {
    super(`${status} ${text}`)
    this.status = status
    this.retryAfter = retryAfter
  }
}

const LONGEST_REFUSAL = 65_536
const LONGEST_TEXT = 300
/**
 * Text that is removed from error messages: other webhooks may repeat values that were sent, such as a Secret's values.
 */
const LONG_BASE64 = /[A-Za-z0-9+/=]{64}/

/**
 * Whether a write failed because the object was deleted (404) or changed (409) before. Excludes a creation with 404,
 * whose namespace or kind is missing, and a deletion with 409, because deletions have no condition on the version.
 */
const isLate = (status: number, { method }: SentRequest) =>
  (status === 404 && method !== 'POST') || (status === 409 && method !== 'DELETE')

/** The API group and namespace of an installation of this project. Requests are cancelled when the signal aborts. */
export interface InstallationPlace {
  readonly group: string
  readonly namespace: string
  readonly signal: AbortSignal
}

/** An object as JSON; callers check the fields that they read. */
export type Stored = Readonly<Record<string, unknown>>

/** A deletion without preconditions, for `attempt` and `write`. */
export const DELETE = { method: 'DELETE', contentType: 'application/json', body: '{}' } as const

type Work<T> = (response: IncomingMessage, deadline: Deadline) => Promise<T>

/** A request with a body, which may change objects. */
export interface SentRequest {
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly contentType: string
  readonly body: string
}

/** An answer with any HTTP status. */
export interface Answer {
  readonly status: number
  /** The body as JSON; undefined when it is not JSON. */
  readonly body: unknown
  /** The texts of the `Warning` headers. */
  readonly warnings: readonly string[]
}

/**
 * Sends requests to an API server, over HTTP/1.1, so that each watch has its own connection. Connections are reused;
 * the idle ones are closed when a request gets no answer. src/generate/bundle.ts has the figures that show why this
 * does not use the typed API of client-node.
 */
export class Api {
  readonly clock = new ServerClock()
  readonly #access: Access
  readonly #times: Times
  readonly #agent: HttpAgent
  readonly #request: typeof httpsRequest

  constructor(access: Access, times: Times) {
    const secure = access.server.protocol === 'https:'
    this.#access = access
    this.#times = times
    this.#agent = new (secure ? HttpsAgent : HttpAgent)({
      keepAlive: true,
      keepAliveMsecs: 10_000,
      timeout: 30_000,
    })
    this.#request = secure ? httpsRequest : httpRequest
  }

  /** The text of a 200 answer. Throws as `json` does. */
  async text(path: string, signals: readonly AbortSignal[]): Promise<string> {
    return this.stream(path, signals, (response, deadline) => this.#text(response, deadline))
  }

  /** The JSON of a 200 answer. Throws StatusError at any other answer, and an Error when no answer comes in time. */
  async json(path: string, signals: readonly AbortSignal[]): Promise<unknown> {
    return this.stream(path, signals, async (response, deadline) =>
      parseJson(await this.#text(response, deadline)),
    )
  }

  /** The text of a 200 answer, or undefined when it has more than `longest` bytes. Throws as `json` does. */
  async textUpTo(
    path: string,
    signals: readonly AbortSignal[],
    longest: number,
  ): Promise<string | undefined> {
    return this.stream(path, signals, async (response, deadline) => {
      const found = await this.#bytes(response, deadline, longest)
      return found.length > longest ? undefined : found.toString()
    })
  }

  /** The object in a 200 answer, or undefined when it does not exist (404). Throws as `json` does. */
  async object(path: string, signals: readonly AbortSignal[]): Promise<Stored | undefined> {
    try {
      const found = await this.json(path, signals)
      if (!isObject(found)) throw new Error('the answer is not an object')
      return found
    } catch (error) {
      if (error instanceof StatusError && error.status === 404) return undefined
      throw error
    }
  }

  /** Sends a change as `write` does; false when the object was deleted (404) or changed (409) before. */
  async attempt(path: string, sent: SentRequest, signals: readonly AbortSignal[]): Promise<boolean> {
    try {
      await this.write(path, sent, signals)
      return true
    } catch (error) {
      if (error instanceof StatusError && isLate(error.status, sent)) return false
      throw error
    }
  }

  /**
   * Sends a change. Throws as `json` does; no message repeats sent values. A request may arrive twice (see `#send`), so
   * it must have no effect the second time: it is a creation, a deletion, an apply, or has a resourceVersion.
   */
  async write(path: string, sent: SentRequest, signals: readonly AbortSignal[]): Promise<void> {
    try {
      await this.stream(path, signals, (response, deadline) => this.#text(response, deadline), sent)
    } catch (error) {
      throw error instanceof StatusError && LONG_BASE64.test(error.message)
        ? new StatusError(error.status, STATUS_CODES[error.status] ?? '', error.retryAfter)
        : error
    }
  }

  /** The JSON answer to an object that is not stored, such as a SubjectAccessReview. Throws as `json` does. */
  async ask(path: string, sent: SentRequest, signals: readonly AbortSignal[]): Promise<unknown> {
    const read = async (response: IncomingMessage, deadline: Deadline) =>
      parseJson(await this.#text(response, deadline))
    return this.stream(path, signals, read, sent)
  }

  /**
   * The answer to a dry run, whether it accepts or refuses. Throws StatusError at 401, 429 and 5xx; other errors as in
   * `json`.
   */
  async tried(path: string, sent: SentRequest, signals: readonly AbortSignal[]): Promise<Answer> {
    return this.#exchange(path, signals, sent, async (response, deadline) => {
      const status = response.statusCode ?? 0
      if (status === 401 || status === 429 || status >= 500) throw await this.#refusal(response, deadline)
      const text = await this.#text(response, deadline)
      const warnings = (response.headersDistinct.warning ?? []).map(textOfWarning)
      return { status, body: parsedJson(text), warnings }
    })
  }

  /** Calls `work` with a 200 answer (201 for a change), and with the deadline for the next part of its body. */
  async stream<T>(
    path: string,
    signals: readonly AbortSignal[],
    work: Work<T>,
    sent?: SentRequest,
  ): Promise<T> {
    return this.#exchange(path, signals, sent, async (response, deadline) => {
      const { statusCode } = response
      if (statusCode !== 200 && !(statusCode === 201 && sent !== undefined))
        throw await this.#refusal(response, deadline)
      return work(response, deadline)
    })
  }

  async #exchange<T>(
    path: string,
    signals: readonly AbortSignal[],
    sent: SentRequest | undefined,
    work: Work<T>,
  ): Promise<T> {
    const deadline = new Deadline(signals)
    try {
      return await work(await this.#open(path, deadline, sent), deadline)
    } catch (error) {
      if (!(error instanceof StatusError)) this.#dropIdleConnections()
      throw deadline.signal.aborted ? deadline.signal.reason : named(error)
    } finally {
      deadline.end()
    }
  }

  /** Closes all connections, even those in use. */
  close(): void {
    this.#agent.destroy()
  }

  async #open(path: string, deadline: Deadline, sent: SentRequest | undefined): Promise<IncomingMessage> {
    const { answer } = this.#times
    deadline.set(answer, () => new Error(`no answer within ${answer / 1_000} s`))
    const credentials = await deadline.race(this.#access.credentials())
    const { href } = this.#access.server
    const options: RequestOptions = {
      agent: this.#agent,
      ...credentials,
      signal: deadline.signal,
      method: sent?.method ?? 'GET',
      headers: {
        ...credentials.headers,
        accept: 'application/json',
        'user-agent': 'vmcp-admission',
        // By default Node sends a DELETE without the length of its body, so the server takes the body for the next
        // request.
        ...(sent && { 'content-type': sent.contentType, 'content-length': Buffer.byteLength(sent.body) }),
      },
    }
    const begun = performance.now()
    const response = await this.#send(href.replace(/\/$/, '') + path, options, sent?.body)
    // A 5xx answer may come from a proxy, which has another clock.
    if ((response.statusCode ?? 0) < 500) this.clock.note(response.headers.date, begun)
    this.#awaitPart(deadline)
    return response
  }

  /** Sends the request, and repeats it once if the server closed a kept connection just when it was reused. */
  #send(url: string, options: RequestOptions, body: string | undefined): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      let answered = false
      const sent = this.#request(url, options, (response) => {
        answered = true
        resolve(response)
      })
      sent.on('error', (error: NodeJS.ErrnoException) => {
        const stale = sent.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE')
        if (answered || !stale || options.signal?.aborted) {
          reject(error)
          return
        }
        this.#dropIdleConnections()
        this.#send(url, options, body).then(resolve, reject)
      })
      sent.end(body)
    })
  }

  async #text(response: IncomingMessage, deadline: Deadline, longest?: number): Promise<string> {
    return (await this.#bytes(response, deadline, longest)).toString()
  }

  /** The bytes of a body; stops reading when there are more than `longest`. */
  async #bytes(response: IncomingMessage, deadline: Deadline, longest = Infinity): Promise<Buffer> {
    const parts: Buffer[] = []
    let length = 0
    for await (const part of response as AsyncIterable<Buffer>) {
      this.#awaitPart(deadline)
      parts.push(part)
      length += part.length
      if (length > longest) break
    }
    return Buffer.concat(parts)
  }

  #awaitPart(deadline: Deadline): void {
    const { idle } = this.#times
    deadline.set(idle, () => new Error(`the answer broke off: nothing for ${idle / 1_000} s`))
  }

  async #refusal(response: IncomingMessage, deadline: Deadline): Promise<StatusError> {
    const status = response.statusCode ?? 0
    const body = await this.#text(response, deadline, LONGEST_REFUSAL).catch(() => '')
    if (status === 401) this.#access.renew()
    const seconds = Number(response.headers['retry-after'])
    return new StatusError(
      status,
      messageIn(body) ?? STATUS_CODES[status] ?? '',
      seconds > 0 ? seconds * 1_000 : 0,
    )
  }

  #dropIdleConnections(): void {
    for (const sockets of Object.values(this.#agent.freeSockets)) {
      for (const socket of [...(sockets ?? [])]) socket.destroy()
    }
  }
}

/** The text in a header such as `299 - "text"` (RFC 7234). */
const textOfWarning = (header: string): string =>
  (/^\d{3} \S+ "((?:[^"\\]|\\.)*)"/.exec(header)?.[1] ?? header).replaceAll(/\\(.)/g, '$1')

/** The message of a Kubernetes Status; undefined for other bodies, such as an HTML page of a proxy. */
function messageIn(body: string): string | undefined {
  const status = parsedJson(body)
  return isObject(status) && status.kind === 'Status' && typeof status.message === 'string'
    ? status.message.slice(0, LONGEST_TEXT)
    : undefined
}

/** Parses JSON; its error message does not repeat the text. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Error('the answer is not JSON')
  }
}

/** Returns the error, or a clearer one where the message of Node's error is empty or unclear. */
function named(error: unknown): unknown {
  const { code, message } = error as NodeJS.ErrnoException
  if (message === 'aborted') return new Error('the connection was closed in the middle of an answer')
  return message === '' ? new Error(code ?? 'the connection failed') : error
}
