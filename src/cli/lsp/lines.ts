import type { Position, Range } from 'vscode-languageserver'
import type { TextDocument } from 'vscode-languageserver-textdocument'
import type { TextPlace } from '../input/load.ts'
import { codeUnitsOf } from '../output/columns.ts'

interface Line {
  /** The line without its line end. */
  readonly text: string
  readonly unitAt: (column: number) => number
}

/** A cache of lines by document, because a line may have thousands of findings. */
const lines = new WeakMap<TextDocument, { readonly of: string; readonly known: Map<number, Line> }>()

function readLine(text: TextDocument, line: number): Line {
  const of = text.getText()
  // The cached lines are used only if the document still has the same text.
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

/** The text of a line, without its line end; lines count from 0. */
export const lineAt = (text: TextDocument, line: number): string => readLine(text, line).text

/** A YAML key before its colon, in quotes or plain. */
const KEY = /^("(?:\\.|[^"\\])*"|'(?:''|[^'])*'|[^\s:#,[\]{}"'][^\s:#]*)\s*:(?:\s|$)/
/** A scalar in quotes, followed by the end of the line, a comment or the end of an item. */
const QUOTED = /^("(?:\\.|[^"\\])*"|'(?:''|[^'])*')(?:\s*$|\s+#|\s*[,\]}])/

/** The length of a plain scalar before the end of the line, a comment or the end of an item; otherwise 0. */
function plainLength(text: string): number {
  const end = text.search(/[#,\]}]/)
  const { length } = text.slice(0, end < 0 ? text.length : end).trimEnd()
  return text[end] === '#' && length === end ? 0 : length
}

/** The most UTF-16 code units that a diagnostic marks: nobody looks at the end of a longer value. */
const LONGEST_RANGE = 1_000

/** The range of the key or scalar at a place: within one line, and at least one character. */
export function rangeAt(text: TextDocument, { line, column }: TextPlace): Range {
  const start = positionOf(text, { line, column })
  const rest = lineAt(text, start.line).slice(start.character, start.character + LONGEST_RANGE)
  const length = (KEY.exec(rest) ?? QUOTED.exec(rest))?.[1]?.length ?? plainLength(rest)
  return { start, end: { line: start.line, character: start.character + Math.max(length, 1) } }
}

/**
 * The editor's position for a place in a file. Places count characters from 1, positions UTF-16 code units from 0. Line
 * 0 means the whole file.
 */
function positionOf(text: TextDocument, { line, column }: TextPlace): Position {
  if (line === 0) return { line: 0, character: 0 }
  const { text: content, unitAt } = readLine(text, line - 1)
  return { line: line - 1, character: Math.min(unitAt(column), content.length) }
}

/** The range without the quotes at its ends. */
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
