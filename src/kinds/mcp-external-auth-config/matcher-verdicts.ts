import { checkMatcher, maxBytes, outsideStringLiterals } from '../../cel/index.ts'
import type { CelGoVersion, MatcherError } from '../../cel/index.ts'
import {
  claimThatIsNoBool,
  constantOf,
  demandsValue,
  type Misfit,
  misfitIn,
  type Slip,
  slipIn,
} from './claim-shapes.ts'
import { acceptsNoClaims } from './proofs.ts'

export { type CelGoVersion, utf8Length } from '../../cel/index.ts'

/** Longest matcher in UTF-8 bytes (decision 15). */
export const LONGEST_MATCHER = maxBytes

/** The result of compiling a matcher: its type, or the first error with line and column. */
export type MatcherVerdict =
  | {
      readonly ok: true
      readonly type: string
      /** The value that it has for all claims. */
      readonly constant?: boolean
      /** It demands values of claims, and is true all the same for a caller without any claim. */
      readonly open?: true
      /** The claim that it is, and that is never a bool. */
      readonly claim?: string
      /** A claim that it takes for a list although it is a text, or the other way round. */
      readonly misfit?: Misfit
      /** A claim whose name is misspelt. */
      readonly slip?: Slip
      /** The error of the one version of cel-go that refuses it. */
      readonly refusedBy?: MatcherError & { readonly version: CelGoVersion }
    }
  | (MatcherError & { readonly ok: false })

/**
 * Verdicts are kept by the text of the matcher, and nothing else of an object is: the same matchers come again in updates,
 * dry runs and other objects. The oldest go at 50,000 texts, or at 2,000,000 characters of text (2 to 4 MB).
 */
const MOST_VERDICTS = 50_000
const MOST_CHARACTERS = 2_000_000
const LONGEST_PHRASE = 200

const verdicts = new Map<string, MatcherVerdict>()
let characters = 0

/** The verdict on a CEL expression over `claims`; any string may go in. */
export function matcherVerdict(text: string): MatcherVerdict {
  const known = verdicts.get(text)
  if (known !== undefined) return known
  // All at once: a Map of which the oldest goes with each new one looks through thousands of deleted entries each time.
  if (verdicts.size >= MOST_VERDICTS || characters + text.length > MOST_CHARACTERS) {
    verdicts.clear()
    characters = 0
  }
  const verdict = compiled(text)
  verdicts.set(text, verdict)
  characters += text.length
  return verdict
}

function compiled(text: string): MatcherVerdict {
  const verdict = checkMatcher(text)
  if (verdict.ok) {
    const { expr, type, refusedBy } = verdict
    const misfit = misfitIn(expr)
    const slip = slipIn(expr)
    const constant = constantOf(expr)
    const isOpen = constant === undefined && hasNot(text) && demandsValue(expr) && acceptsNoClaims(text)
    const claim = claimThatIsNoBool(expr)
    return {
      ok: true,
      type: shortened(type),
      ...(refusedBy && { refusedBy: { ...refusedBy, message: shortened(refusedBy.message) } }),
      ...(constant !== undefined && { constant }),
      ...(isOpen && { open: true as const }),
      ...(claim !== undefined && { claim }),
      ...(misfit && { misfit }),
      ...(slip && { slip }),
    }
  }
  const { line, column, message } = verdict
  return { ok: false, line, column, message: shortened(message) }
}

/** Without a negation, a choice or a loop, an absent claim makes every test fail. */
const hasNot = (text: string): boolean => /[!?]|\ball\b/.test(text)

/** A message repeats names of the expression, so it may be as long as that. */
function shortened(phrase: string): string {
  return phrase.length <= LONGEST_PHRASE ? phrase : `${phrase.slice(0, LONGEST_PHRASE).toWellFormed()}…`
}

/** Whether the variable stands in the expression, outside texts. */
export const readsClaims = (text: string): boolean => /\bclaims\b/.test(outsideStringLiterals(text))
