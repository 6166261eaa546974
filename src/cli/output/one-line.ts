import { visible } from './visible.ts'

/** A text on one line and of a length, without what moves the cursor or turns the direction. */
export function oneLine(text: string, longest = 300): string {
  const characters = [...visible(text.replace(/\s+/g, ' '))]
  return characters.length <= longest ? characters.join('') : `${characters.slice(0, longest).join('')}…`
}
