/** Comments in manifests that ignore findings: `# vmcp-admission: ignore[ID] reason`. */

export interface IgnoreComment {
  readonly id: string
  readonly reason: string
  readonly line: number
  readonly column: number
  /** The line that the comment covers: its own line if it follows a value, else the next line that is not a comment. */
  readonly target: number
  /** Only on an extra entry, with an empty `id`, for a comment with over 100 ids: the number of ids not read. */
  readonly left?: number
}

const SIGN = '# vmcp-admission: ignore['

/** The placeholder that stands for a reason until the user writes one; with it, an ignore comment has no effect. */
export const REASON_TO_WRITE = '<why>'

/** The text of a comment that ignores an id, for editors to write above a line. */
export const ignoreComment = (id: string, reason: string): string => `${SIGN}${id}] ${reason}`

const BEGINNING = /#\s*vmcp-admission:\s*ignore\b\s*/
/** A character other than LF that some parsers treat as a line break: it makes an ignore comment have no effect. */
const OTHER_BREAK = /[\r\u2028\u2029]/

/** The most ids that are read in one ignore comment. */
export const MOST_IDS = 100

/**
 * The ignore comments in a YAML text. A comment before the first `---` of a file belongs to the document after that
 * line.
 */
export function ignoreComments(text: string): IgnoreComment[] {
  if (!text.includes('vmcp-admission:')) return []
  const lines = text.split('\n')
  const isEmpty = (line: string) => /^\s*(#.*)?$/.test(line)
  const first = lines.findIndex((line) => !isEmpty(line) && !/^(---|%)/.test(line))
  const comments: IgnoreComment[] = []
  // The index of the next line with content, or -1; the loop goes from the last line to the first.
  let next = -1
  for (let i = lines.length - 1; i >= 0; i--) {
    const content = lines[i] ?? ''
    const read = commentIn(content)
    if (read !== undefined) {
      const { before, ids, reason } = read
      const place = { line: i + 1, column: before.length + 1, reason }
      const target = (before.trim() === '' ? next : i) + 1
      const named = ids.slice(0, MOST_IDS).map((id) => ({ ...place, id: id.trim(), target }))
      const left = ids.length - named.length
      if (left > 0) comments.push({ ...place, id: '', target, left })
      comments.push(...named.reverse())
    }
    if (i >= first && !isEmpty(content)) next = i
  }
  return comments.reverse()
}

function commentIn(
  line: string,
): { readonly before: string; readonly ids: readonly string[]; readonly reason: string } | undefined {
  const found = BEGINNING.exec(line)
  if (found === null) return undefined
  const before = line.slice(0, found.index)
  const rest = line.slice(found.index + found[0].length)
  const close = rest.startsWith('[') ? rest.indexOf(']') : -1
  const reason = rest.slice(close + 1).trimStart()
  if (OTHER_BREAK.test(before) || OTHER_BREAK.test(reason)) return undefined
  const ids = rest.slice(1, Math.max(close, 1)).split(',')
  return { before, ids, reason: reason.trimEnd().replace(REASON_TO_WRITE, '') }
}
