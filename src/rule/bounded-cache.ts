/** The name and size of a cache that lives longer than one judgement. */
export interface CacheSize {
  readonly name: string
  /** The most bytes of all keys and values, as they are estimated. */
  readonly most: number
  readonly bytes: number
}

const ENTRY = 100
const all: CacheSize[] = []

/** Every cache of this process that outlives a judgement. */
export const caches = (): readonly CacheSize[] => all

/**
 * Results by text, bounded in bytes. A full cache drops all entries at once: dropping the oldest for each new one makes
 * a V8 Map scan thousands of deleted entries each time. The cache never changes a result, only the time that it takes.
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

  /** Stores a value of about so many bytes; ignores one that is over the bound by itself. */
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
