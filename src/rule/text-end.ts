/**
 * Removes the given characters from the end of a text, in linear time: the expression `/x+$/` would rescan a run of
 * them from each of its characters.
 */
export function withoutEnd(text: string, characters: string): string {
  let end = text.length
  while (end > 0 && characters.includes(text.charAt(end - 1))) end -= 1
  return text.slice(0, end)
}
