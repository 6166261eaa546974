import { randomNumbers } from '../../src/access/difference/random-numbers.ts'

/** Choices by a seed. */
export interface Random {
  /** A number from 0 to 1. */
  readonly random: () => number
  /** A whole number from 0, less than the limit. */
  readonly below: (limit: number) => number
  readonly pick: <T>(choices: readonly [T, ...T[]]) => T
  /** Up to `most` items. */
  readonly some: <T>(most: number, make: (index: number) => T) => T[]
}

export function randomOf(seed: number): Random {
  const random = randomNumbers(seed)
  const below = (limit: number) => Math.floor(random() * limit)
  return {
    random,
    below,
    pick: (choices) => choices[below(choices.length)] ?? choices[0],
    some: (most, make) => Array.from({ length: below(most + 1) }, (_, index) => make(index)),
  }
}

/** `count` results of `make`. */
export const several = <T>(count: number, make: () => T): T[] => Array.from({ length: count }, make)
