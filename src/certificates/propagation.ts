/**
 * Measures for how long both stored webhook configurations have had each CA without a break: the time that API servers
 * had to learn of it. By a monotonic clock, and up to the last observation, because nothing is known of the time since
 * then.
 */
export class Propagation {
  readonly #clock: () => number
  readonly #since = new Map<string, number>()
  #observed = 0

  /** `clock` in monotonic milliseconds. */
  constructor(clock: () => number = () => performance.now()) {
    this.#clock = clock
  }

  /**
   * Takes the current fingerprints of the CAs in each caBundle of the configurations; without any entry no CA counts.
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

  /** Milliseconds of propagation, by the fingerprint of the CA. */
  propagatedFor(): Map<string, number> {
    return new Map([...this.#since].map(([fingerprint, since]) => [fingerprint, this.#observed - since]))
  }
}
