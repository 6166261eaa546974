/** The tokens of Cedar as cedar-go 1.8 reads them, the version in operator releases. */

export type TokenKind = 'name' | 'word' | 'number' | 'string' | 'operator' | 'other' | 'end'

export interface CedarToken {
  /** `word` is a reserved word. `other` is a character unknown to Cedar: an error only when the parser reaches it. */
  readonly kind: TokenKind
  /** The text as written; for a string, with its quotes. */
  readonly text: string
  readonly start: number
}

/** Thrown when the text is not valid Cedar: the message says what to write, `at` is the index of the mistake. */
export class SyntaxFault extends Error {
  readonly at: number
  constructor(hint: string, at: number) {
    super(hint)
    this.at = at
  }
}

const RESERVED = new Set(['true', 'false', 'if', 'then', 'else', 'in', 'like', 'has', 'is', '__cedar'])
const PAIRS = new Set(['::', '!=', '<=', '>=', '==', '||', '&&'])
const SINGLE = new Set('@.,;(){}[]+-*:!<>')
const ESCAPED: Readonly<Record<string, string>> = {
  n: '\n',
  r: '\r',
  t: '\t',
  '\\': '\\',
  '0': '\0',
  "'": "'",
  '"': '"',
}

const WHITE = /[\t\n\r ]*/y
const NAME = /[A-Za-z_][A-Za-z0-9_]*/y
const DIGITS = /[0-9]+/y
const PLAIN = /[^"\\\n]*/y
const ESCAPE = /\\(?:[nrt\\0'"*]|x[0-9a-fA-F]{2}|u\{[0-9a-fA-F]{1,6}\})/y

const endOf = (pattern: RegExp, text: string, start: number): number => {
  pattern.lastIndex = start
  return pattern.test(text) ? pattern.lastIndex : start
}

/** The first token at or after the index `place`. */
export function tokenAt(text: string, place: number): CedarToken {
  const start = skipped(text, place)
  if (start === text.length) return { kind: 'end', text: '', start }
  const token = (kind: TokenKind, end: number): CedarToken => ({ kind, text: text.slice(start, end), start })
  const name = endOf(NAME, text, start)
  if (name > start) return token(RESERVED.has(text.slice(start, name)) ? 'word' : 'name', name)
  const digits = endOf(DIGITS, text, start)
  if (digits > start) return token('number', digits)
  const first = text.charAt(start)
  if (first === '"') return token('string', stringEnd(text, start))
  if (PAIRS.has(text.slice(start, start + 2))) return token('operator', start + 2)
  return token(SINGLE.has(first) ? 'operator' : 'other', start + 1)
}

/** The index after the blanks and comments that start at the index `place`. */
function skipped(text: string, place: number): number {
  let at = endOf(WHITE, text, place)
  for (;;) {
    if (text.startsWith('//', at)) {
      const line = text.indexOf('\n', at)
      at = line < 0 ? text.length : line
    } else if (text.startsWith('/*', at)) {
      const end = text.indexOf('*/', at + 2)
      if (end < 0) throw new SyntaxFault('end each comment', at)
      at = end + 2
    } else return at
    at = endOf(WHITE, text, at)
  }
}

function stringEnd(text: string, start: number): number {
  let at = start + 1
  for (;;) {
    at = endOf(PLAIN, text, at)
    if (text[at] === '"') return at + 1
    if (text[at] !== '\\') throw new SyntaxFault('end each string', start)
    const end = endOf(ESCAPE, text, at)
    if (end === at) throw new SyntaxFault(`${escapeAt(text, at)} is not an escape; write \\\\ for \\`, at)
    at = end
  }
}

const escapeAt = (text: string, at: number): string => text.slice(at, at + 2).toWellFormed()

/** The value of a string token. In a pattern, `*` stays as it is, and an escaped star becomes `\*`. */
export function valueOf({ text, start }: CedarToken, isPattern = false): string {
  if (!text.includes('\\')) return text.slice(1, -1)
  let value = ''
  for (let at = 1; at < text.length - 1;) {
    const plain = endOf(PLAIN, text, at)
    value += text.slice(at, plain)
    if (plain >= text.length - 1) break
    const end = endOf(ESCAPE, text, plain)
    value += unescaped(text.slice(plain + 1, end), isPattern, start + plain)
    at = end
  }
  return value
}

function unescaped(escape: string, isPattern: boolean, at: number): string {
  const known = ESCAPED[escape]
  if (known !== undefined) return known === '\\' && isPattern ? '\\\\' : known
  if (escape === '*') {
    if (isPattern) return '\\*'
    throw new SyntaxFault('\\* is an escape of patterns only', at)
  }
  const code = Number.parseInt(escape.replaceAll(/[xu{}]/g, ''), 16)
  const isSurrogate = code >= 0xd800 && code <= 0xdfff
  if (code > (escape.startsWith('x') ? 0x7f : 0x10ffff) || isSurrogate)
    throw new SyntaxFault(`\\${escape} is not a character`, at)
  return String.fromCodePoint(code)
}
