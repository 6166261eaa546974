import { visible } from './visible.ts'

/** A text on one line, shortened, without control characters and characters that change the direction of text. */
export function oneLine(text: string, longest = 300): string {
  const characters = [...visible(text.replace(/\s+/g, ' '))]
  return characters.length <= longest ? characters.join('') : `${characters.slice(0, longest).join('')}…`
}
