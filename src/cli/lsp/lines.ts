import type { Position, Range } from 'vscode-languageserver'
import type { TextDocument } from 'vscode-languageserver-textdocument'
import type { Place } from '../input/load.ts'

/** The text of a line, from 0, without its end. */
export const lineAt = (text: TextDocument, line: number): string =>
  text.getText({ start: { line, character: 0 }, end: { line: line + 1, character: 0 } }).replace(/\r?\n$/, '')

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

/** The key or the scalar that begins at a place: of one line, and of one character at least. */
export function rangeAt(text: TextDocument, { line, column }: Place): Range {
  const start = positionOf(text, { line, column })
  const rest = lineAt(text, start.line).slice(start.character)
  const length = (KEY.exec(rest) ?? QUOTED.exec(rest))?.[1]?.length ?? plainLength(rest)
  return { start, end: { line: start.line, character: start.character + Math.max(length, 1) } }
}

/** A place counts characters from 1; a position UTF-16 code units from 0. A file as a whole is its first line. */
function positionOf(text: TextDocument, { line, column }: Place): Position {
  if (line === 0) return { line: 0, character: 0 }
  const characters = Array.from(lineAt(text, line - 1)).slice(0, Math.max(column - 1, 0))
  return { line: line - 1, character: characters.join('').length }
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
