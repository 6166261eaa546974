/** The longest text for which a similar name is suggested: names in Kubernetes have at most 253 characters. */
const LONGEST = 253
const MOST = 500

/** The most findings of a rule that suggest a similar name: lists of references may be long, and a search is slow. */
export const MOST_HINTS = 5

/**
 * The known name that was probably meant; undefined when none is similar. Differences in case, `_` and `-` do not
 * count; of several equally similar names it is the first alphabetically. Because users write both the name and the
 * known names, only the first 500 known names are compared, and a text over `LONGEST` characters gets no suggestion.
 */
export function nearest(name: string, known: Iterable<string>): string | undefined {
  if (name.length > LONGEST) return undefined
  const allowed = name.length < 4 ? 1 : name.length < 9 ? 2 : 3
  let best: string | undefined
  let bestDistance = allowed + 1
  let left = MOST
  const wanted = plain(name)
  for (const candidate of known) {
    if (left-- === 0) break
    const distance = editDistance(wanted, plain(candidate), allowed)
    const nearer =
      distance < bestDistance || (distance === bestDistance && best !== undefined && candidate < best)
    if (nearer && candidate.length > distance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

/**
 * As `nearest`, for names of objects: names that differ only in a number are seldom typing mistakes (`server-1`,
 * `server-2`).
 */
export const nearestName = (name: string, known: Iterable<string>): string | undefined =>
  nearest(name, withOtherLetters(name, known))

function* withOtherLetters(name: string, known: Iterable<string>): Iterable<string> {
  const own = letters(name)
  for (const candidate of known) if (letters(candidate) !== own) yield candidate
}

const letters = (name: string): string => name.replaceAll(/\d/g, '')

const plain = (name: string) => name.toLowerCase().replaceAll(/[_-]/g, '')

/**
 * The number of insertions, deletions, replacements and swaps of adjacent letters that turn one name into the other;
 * any number over `limit` when more are needed. Computes only the diagonal band of the table in which a distance within
 * the limit can lie, and one cell on each side of the band.
 */
function editDistance(one: string, other: string, limit: number): number {
  if (Math.abs(one.length - other.length) > limit) return limit + 1
  const far = limit + 1
  let before: number[] = []
  let row = Array.from({ length: other.length + 1 }, (_, column) => Math.min(column, far))
  let next: number[] = []
  for (let line = 1; line <= one.length; line++) {
    const first = Math.max(1, line - limit)
    const last = Math.min(other.length, line + limit)
    next[first - 1] = first > 1 ? far : Math.min(line, far)
    let least = next[first - 1] ?? far
    for (let column = first; column <= last; column++) {
      const replaced = (row[column - 1] ?? far) + (one[line - 1] === other[column - 1] ? 0 : 1)
      const swaps = one[line - 1] === other[column - 2] && one[line - 2] === other[column - 1]
      const swapped = swaps ? (before[column - 2] ?? far) + 1 : far
      const distance = Math.min(
        replaced,
        swapped,
        (row[column] ?? far) + 1,
        (next[column - 1] ?? far) + 1,
        far,
      )
      next[column] = distance
      least = Math.min(least, distance)
    }
    next[last + 1] = far
    if (least > limit) return far
    const done = before
    before = row
    row = next
    next = done
  }
  return row[other.length] ?? far
}
