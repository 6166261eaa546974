/** Scans the line once; returns a function from a column (characters, from 1) to its UTF-16 index (from 0). */
export function codeUnitsOf(line: string): (column: number) => number {
  const pairs = Array.from(
    line.matchAll(/[\ud800-\udbff][\udc00-\udfff]/g),
    ({ index }, before) => index - before + 1,
  )
  return (column) => Math.max(column - 1, 0) + countBelow(pairs, column)
}

/** The number of ascending numbers that are less than the limit. */
function countBelow(numbers: readonly number[], limit: number): number {
  let [low, high] = [0, numbers.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((numbers[middle] ?? 0) < limit) low = middle + 1
    else high = middle
  }
  return low
}
