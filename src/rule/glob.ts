/**
 * Whether a pattern fits the whole text: `*` stands for any characters, and `anyOne`, where it is given, for one character.
 * Only the last `*` is ever tried further, so that the time is at most the product of both lengths.
 */
export function fitsGlob(pattern: string, text: string, anyOne?: string): boolean {
  const signs = Array.from(pattern)
  const characters = Array.from(text)
  let sign = 0
  let star = -1
  let taken = 0
  for (let at = 0; at < characters.length;) {
    if (signs[sign] === '*') {
      star = sign
      taken = at
      sign += 1
    } else if (sign < signs.length && (signs[sign] === anyOne || signs[sign] === characters[at])) {
      sign += 1
      at += 1
    } else if (star >= 0) {
      // The star takes one character more.
      taken += 1
      at = taken
      sign = star + 1
    } else return false
  }
  while (signs[sign] === '*') sign += 1
  return sign === signs.length
}
