/**
 * Measures for how long both stored webhook configurations have carried each CA without a break: the time that API servers
 * had to learn of it. Measured by a monotonic clock, up to the last observation: what happened since then is not known.
 */
export class Propagation {
  readonly #clock: () => number
  readonly #since = new Map<string, number>()
  #observed = 0

  /** `clock` in monotonic milliseconds. */
  constructor(clock: () => number = () => performance.now()) {
    this.#clock = clock
  }

  /** Takes the fingerprints of the CAs in each caBundle of the configurations now; without any entry no CA is carried. */
  observe(entries: readonly Iterable<string>[]): void {
    this.#observed = this.#clock()
    const sets = entries.map((entry) => new Set(entry))
    const everywhere = new Set([...(sets[0] ?? [])].filter((each) => sets.every((set) => set.has(each))))
    for (const fingerprint of this.#since.keys())
      if (!everywhere.has(fingerprint)) this.#since.delete(fingerprint)
    for (const fingerprint of everywhere)
      if (!this.#since.has(fingerprint)) this.#since.set(fingerprint, this.#observed)
  }

  /** Milliseconds by fingerprint. */
  propagatedFor(): Map<string, number> {
    return new Map([...this.#since].map(([fingerprint, since]) => [fingerprint, this.#observed - since]))
  }
}
