import { randomNumbers } from '../../../src/access/difference/random-numbers.ts'

/** Random choices that repeat for the same seed. */
export class Random {
  readonly #next: () => number

  constructor(seed: number) {
    this.#next = randomNumbers(seed)
  }

  below(limit: number): number {
    return Math.floor(this.#next() * limit)
  }

  chance(of: number): boolean {
    return this.#next() < of
  }

  pick<T>(choices: readonly T[]): T {
    const picked = choices[this.below(choices.length)]
    if (picked === undefined) throw new Error('nothing to pick from')
    return picked
  }

  shuffled<T>(items: readonly T[]): T[] {
    const mixed = [...items]
    for (let i = mixed.length - 1; i > 0; i--) {
      const j = this.below(i + 1)
      const [a, b] = [mixed[i], mixed[j]] as [T, T]
      mixed[i] = b
      mixed[j] = a
    }
    return mixed
  }

  /** A logarithmically distributed size from 1 to the limit: small sizes are as likely as large ones. */
  size(limit: number): number {
    return Math.max(1, Math.round(limit ** this.#next()))
  }
}
