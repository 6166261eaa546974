/** A change of a text: `length` characters from the offset `from` are replaced by `written`. */
export interface Splice {
  readonly from: number
  readonly length: number
  readonly written: string
}

/** Applies changes, sorted by offset, to a text; undefined when two of the changes overlap. */
export function spliced(text: string, splices: readonly Splice[]): string | undefined {
  const parts: string[] = []
  let at = 0
  for (const { from, length, written } of splices) {
    if (from < at) return undefined
    parts.push(text.slice(at, from), written)
    at = from + length
  }
  return [...parts, text.slice(at)].join('')
}
