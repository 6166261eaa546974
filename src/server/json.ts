import { DEEPEST } from '../rule/index.ts'

/** Thrown for a body that an API server cannot have sent; the message is for the client. */
export class BodyError extends Error {}

/** A parsed request body, its text, and its number of nulls, which tells whether null fields must be removed. */
export interface Body {
  readonly value: unknown
  readonly text: string
  readonly nulls: number
}

/**
 * The most bytes of one object: an API server does not accept longer requests (`MaxRequestBodyBytes` of
 * k8s.io/apiserver/pkg/server, 3 MiB), and etcd stores half of that by default.
 */
const LONGEST_OBJECT = 3 * 1024 * 1024
/**
 * The most keys and values of an object; a body may have twice as many, because an update contains two objects. An
 * object of 1.4 MB with 15,000 upstream providers has 165,000 keys and values. An object is parsed in at most 50 ms:
 * keys that no other object has are the slowest to parse, at about half a microsecond each. Each key or value takes
 * up to 70 bytes of memory.
 */
const MOST_OF_ONE = 175_000
const MOST_VALUES = 2 * MOST_OF_ONE
/**
 * Bodies with at least this many bytes are scanned before they are parsed. Shorter bodies are always within the limits,
 * and counting nulls in the parsed value is faster.
 */
export const LARGE = 256 * 1024

/**
 * Parses a body. Throws BodyError when the body is not JSON, nests over 1,000 levels, has a number out of range, or
 * exceeds a limit of size (bytes, or number of keys and values). Only the limits of size are checked before parsing.
 */
export function parseBody(bytes: Buffer): Body {
  const seen = bytes.length < LARGE ? undefined : look(bytes)
  if (seen !== undefined) refuseLargest(seen)
  const text = bytes.toString('utf8')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new BodyError('the body is not JSON')
  }
  if (seen?.problem !== undefined) throw new BodyError(seen.problem)
  return { value, text, nulls: seen?.nulls ?? inspect(value, 0) }
}

function refuseLargest({ values, largest, longest }: Look): void {
  if (longest > LONGEST_OBJECT)
    throw new BodyError(`the object has over ${LONGEST_OBJECT} bytes, more than an API server takes`)
  if (largest > MOST_OF_ONE) throw new BodyError(`the object has over ${MOST_OF_ONE} keys and values`)
  if (values > MOST_VALUES) throw new BodyError(`the body has over ${MOST_VALUES} keys and values`)
}

/**
 * Counts the nulls in a parsed body, so that an object without nulls need not be searched for null fields. Throws
 * BodyError, in the same pass, for too many levels or for a number out of range.
 */
function inspect(value: unknown, depth: number): number {
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new BodyError(OUT_OF_RANGE)
    return 0
  }
  if (typeof value !== 'object') return 0
  if (value === null) return 1
  if (depth >= DEEPEST) throw new BodyError(TOO_DEEP)
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

const OUT_OF_RANGE = 'a number is out of the range of a 64-bit float'
const TOO_DEEP = `the body is nested over ${DEEPEST} levels deep`

/** The counts of a scan over the bytes of a body; the body need not be valid JSON. */
interface Look {
  /** Number of keys and values, counted by the characters `{`, `[`, `,` and `:` outside of strings. */
  readonly values: number
  /** The most values of a second-level member such as `request.object`; `longest`: the most bytes of such a member. */
  readonly largest: number
  readonly longest: number
  readonly nulls: number
  /** Why the body must be refused if it is JSON; undefined when it need not be refused. */
  readonly problem: string | undefined
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
/** The nesting depth of the members of `request`. */
const MEMBERS = 2

/**
 * Scans each byte once, at about two milliseconds per megabyte; stops when there are too many values. Bytes above 0x7f
 * occur only in strings.
 */
function look(bytes: Buffer): Look {
  let values = 0
  let depth = 0
  let nulls = 0
  let problem: string | undefined
  /** The byte at which the current member of `request` begins, and the number of values before this member. */
  let [begun, before] = [0, 0]
  let [largest, longest] = [0, 0]
  for (let i = 0; i < bytes.length && values <= MOST_VALUES; i++) {
    const code = bytes[i] ?? 0
    if (code === QUOTE) i = endOfString(bytes, i)
    else if (code === COMMA || code === COLON) values++
    else if (code === OPEN_OBJECT || code === OPEN_LIST) {
      values++
      if (++depth > DEEPEST) problem ??= TOO_DEEP
    } else if (code === CLOSE_OBJECT || code === CLOSE_LIST) depth--
    // `null` is the only JSON literal with an n.
    else if (code === N) nulls++
    else if (code === MINUS || isDigit(code)) {
      const end = endOfNumber(bytes, i)
      if (mayBeTooLarge(bytes, i, end) && !Number.isFinite(Number(bytes.toString('latin1', i, end))))
        problem ??= OUT_OF_RANGE
      i = end - 1
    } else continue
    if (depth > MEMBERS || (depth === MEMBERS && code !== COMMA)) continue
    largest = Math.max(largest, values - before)
    longest = Math.max(longest, i - begun)
    begun = i
    before = values
  }
  return { values, largest, longest, nulls, problem }
}

/** The index of the closing quote; an index after the last byte when there is none. */
function endOfString(bytes: Buffer, start: number): number {
  let end = start + 1
  for (let code = bytes[end]; code !== QUOTE && end < bytes.length; code = bytes[end])
    end += code === BACKSLASH ? 2 : 1
  return end
}

/** The index after the last character of the number. */
function endOfNumber(bytes: Buffer, start: number): number {
  let end = start + 1
  for (let code = bytes[end] ?? 0; isDigit(code) || isOfNumber(code); code = bytes[end] ?? 0) end++
  return end
}

const isOfNumber = (code: number): boolean =>
  code === POINT || code === PLUS || code === MINUS || code === SMALL_E || code === LARGE_E

/** Number of digits of the largest double when it is written without an exponent. */
const MOST_DIGITS = 309

function mayBeTooLarge(bytes: Buffer, start: number, end: number): boolean {
  if (end - start >= MOST_DIGITS) return true
  for (let i = start; i < end; i++) if (bytes[i] === SMALL_E || bytes[i] === LARGE_E) return true
  return false
}

function isDigit(code: number): boolean {
  return code >= ZERO && code <= NINE
}
