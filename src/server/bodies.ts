import type { IncomingMessage } from 'node:http'

/**
 * The most bytes of a request body. An API server accepts requests of up to 3 MiB (etcd stores half of that by
 * default), and an update has the old and the new object: 2 × 3 MiB, and 1 MiB for the rest of the review, as in
 * controller-runtime.
 */
const BODY_LIMIT = 7 * 1024 * 1024
/**
 * The most bytes of request bodies that are judged at the same time. A large body has a bounded number of keys and
 * values (json.ts), which take 25 MB. A small body takes up to 21 times its size when parsed (a list of empty objects),
 * so that 1 MiB of small bodies takes 22 MB.
 */
const JUDGED_AT_ONCE = 8 * 1024 * 1024
/** The part of `JUDGED_AT_ONCE` that only small bodies may use, so that ordinary reviews do not wait for large ones. */
const KEPT_FOR_SMALL = JUDGED_AT_ONCE - BODY_LIMIT
/** The most bytes of a small request body; reviews with larger bodies wait in a separate queue (turns.ts). */
export const SMALL = 64 * 1024
/** Milliseconds for a body to arrive and get its turn: API servers send it at once, and wait 10 s by default. */
const LONGEST = 10_000
/** Milliseconds after which an incomplete body may be refused in favour of another body of the same client. */
const SLOW = 1_000

/** Thrown when a request body is refused, with the HTTP status and the text of the answer. */
export class RefusedBody extends Error {
  readonly statusCode: number
  /** Whether the connection is closed after the answer, because the rest of the body is not read. */
  readonly closes: boolean

  constructor(statusCode: number, message: string, closes = false) {
    super(message)
    this.statusCode = statusCode
    this.closes = closes
  }
}

/** A refusal for lack of memory; it closes the connection, because dropping the rest of the body takes memory too. */
const busy = () => new RefusedBody(503, 'too many bytes of bodies at hand; try again', true)

/** A request body in memory, from the arrival of the request's headers until the answer. */
export interface HeldBody {
  readonly client: string
  /** The port of the client; together with the address in `client` it identifies the connection. */
  readonly port: number
  /** Bytes reserved for the body: its content-length or, if it has none, enough for the bytes that have arrived. */
  bytes: number
  readonly begun: number
  /** Time at which the last byte arrived, in milliseconds of the monotonic clock. */
  arrived: number
  state: 'arriving' | 'waiting' | 'judged' | 'over'
  /** Refuses the body, with this error as the answer to the request. */
  fail: (error: RefusedBody) => void
  parts: Buffer[]
}

/**
 * The request bodies in memory, bounded in bytes over all connections. When a new body does not fit, a body of the
 * client with the most bytes is refused, so that one client cannot keep others from being served.
 */
export class Bodies {
  readonly #most: number
  readonly #now: () => number
  /** All request bodies in memory, in the order in which their requests began. */
  readonly #held = new Set<HeldBody>()
  readonly #waiting = new Map<HeldBody, () => void>()
  #bytes = 0
  #judged = 0
  #displaced = 0

  /** `most`: the limit for the bytes of all request bodies together; a single body always fits. */
  constructor(most: number, now: () => number = () => performance.now()) {
    this.#most = Math.max(most, BODY_LIMIT)
    this.#now = now
  }

  /** Bytes of memory that are currently reserved for request bodies. */
  get bytes(): number {
    return this.#bytes
  }

  /** Number of request bodies that were refused so that other bodies fit into memory. */
  get displaced(): number {
    return this.#displaced
  }

  /** Whether a request body from this connection is in memory, because its review is not answered yet. */
  isHeld(address: string, port: number): boolean {
    for (const { client, port: held } of this.#held) if (client === address && held === port) return true
    return false
  }

  /** Reads the body of a request if it fits into memory; calls `done` with a HeldBody or a RefusedBody. */
  receive(request: IncomingMessage, done: (error: Error | null, body?: HeldBody) => void): void {
    const given = request.headers['content-length']
    const length = given === undefined ? undefined : Number(given)
    if (length !== undefined && length > BODY_LIMIT) {
      done(tooLong())
      return
    }
    const held: HeldBody = {
      client: request.socket.remoteAddress ?? '',
      port: request.socket.remotePort ?? 0,
      bytes: 0,
      begun: this.#now(),
      arrived: 0,
      state: 'arriving',
      fail: (error) => {
        request.off('data', take).off('end', end).off('error', broken)
        this.end(held)
        done(error)
      },
      parts: [],
    }
    let arrived = 0
    let whole: Buffer | undefined
    const take = (part: Buffer) => {
      const start = arrived
      arrived += part.length
      if (arrived > BODY_LIMIT) held.fail(tooLong())
      else if (arrived > held.bytes && !this.#reserve(held, roomFor(arrived) - held.bytes)) held.fail(busy())
      else if (part.length === length) whole = part
      else {
        // Copies the chunks of a body into one buffer: each separate chunk takes hundreds of bytes, however small.
        whole = whole === undefined || whole.length < arrived ? grown(whole, held.bytes) : whole
        part.copy(whole, start)
      }
    }
    const end = () => {
      held.state = 'waiting'
      held.arrived = this.#now()
      held.parts = whole === undefined ? [] : [whole.subarray(0, arrived)]
      done(null, held)
    }
    const broken = (error: Error) => held.fail(new RefusedBody(400, error.message))
    this.#held.add(held)
    if (this.#reserve(held, length ?? 0)) request.on('data', take).on('end', end).on('error', broken)
    else held.fail(busy())
  }

  /**
   * Waits until the body may be judged, smaller bodies first; undefined if it may be judged at once. Rejects with
   * RefusedBody.
   */
  turn(held: HeldBody): Promise<void> | undefined {
    if (this.#fits(held)) {
      this.#judge(held)
      return undefined
    }
    return new Promise((resolve, reject) => {
      this.#waiting.set(held, resolve)
      held.fail = (error) => {
        this.end(held)
        reject(error)
      }
    })
  }

  /** Returns the bytes of a request body and forgets them; may be called only once for a body. */
  bytesOf(held: HeldBody): Buffer {
    const [whole = NOTHING] = held.parts
    held.parts = []
    return whole
  }

  /** Releases the memory of a request body after the answer to its review, or after its refusal. */
  end(held: HeldBody): void {
    if (held.state === 'over') return
    if (held.state === 'judged') this.#judged -= held.bytes
    held.state = 'over'
    held.parts = []
    this.#held.delete(held)
    this.#waiting.delete(held)
    this.#bytes -= held.bytes
    if (this.#waiting.size > 0) this.#judgeNext()
  }

  /** Refuses request bodies that have taken too long to arrive or to get their turn. */
  dropSlow(): void {
    const now = this.#now()
    for (const held of this.#held) {
      if (now - held.begun < LONGEST) return
      if (held.state === 'judged') continue
      held.fail(
        held.state === 'arriving'
          ? new RefusedBody(408, `the body did not arrive within ${LONGEST / 1_000} s`, true)
          : busy(),
      )
    }
  }

  #reserve(held: HeldBody, bytes: number): boolean {
    while (this.#bytes + bytes > this.#most) {
      const given = this.#toDisplace(held, bytes)
      if (given === undefined) return false
      this.#displaced += 1
      given.fail(busy())
    }
    held.bytes += bytes
    this.#bytes += bytes
    return true
  }

  /**
   * The body to refuse so that a new body fits: the largest one, not yet judged, of the client with the most bytes;
   * undefined when there is none. If that client sends the new body, only a body that is larger than the new one, or
   * slow to arrive, is refused.
   */
  #toDisplace(coming: HeldBody, bytes: number): HeldBody | undefined {
    const totals = new Map([[coming.client, bytes]])
    for (const held of this.#held) {
      if (held.state !== 'judged') totals.set(held.client, (totals.get(held.client) ?? 0) + held.bytes)
    }
    const [heaviest] = [...totals].reduce((most, each) => (each[1] > most[1] ? each : most))
    const isSlow = (held: HeldBody) => held.state === 'arriving' && this.#now() - held.begun >= SLOW
    let found: HeldBody | undefined
    for (const held of this.#held) {
      if (held === coming || held.client !== heaviest || held.state === 'judged') continue
      const mayGo = heaviest !== coming.client || held.bytes > coming.bytes + bytes || isSlow(held)
      if (mayGo && held.bytes > (found?.bytes ?? 0)) found = held
    }
    return found
  }

  #fits({ bytes }: HeldBody): boolean {
    return this.#judged + bytes <= JUDGED_AT_ONCE - (bytes > SMALL ? KEPT_FOR_SMALL : 0)
  }

  #judge(held: HeldBody): void {
    held.state = 'judged'
    this.#judged += held.bytes
  }

  #judgeNext(): void {
    for (const [held, start] of [...this.#waiting].toSorted(([a], [b]) => a.bytes - b.bytes)) {
      if (!this.#fits(held)) return
      this.#waiting.delete(held)
      this.#judge(held)
      start()
    }
  }
}

const NOTHING = Buffer.alloc(0)

const tooLong = () => new RefusedBody(413, `the body is over ${BODY_LIMIT} bytes`)

/** Bytes to reserve when `bytes` of a body of unknown length have arrived: a power of two, so that copies are rare. */
const roomFor = (bytes: number) => Math.min(BODY_LIMIT, 2 ** Math.ceil(Math.log2(Math.max(bytes, 4_096))))

/** A buffer of `size` bytes that begins with those of `before`; pages that are never written take no memory. */
function grown(before: Buffer | undefined, size: number): Buffer {
  const buffer = Buffer.allocUnsafeSlow(size)
  before?.copy(buffer)
  return buffer
}
