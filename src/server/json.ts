const DEEPEST = 1_000

/** A body that is no JSON that the API server could have sent; the message is for the caller. */
export class BodyError extends Error {}

/** A parsed body, its text, and what a look at all of it has shown. */
export interface Body {
  readonly value: unknown
  readonly text: string
  readonly nulls: number
}

/**
 * Characters from which on a look at the text is taken and not at the value: a walk over an object with 800,000 keys
 * takes as long as parsing them. Below the walk is shorter.
 */
export const LARGE = 256 * 1024

/**
 * Keys and values of a body. Parsed, each takes up to 70 bytes: 7 MB of empty objects would take 150 MB. Of what fits
 * into etcd twice nothing that a person wrote has a tenth of this.
 */
const MOST_VALUES = 1_500_000

/**
 * Parses a body; throws BodyError when it is no JSON, nested over 1,000 levels, or holds a number out of range. One that
 * has too many values is refused before it is parsed.
 */
export function parseBody(text: string): Body {
  if (text.length >= LARGE && hasTooManyValues(text))
    throw new BodyError(`the body has over ${MOST_VALUES} keys and values`)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new BodyError('the body is not JSON')
  }
  return { value, text, nulls: text.length < LARGE ? inspect(value, 0) : inspectText(text) }
}

/** Walks the whole value once and counts its nulls. */
function inspect(value: unknown, depth: number): number {
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw outOfRange()
    return 0
  }
  if (typeof value !== 'object') return 0
  if (value === null) return 1
  if (depth >= DEEPEST) throw tooDeep()
  let nulls = 0
  if (Array.isArray(value)) for (let i = 0; i < value.length; i++) nulls += inspect(value[i], depth + 1)
  else {
    for (const key in value) {
      const field = (value as Record<string, unknown>)[key]
      if (typeof field !== 'string') nulls += inspect(field, depth + 1)
    }
  }
  return nulls
}

const outOfRange = () => new BodyError('a number is out of the range of a 64-bit float')
const tooDeep = () => new BodyError(`the body is nested over ${DEEPEST} levels deep`)

/** Counts what opens or separates values outside strings, in a text that may not be JSON. */
function hasTooManyValues(text: string): boolean {
  let values = 0
  for (let i = 0; i < text.length && values <= MOST_VALUES; i++) {
    const code = text.charCodeAt(i)
    if (code === QUOTE) i = endOfString(text, i)
    else if (code === COMMA || code === COLON || code === OPEN_OBJECT || code === OPEN_LIST) values++
  }
  return values > MOST_VALUES
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const OPEN_LIST = 0x5b
const CLOSE_LIST = 0x5d
const COMMA = 0x2c
const COLON = 0x3a
const N = 0x6e
const SMALL_E = 0x65
const LARGE_E = 0x45
const PLUS = 0x2b
const MINUS = 0x2d
const POINT = 0x2e
const ZERO = 0x30
const NINE = 0x39

/** As `inspect`, from a text that is JSON. */
function inspectText(text: string): number {
  let nulls = 0
  let depth = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === QUOTE) i = endOfString(text, i)
    else if (code === MINUS || isDigit(code)) i = endOfNumber(text, i)
    else if (code === OPEN_OBJECT || code === OPEN_LIST) {
      if (++depth > DEEPEST) throw tooDeep()
    } else if (code === CLOSE_OBJECT || code === CLOSE_LIST) depth--
    // Of the words of JSON only null has an n.
    else if (code === N) nulls++
  }
  return nulls
}

/** The place of the closing quote, or one behind the end of the text. */
function endOfString(text: string, start: number): number {
  let end = start + 1
  for (let code = text.charCodeAt(end); code !== QUOTE && end < text.length; code = text.charCodeAt(end))
    end += code === BACKSLASH ? 2 : 1
  return end
}

/** Digits of the largest number that can be written without an exponent. */
const MOST_DIGITS = 309

/** The place of the last character of the number. */
function endOfNumber(text: string, start: number): number {
  let end = start + 1
  let hasExponent = false
  for (; ; end++) {
    const code = text.charCodeAt(end)
    if (code === SMALL_E || code === LARGE_E) hasExponent = true
    else if (!isDigit(code) && code !== POINT && code !== PLUS && code !== MINUS) break
  }
  const mayBeTooLarge = hasExponent || end - start >= MOST_DIGITS
  if (mayBeTooLarge && !Number.isFinite(Number(text.slice(start, end)))) throw outOfRange()
  return end - 1
}

function isDigit(code: number): boolean {
  return code >= ZERO && code <= NINE
}
