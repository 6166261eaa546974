/** The shortest known word that is suggested, in letters: shorter words resemble too many other words. */
const SHORTEST = 5

/**
 * The known word of which `word` is a misspelling: two inner letters are swapped, or one inner letter is missing or
 * added. Undefined when the first or last letter differs, or a letter is replaced, because another word may be meant:
 * `group` need not be a misspelling of `groups`.
 */
export const slipOf = (word: string, known: Iterable<string>): string | undefined =>
  [...known].find((each) => each.length >= SHORTEST && isSlip(word, each))

function isSlip(word: string, known: string): boolean {
  if (word.at(0) !== known.at(0) || word.at(-1) !== known.at(-1)) return false
  if (word.length === known.length)
    return word !== known && places(known).some((i) => swapped(known, i) === word)
  const [shorter, longer] = word.length < known.length ? [word, known] : [known, word]
  return longer.length === shorter.length + 1 && places(longer).some((i) => without(longer, i) === shorter)
}

/** The indexes of all letters of the word except the first and the last. */
const places = (word: string): number[] => Array.from({ length: word.length - 2 }, (_, i) => i + 1)

const without = (word: string, i: number): string => word.slice(0, i) + word.slice(i + 1)

/** The word with the letters at `i` and `i + 1` swapped; unchanged when `i + 1` is the last letter. */
const swapped = (word: string, i: number): string =>
  i === word.length - 2 ? word : word.slice(0, i) + (word[i + 1] ?? '') + (word[i] ?? '') + word.slice(i + 2)
