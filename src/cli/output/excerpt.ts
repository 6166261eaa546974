import { isObject, withoutUserInfo } from '../../rule/index.ts'
import type { FileDocument, TextPlace } from '../input/load.ts'
import { codeUnitsOf } from './columns.ts'
import { startOf, type Terminal, widthOf } from './terminal.ts'
import { visible } from './visible.ts'

/** A place to mark in a file; line and column count from 1. */
export interface Shown {
  readonly line: number
  readonly column: number
  /** The text after the mark. */
  readonly label?: string
  /** Number of lines to print before the marked one. */
  readonly context: number
}

/** The lines of a file. */
export interface SourceText {
  /** Undefined for a line that is not printed, because it may hold a part of a Secret. */
  readonly lines: readonly (string | undefined)[]
  /** The numbers of the lines on which a document or an item of a list begins. */
  readonly starts: ReadonlySet<number>
}

/** The lines of a text with these documents. Those that could not be read (`unread`) count as Secrets. */
export function withoutSecrets(
  text: string,
  documents: readonly FileDocument[],
  unread: readonly TextPlace[],
): SourceText {
  const lines: (string | undefined)[] = text.replace(/^\ufeff/, '').split('\n')
  const isJson = /^\s*[{[]/.test(text)
  const parts = [
    ...documents.map(({ document }) => ({
      ...document.locate([], 'key'),
      isUnread: false,
      isHidden: isSecret(document.value),
    })),
    ...unread.map(({ line, column }) => ({ line, column, isUnread: true, isHidden: true })),
  ].toSorted((a, b) => a.line - b.line || a.column - b.column)
  for (const [i, { line, isUnread, isHidden }] of parts.entries()) {
    const next = parts[i + 1]
    // In JSON, a document that cannot be read begins before its error, maybe on a line of the document before it.
    const from = isJson && isUnread ? (parts[i - 1]?.line ?? 1) : line
    // In JSON and in flow style a document may begin on the line on which the one before ends.
    const before = next && lines[next.line - 1]?.slice(0, next.column - 1)
    if (isHidden) lines.fill(undefined, from - 1, next && next.line - (/[^\s-]/.test(before ?? '') ? 0 : 1))
  }
  return { lines, starts: new Set(parts.map(({ line }) => line)) }
}

/** Whether a document is a Secret, or a list with one that kubectl does not read. */
const isSecret = (value: unknown): boolean =>
  Array.isArray(value) ? value.some(isSecret) : isObject(value) && value.kind === 'Secret'

/**
 * The lines of a file around a place, with a mark below the value or key there:
 *
 *     28 │           name: jira
 *        │                 ^^^^ names no provider
 */
export function excerpt(
  source: SourceText,
  { line, column, label = '', context }: Shown,
  { columns, paint }: Terminal,
  style: 'red' | 'yellow' | 'cyan' | 'blue',
): string[] {
  const { lines: all } = source
  if (all[line - 1] === undefined) return []
  const first = startOfContext(source, line, context)
  const at = unitAt(all, line, column)
  const from = Math.max(at - SIDE, 0)
  const near = all.slice(first - 1, line).map((each = '') => windowOf(each, from))
  const { text, start: cut } = near.at(-1) ?? { text: '', start: 0 }
  const gutter = String(line).length
  const width = columns - gutter - 5
  const numbered = (number: number | undefined, shown: string) =>
    `  ${paint('dim', `${String(number ?? '').padStart(gutter)} │`)}${shown === '' ? '' : ` ${shown}`}`
  const [before, marked] = [text.slice(0, at - cut), extentOf(text.slice(at - cut))]
  const start = widthOf(printable(before))
  const length = Math.max(widthOf(printable(marked)), 1)
  // When the mark is far to the right, the beginning of the lines is cut.
  const skipped = start + Math.min(length, 20) > width ? Math.max(start - Math.floor(width / 3), 0) : 0
  const clip = (whole: string) => {
    const rest = skipped === 0 ? whole : `…${[...whole].slice(skipped + 1).join('')}`
    return widthOf(rest) <= width ? rest : `${startOf(rest, width - 1)}…`
  }
  const lines = near.map((each, i) => numbered(first + i, clip(printable(each.text))))
  const mark = `${' '.repeat(start - skipped)}${paint(style, '^'.repeat(Math.min(length, width - start + skipped)))}`
  const room = width - (start - skipped) - length
  if (label === '') return [...lines, numbered(undefined, mark)]
  return room > widthOf(label)
    ? [...lines, numbered(undefined, `${mark} ${paint(style, label)}`)]
    : [...lines, numbered(undefined, mark), numbered(undefined, paint(style, label))]
}

const printable = (text: string): string =>
  visible(withoutUserInfo(text).replaceAll('\t', ' ').replace(/\r$/, ''))

/** The first line to print: not before the start of the document or of the list item. */
function startOfContext({ lines, starts }: SourceText, line: number, context: number): number {
  let first = line
  while (first > Math.max(line - context, 1) && !starts.has(first)) {
    const above = lines[first - 2]
    if (above === undefined || above.startsWith('---')) break
    first--
    if (/^\s*- /.test(above)) break
  }
  return first
}

/** UTF-16 code units to print on each side of a column: no terminal is wider. */
const SIDE = 512
/** The longest user information of a URL that is hidden when it begins before the printed part of a line. */
const LONGEST_USER_INFO = 4_096

/** The part of a line that is printed, because a file may be a single line of megabytes. */
function windowOf(line: string, from: number): { readonly text: string; readonly start: number } {
  const before = Math.max(from - LONGEST_USER_INFO, 0)
  const slashes = line.slice(before, from).lastIndexOf('//')
  const start = slashes < 0 ? from : before + slashes
  return { text: line.slice(start, from + 2 * SIDE).toWellFormed(), start }
}

/** Functions from column to code unit, cached by file and line number: a line may have thousands of findings. */
const units = new WeakMap<SourceText['lines'], Map<number, ReturnType<typeof codeUnitsOf>>>()

function unitAt(lines: SourceText['lines'], line: number, column: number): number {
  const known = units.get(lines) ?? new Map<number, ReturnType<typeof codeUnitsOf>>()
  units.set(lines, known)
  const found = known.get(line) ?? codeUnitsOf(lines[line - 1] ?? '')
  known.set(line, found)
  return found(column)
}

/** The first token of a text in YAML or JSON: a quoted text, or the text before a comment, a `: ` or the end. */
function extentOf(rest: string): string {
  const quoted = /^"(?:\\.|[^"\\])*"|^'(?:''|[^'])*'/.exec(rest)
  if (quoted !== null) return quoted[0]
  if (!/^\S/.test(rest)) return ''
  const end = rest.slice(1).search(/:(?:\s|$)|\s#/) + 1
  const isKey = end > 0 && rest[end] === ':'
  const plain = isKey ? rest.slice(0, end) : (end > 0 ? rest.slice(0, end) : rest).trimEnd()
  return /^[[{]/.test(plain) ? plain : (plain.split(/[,\]}]/, 1)[0] ?? '')
}
