import type { Position, Range } from 'vscode-languageserver'
import type { TextDocument } from 'vscode-languageserver-textdocument'
import type { TextPlace } from '../input/load.ts'
import { codeUnitsOf } from '../output/columns.ts'

interface Line {
  /** Without its end. */
  readonly text: string
  readonly unitAt: (column: number) => number
}

/** The lines of documents that were asked for: a line may have thousands of findings. */
const lines = new WeakMap<TextDocument, { readonly of: string; readonly known: Map<number, Line> }>()

function readLine(text: TextDocument, line: number): Line {
  const of = text.getText()
  // A document changes while it is edited.
  const before = lines.get(text)
  const { known } = before?.of === of ? before : { known: new Map<number, Line>() }
  lines.set(text, { of, known })
  let found = known.get(line)
  if (found === undefined) {
    const range = { start: { line, character: 0 }, end: { line: line + 1, character: 0 } }
    const content = text.getText(range).replace(/\r?\n$/, '')
    found = { text: content, unitAt: codeUnitsOf(content) }
    known.set(line, found)
  }
  return found
}

/** The text of a line, from 0, without its end. */
export const lineAt = (text: TextDocument, line: number): string => readLine(text, line).text

/** A key before its colon, in quotes or plain. */
const KEY = /^("(?:\\.|[^"\\])*"|'(?:''|[^'])*'|[^\s:#,[\]{}"'][^\s:#]*)\s*:(?:\s|$)/
/** A scalar in quotes before the end of the line, a comment or the end of an item. */
const QUOTED = /^("(?:\\.|[^"\\])*"|'(?:''|[^'])*')(?:\s*$|\s+#|\s*[,\]}])/

/** How long a scalar is that ends with the line, a comment or an item; 0 where something else ends it. */
function plainLength(text: string): number {
  const end = text.search(/[#,\]}]/)
  const { length } = text.slice(0, end < 0 ? text.length : end).trimEnd()
  return text[end] === '#' && length === end ? 0 : length
}

/** Most UTF-16 code units that are marked: nobody sees the end of a longer value. */
const LONGEST_RANGE = 1_000

/** The key or the scalar that begins at a place: of one line, and of one character at least. */
export function rangeAt(text: TextDocument, { line, column }: TextPlace): Range {
  const start = positionOf(text, { line, column })
  const rest = lineAt(text, start.line).slice(start.character, start.character + LONGEST_RANGE)
  const length = (KEY.exec(rest) ?? QUOTED.exec(rest))?.[1]?.length ?? plainLength(rest)
  return { start, end: { line: start.line, character: start.character + Math.max(length, 1) } }
}

/** A place counts characters from 1; a position UTF-16 code units from 0. A file as a whole is its first line. */
function positionOf(text: TextDocument, { line, column }: TextPlace): Position {
  if (line === 0) return { line: 0, character: 0 }
  const { text: content, unitAt } = readLine(text, line - 1)
  return { line: line - 1, character: Math.min(unitAt(column), content.length) }
}

/** The part of a range within its quotes. */
export function unquoted(text: TextDocument, { start, end }: Range): Range {
  const written = text.getText({ start, end })
  const quote = /^["']/.exec(written)?.[0]
  if (quote === undefined || !written.endsWith(quote) || written.length < 2) return { start, end }
  return {
    start: { line: start.line, character: start.character + 1 },
    end: { line: end.line, character: end.character - 1 },
  }
}

export const holds = ({ start, end }: Range, { line, character }: Position): boolean =>
  line === start.line && character >= start.character && character <= end.character
