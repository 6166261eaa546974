/** A change of a text that replaces some characters by others. */
export interface Splice {
  readonly from: number
  readonly length: number
  readonly written: string
}

/** The text after the changes, which are sorted by offset; undefined when two of them overlap. */
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
