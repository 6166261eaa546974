import {
  type CelGoVersion,
  checkMatcher,
  type MatcherError,
  maxBytes,
  outsideStringLiterals,
} from '../../cel/index.ts'
import {
  claimsOf,
  claimThatIsNoBool,
  constantOf,
  demandsValue,
  mayBeTrueLacking,
  type Misfit,
  misfitIn,
  neededClaims,
  type Slip,
  slipAmong,
} from './claim-shapes.ts'
import { isForeignClaim } from '../embedded-auth-server/own-claims.ts'
import { BoundedCache, type Budget, type Context, remembered } from '../../rule/index.ts'

export { type CelGoVersion, utf8Length } from '../../cel/index.ts'

/** Longest matcher in UTF-8 bytes (decision 15). */
export const LONGEST_MATCHER = maxBytes

/** The result of compiling a matcher: its type, or its first error with line and column. */
export type MatcherResult =
  | {
      readonly ok: true
      readonly type: string
      /** True when the matcher is true for all claims, false when it is never true: it may then also fail. */
      readonly constant?: boolean
      /** Set when the matcher tests values of claims but may be true for a caller without any claim. */
      readonly mayBeOpen?: true
      /** Set when the matcher is only a claim, such as `claims.sub`, that is never a bool: the name of this claim. */
      readonly claim?: string
      /** A claim that the matcher uses as a list although it is a string, or the reverse. */
      readonly misfit?: Misfit
      /** A claim whose name is misspelt. */
      readonly slip?: Slip
      /** Claims that tokens of an embedded authorization server lack and without which the matcher is never true. */
      readonly foreign?: readonly string[]
      /** Set when only one version of cel-go refuses the matcher: this version, and the error. */
      readonly refusedBy?: MatcherError & { readonly version: CelGoVersion }
    }
  | (MatcherError & { readonly ok: false })

const LONGEST_PHRASE = 200

/** Caches results, because the same matchers recur in updates, dry runs and other objects. */
const verdicts = new BoundedCache<MatcherResult>('matcher verdicts', 8 * 2 ** 20)
/** Estimated bytes of a verdict in the cache. */
const VERDICT = 100

/** Characters of a matcher whose compilation costs one unit of a budget. */
export const COMPILED_PER_UNIT = 4

/** For a compilation: the memo, which keeps results during one review, and the budget. */
export type Compiling = Pick<Context<unknown>, 'memo' | 'budget'>

/**
 * The verdict on any text as a matcher, a CEL expression over `claims`. Within a review each text is charged to the
 * budget once. Throws OutOfBudget.
 */
export const matcherVerdict = (text: string, { memo, budget }: Compiling): MatcherResult =>
  remembered(memo, verdictWithin, text, budget)

function verdictWithin(text: string, budget: Budget): MatcherResult {
  budget.spend(text.length / COMPILED_PER_UNIT)
  const known = verdicts.get(text)
  if (known !== undefined) return known
  const verdict = compiled(text)
  verdicts.set(text, verdict, VERDICT)
  return verdict
}

function compiled(text: string): MatcherResult {
  const verdict = checkMatcher(text)
  if (verdict.ok) {
    const { expr, type, refusedBy } = verdict
    const misfit = misfitIn(expr)
    const claims = claimsOf(expr)
    const slip = slipAmong(claims)
    const constant = constantOf(expr)
    const mayBeOpen =
      constant === undefined && demandsValue(expr) && mayBeTrueLacking(expr, () => true) && readsClaims(text)
    const claim = claimThatIsNoBool(expr)
    const foreign = constant === undefined ? neededClaims(expr, claims, isForeignClaim) : undefined
    return {
      ok: true,
      type: shortened(type),
      ...(refusedBy && { refusedBy: { ...refusedBy, message: shortened(refusedBy.message) } }),
      ...(constant !== undefined && { constant }),
      ...(mayBeOpen && { mayBeOpen: true as const }),
      ...(claim !== undefined && { claim }),
      ...(misfit && { misfit }),
      ...(slip && { slip }),
      ...(foreign && { foreign: foreign.map(shortened) }),
    }
  }
  const { line, column, message } = verdict
  return { ok: false, line, column, message: shortened(message) }
}

/** Cuts a long phrase, because it repeats names of the expression, which may be of any length. */
function shortened(phrase: string): string {
  return phrase.length <= LONGEST_PHRASE ? phrase : `${phrase.slice(0, LONGEST_PHRASE).toWellFormed()}…`
}

/** Whether `claims` occurs outside of string literals. */
export const readsClaims = (text: string): boolean => /\bclaims\b/.test(outsideStringLiterals(text))
