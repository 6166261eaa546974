/** Comments in manifests that ignore findings: `# vmcp-admission: ignore[ID] reason`. */

export interface IgnoreComment {
  readonly id: string
  readonly reason: string
  readonly line: number
  readonly column: number
  /** The line that it is for: its own behind a value, else the next one that is not a comment. */
  readonly target: number
}

const SIGN = '# vmcp-admission: ignore['

/** Stands for a reason that is still to be written: with it a comment has no effect. */
export const REASON_TO_WRITE = '<why>'

/** The text of a comment that ignores an id, for editors to write above a line. */
export const ignoreComment = (id: string, reason: string): string => `${SIGN}${id}] ${reason}`

const COMMENT = /^(.*?)#\s*vmcp-admission:\s*ignore\b\s*(?:\[([^\]]*)\])?\s*(.*)$/

/** The comments of a YAML text. A comment before a file's first `---` is for the document behind it. */
export function ignoreComments(text: string): IgnoreComment[] {
  if (!text.includes('vmcp-admission:')) return []
  const lines = text.split('\n')
  const isEmpty = (line: string) => /^\s*(#.*)?$/.test(line)
  const first = lines.findIndex((line) => !isEmpty(line) && !/^(---|%)/.test(line))
  return lines.flatMap((content, i) => {
    const [, before, ids = '', reason = ''] = COMMENT.exec(content) ?? []
    if (before === undefined) return []
    const isSkipped = (line: string, at: number) => at <= i || at < first || isEmpty(line)
    const next = lines.findIndex((line, at) => !isSkipped(line, at))
    const target = before.trim() === '' ? next : i
    const place = {
      line: i + 1,
      column: before.length + 1,
      target: target + 1,
      reason: reason.trim().replace(REASON_TO_WRITE, ''),
    }
    return ids.split(',').map((id) => ({ ...place, id: id.trim() }))
  })
}
