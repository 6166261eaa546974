/** What was compared with which program, and what came out otherwise here than there. */
export interface Comparison {
  readonly what: string
  /** The other program, with its version. */
  readonly against: string
  readonly compared: number
  /** Counts by what came out: a comparison in which everything is refused shows nothing. */
  readonly outcomes: Readonly<Record<string, number>>
  /** Differences that docs/parity.md explains, by the explanation. */
  readonly explained: Readonly<Record<string, number>>
  /** The others, the shortest first. */
  readonly differences: readonly string[]
}

/** Compares `count` random values; the same seed gives the same values. */
export type Compare = (count: number, seed: number) => Promise<readonly Comparison[]>

/** Counts what comes out of a comparison. */
export class Tally {
  readonly #outcomes = new Map<string, number>()
  readonly #explained = new Map<string, number>()
  readonly #differences: string[] = []

  came(outcome: string): void {
    this.#outcomes.set(outcome, (this.#outcomes.get(outcome) ?? 0) + 1)
  }

  explained(why: string): void {
    this.#explained.set(why, (this.#explained.get(why) ?? 0) + 1)
  }

  different(text: string): void {
    this.#differences.push(text)
  }

  result(what: string, against: string, compared: number): Comparison {
    return {
      what,
      against,
      compared,
      outcomes: Object.fromEntries(this.#outcomes),
      explained: Object.fromEntries(this.#explained),
      differences: this.#differences.toSorted((a, b) => a.length - b.length),
    }
  }
}
