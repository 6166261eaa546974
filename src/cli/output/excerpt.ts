import { withoutUserInfo } from '../../rule/go-text.ts'
import { startOf, type Terminal, widthOf } from './terminal.ts'
import { visible } from './visible.ts'

/** A place to show: lines and columns from 1. */
export interface Shown {
  readonly line: number
  readonly column: number
  /** What is written behind the mark. */
  readonly label?: string
  /** How many lines before it are shown too. */
  readonly context: number
}

/**
 * The lines of a file around a place, with a mark under the value or key that is there:
 *
 *     28 │           name: jira
 *        │                 ^^^^ names no provider
 */
export function excerpt(
  source: readonly string[],
  { line, column, label = '', context }: Shown,
  { columns, paint }: Terminal,
  style: 'red' | 'yellow' | 'cyan' | 'blue',
): string[] {
  const text = source[line - 1]
  if (text === undefined) return []
  const first = Math.max(line - context, startOfDocument(source, line))
  const gutter = String(line).length
  const width = columns - gutter - 5
  const numbered = (number: number | undefined, shown: string) =>
    `  ${paint('dim', `${String(number ?? '').padStart(gutter)} │`)}${shown === '' ? '' : ` ${shown}`}`
  const [before, marked] = [[...text].slice(0, column - 1).join(''), extentOf(text, column)]
  const start = widthOf(printable(before))
  const length = Math.max(widthOf(printable(marked)), 1)
  // A long line is shown from where the mark comes into view.
  const skipped = start + Math.min(length, 20) > width ? Math.max(start - Math.floor(width / 3), 0) : 0
  const clip = (whole: string) => {
    const rest = skipped === 0 ? whole : `…${[...whole].slice(skipped + 1).join('')}`
    return widthOf(rest) <= width ? rest : `${startOf(rest, width - 1)}…`
  }
  const lines = source.slice(first - 1, line).map((each, i) => numbered(first + i, clip(printable(each))))
  const mark = `${' '.repeat(start - skipped)}${paint(style, '^'.repeat(Math.min(length, width - start + skipped)))}`
  const room = width - (start - skipped) - length
  if (label === '') return [...lines, numbered(undefined, mark)]
  return room > widthOf(label)
    ? [...lines, numbered(undefined, `${mark} ${paint(style, label)}`)]
    : [...lines, numbered(undefined, mark), numbered(undefined, paint(style, label))]
}

const printable = (text: string): string =>
  visible(withoutUserInfo(text).replaceAll('\t', ' ').replace(/\r$/, ''))

/** The first line of the document, or of the list item that begins above the line. */
function startOfDocument(source: readonly string[], line: number): number {
  for (let above = line - 1; above >= 1; above--) {
    const text = source[above - 1] ?? ''
    if (text.startsWith('---')) return above + 1
    if (/^\s*- /.test(text)) return above
  }
  return 1
}

/** What stands at a column of a line of YAML or JSON: a quoted text, or all before a comment, a `: ` or the end. */
function extentOf(line: string, column: number): string {
  const rest = [...line].slice(column - 1).join('')
  const quoted = /^"(?:\\.|[^"\\])*"|^'(?:''|[^'])*'/.exec(rest)
  if (quoted !== null) return quoted[0]
  if (!/^\S/.test(rest)) return ''
  const end = rest.slice(1).search(/:(?:\s|$)|\s#/) + 1
  const isKey = end > 0 && rest[end] === ':'
  const plain = isKey ? rest.slice(0, end) : (end > 0 ? rest.slice(0, end) : rest).trimEnd()
  return /^[[{]/.test(plain) ? plain : (plain.split(/[,\]}]/, 1)[0] ?? '')
}
