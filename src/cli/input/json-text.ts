/**
 * Parses JSON with the offset of every value, as kubectl's decoder does: by the grammar of Go's encoding/json (RFC
 * 8259); a text may contain several values in sequence.
 */
import { maxDepth, ReadError, tooDeep } from './nodes.ts'
import type { NodeEntry, TextNode, Note } from './nodes.ts'

/** A parsed JSON value, and the offset in the text at which it ends. */
export interface JsonRead {
  readonly node: TextNode
  readonly end: number
  readonly notes: readonly Note[]
}

/** Thrown when the text ends inside a JSON value, or before one begins. */
export class JsonEndError extends ReadError {}

const space = /[ \t\r\n]*/y
const number = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?/y
const plainString = /"[^"\\\x00-\x1f]*"/y

/** The offset of the first character, from `offset` on, that is not white space. */
export function skipSpace(text: string, offset: number): number {
  space.lastIndex = offset
  space.test(text)
  return space.lastIndex
}

/** Parses one JSON value, starting at `offset`. Throws ReadError (JsonEndError at the end of the text). */
export function readJson(text: string, offset: number): JsonRead {
  const notes: Note[] = []
  let position = skipSpace(text, offset)

  function fail(wanted: string): ReadError {
    if (position >= text.length)
      return new JsonEndError(`the JSON text ends where ${wanted} is due`, position)
    const found = JSON.stringify(String.fromCodePoint(text.codePointAt(position) ?? 0))
    return new ReadError(`found ${found} where ${wanted} is due`, position)
  }

  function readString(wanted: string): string {
    plainString.lastIndex = position
    if (plainString.test(text)) {
      const content = text.slice(position + 1, plainString.lastIndex - 1)
      position = plainString.lastIndex
      return content
    }
    if (text[position] !== '"') throw fail(wanted)
    const end = stringEnd(text, position)
    const content = JSON.parse(text.slice(position, end)) as string
    position = end
    // As in Go, lone surrogates are replaced.
    return content.toWellFormed()
  }

  /** Parses the members of an object, or the items of a list, and the closing bracket `close`. */
  function readItems(close: string, readItem: () => void): void {
    position = skipSpace(text, position + 1)
    if (text[position] !== close)
      for (;;) {
        readItem()
        position = skipSpace(text, position)
        if (text[position] === close) break
        if (text[position] !== ',') throw fail(`"," or "${close}"`)
        position = skipSpace(text, position + 1)
      }
    position++
  }

  function readMap(offset: number, depth: number): TextNode {
    const entries = new Map<string, NodeEntry>()
    readItems('}', () => {
      const keyOffset = position
      const key = readString('a key in double quotes')
      position = skipSpace(text, position)
      if (text[position] !== ':') throw fail('":"')
      position = skipSpace(text, position + 1)
      if (entries.has(key)) notes.push({ message: duplicateKey(key), offset: keyOffset })
      entries.set(key, { keyOffset, node: readValue(depth) })
    })
    return { kind: 'map', offset, entries }
  }

  function readList(offset: number, depth: number): TextNode {
    const items: TextNode[] = []
    readItems(']', () => items.push(readValue(depth)))
    return { kind: 'list', offset, items }
  }

  function readValue(depth: number): TextNode {
    const start = position
    const first = text[position]
    if (first === '{' || first === '[') {
      if (depth >= maxDepth) throw tooDeep(position)
      return first === '{' ? readMap(start, depth + 1) : readList(start, depth + 1)
    }
    if (first === '"') return { kind: 'scalar', offset: start, value: readString('a value') }
    for (const [word, value] of literals)
      if (text.startsWith(word, position)) {
        position += word.length
        return { kind: 'scalar', offset: start, value }
      }
    return readNumber()
  }

  function readNumber(): TextNode {
    const start = position
    number.lastIndex = position
    const [digits, fraction, exponent] = number.exec(text) ?? []
    if (digits === undefined) throw fail('a value')
    position = number.lastIndex
    const next = text[position] ?? ''
    if (!exponent && (/[eE]/.test(next) || (!fraction && next === '.'))) throw fail('the rest of a number')
    // `+ 0` turns negative zero into zero. A number that is too large becomes infinite, and is refused later.
    return { kind: 'scalar', offset: start, value: Number(digits) + 0 }
  }

  const node = readValue(0)
  return { node, end: position, notes }
}

const literals = [
  ['true', true],
  ['false', false],
  ['null', null],
] as const

/** The offset at which the JSON string that begins at `start` ends. Throws ReadError when it is not a JSON string. */
function stringEnd(text: string, start: number): number {
  let position = start + 1
  for (;;) {
    const code = text.charCodeAt(position)
    if (code === 0x22) return position + 1
    if (Number.isNaN(code)) throw new JsonEndError('a string is not closed', start)
    if (code < 0x20) throw new ReadError('a string holds a control character or a line break', position)
    if (code !== 0x5c) position++
    else {
      escape.lastIndex = position
      if (!escape.test(text))
        throw new ReadError('a string holds an escape that JSON does not have', position)
      position = escape.lastIndex
    }
  }
}

const escape = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y

/** The text of the note that a key occurs twice in a map. */
export const duplicateKey = (key: string): string =>
  `the key ${JSON.stringify(key)} is given more than once: kubectl takes the last`
