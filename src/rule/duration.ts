const NANOSECONDS = new Map([
  ['ns', 1n],
  ['us', 1_000n],
  ['µs', 1_000n],
  ['μs', 1_000n],
  ['ms', 1_000_000n],
  ['s', 1_000_000_000n],
  ['m', 60_000_000_000n],
  ['h', 3_600_000_000_000n],
])
const NANOSECONDS_OF_COMMON = new Map(Array.from(NANOSECONDS, ([symbol, unit]) => [symbol, Number(unit)]))
const MOST = 2n ** 63n
const SIMPLE = /^([0-9]{1,6})(h|m|s|ms)$/
const TERM = /([0-9]*)(?:\.([0-9]*))?([^0-9.]+)/y

/**
 * Nanoseconds as `time.ParseDuration` of Go 1.26 computes them; undefined for a text that it refuses: not a duration, or
 * one that overflows int64. Takes time linear in the length of the text.
 */
export function parseDuration(text: string): bigint | undefined {
  const simple = SIMPLE.exec(text)
  if (simple !== null) return BigInt(simple[1] ?? '') * (NANOSECONDS.get(simple[2] ?? '') ?? 0n)
  const sign = text.startsWith('-') ? -1n : 1n
  const unsigned = /^[+-]/.test(text) ? text.slice(1) : text
  if (unsigned === '0') return 0n
  if (unsigned === '') return undefined
  let sum = 0n
  // Sum of the terms that are exact in a double: much faster than BigInt, and a text may have half a million terms.
  let exact = 0
  for (let end = 0; end < unsigned.length; end = TERM.lastIndex) {
    TERM.lastIndex = end
    const match = TERM.exec(unsigned)
    const common = match === null ? undefined : commonTerm(match)
    if (common !== undefined && exact + common <= Number.MAX_SAFE_INTEGER) {
      exact += common
      continue
    }
    const term = nanoseconds(match)
    if (term === undefined) return undefined
    sum += term
    if (sum > MOST) return undefined
  }
  sum += BigInt(exact)
  if (sum > MOST) return undefined
  return sign > 0n && sum === MOST ? undefined : sign * sum
}

/** Nanoseconds of a term such as `5m`; undefined if it has a fraction, no digits, over 15 digits or an unknown unit. */
function commonTerm([, whole = '', fraction, symbol = '']: RegExpExecArray): number | undefined {
  if (fraction !== undefined || whole === '' || whole.length > 15) return undefined
  const unit = NANOSECONDS_OF_COMMON.get(symbol)
  return unit === undefined ? undefined : Number(whole) * unit
}

function nanoseconds(term: RegExpExecArray | null): bigint | undefined {
  if (term === null) return undefined
  const [, whole = '', fraction = '', symbol = ''] = term
  const unit = NANOSECONDS.get(symbol)
  if (unit === undefined || whole + fraction === '') return undefined
  const significant = withoutLeadingZeros(whole)
  if (significant.length > 19 || BigInt(significant) > MOST / unit) return undefined
  const sum = BigInt(significant) * unit + fractionOf(unit, fraction)
  return sum > MOST ? undefined : sum
}

/** Nanoseconds of the digits after the point. As in Go, only digits that fit in an int64 count, and float64 is used. */
function fractionOf(unit: bigint, digits: string): bigint {
  if (digits === '') return 0n
  const significant = withoutLeadingZeros(digits)
  const kept = BigInt(significant.slice(0, 19)) <= MOST ? 19 : 18
  const value = Number(BigInt(significant.slice(0, kept)))
  const places = digits.length - Math.max(significant.length - kept, 0)
  let scale = 1
  for (let i = 0; i < places && scale < Infinity; i++) scale *= 10
  return value === 0 ? 0n : BigInt(Math.trunc(value * (Number(unit) / scale)))
}

function withoutLeadingZeros(digits: string): string {
  return digits.startsWith('0') ? digits.replace(/^0+/, '') : digits
}
