/** No name of Kubernetes is longer, and nobody misspells more. */
const LONGEST = 253
const MOST = 1_000

/**
 * The known name that the given one was probably meant to be; undefined when none is near. Case and `_` count little.
 * Both sides may be anybody's: long texts have no near name, and only the first thousand names are looked at.
 */
export function nearest(name: string, known: Iterable<string>): string | undefined {
  if (name.length > LONGEST) return undefined
  const allowed = name.length < 4 ? 1 : name.length < 9 ? 2 : 3
  let best: string | undefined
  let bestDistance = allowed + 1
  let left = MOST
  for (const candidate of known) {
    if (left-- === 0) break
    const distance = editDistance(plain(name), plain(candidate), allowed)
    if (distance < bestDistance && candidate.length > distance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

const plain = (name: string) => name.toLowerCase().replaceAll(/[_-]/g, '')

/** Insertions, deletions, replacements and swaps of neighbours; over `limit` as soon as that is certain. */
function editDistance(one: string, other: string, limit: number): number {
  if (Math.abs(one.length - other.length) > limit) return limit + 1
  let before: number[] = []
  let row = Array.from({ length: other.length + 1 }, (_, column) => column)
  for (let line = 1; line <= one.length; line++) {
    const next = [line]
    for (let column = 1; column <= other.length; column++) {
      const replaced = (row[column - 1] ?? 0) + (one[line - 1] === other[column - 1] ? 0 : 1)
      const swaps = one[line - 1] === other[column - 2] && one[line - 2] === other[column - 1]
      const swapped = swaps ? (before[column - 2] ?? limit) + 1 : limit + 1
      next.push(Math.min(replaced, swapped, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1))
    }
    before = row
    row = next
    if (Math.min(...row) > limit && Math.min(...before) > limit) return limit + 1
  }
  return row[other.length] ?? limit + 1
}
