import type { Literal } from './solver.ts'

/** The condition `value > bound` (`strict`) or `value >= bound` on a number. */
export interface Bound {
  readonly literal: Literal
  readonly bound: number
  readonly strict: boolean
}

export const isAbove = (value: number, { bound, strict }: Bound): boolean =>
  strict ? value > bound : value >= bound
export const isTighter = (a: Bound, b: Bound): boolean =>
  a.bound > b.bound || (a.bound === b.bound && a.strict && !b.strict)

const words = new DataView(new ArrayBuffer(8))

/** The next larger (`up`) or smaller double. */
function neighbour(value: number, up: boolean): number {
  if (value === 0) return up ? Number.MIN_VALUE : -Number.MIN_VALUE
  words.setFloat64(0, value)
  words.setBigInt64(0, words.getBigInt64(0) + (up === value > 0 ? 1n : -1n))
  return words.getFloat64(0)
}

/** Candidate numbers between two bounds, simple ones first; at least one if any number lies between them. */
export function numbersBetween(low: number | undefined, high: number | undefined): number[] {
  if (low === undefined && high === undefined) return [1, 0]
  if (low === undefined)
    return [
      Math.floor(high ?? 0),
      Math.ceil(high ?? 0) - 1,
      high ?? 0,
      neighbour(high ?? 0, false),
      -Number.MAX_VALUE,
    ]
  if (high === undefined)
    return [Math.ceil(low), Math.floor(low) + 1, low, neighbour(low, true), Number.MAX_VALUE]
  return [
    Math.ceil(low),
    Math.floor(low) + 1,
    low / 2 + high / 2,
    low,
    high,
    neighbour(low, true),
    neighbour(high, false),
  ]
}
