/** A change of a text: what stands in the place of some characters. */
export interface Splice {
  readonly from: number
  readonly length: number
  readonly written: string
}

/** The text with the changes, which are told from its start to its end; undefined where two overlap. */
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
