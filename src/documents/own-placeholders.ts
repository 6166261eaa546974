/** Finds the first placeholder in a text, of the placeholders that the configuration file lists. */
export type FindPlaceholder = (text: string) => string | undefined

/**
 * Returns a function that finds the listed placeholders; undefined when none is listed. A `*` in a placeholder stands
 * for a name: letters, digits, `_`, `.` and `-`. The time is linear in the length of the text, for any placeholders.
 */
export function placeholderFinder(placeholders: readonly string[]): FindPlaceholder | undefined {
  const patterns = placeholders.map((placeholder) => placeholder.split('*'))
  if (patterns.length === 0) return undefined
  return (text) => {
    let first: Found | undefined
    for (const literals of patterns) {
      const found = literals.every((literal) => text.includes(literal)) ? firstIn(text, literals) : undefined
      if (found !== undefined && (first === undefined || found.start < first.start)) first = found
    }
    return first && text.slice(first.start, first.end)
  }
}

interface Found {
  readonly start: number
  readonly end: number
}

/**
 * The first match of a placeholder in a text. `literals` are the parts of the placeholder between its `*`; a match
 * has these literals in order, with a name between each two. Of several matches with the same start, the longest.
 */
function firstIn(text: string, literals: readonly string[]): Found | undefined {
  const names = endsOfNames(text)
  // The loop goes from the last literal to the first. `behind` has the matches of the rest of the placeholder, which
  // begins with the literal after the current one; they are ordered by start.
  let behind: { readonly starts: readonly number[]; readonly ends: readonly number[] } | undefined
  for (const literal of literals.toReversed()) {
    const starts: number[] = []
    const ends: number[] = []
    let next = -1
    for (let start = text.indexOf(literal); start >= 0 && start <= text.length;) {
      const end = start + literal.length
      const most = names[end] ?? end
      while ((behind?.starts[next + 1] ?? Infinity) <= most) next += 1
      if (behind === undefined || (behind.starts[next] ?? 0) > end) {
        starts.push(start)
        ends.push(behind?.ends[next] ?? end)
      }
      start = start === text.length ? -1 : text.indexOf(literal, start + 1)
    }
    if (starts.length === 0) return undefined
    behind = { starts, ends }
  }
  const [start = 0] = behind?.starts ?? []
  const [end = 0] = behind?.ends ?? []
  return { start, end }
}

/** For each index of a text, the end of the name (`[\w.-]+`) that contains it; the index itself when no name does. */
function endsOfNames(text: string): Uint32Array {
  const ends = new Uint32Array(text.length + 1)
  ends[text.length] = text.length
  for (let at = text.length - 1; at >= 0; at--)
    ends[at] = /[\w.-]/.test(text.charAt(at)) ? (ends[at + 1] ?? at) : at
  return ends
}
