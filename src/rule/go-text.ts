import { goFloat } from './go-number.ts'
import { LONGEST_SHOWN } from './path.ts'

const ESCAPES = new Map([
  [0x07, '\\a'],
  [0x08, '\\b'],
  [0x09, '\\t'],
  [0x0a, '\\n'],
  [0x0b, '\\v'],
  [0x0c, '\\f'],
  [0x0d, '\\r'],
  [0x22, '\\"'],
  [0x5c, '\\\\'],
])
const PLAIN = /^[ !#-[\]-~]*$/
const PRINTABLE = /[\p{L}\p{M}\p{N}\p{P}\p{S} ]/u

/** Text in double quotes as Go's `%q` prints it. A lone surrogate prints as Go reads it from JSON: U+FFFD. */
export const goQuote = (text: string): string => goQuoteStart(text, Infinity)

/** Text in double quotes as Go's `%q` prints it, but stops soon after `most` characters of the result. */
export function goQuoteStart(text: string, most: number): string {
  const start = text.slice(0, most)
  if (PLAIN.test(start)) return `"${start}"`
  let quoted = ''
  for (const character of start.toWellFormed()) {
    if (quoted.length > most) break
    const code = character.codePointAt(0) ?? 0
    quoted += ESCAPES.get(code) ?? (PRINTABLE.test(character) ? character : goEscape(code))
  }
  return `"${quoted}"`
}

function goEscape(code: number): string {
  const hex = code.toString(16)
  if (code < 0x80) return `\\x${hex.padStart(2, '0')}`
  return code > 0xffff ? `\\U${hex.padStart(8, '0')}` : `\\u${hex.padStart(4, '0')}`
}

/** A JSON value as `field.Error` prints its bad value: strings as `%q`, numbers and booleans as `%v`, the rest as JSON. */
export function goValue(value: unknown): string {
  if (typeof value === 'string') return goQuote(value)
  if (typeof value === 'number') return goNumber(value)
  if (typeof value === 'boolean') return String(value)
  return JSON.stringify(value ?? null)
}

const INT64 = 2 ** 63

/** Prints an integer that fits int64 in plain digits; any other number as Go's `%v` prints a float64: `1.5e+07`. */
function goNumber(value: number): string {
  if (Number.isInteger(value) && value >= -INT64 && value < INT64) return BigInt(value).toString()
  return goFloat(value.toExponential())
}

const LONGEST_QUOTED = 200

/**
 * Quotes text of another object for a message: like `goQuote`, but at most 200 characters and without user information,
 * because the text may be of any length and stand in many messages.
 */
export function shortQuote(text: string): string {
  const shown = withoutUserInfo(text, LONGEST_SHOWN)
  return goQuote(shown.length > LONGEST_QUOTED ? `${shown.slice(0, LONGEST_QUOTED).toWellFormed()}…` : shown)
}

const END_OF_AUTHORITY = /[/?#]/g
/** The authority of a URL without user information: a host, or an IPv6 address in brackets, and perhaps a port. */
const HOST_AND_PORT = /^(?:\[[^\]]*\]|[^:]*)(?::\d*)?$/
const WITHOUT_SLASHES = /^((?:https?:\/?)?)[^\s/?#@:"'()[\]{}]+:[^\s/?#"']*@/i

/**
 * Replaces user information in URLs, because messages end up in logs: `https://user:password@host` becomes
 * `https://***@host`. A password may contain any character, even `/`; an e-mail address is not changed. `most` is the
 * number of characters that the caller prints: later ones are not searched, which saves time on long texts.
 */
export function withoutUserInfo(text: string, most = Infinity): string {
  const last = text.lastIndexOf('@')
  if (last < 0) return text
  let shown = ''
  let done = 0
  while (shown.length <= most) {
    const slashes = text.indexOf('//', done)
    if (slashes < 0) break
    const start = slashes + 2
    END_OF_AUTHORITY.lastIndex = start
    const authority = text.slice(start, END_OF_AUTHORITY.exec(text)?.index)
    const at = authority.lastIndexOf('@')
    const end = at >= 0 ? start + at : HOST_AND_PORT.test(authority) ? -1 : last
    shown += text.slice(done, start)
    done = start
    if (end < start) continue
    shown += '***'
    done = end
  }
  const rest = text.slice(done)
  return done === 0 ? rest.replace(WITHOUT_SLASHES, '$1***@') : shown + rest
}
