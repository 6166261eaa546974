/**
 * Measures for how long both stored webhook configurations have had each CA without interruption: the time that API
 * servers had to learn of it. Uses a monotonic clock, and counts up to the last observation, because later changes are
 * not known.
 */
export class Propagation {
  readonly #clock: () => number
  readonly #since = new Map<string, number>()
  #observed = 0

  /** `clock` returns monotonic milliseconds. */
  constructor(clock: () => number = () => performance.now()) {
    this.#clock = clock
  }

  /**
   * Receives the fingerprints of the CAs in every stored caBundle. The time of a CA that is not in all of them is
   * reset; if there is no caBundle, the times of all CAs are reset.
   */
  observe(entries: readonly Iterable<string>[]): void {
    this.#observed = this.#clock()
    const sets = entries.map((entry) => new Set(entry))
    const everywhere = new Set([...(sets[0] ?? [])].filter((each) => sets.every((set) => set.has(each))))
    for (const fingerprint of this.#since.keys())
      if (!everywhere.has(fingerprint)) this.#since.delete(fingerprint)
    for (const fingerprint of everywhere)
      if (!this.#since.has(fingerprint)) this.#since.set(fingerprint, this.#observed)
  }

  /** Milliseconds, up to the last `observe`, for which both webhook configurations have had each CA, by fingerprint. */
  propagatedFor(): Map<string, number> {
    return new Map([...this.#since].map(([fingerprint, since]) => [fingerprint, this.#observed - since]))
  }
}
