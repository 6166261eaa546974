/**
 * A text on one line and of a length, without what moves the cursor or turns the direction: what claims and files hold
 * must not write over the terminal.
 */
export function oneLine(text: string, longest = 300): string {
  const line = text.replace(/\s+/g, ' ').replace(UNSEEN, escaped)
  const characters = [...line]
  return characters.length <= longest ? line : `${characters.slice(0, longest).join('')}…`
}

const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

function escaped(character: string): string {
  const code = character.charCodeAt(0).toString(16)
  return code.length > 2 ? `\\u${code}` : `\\x${code.padStart(2, '0')}`
}
