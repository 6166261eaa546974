import type { Position } from 'vscode-languageserver'
import { TextDocument } from 'vscode-languageserver-textdocument'
import { isMap, isScalar, isSeq, parseAllDocuments, type Node } from 'yaml'
import { lineAt } from './lines.ts'

/** The object and path at the cursor. */
export interface Cursor {
  /** The object, parsed as far as possible. */
  readonly object: unknown
  /** The path from the object to the key or value at the cursor. */
  readonly path: readonly (string | number)[]
  readonly on: 'key' | 'value'
}

/** The object and path at a position; undefined between objects. Incomplete text is parsed as far as possible. */
export function cursorAt(text: TextDocument, position: Position): Cursor | undefined {
  return cursorIn(text.getText(), text.offsetAt(position))
}

/** The word by which the incomplete word at the cursor is replaced before the text is parsed. */
const MARK = 'vmcp-cursor'

/** The incomplete word at the cursor; `on` is `key` where a field or an item can begin, otherwise `value`. */
export interface Typing extends Cursor {
  /** The start and end of the word, in UTF-16 code units from the start of the line. */
  readonly start: number
  readonly end: number
}

/** The incomplete key or value at a position; undefined where an object cannot have one. */
export function typingAt(text: TextDocument, position: Position): Typing | undefined {
  const line = lineAt(text, position.line)
  const before = line.slice(0, position.character)
  if (/(?:^|\s)#/.test(before)) return undefined
  const start = /^(?:.*[^\w.\-/])?/s.exec(before)?.[0].length ?? 0
  // A dash that begins a list item is not part of the word.
  const word = /^-\s/.test(`${line.slice(start)} `) ? start + 1 : start
  const end = position.character + (/^[\w.\-/]*/.exec(line.slice(position.character))?.[0].length ?? 0)
  const begins = /^\s*(?:-\s+)*["']?$/.test(line.slice(0, word))
  const isKey = begins && !/^["']?\s*:/.test(line.slice(end))
  const offset = text.offsetAt({ line: position.line, character: 0 })
  const all = text.getText()
  const marked = `${all.slice(0, offset + word)}${MARK}${isKey ? ':' : ''}${all.slice(offset + end)}`
  const cursor = cursorIn(marked, offset + word)
  return cursor && { ...cursor, start: word, end }
}

/** The longest text, in characters, that is parsed to find a cursor: it is parsed again after each typed word. */
const LONGEST_TEXT = 2 ** 20

function cursorIn(text: string, offset: number): Cursor | undefined {
  if (text.length > LONGEST_TEXT) return undefined
  const documents = parseAllDocuments(text, { strict: false, uniqueKeys: false, logLevel: 'silent' })
  if (!Array.isArray(documents)) return undefined
  const document = documents.findLast(({ range }) => range[0] <= offset)
  const root = document?.contents
  if (!root) return undefined
  const found = descend(root, offset)
  if (found === undefined) return undefined
  const object: unknown = document.toJS({ maxAliasCount: 100 })
  const [first, index, ...rest] = found.path
  // In a List, each item is a separate object.
  if (first === 'items' && typeof index === 'number')
    return { object: (object as { items: unknown[] }).items[index], path: rest, on: found.on }
  return { object, ...found }
}

function descend(node: Node, offset: number): Pick<Cursor, 'path' | 'on'> | undefined {
  if (isMap(node)) {
    for (const { key, value } of node.items) {
      if (!isScalar(key)) continue
      const name = String(key.value)
      if (covers(key, offset)) return { path: [name], on: 'key' }
      const within = isNode(value) && covers(value, offset) ? descend(value, offset) : undefined
      if (within !== undefined) return { ...within, path: [name, ...within.path] }
    }
    return undefined
  }
  if (isSeq(node)) {
    for (const [index, item] of node.items.entries()) {
      const within = isNode(item) && covers(item, offset) ? descend(item, offset) : undefined
      if (within !== undefined) return { ...within, path: [index, ...within.path] }
    }
    return undefined
  }
  return { path: [], on: 'value' }
}

const isNode = (value: unknown): value is Node => isMap(value) || isSeq(value) || isScalar(value)

function covers({ range }: Node, offset: number): boolean {
  return range !== null && range !== undefined && range[0] <= offset && offset <= range[1]
}
