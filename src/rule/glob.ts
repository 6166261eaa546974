/**
 * Whether a pattern matches the whole text: `*` stands for any characters, and `anyOne`, where it is given, for one
 * character. Takes time proportional to the product of both lengths at most.
 */
export const fitsGlob = (pattern: string, text: string, anyOne?: string): boolean =>
  fitsAll(
    Array.from(pattern),
    Array.from(text),
    '*',
    (sign, character) => sign === anyOne || sign === character,
  )

/**
 * Whether a pattern matches a path or a folder that contains it: `*` and `?` stand for characters of one name, `**` for
 * any number of names. Takes time proportional to the product of both lengths at most.
 */
export function fitsPath(pattern: string, path: string): boolean {
  const names = pattern.split('/')
  // `a/**` matches the content of the folder a, not the folder itself.
  const within = names.at(-1) === '**' ? ['*'] : []
  return fitsAll([...names, ...within, '**'], path.split('/'), '**', (name, each) =>
    fitsGlob(name, each, '?'),
  )
}

/**
 * Whether the pattern in `signs` matches all `items`; both are lists of characters, or lists of the names in a path.
 * `anyNumber` (a star) stands for any number of items. On a mismatch only the last star takes one more item: giving
 * an earlier star more cannot help.
 */
function fitsAll(
  signs: readonly string[],
  items: readonly string[],
  anyNumber: string,
  fits: (sign: string, item: string) => boolean,
): boolean {
  let sign = 0
  let star = -1
  let taken = 0
  for (let at = 0; at < items.length;) {
    if (signs[sign] === anyNumber) {
      star = sign
      taken = at
      sign += 1
    } else if (sign < signs.length && fits(signs[sign] ?? '', items[at] ?? '')) {
      sign += 1
      at += 1
    } else if (star >= 0) {
      taken += 1
      at = taken
      sign = star + 1
    } else return false
  }
  while (signs[sign] === anyNumber) sign += 1
  return sign === signs.length
}
