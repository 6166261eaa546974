import { checkMatcher, maxBytes } from '../../cel/index.ts'

export { utf8Length } from '../../cel/index.ts'

/** Longest matcher in UTF-8 bytes (decision 15). */
export const LONGEST_MATCHER = maxBytes

/** What the compiler says of a matcher: the type of its result, or the first error and where it is. */
export type MatcherVerdict =
  | { readonly ok: true; readonly type: string; readonly constant?: boolean }
  | { readonly ok: false; readonly line: number; readonly column: number; readonly message: string }

/** What is known of the text of a claim or a matcher. */
interface Condition {
  /** The last reading of mappings that met it. */
  reading: number
  verdict?: MatcherVerdict
}

/** The same configuration comes again: conditions are kept by text. Between readings there are no more than these. */
const MOST_CONDITIONS = 50_000
const MOST_CHARACTERS = 2_000_000
const LONGEST_PHRASE = 200

const conditions = new Map<string, Condition>()
let characters = 0
let reading = 0

/** Begins a reading: a condition that is met twice from here on is met again. */
export function beginReading(): void {
  reading += 1
  for (const text of conditions.keys()) {
    if (conditions.size <= MOST_CONDITIONS && characters <= MOST_CHARACTERS) return
    conditions.delete(text)
    characters -= text.length
  }
}

/** Meets a condition; whether it was met in this reading before. */
export function isMetAgain(text: string): boolean {
  const condition = conditionWith(text)
  const again = condition.reading === reading
  condition.reading = reading
  return again
}

/** The verdict on a CEL expression over `claims`; any string may go in. */
export function matcherVerdict(text: string): MatcherVerdict {
  const condition = conditionWith(text)
  return (condition.verdict ??= compiled(text))
}

function conditionWith(text: string): Condition {
  let condition = conditions.get(text)
  if (condition === undefined) {
    condition = { reading: 0 }
    conditions.set(text, condition)
    characters += text.length
  }
  return condition
}

function compiled(text: string): MatcherVerdict {
  const verdict = checkMatcher(text)
  if (verdict.ok) return { ...verdict, type: shortened(verdict.type) }
  const { line, column, message } = verdict
  return { ok: false, line, column, message: shortened(message) }
}

/** A message repeats names of the expression, so it may be as long as that. */
function shortened(phrase: string): string {
  return phrase.length <= LONGEST_PHRASE ? phrase : `${phrase.slice(0, LONGEST_PHRASE).toWellFormed()}…`
}
