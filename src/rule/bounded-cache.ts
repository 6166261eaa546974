/** The name and size of a cache that lives longer than one judgement. */
export interface CacheSize {
  readonly name: string
  /** The limit for the estimated bytes of all keys and values in the cache. */
  readonly most: number
  readonly bytes: number
}

const ENTRY = 100
const all: CacheSize[] = []

/** All caches of this process that outlive a judgement. */
export const caches = (): readonly CacheSize[] => all

/**
 * A cache of results by text, bounded in bytes. When it is full, it drops all entries at once: dropping the oldest
 * entry for each new one makes a V8 Map scan thousands of deleted entries each time. The cache never changes a result,
 * only the time to get the result.
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

  /** Stores a value of the given estimated bytes; ignores a value that alone exceeds the limit. */
  set(key: string, value: T, bytes: number): void {
    // V8 stores a text with any character beyond Latin-1 in two bytes a character.
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
