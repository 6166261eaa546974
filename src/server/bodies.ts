import type { IncomingMessage } from 'node:http'

/**
 * An update carries the old and the new object. An API server takes requests of up to 3 MiB, and etcd stores half of that by
 * default: 2 × 3 MiB, and 1 MiB for the rest of the review, as controller-runtime reckons it.
 */
const BODY_LIMIT = 7 * 1024 * 1024
/**
 * Bytes of the bodies that are judged at a time. Of a large one the keys and values are bounded (json.ts), which take 25 MB;
 * a small one takes up to 21 times its text when it is parsed (a list of empty objects), so that 1 MiB of these takes 22 MB.
 */
const JUDGED_AT_ONCE = 8 * 1024 * 1024
/** Bytes of these that only small bodies use: an ordinary review does not wait for large ones. */
const KEPT_FOR_SMALL = JUDGED_AT_ONCE - BODY_LIMIT
/** Bytes up to which a body is small; a larger one is judged in a lane of its own (turns.ts). */
export const SMALL = 64 * 1024
/** Milliseconds for a body to arrive and to be read: API servers send at once, and wait 10 s by default. */
const LONGEST = 10_000
/** Milliseconds after which a body that has not arrived makes room for another one of the same client. */
const SLOW = 1_000

/** A body that is refused: the status of the answer, and what it says. */
export class RefusedBody extends Error {
  readonly statusCode: number
  /** Whether the connection is closed behind the answer: a body was on its way, and is not waited for. */
  readonly closes: boolean

  constructor(statusCode: number, message: string, closes = false) {
    super(message)
    this.statusCode = statusCode
    this.closes = closes
  }
}

/** The connection goes too: to drop what is still to come would take memory as well. */
const busy = () => new RefusedBody(503, 'too many bytes of bodies at hand; try again', true)

/** A body from its head until its review is answered. */
export interface HeldBody {
  readonly client: string
  /** The port of the client: with the address, the connection. */
  readonly port: number
  /** Reserved: all of the content-length, or what has come of a body that has none. */
  bytes: number
  readonly begun: number
  /** When its last byte came, in monotonic milliseconds. */
  arrived: number
  state: 'arriving' | 'waiting' | 'judged' | 'over'
  /** Ends it early. */
  fail: (error: RefusedBody) => void
  parts: Buffer[]
}

/**
 * The bodies in memory, bounded in bytes over all connections. When they are too many, the client that holds most of
 * them gives way, so that a client with little is served whatever others send.
 */
export class Bodies {
  readonly #most: number
  readonly #now: () => number
  /** The oldest first. */
  readonly #held = new Set<HeldBody>()
  readonly #waiting = new Map<HeldBody, () => void>()
  #bytes = 0
  #judged = 0
  #displaced = 0

  /** `most`: bytes of all bodies together; a single one always has room. */
  constructor(most: number, now: () => number = () => performance.now()) {
    this.#most = Math.max(most, BODY_LIMIT)
    this.#now = now
  }

  /** Bytes that are reserved now. */
  get bytes(): number {
    return this.#bytes
  }

  /** How many bodies gave way to others. */
  get displaced(): number {
    return this.#displaced
  }

  /** Whether a body of this connection is in memory: its review is under way. */
  isHeld(address: string, port: number): boolean {
    for (const { client, port: held } of this.#held) if (client === address && held === port) return true
    return false
  }

  /** Reads the body of a request, unless there is no room for it; hands over a `Held`, or a RefusedBody. */
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
        // Without this listener, a connection that breaks off later goes unnoticed.
        request.on('error', () => undefined)
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
        // Copied into one buffer: a part of one byte would take hundreds.
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

  /** Waits until there is room to judge a body, the smallest first; undefined when there is. Rejects with RefusedBody. */
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

  /** The bytes of a body, once. */
  bytesOf(held: HeldBody): Buffer {
    const [whole = NOTHING] = held.parts
    held.parts = []
    return whole
  }

  /** Its review is answered, or it came to nothing. */
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

  /** Refuses the bodies that have been arriving, or waiting for their turn, for too long. */
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
   * The largest body, not judged yet, of the client that holds most; nothing when there is none. Of its own bodies a
   * client loses only one that is larger than the one that comes, or slow.
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

/** Bytes reserved for a body without a content-length: a power of two, so that it is copied seldom. */
const roomFor = (bytes: number) => Math.min(BODY_LIMIT, 2 ** Math.ceil(Math.log2(Math.max(bytes, 4_096))))

/** A buffer of the size; pages of it that nothing is written to take no memory. */
function grown(before: Buffer | undefined, size: number): Buffer {
  const buffer = Buffer.allocUnsafeSlow(size)
  before?.copy(buffer)
  return buffer
}
