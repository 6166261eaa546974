/** A cache that outlives a judgement, for the list of them. */
export interface CacheSize {
  readonly name: string
  /** Most bytes of its keys and values, as they are estimated. */
  readonly most: number
  readonly bytes: number
}

const ENTRY = 100
const all: CacheSize[] = []

/** Every cache of this process that outlives a judgement. */
export const caches = (): readonly CacheSize[] => all

/**
 * Results by text, bounded in bytes. All are dropped at once when it is full: a Map of which the oldest entry goes
 * with each new one looks through thousands of deleted ones each time. A value that is there never changes a result, only
 * the time that it takes.
 */
export class BoundedCache<T> implements CacheSize {
  readonly name: string
  readonly most: number
  readonly #entries = new Map<string, T>()
  #bytes = 0

  constructor(name: string, most: number) {
    this.name = name
    this.most = most
    all.push(this)
  }

  get bytes(): number {
    return this.#bytes
  }

  get(key: string): T | undefined {
    return this.#entries.get(key)
  }

  /** Keeps a value of about so many bytes, unless it alone is over the bound. */
  set(key: string, value: T, bytes: number): void {
    // A text with any character beyond Latin-1 takes two bytes for each.
    const size = ENTRY + key.length * (/[^\x00-\xff]/.test(key) ? 2 : 1) + bytes
    if (size > this.most) return
    if (this.#bytes + size > this.most) {
      this.#entries.clear()
      this.#bytes = 0
    }
    this.#entries.set(key, value)
    this.#bytes += size
  }
}
