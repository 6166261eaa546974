/**
 * The tokens of a YAML text as kubectl's YAML library cuts them: a port of scannerc.go of go.yaml.in/yaml/v2
 * 2.4.3 (libyaml, YAML 1.1), whose ideas of indentation, tabs, keys and line folding are its own. Error texts
 * are the library's, so that a search finds them. The library's licence (it holds for yaml-parser.ts, too):
 *
 * Copyright (c) 2006 Kirill Simonov
 *
 * Permission is hereby granted, free of charge, to any person obtaining a copy of
 * this software and associated documentation files (the "Software"), to deal in
 * the Software without restriction, including without limitation the rights to
 * use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies
 * of the Software, and to permit persons to whom the Software is furnished to do
 * so, subject to the following conditions:
 *
 * The above copyright notice and this permission notice shall be included in all
 * copies or substantial portions of the Software.
 *
 * THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
 * IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
 * FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
 * AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
 * LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
 * OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
 * SOFTWARE.
 */
import { ReadError } from './nodes.ts'

export type TokenType =
  | 'stream-end'
  | 'directive'
  | 'document-start'
  | 'document-end'
  | 'block-sequence-start'
  | 'block-mapping-start'
  | 'block-end'
  | 'flow-sequence-start'
  | 'flow-sequence-end'
  | 'flow-mapping-start'
  | 'flow-mapping-end'
  | 'block-entry'
  | 'flow-entry'
  | 'key'
  | 'value'
  | 'alias'
  | 'anchor'
  | 'tag'
  | 'scalar'

export interface Token {
  readonly type: TokenType
  /** Where it begins in the text. */
  readonly offset: number
  /** Of a scalar its content, of an alias or an anchor the name, of a tag the handle. */
  readonly value: string
  /** Of a tag what follows the handle. */
  readonly suffix: string
  /** Whether a scalar is plain. */
  readonly plain: boolean
}

/** A token that turns out to be a key if a ":" comes soon enough. */
interface SimpleKey {
  possible: boolean
  required: boolean
  number: number
  offset: number
  line: number
  column: number
}

const tab = 0x09
const lineFeed = 0x0a
const carriageReturn = 0x0d
const space = 0x20

const isBreak = (code: number): boolean =>
  code === lineFeed || code === carriageReturn || code === 0x85 || code === 0x2028 || code === 0x2029
const isBlank = (code: number): boolean => code === space || code === tab
/** The end of the text has the code 0: no NUL is ever in it. */
const isBreakOrEnd = (code: number): boolean => code === 0 || isBreak(code)
const isBlankBreakOrEnd = (code: number): boolean => isBlank(code) || isBreakOrEnd(code)

const flowIndicators = charSet(',?[]{}')
/** What a plain scalar does not begin with, or only (`-`, `?`, `:`) when something follows. */
const indicators = charSet('-?:,[]{}#&*!|>\'"%@`\t')

function charSet(characters: string): ReadonlySet<number> {
  return new Set(Array.from(characters, (character) => character.charCodeAt(0)))
}

const codeOf = (character: string): number => character.charCodeAt(0)
const dash = codeOf('-')
const question = codeOf('?')
const colon = codeOf(':')
const hash = codeOf('#')
const quote = codeOf("'")
const doubleQuote = codeOf('"')
const backslash = codeOf('\\')
const bang = codeOf('!')
const percent = codeOf('%')
const dot = codeOf('.')
const comma = codeOf(',')
const star = codeOf('*')
const ampersand = codeOf('&')
const bar = codeOf('|')
const greater = codeOf('>')
const openBracket = codeOf('[')
const closeBracket = codeOf(']')
const openBrace = codeOf('{')
const closeBrace = codeOf('}')

const documentMark = /(?:---|\.\.\.)(?=[ \t\r\n\u0085\u2028\u2029]|$)/y
const directive =
  /%(?:YAML[ \t]+[0-9]{1,2}\.[0-9]{1,2}|TAG[ \t]+!(?:[-0-9A-Za-z_]*!)?[ \t]+[^\s#]+)(?=[ \t]*(?:[#\r\n\u0085\u2028\u2029]|$))/y
const nameCharacters = /[-0-9A-Za-z_]*/y
const uriCharacters = /(?:[-0-9A-Za-z_;/?:@&=+$,.!~*'()[\]]|%[0-9A-Fa-f]{2})*/y

/** What stands behind a backslash in a double-quoted scalar, but for the escapes with digits. */
const escapes: Readonly<Record<string, string>> = {
  '0': '\0',
  a: '\x07',
  b: '\b',
  t: '\t',
  '\t': '\t',
  n: '\n',
  v: '\v',
  f: '\f',
  r: '\r',
  e: '\x1b',
  ' ': ' ',
  '"': '"',
  "'": "'",
  '\\': '\\',
  N: '\x85',
  _: '\xa0',
  L: '\u2028',
  P: '\u2029',
}
const escapeDigits: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 }

/** How far from its start a key that is not introduced by "?" may reach. */
const maxKeyLength = 1024

/** Cuts a text into tokens, on demand. Its methods throw ReadError with an offset into the text. */
export class Scanner {
  readonly #text: string
  #position = 0
  #line = 0
  #lineStart = 0
  readonly #tokens: Token[] = []
  /** The index in #tokens of the next token, and how many were taken before it. */
  #head = 0
  #taken = 0
  #available = false
  #ended = false
  #flowLevel = 0
  #indent = -1
  readonly #indents: number[] = []
  #keyAllowed = true
  /** The possible key of each flow level. */
  readonly #keys: SimpleKey[] = [noKey()]
  readonly #keyOfToken = new Map<number, SimpleKey>()

  constructor(text: string) {
    this.#text = text
  }

  /** The next token, which stays. At the end it is `stream-end` for ever. */
  peek(): Token {
    if (!this.#available) this.#fetchMore()
    const token = this.#tokens[this.#head]
    if (!token) throw new ReadError('no token', this.#position)
    return token
  }

  /** Takes the next token away. */
  skip(): void {
    this.#available = false
    this.#taken++
    this.#head++
    if (this.#head > 1000) {
      this.#tokens.splice(0, this.#head)
      this.#head = 0
    }
  }

  get #code(): number {
    return this.#codeAt(0)
  }

  #codeAt(ahead: number): number {
    const index = this.#position + ahead
    return index < this.#text.length ? this.#text.charCodeAt(index) : 0
  }

  get #column(): number {
    return this.#position - this.#lineStart
  }

  #push(type: TokenType, offset: number, value = '', suffix = '', plain = false): void {
    this.#tokens.push({ type, offset, value, suffix, plain })
  }

  /** Puts a token where a key turned out to begin, or at the end if that is gone already. */
  #insert(number: number, type: TokenType, offset: number): void {
    this.#push(type, offset)
    const token = number < this.#taken ? undefined : this.#tokens.pop()
    if (token) this.#tokens.splice(this.#head + number - this.#taken, 0, token)
  }

  /** Fetches until the first token is final: a token that may still become a key is not. */
  #fetchMore(): void {
    for (;;) {
      if (this.#head < this.#tokens.length) {
        const key = this.#keyOfToken.get(this.#taken)
        if (!key || !this.#isValid(key)) break
      }
      if (this.#ended) break
      this.#fetchNext()
    }
    this.#available = true
  }

  #fetchNext(): void {
    this.#skipToToken()
    this.#unrollIndent(this.#column)
    const code = this.#code
    if (code === 0) this.#fetchEnd()
    else if (this.#column === 0 && code === percent) this.#fetchDirective()
    else if (this.#column === 0 && this.#atDocumentMark()) this.#fetchDocumentMark(code === dash)
    else if (!this.#fetchIndicator(code)) this.#fetchPlain()
  }

  /** Fetches a token that begins with an indicator; tells whether one is here. */
  #fetchIndicator(code: number): boolean {
    const inFlow = this.#flowLevel > 0
    const apart = isBlankBreakOrEnd(this.#codeAt(1))
    if (!indicators.has(code)) return false
    if (code === openBracket) this.#fetchFlowStart('flow-sequence-start')
    else if (code === openBrace) this.#fetchFlowStart('flow-mapping-start')
    else if (code === closeBracket) this.#fetchFlowEnd('flow-sequence-end')
    else if (code === closeBrace) this.#fetchFlowEnd('flow-mapping-end')
    else if (code === comma) this.#fetchFlowEntry()
    else if (code === dash && apart) this.#fetchBlockEntry()
    else if (code === question && (inFlow || apart)) this.#fetchKey()
    else if (code === colon && (inFlow || apart)) this.#fetchValue()
    else if (code === star) this.#fetchName('alias')
    else if (code === ampersand) this.#fetchName('anchor')
    else if (code === bang) this.#fetchTag()
    else if ((code === bar || code === greater) && !inFlow) this.#fetchBlockScalar(code === bar)
    else if (code === quote || code === doubleQuote) this.#fetchQuoted(code === quote)
    else if (code === dash || code === question || code === colon) return false
    else if (code === tab) throw this.#error('found a tab where only spaces can indent')
    else throw this.#error('found character that cannot start any token')
    return true
  }

  #atDocumentMark(): boolean {
    if (this.#code !== dash && this.#code !== dot) return false
    documentMark.lastIndex = this.#position
    return documentMark.test(this.#text)
  }

  #error(message: string, offset = this.#position): ReadError {
    return new ReadError(message, offset)
  }

  // Simple keys

  /** Whether a token can still become a key. Throws where it has to be one and cannot. */
  #isValid(key: SimpleKey): boolean {
    if (!key.possible) return false
    if (key.line >= this.#line && !this.#isTooLong(key)) return true
    if (key.required) throw this.#error("could not find expected ':'", key.offset)
    key.possible = false
    return false
  }

  #isTooLong(key: SimpleKey): boolean {
    if (this.#position - key.offset <= maxKeyLength) return false
    // The library counts characters, and no character has more than two code units.
    if (this.#position - key.offset > 2 * maxKeyLength) return true
    return Array.from(this.#text.slice(key.offset, this.#position)).length > maxKeyLength
  }

  /** The number that the token which is fetched next will have. */
  get #nextNumber(): number {
    return this.#taken + this.#tokens.length - this.#head
  }

  /** Notes that the token which is fetched next may be a key. */
  #saveKey(): void {
    if (!this.#keyAllowed) return
    this.#removeKey()
    const key: SimpleKey = {
      possible: true,
      required: this.#flowLevel === 0 && this.#indent === this.#column,
      number: this.#nextNumber,
      offset: this.#position,
      line: this.#line,
      column: this.#column,
    }
    this.#keys[this.#keys.length - 1] = key
    this.#keyOfToken.set(key.number, key)
  }

  #removeKey(): void {
    const key = this.#keys.at(-1)
    if (!key?.possible) return
    if (key.required) throw this.#error("could not find expected ':'", key.offset)
    key.possible = false
    this.#keyOfToken.delete(key.number)
  }

  // Indentation

  /** Begins a block collection at a column that is deeper than the current one. */
  #rollIndent(column: number, number: number, type: TokenType, offset: number): void {
    if (this.#flowLevel > 0 || this.#indent >= column) return
    this.#indents.push(this.#indent)
    this.#indent = column
    if (number < 0) this.#push(type, offset)
    else this.#insert(number, type, offset)
  }

  /** Ends the block collections that are deeper than a column. */
  #unrollIndent(column: number): void {
    if (this.#flowLevel > 0) return
    while (this.#indent > column) {
      this.#push('block-end', this.#position)
      this.#indent = this.#indents.pop() ?? -1
    }
  }

  // Tokens

  #fetchEnd(): void {
    if (this.#column !== 0) {
      this.#line++
      this.#lineStart = this.#position
    }
    this.#unrollIndent(-1)
    this.#removeKey()
    this.#keyAllowed = false
    this.#ended = true
    this.#push('stream-end', this.#position)
  }

  #fetchDirective(): void {
    this.#unrollIndent(-1)
    this.#removeKey()
    this.#keyAllowed = false
    const offset = this.#position
    if (this.#match(directive) === '') throw this.#error('found unknown directive', offset)
    this.#skipComment()
    this.#push('directive', offset)
  }

  #fetchDocumentMark(start: boolean): void {
    this.#unrollIndent(-1)
    this.#removeKey()
    this.#keyAllowed = false
    this.#push(start ? 'document-start' : 'document-end', this.#position)
    this.#position += 3
  }

  #fetchFlowStart(type: TokenType): void {
    this.#saveKey()
    this.#keys.push({ ...noKey(), number: this.#nextNumber })
    this.#flowLevel++
    this.#keyAllowed = true
    this.#push(type, this.#position++)
  }

  #fetchFlowEnd(type: TokenType): void {
    this.#removeKey()
    if (this.#flowLevel > 0) {
      this.#flowLevel--
      // This forgets, as the library does, that the collection itself may be a key.
      const key = this.#keys.pop()
      if (key) this.#keyOfToken.delete(key.number)
    }
    this.#keyAllowed = false
    this.#push(type, this.#position++)
  }

  #fetchFlowEntry(): void {
    this.#removeKey()
    this.#keyAllowed = true
    this.#push('flow-entry', this.#position++)
  }

  #fetchBlockEntry(): void {
    if (this.#flowLevel === 0) {
      if (!this.#keyAllowed) throw this.#error('block sequence entries are not allowed in this context')
      this.#rollIndent(this.#column, -1, 'block-sequence-start', this.#position)
    }
    this.#removeKey()
    this.#keyAllowed = true
    this.#push('block-entry', this.#position++)
  }

  #fetchKey(): void {
    if (this.#flowLevel === 0) {
      if (!this.#keyAllowed) throw this.#error('mapping keys are not allowed in this context')
      this.#rollIndent(this.#column, -1, 'block-mapping-start', this.#position)
    }
    this.#removeKey()
    this.#keyAllowed = this.#flowLevel === 0
    this.#push('key', this.#position++)
  }

  #fetchValue(): void {
    const key = this.#keys.at(-1)
    if (key && this.#isValid(key)) {
      this.#insert(key.number, 'key', key.offset)
      this.#rollIndent(key.column, key.number, 'block-mapping-start', key.offset)
      key.possible = false
      this.#keyOfToken.delete(key.number)
      this.#keyAllowed = false
    } else {
      if (this.#flowLevel === 0) {
        if (!this.#keyAllowed) throw this.#error('mapping values are not allowed in this context')
        this.#rollIndent(this.#column, -1, 'block-mapping-start', this.#position)
      }
      this.#keyAllowed = this.#flowLevel === 0
    }
    this.#push('value', this.#position++)
  }

  #fetchName(type: 'alias' | 'anchor'): void {
    this.#saveKey()
    this.#keyAllowed = false
    const offset = this.#position++
    const value = this.#match(nameCharacters)
    const next = this.#code
    if (value === '' || !(isBlankBreakOrEnd(next) || '?:,]}%@`'.includes(String.fromCharCode(next))))
      throw this.#error(`an ${type} needs a name of letters, digits, "-" and "_"`, offset)
    this.#push(type, offset, value)
  }

  #fetchTag(): void {
    this.#saveKey()
    this.#keyAllowed = false
    const offset = this.#position
    const { handle, suffix } = this.#scanTag(offset)
    this.#push('tag', offset, handle, suffix)
    if (!isBlankBreakOrEnd(this.#code))
      throw this.#error('did not find expected whitespace or line break behind a tag')
  }

  #scanTag(offset: number): { handle: string; suffix: string } {
    if (this.#text.startsWith('!<', offset)) {
      this.#position += 2
      const suffix = this.#match(uriCharacters)
      if (suffix === '') throw this.#error('did not find expected tag URI', offset)
      if (this.#code !== greater) throw this.#error("did not find the expected '>' of a tag", offset)
      this.#position++
      return { handle: '', suffix: decodeUri(suffix) }
    }
    this.#position++
    const name = this.#match(nameCharacters)
    if (this.#code === bang) {
      this.#position++
      const suffix = this.#match(uriCharacters)
      if (suffix === '') throw this.#error('did not find expected tag URI', offset)
      return { handle: `!${name}!`, suffix: decodeUri(suffix) }
    }
    const suffix = name + decodeUri(this.#match(uriCharacters))
    return suffix === '' ? { handle: '', suffix: '!' } : { handle: '!', suffix }
  }

  /** The text that a sticky pattern matches here, which is taken. */
  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#position
    const [text] = pattern.exec(this.#text) ?? ['']
    this.#position += text.length
    return text
  }

  #skipToToken(): void {
    for (;;) {
      const tabs = this.#flowLevel > 0 || !this.#keyAllowed
      while (this.#code === space || (tabs && this.#code === tab)) this.#position++
      if (this.#code === hash) this.#skipComment()
      if (!isBreak(this.#code)) return
      this.#readBreak()
      if (this.#flowLevel === 0) this.#keyAllowed = true
    }
  }

  #skipComment(): void {
    while (!isBreakOrEnd(this.#code)) this.#position++
  }

  #skipBlanks(): void {
    while (isBlank(this.#code)) this.#position++
  }

  /** Takes a line break; gives the text that it is in a scalar. */
  #readBreak(): string {
    const code = this.#code
    this.#position += code === carriageReturn && this.#codeAt(1) === lineFeed ? 2 : 1
    this.#line++
    this.#lineStart = this.#position
    return code === 0x2028 || code === 0x2029 ? String.fromCharCode(code) : '\n'
  }

  // Scalars

  #fetchBlockScalar(literal: boolean): void {
    this.#removeKey()
    this.#keyAllowed = true
    const offset = this.#position++
    const { chomping, increment } = this.#scanBlockHeader(offset)
    let indent = increment > 0 ? Math.max(this.#indent, 0) + increment : 0
    const first = this.#scanBlockBreaks(indent, offset)
    indent = first.indent
    let trailing = first.breaks
    const parts: string[] = []
    let leading = ''
    let leadingBlank = false
    while (this.#column === indent && this.#code !== 0) {
      const blank = isBlank(this.#code)
      const folds = !literal && !leadingBlank && !blank && leading.startsWith('\n')
      if (!folds) parts.push(leading)
      else if (trailing === '') parts.push(' ')
      parts.push(trailing)
      leadingBlank = blank
      const start = this.#position
      this.#skipComment()
      parts.push(this.#text.slice(start, this.#position))
      leading = isBreak(this.#code) ? this.#readBreak() : ''
      trailing = this.#scanBlockBreaks(indent, offset).breaks
    }
    if (chomping !== '-') parts.push(leading)
    if (chomping === '+') parts.push(trailing)
    this.#push('scalar', offset, parts.join(''))
  }

  /** The line of a block scalar's "|" or ">": how to chomp and how far to indent. */
  #scanBlockHeader(offset: number): { chomping: string; increment: number } {
    const header = blockHeader.exec(this.#text.slice(this.#position, this.#position + 2)) ?? ['']
    const digit = header[2] === '' ? undefined : (header[2] ?? header[3])
    this.#position += header[0].length
    if (digit === '0') throw this.#error('found an indentation indicator equal to 0', offset)
    this.#skipBlanks()
    if (this.#code === hash) this.#skipComment()
    if (!isBreakOrEnd(this.#code))
      throw this.#error('did not find expected comment or line break behind "|" or ">"', offset)
    if (isBreak(this.#code)) this.#readBreak()
    return { chomping: header[1] ?? header[4] ?? '', increment: Number(digit ?? 0) }
  }

  /** Takes indentation and empty lines; finds the indentation when it is not known yet (0). */
  #scanBlockBreaks(indent: number, offset: number): { breaks: string; indent: number } {
    let breaks = ''
    let deepest = 0
    for (;;) {
      while ((indent === 0 || this.#column < indent) && this.#code === space) this.#position++
      deepest = Math.max(deepest, this.#column)
      if ((indent === 0 || this.#column < indent) && this.#code === tab)
        throw this.#error('found a tab character where an indentation space is expected', offset)
      if (!isBreak(this.#code)) break
      breaks += this.#readBreak()
    }
    return { breaks, indent: indent === 0 ? Math.max(deepest, this.#indent + 1, 1) : indent }
  }

  #fetchQuoted(single: boolean): void {
    this.#saveKey()
    this.#keyAllowed = false
    const offset = this.#position++
    const end = single ? quote : doubleQuote
    const parts: string[] = []
    for (;;) {
      if (this.#column === 0 && this.#atDocumentMark())
        throw this.#error('found unexpected document indicator in a quoted scalar')
      if (this.#code === 0) throw this.#error('found no end of the quoted scalar', offset)
      const continued = single ? this.#scanSingleQuoted(parts) : this.#scanDoubleQuoted(parts)
      if (this.#code === end) break
      parts.push(this.#foldBlanks(continued))
    }
    this.#position++
    this.#push('scalar', offset, parts.join(''))
  }

  /** Takes characters up to the next blank, or the closing quote. */
  #scanSingleQuoted(parts: string[]): boolean {
    let start = this.#position
    while (!isBlankBreakOrEnd(this.#code)) {
      if (this.#code === quote) {
        if (this.#codeAt(1) !== quote) break
        parts.push(this.#text.slice(start, ++this.#position))
        start = this.#position + 1
      }
      this.#position++
    }
    parts.push(this.#text.slice(start, this.#position))
    return false
  }

  /** The same for double quotes; tells whether it ended with an escaped line break. */
  #scanDoubleQuoted(parts: string[]): boolean {
    let start = this.#position
    while (!isBlankBreakOrEnd(this.#code) && this.#code !== doubleQuote) {
      if (this.#code !== backslash) {
        this.#position++
        continue
      }
      parts.push(this.#text.slice(start, this.#position++))
      if (isBreak(this.#code)) {
        this.#readBreak()
        return true
      }
      parts.push(this.#scanEscape())
      start = this.#position
    }
    parts.push(this.#text.slice(start, this.#position))
    return false
  }

  /** What an escape stands for; the backslash is taken already. */
  #scanEscape(): string {
    const offset = this.#position - 1
    const letter = this.#text[this.#position++] ?? ''
    const escaped = escapes[letter]
    if (escaped !== undefined) return escaped
    const length = escapeDigits[letter]
    if (length === undefined) throw this.#error('found unknown escape character', offset)
    const digits = this.#text.slice(this.#position, this.#position + length)
    if (digits.length < length || !/^[0-9A-Fa-f]+$/.test(digits))
      throw this.#error(`did not find the ${length} hexadecimal digits of an escape`, offset)
    const code = parseInt(digits, 16)
    if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
      throw this.#error('found invalid Unicode character escape code', offset)
    this.#position += length
    return String.fromCodePoint(code)
  }

  /** Takes blanks and line breaks, and gives what they are in a quoted or a plain scalar. */
  #foldBlanks(continued: boolean, indent = 0): string {
    const start = this.#position
    this.#skipBlanks()
    const blanks = this.#text.slice(start, this.#position)
    if (!continued && !isBreak(this.#code)) return blanks
    const leading = continued ? '' : this.#readBreak()
    let trailing = ''
    for (;;) {
      while (isBlank(this.#code)) {
        if (this.#code === tab && this.#column < indent)
          throw this.#error('found a tab character that violates indentation')
        this.#position++
      }
      if (!isBreak(this.#code)) break
      trailing += this.#readBreak()
    }
    if (!leading.startsWith('\n')) return leading + trailing
    return trailing === '' ? ' ' : trailing
  }

  #fetchPlain(): void {
    this.#saveKey()
    this.#keyAllowed = false
    const offset = this.#position
    const indent = this.#indent + 1
    let value = ''
    let blanks = ''
    let brokenBy = this.#line
    for (;;) {
      if (this.#column === 0 && this.#atDocumentMark()) break
      if (this.#code === hash) break
      const start = this.#position
      this.#skipPlain()
      if (this.#position > start) {
        value += blanks + this.#text.slice(start, this.#position)
        blanks = ''
        brokenBy = this.#line
      }
      if (!isBlank(this.#code) && !isBreak(this.#code)) break
      blanks = this.#foldBlanks(false, indent)
      if (this.#flowLevel === 0 && this.#column < indent) break
    }
    if (this.#line > brokenBy) this.#keyAllowed = true
    this.#push('scalar', offset, value, '', true)
  }

  /** Takes the characters of a plain scalar up to the next blank or indicator. */
  #skipPlain(): void {
    for (;;) {
      const code = this.#code
      if (isBlankBreakOrEnd(code)) return
      if (code === colon && isBlankBreakOrEnd(this.#codeAt(1))) return
      if (this.#flowLevel > 0 && flowIndicators.has(code)) return
      this.#position++
    }
  }
}

const blockHeader = /^(?:([-+])([0-9]?)|([0-9])([-+]?))/

const noKey = (): SimpleKey => ({
  possible: false,
  required: false,
  number: -1,
  offset: 0,
  line: 0,
  column: 0,
})

/** Undoes the %-escapes of a tag; what is no UTF-8 stays as it is. */
function decodeUri(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
