/** Candidate values of claims, for tests in a matcher that cannot be expressed as formulas for the solver. */

export const TEXTS = ['', '0', '1', '3', '42', 'true', 'false', '1.5', '1h', '2026-01-31T12:00:00Z', 'a', 'x']
export const NUMBERS = [
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 42, 100, -1, -2, 0.5, 1.5, 1e9, 1.7e9, 1.8e9, 1.9e9, 2e9, -1e9, 1e19,
  -1e19, 1e300,
]

/**
 * The longest constant of a matcher, in UTF-16 code units, that is split into parts as candidate texts; only the first
 * `MOST_PARTS` parts are used.
 */
const LONGEST_HINT = 1_000
const MOST_PARTS = 40

/** Candidate texts for the value of a claim, made from a constant in the matcher. */
export function textsFrom(hint: unknown): string[] {
  if (typeof hint === 'number' || typeof hint === 'bigint') return [String(hint)]
  if (typeof hint !== 'string') return []
  if (hint.length > LONGEST_HINT) return [hint]
  const parts = hint.split(/(?=[^A-Za-z0-9])|(?<=[^A-Za-z0-9])/).slice(0, MOST_PARTS)
  return [
    hint,
    `${hint}x`,
    `x${hint}`,
    ...parts,
    ...parts.map((_, i) => parts.slice(0, i).join('')),
    ...parts.map((_, i) => parts.slice(i).join('')),
  ]
}

/** Candidate numbers for the value of a claim, made from a constant in the matcher. */
export function numbersFrom(hint: unknown): number[] {
  const value = typeof hint === 'bigint' || typeof hint === 'string' ? Number(hint) : hint
  if (typeof hint === 'string') {
    const time = Date.parse(hint) / 1000
    return [value as number, time, time - 1, time + 1].filter(Number.isFinite)
  }
  return typeof value === 'number' ? [value, value + 1, value - 1, -value, value / 2, value * 2] : []
}
