const SECOND = 1_000
const UNITS = [
  ['days', 86_400 * SECOND],
  ['hours', 3_600 * SECOND],
  ['minutes', 60 * SECOND],
] as const

/** Milliseconds as a person says them, in the largest unit of which there are two at least, or in seconds. */
export function inWords(milliseconds: number): string {
  const [unit, size] = UNITS.find(([, size]) => milliseconds >= 2 * size) ?? ['seconds', SECOND]
  return `${Math.round(milliseconds / size)} ${unit}`
}

/** How a clock that is ahead of another by so many milliseconds (negative: behind) compares to it. */
export const aheadOrBehind = (offset: number): string =>
  `${inWords(Math.abs(offset))} ${offset < 0 ? 'behind' : 'ahead of'}`
