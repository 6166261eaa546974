/** The tokens of CEL (CEL language definition, lexical part of "Syntax"). */

/** A token of CEL. Each operator and each of the keywords `true false null in` is a kind of its own. */
export interface Token {
  /** The operator, the keyword, or one of: ident quoted int uint double string bytes error end. */
  readonly kind: string
  readonly start: number
  readonly end: number
  /** Depends on the kind: a name, digits, a decoded string, bytes (one character per byte), or an error message. */
  readonly text: string
}

interface StringLiteral {
  readonly end: number
  readonly text: string
  readonly error: string | undefined
}

const keywords = new Map(['true', 'false', 'null', 'in'].map((word) => [word, word]))
const operators = new Set(['&&', '||', '==', '!=', '<=', '>=', ...'<>+-*/%!()[]{}.,:?'])

const simpleEscapes = new Map(
  Object.entries({
    a: 7,
    b: 8,
    f: 12,
    n: 10,
    r: 13,
    t: 9,
    v: 11,
    '"': 34,
    "'": 39,
    '`': 96,
    '\\': 92,
    '?': 63,
  }),
)

const characterHints = new Map([
  ['=', "use '==' to compare"],
  ['&', "use '&&'"],
  ['|', "use '||'"],
  ['“', 'use straight quotes'],
  ['”', 'use straight quotes'],
  ['„', 'use straight quotes'],
  ['‘', 'use straight quotes'],
  ['’', 'use straight quotes'],
  ['\u00a0', 'use a plain space'],
  ['$', 'names cannot start with $'],
  [';', 'a matcher is a single expression'],
  ['#', "comments start with '//'"],
])

const quotedField = /`[A-Za-z0-9_./ -]+`/y
const doubleNumber = /\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?/y
const wholeNumber = /0x[0-9a-fA-F]+|\d+/y
const hexEscape = /[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}/y
const octalEscape = /[0-3][0-7]{2}/y

/** The offset after the match of the sticky `pattern` at `offset`; `offset` itself when the pattern does not match. */
function matchEnd(pattern: RegExp, source: string, offset: number): number {
  pattern.lastIndex = offset
  return pattern.test(source) ? pattern.lastIndex : offset
}

/**
 * Splits a CEL source into tokens. Never throws: text that is not a token becomes an `error` token, after which nothing
 * else is read. The last token is always `end`.
 */
export function tokenize(source: string): Token[] {
  const tokens: Token[] = []
  let offset = skipSpace(source, 0)
  while (offset < source.length) {
    const token = readToken(source, offset)
    tokens.push(token)
    if (token.kind === 'error') break
    offset = skipSpace(source, token.end)
  }
  tokens.push({ kind: 'end', start: source.length, end: source.length, text: '' })
  return tokens
}

/** The offset after the white space and comments that start at `start`. */
function skipSpace(source: string, start: number): number {
  let offset = start
  for (;;) {
    if (isSpaceAt(source, offset)) {
      offset++
    } else if (source.startsWith('//', offset)) {
      const lineEnd = source.indexOf('\n', offset)
      offset = lineEnd < 0 ? source.length : lineEnd
    } else {
      return offset
    }
  }
}

/** The offset after the name that starts at `start`; `start` itself when no name starts there. */
function skipName(source: string, start: number): number {
  if (!isLetterAt(source, start)) return start
  let offset = start + 1
  while (isLetterAt(source, offset) || isDigitAt(source, offset)) offset++
  return offset
}

/** The offset after the prefix and opening quotes of a string literal at `start`; `start` itself when there is none. */
function skipStringStart(source: string, start: number): number {
  let offset = start
  if (source[offset] === 'b' || source[offset] === 'B') offset++
  if (source[offset] === 'r' || source[offset] === 'R') offset++
  const quote = source[offset]
  if (quote !== '"' && quote !== "'") return start
  return source[offset + 1] === quote && source[offset + 2] === quote ? offset + 3 : offset + 1
}

function readToken(source: string, start: number): Token {
  const first = source.charAt(start)
  const isLetter = isLetterAt(source, start)
  if (isLetter || first === '"' || first === "'") {
    const bodyStart = skipStringStart(source, start)
    if (bodyStart > start) return readString(source, start, bodyStart)
  }
  if (isLetter) return readName(source, start)
  if (isDigitAt(source, start) || (first === '.' && isDigitAt(source, start + 1)))
    return readNumber(source, start)
  if (first === '`') return readQuotedField(source, start)
  return readOperator(source, start)
}

function readName(source: string, start: number): Token {
  const end = skipName(source, start)
  const text = source.slice(start, end)
  return { kind: keywords.get(text) ?? 'ident', start, end, text }
}

function readQuotedField(source: string, start: number): Token {
  const end = matchEnd(quotedField, source, start)
  if (end === start) return { kind: 'error', start, end, text: "unexpected character '`'" }
  return { kind: 'quoted', start, end, text: source.slice(start + 1, end - 1) }
}

function readNumber(source: string, start: number): Token {
  const digitsEnd = skipDigits(source, start)
  if (!/[.eExXuU]/.test(source.charAt(digitsEnd)))
    return { kind: 'int', start, end: digitsEnd, text: source.slice(start, digitsEnd) }
  const doubleEnd = matchEnd(doubleNumber, source, start)
  if (doubleEnd > start) {
    return { kind: 'double', start, end: doubleEnd, text: source.slice(start, doubleEnd) }
  }
  const end = matchEnd(wholeNumber, source, start)
  const text = source.slice(start, end)
  const unsigned = source[end] === 'u' || source[end] === 'U'
  return { kind: unsigned ? 'uint' : 'int', start, end: unsigned ? end + 1 : end, text }
}

function readOperator(source: string, start: number): Token {
  const next = source[start + 1]
  if (next === '=' || next === '&' || next === '|') {
    const two = source.slice(start, start + 2)
    if (operators.has(two)) return { kind: two, start, end: start + 2, text: two }
  }
  const one = source.charAt(start)
  if (operators.has(one)) return { kind: one, start, end: start + 1, text: one }
  const character = String.fromCodePoint(source.codePointAt(start) ?? 0)
  const hint = characterHints.get(character)
  const text = `unexpected character ${showCharacter(character)}${hint === undefined ? '' : ` (${hint})`}`
  return { kind: 'error', start, end: start + character.length, text }
}

function showCharacter(character: string): string {
  if (/^[\p{L}\p{M}\p{N}\p{P}\p{S}]$/u.test(character)) return `'${character}'`
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
}

function readString(source: string, start: number, bodyStart: number): Token {
  const bytes = source[start] === 'b' || source[start] === 'B'
  const { end, text, error } = scanString(source, start, bodyStart, bytes)
  if (error !== undefined) return { kind: 'error', start, end, text: error }
  return { kind: bytes ? 'bytes' : 'string', start, end, text }
}

/**
 * Reads a string literal of CEL. Reads on after a bad escape, so that `end` is correct; without a closing quote `end`
 * is the end of the source. As in cel-go, every line break in the source, even a lone CR, becomes an LF in the value.
 */
function scanString(source: string, start: number, bodyStart: number, bytes: boolean): StringLiteral {
  const first = source.charAt(bodyStart - 1)
  const quote = bodyStart - start >= 3 && source[bodyStart - 3] === first ? first.repeat(3) : first
  const rawMark = source[bodyStart - quote.length - 1]
  const raw = bodyStart - quote.length > start && (rawMark === 'r' || rawMark === 'R')
  let error: string | undefined
  let text = ''
  let plainStart = bodyStart
  let offset = bodyStart
  const takePlain = (): void => {
    const plain = source.slice(plainStart, offset).replace(/\r\n?/g, '\n')
    text += bytes ? utf8Characters(plain) : plain
  }
  while (offset < source.length) {
    const character = source.charAt(offset)
    if (character === first && source.startsWith(quote, offset)) {
      takePlain()
      return { end: offset + quote.length, text, error }
    }
    if (quote.length === 1 && (character === '\n' || character === '\r')) {
      return { end: source.length, text, error: 'unterminated string: a line break needs triple quotes' }
    }
    if (character === '\\' && !raw) {
      takePlain()
      const escape = readEscape(source, offset, bytes)
      text += escape.text
      error ??= escape.error
      offset = escape.end
      plainStart = offset
    } else {
      offset++
    }
  }
  return { end: source.length, text, error: `unterminated string: ${quote} has no match` }
}

function readEscape(source: string, backslash: number, bytes: boolean): StringLiteral {
  const start = backslash + 1
  const letter = source.charAt(start)
  const simple = simpleEscapes.get(letter)
  if (simple !== undefined) return { end: start + 1, text: String.fromCharCode(simple), error: undefined }
  const hexEnd = matchEnd(hexEscape, source, start)
  if (hexEnd > start) {
    const isByte = hexEnd - start === 3
    if (bytes && !isByte) return { end: hexEnd, text: '', error: `\\${letter} is not allowed in bytes` }
    return escapedCodePoint(parseInt(source.slice(start + 1, hexEnd), 16), hexEnd)
  }
  const octalEnd = matchEnd(octalEscape, source, start)
  if (octalEnd > start) return escapedCodePoint(parseInt(source.slice(start, octalEnd), 8), octalEnd)
  const error = `invalid escape sequence \\${letter} (write \\\\ for a backslash, or use a raw string r"…")`
  return { end: start + (letter === '' ? 0 : 1), text: '', error }
}

function escapedCodePoint(codePoint: number, end: number): StringLiteral {
  if (codePoint > 0x10ffff || (codePoint >= 0xd800 && codePoint < 0xe000)) {
    return { end, text: '', error: 'invalid unicode code point in an escape sequence' }
  }
  return { end, text: String.fromCodePoint(codePoint), error: undefined }
}

/** The UTF-8 bytes of a text, as one character per byte. */
function utf8Characters(text: string): string {
  let result = ''
  for (const byte of new TextEncoder().encode(text)) result += String.fromCharCode(byte)
  return result
}

function skipDigits(source: string, start: number): number {
  let offset = start
  while (isDigitAt(source, offset)) offset++
  return offset
}

function isSpaceAt(source: string, offset: number): boolean {
  const code = source.charCodeAt(offset)
  return code === 0x20 || code === 0x0a || code === 0x09 || code === 0x0d || code === 0x0c
}

function isLetterAt(source: string, offset: number): boolean {
  const code = source.charCodeAt(offset)
  return (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a) || code === 0x5f
}

function isDigitAt(source: string, offset: number): boolean {
  const code = source.charCodeAt(offset)
  return code >= 0x30 && code <= 0x39
}

/**
 * The CEL source with each string and bytes literal, including quotes, replaced by the same number of spaces. Accepts
 * any text: characters that are not CEL remain, and so does everything after an opening quote that is never closed.
 */
export function outsideStringLiterals(source: string): string {
  let result = ''
  let kept = 0
  let offset = 0
  while (offset < source.length) {
    const bodyStart = skipStringStart(source, offset)
    if (bodyStart === offset) {
      offset = Math.max(skipSpace(source, offset), skipName(source, offset), offset + 1)
      continue
    }
    const literal = scanString(source, offset, bodyStart, false)
    if (literal.error?.startsWith('unterminated') === true) break
    result += source.slice(kept, offset) + ' '.repeat(literal.end - offset)
    offset = kept = literal.end
  }
  return result + source.slice(kept)
}
