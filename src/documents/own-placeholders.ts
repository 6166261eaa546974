/** Finds the first placeholder in a text, of the placeholders that the configuration file lists. */
export type FindPlaceholder = (text: string) => string | undefined

/**
 * Returns a function that finds the listed placeholders, in which `*` stands for a name; undefined when none is listed.
 * Its time is linear in the length of the text, for any placeholders.
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
 * The first match of a placeholder: `literals`, its texts before, between and after the `*`, in order, with names
 * between them. Of several matches with the same start, the longest.
 */
function firstIn(text: string, literals: readonly string[]): Found | undefined {
  const names = endsOfNames(text)
  // The matches of the literals after the current literal, with the names between them, ordered by start. The loop goes
  // from the last literal to the first.
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

/** For each index of a text, the end of the name around it; the index itself when it is not in a name. */
function endsOfNames(text: string): Uint32Array {
  const ends = new Uint32Array(text.length + 1)
  ends[text.length] = text.length
  for (let at = text.length - 1; at >= 0; at--)
    ends[at] = /[\w.-]/.test(text.charAt(at)) ? (ends[at + 1] ?? at) : at
  return ends
}
