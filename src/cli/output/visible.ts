/**
 * Escapes control characters, line ends and marks of text direction, so that a name in a manifest cannot overwrite the
 * terminal or forge a line.
 */
export function visible(line: string): string {
  const escaped = (character: string) => {
    const code = character.charCodeAt(0).toString(16)
    return code.length > 2 ? `\\u${code}` : `\\x${code.padStart(2, '0')}`
  }
  return line.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, escaped)
}
