/**
 * For how long the live webhook configurations have carried which CA. Time runs by a clock that no one sets, and only
 * up to the last look: what happened since then is not known.
 */
export class Propagation {
  readonly #clock: () => number
  readonly #since = new Map<string, number>()
  #looked = 0

  constructor(clock: () => number = () => performance.now()) {
    this.#clock = clock
  }

  /** What each entry of the live configurations carries now, as fingerprints. None at all carry nothing. */
  look(entries: readonly Iterable<string>[]): void {
    this.#looked = this.#clock()
    const sets = entries.map((entry) => new Set(entry))
    const everywhere = new Set([...(sets[0] ?? [])].filter((each) => sets.every((set) => set.has(each))))
    for (const fingerprint of this.#since.keys())
      if (!everywhere.has(fingerprint)) this.#since.delete(fingerprint)
    for (const fingerprint of everywhere)
      if (!this.#since.has(fingerprint)) this.#since.set(fingerprint, this.#looked)
  }

  /** Milliseconds by fingerprint. */
  propagatedFor(): Map<string, number> {
    return new Map([...this.#since].map(([fingerprint, since]) => [fingerprint, this.#looked - since]))
  }
}
