/**
 * The text without those characters at its end, in linear time: `/x+$/` rescans a run of them from each of its
 * characters.
 */
export function withoutEnd(text: string, characters: string): string {
  let end = text.length
  while (end > 0 && characters.includes(text.charAt(end - 1))) end -= 1
  return text.slice(0, end)
}
