/** The text without those of the characters that stand at its end. `/x+$/` would read a run of them once for each of it. */
export function withoutEnd(text: string, characters: string): string {
  let end = text.length
  while (end > 0 && characters.includes(text.charAt(end - 1))) end -= 1
  return text.slice(0, end)
}
