/** The misspellings that people make, each the same for the same text. */

type Misspelling = (text: string) => string

const swapped: Misspelling = (text) => {
  const start = Math.max(1, text.length >> 1)
  for (const at of [...Array.from({ length: text.length }, (_, i) => (start + i) % text.length)]) {
    const [a = '', b = ''] = [text[at], text[at + 1]]
    if (a !== b && /^[a-z]{2}$/i.test(a + b)) return text.slice(0, at) + b + a + text.slice(at + 2)
  }
  return text
}

const dropped: Misspelling = (text) => {
  const at = text.length >> 1
  return text.length < 3 ? `${text}x` : text.slice(0, at) + text.slice(at + 1)
}

const inSnakeCase: Misspelling = (text) =>
  text.replaceAll(
    /([a-z0-9])([A-Z]+)/g,
    (_, before: string, capitals: string) => `${before}_${capitals.toLowerCase()}`,
  )

const inOtherCase: Misspelling = (text) =>
  /[a-z][A-Z]/.test(text) ? text.toLowerCase() : text.slice(0, 1).toUpperCase() + text.slice(1)

/** Of a field, a value of a list, or another word of an API. */
const OF_WORDS = [swapped, dropped, inSnakeCase, inOtherCase]
/** Of a name that people choose, whose case and form are right. */
const OF_NAMES = [swapped, dropped]

/** Words that are there already. */
type Taken = Pick<ReadonlySet<string>, 'has'>
const NOTHING: Taken = new Set()

const oneOf = (text: string, ways: readonly Misspelling[], taken: Taken): string => {
  const from = hashOf(text) % ways.length
  const found = [...ways.slice(from), ...ways].map((way) => way(text))
  return found.find((each) => each !== text && !taken.has(each)) ?? `${text}x`
}

/** A word with two letters swapped, without a letter, in snake case or in another case; none of those that are taken. */
export const misspeltWord = (word: string, taken = NOTHING): string => oneOf(word, OF_WORDS, taken)

export const misspeltName = (name: string, taken = NOTHING): string => oneOf(name, OF_NAMES, taken)

/** FNV-1a: the same number for the same text on every machine. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  // The last bits of FNV follow the last letters.
  hash = Math.imul(hash ^ (hash >>> 16), 0x45d9f3b)
  return (hash ^ (hash >>> 13)) >>> 0
}
