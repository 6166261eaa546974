import { once } from 'node:events'
import { setImmediate } from 'node:timers/promises'

/** The most resources that are read per second for one namespace; `MOST_SECRETS`: the most Secrets and ConfigMaps. */
const MOST_READS = 200
const MOST_SECRETS = 20
/**
 * The most bytes in memory (estimated) of large objects that are read per second for one namespace: six objects of
 * 700 KB of JSON, which take a seventh of a core. At least one object is always read.
 */
const MOST_BYTES = 16 * 1024 * 1024
const WINDOW = 1_000
/** The most concurrent reads: an answer has up to 1.5 MiB, and parsing takes several times that much memory. */
const MOST_AT_ONCE = 40

/** Limits the reads from the API server for reviews, because every client that reaches the port can send reviews. */
export class ReadLimits {
  readonly #now: () => number
  readonly #counts = new Map<string, number>()
  #begun = -Infinity
  #running = 0
  readonly #waiting = new Set<() => void>()
  /** The latest read of a large object, for which the next one waits. */
  #large: Promise<unknown> = Promise.resolve()

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** Counts a read for a namespace; false if there were too many in this second. `bytes`: size of a large object. */
  allows(namespace: string, isSecret: boolean, bytes = 0): boolean {
    const now = this.#now()
    if (now - this.#begun >= WINDOW) {
      this.#counts.clear()
      this.#begun = now
    }
    const key = `${isSecret ? 'Secret' : ''}/${namespace}`
    const count = this.#counts.get(key) ?? 0
    if (count >= (isSecret ? MOST_SECRETS : MOST_READS)) return false
    const read = bytes === 0 ? 0 : (this.#counts.get(`bytes/${namespace}`) ?? 0)
    if (read > 0 && read + bytes > MOST_BYTES) return false
    this.#counts.set(key, count + 1)
    if (bytes > 0) this.#counts.set(`bytes/${namespace}`, read + bytes)
    return true
  }

  /** Reads a large object when no other large one is being read, because parsing blocks the event loop. */
  async alone<T>(signal: AbortSignal, read: () => Promise<T>): Promise<T> {
    const before = this.#large
    const mine = before.then(async () => {
      signal.throwIfAborted()
      await setImmediate()
      return read()
    })
    this.#large = mine.catch(() => undefined)
    return mine
  }

  /** Reads when fewer than `MOST_AT_ONCE` reads are running; throws the reason of a signal that aborts earlier. */
  async inTurn<T>(signal: AbortSignal, read: () => Promise<T>): Promise<T> {
    while (this.#running >= MOST_AT_ONCE) await this.#turn(signal)
    signal.throwIfAborted()
    this.#running += 1
    try {
      return await read()
    } finally {
      this.#running -= 1
      for (const next of this.#waiting) {
        this.#waiting.delete(next)
        next()
        break
      }
    }
  }

  async #turn(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    const { promise, resolve } = Promise.withResolvers<undefined>()
    const next = () => resolve(undefined)
    this.#waiting.add(next)
    await Promise.race([promise, once(signal, 'abort')])
    this.#waiting.delete(next)
    signal.throwIfAborted()
  }
}
