const SECOND = 1_000
const UNITS = [
  ['days', 86_400 * SECOND],
  ['hours', 3_600 * SECOND],
  ['minutes', 60 * SECOND],
] as const

/** A time span in the largest unit of which there are at least two, or else in seconds: `3 hours`. */
export function inWords(milliseconds: number): string {
  const [unit, size] = UNITS.find(([, size]) => milliseconds >= 2 * size) ?? ['seconds', SECOND]
  return `${Math.round(milliseconds / size)} ${unit}`
}

/** Describes by how many milliseconds one clock is ahead of another (negative: behind): `5 minutes behind`. */
export const aheadOrBehind = (offset: number): string =>
  `${inWords(Math.abs(offset))} ${offset < 0 ? 'behind' : 'ahead of'}`
