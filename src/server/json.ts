const DEEPEST = 1_000

/** A body that is no JSON that the API server could have sent; the message is for the caller. */
export class BodyError extends Error {}

/** A parsed body, and what a look at all of it has shown. */
export interface Body {
  readonly value: unknown
  readonly nulls: number
  /** Whether its text has a character that every placeholder begins with, plain or as an escape. */
  readonly mayHoldPlaceholders: boolean
}

/**
 * Bytes from which on a look at the text is taken and not at the value: a walk over an object with 800,000 keys takes as
 * long as parsing them. Below the walk is shorter.
 */
export const LARGE = 256 * 1024

/** Parses a body; throws BodyError when it is no JSON, nested over 1,000 levels, or holds a number out of range. */
export function parseBody(bytes: Buffer): Body {
  const text = bytes.toString()
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new BodyError('the body is not JSON')
  }
  return {
    value,
    nulls: bytes.length < LARGE ? inspect(value, 0) : inspectText(bytes),
    mayHoldPlaceholders: PLACEHOLDER_SIGNS.some((sign) => text.includes(sign)),
  }
}

const PLACEHOLDER_SIGNS = ['$', '<', '{{', '\\u00']

/** Walks the whole value once and counts its nulls. */
function inspect(value: unknown, depth: number): number {
  if (typeof value === 'string') return 0
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw outOfRange()
    return 0
  }
  if (typeof value !== 'object') return 0
  if (value === null) return 1
  if (depth >= DEEPEST) throw tooDeep()
  let nulls = 0
  if (Array.isArray(value)) for (let i = 0; i < value.length; i++) nulls += inspect(value[i], depth + 1)
  else for (const key in value) nulls += inspect((value as Record<string, unknown>)[key], depth + 1)
  return nulls
}

const outOfRange = () => new BodyError('a number is out of the range of a 64-bit float')
const tooDeep = () => new BodyError(`the body is nested over ${DEEPEST} levels deep`)

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const OPEN_LIST = 0x5b
const CLOSE_LIST = 0x5d
const N = 0x6e
const SMALL_E = 0x65
const LARGE_E = 0x45
const PLUS = 0x2b
const MINUS = 0x2d
const POINT = 0x2e
const ZERO = 0x30
const NINE = 0x39

/** As `inspect`, from bytes that are JSON. No byte of a character beyond ASCII is like one of ASCII. */
function inspectText(bytes: Buffer): number {
  let nulls = 0
  let depth = 0
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]
    if (byte === QUOTE) i = endOfString(bytes, i)
    else if (byte === MINUS || isDigit(byte)) i = endOfNumber(bytes, i)
    else if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
      if (++depth > DEEPEST) throw tooDeep()
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) depth--
    // Of the words of JSON only null has an n.
    else if (byte === N) nulls++
  }
  return nulls
}

/** The place of the closing quote. */
function endOfString(bytes: Buffer, start: number): number {
  let end = start + 1
  while (end < bytes.length && bytes[end] !== QUOTE) end += bytes[end] === BACKSLASH ? 2 : 1
  return end
}

/** Digits of the largest number that can be written without an exponent. */
const MOST_DIGITS = 309

/** The place of the last character of the number. */
function endOfNumber(bytes: Buffer, start: number): number {
  let end = start + 1
  let hasExponent = false
  for (; ; end++) {
    const byte = bytes[end]
    if (byte === SMALL_E || byte === LARGE_E) hasExponent = true
    else if (!isDigit(byte) && byte !== POINT && byte !== PLUS && byte !== MINUS) break
  }
  const mayBeTooLarge = hasExponent || end - start >= MOST_DIGITS
  if (mayBeTooLarge && !Number.isFinite(Number(bytes.toString('latin1', start, end)))) throw outOfRange()
  return end - 1
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= ZERO && byte <= NINE
}
