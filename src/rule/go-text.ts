const ESCAPES = new Map([
  [0x07, '\\a'],
  [0x08, '\\b'],
  [0x09, '\\t'],
  [0x0a, '\\n'],
  [0x0b, '\\v'],
  [0x0c, '\\f'],
  [0x0d, '\\r'],
  [0x22, '\\"'],
  [0x5c, '\\\\'],
])
const PLAIN = /^[ !#-[\]-~]*$/
const PRINTABLE = /[\p{L}\p{M}\p{N}\p{P}\p{S} ]/u

/** Text in double quotes as Go's `%q` prints it. A lone surrogate prints as Go reads it from JSON: U+FFFD. */
export function goQuote(text: string): string {
  if (PLAIN.test(text)) return `"${text}"`
  let quoted = ''
  for (const character of text.toWellFormed()) {
    const code = character.codePointAt(0) ?? 0
    quoted += ESCAPES.get(code) ?? (PRINTABLE.test(character) ? character : goEscape(code))
  }
  return `"${quoted}"`
}

function goEscape(code: number): string {
  const hex = code.toString(16)
  if (code < 0x80) return `\\x${hex.padStart(2, '0')}`
  return code > 0xffff ? `\\U${hex.padStart(8, '0')}` : `\\u${hex.padStart(4, '0')}`
}

/** A JSON value as `field.Error` prints its bad value: strings quoted, numbers and booleans plain, the rest as JSON. */
export function goValue(value: unknown): string {
  if (value === undefined || value === null) return 'null'
  if (typeof value === 'string') return goQuote(value)
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
