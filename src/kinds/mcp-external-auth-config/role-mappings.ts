import type { Static } from 'typebox'
import {
  type CelGoVersion,
  type Compiling,
  LONGEST_MATCHER,
  type MatcherResult,
  matcherVerdict,
  utf8Length,
} from './matcher-verdicts.ts'
import {
  type Given,
  isObject,
  oncePerReview,
  pathTo,
  type Resource,
  type Steps,
  withinBudget,
} from '../../rule/index.ts'
import type { roleMapping } from './schema.ts'

export type RoleMapping = Given<Static<typeof roleMapping>>
export type RoleMappings = readonly (RoleMapping | undefined)[]

/**
 * The most UTF-8 bytes of all distinct matchers of an object (decision 15). More could not be compiled in the 30 s
 * that the API server waits for a webhook at most.
 */
const MOST_MATCHER_TEXT = 512 * 1024

/** Result types of a usable matcher; `dyn` means that the type is known only at run time. */
export const MATCHER_TYPES: ReadonlySet<string> = new Set(['bool', 'dyn'])

interface Matcher {
  /** Index of the role mapping with this matcher. */
  readonly index: number
  readonly text: string
}

export interface CompiledMatcher extends Matcher {
  readonly verdict: MatcherResult
}

/** Facts about the role mappings of an object, computed once for several rules. */
interface Facts {
  /** Indexes of the role mappings with both a claim and a matcher; `neither`: of those with none of the two. */
  readonly both: readonly number[]
  readonly neither: readonly number[]
  /** Whether two role mappings have an equal claim or an equal matcher. */
  readonly repeats: boolean
  /** The matchers that are too long to compile. */
  readonly tooLong: readonly Matcher[]
  /** Whether the matchers that are not in `tooLong` are together within the length limit for compilation. */
  readonly fit: boolean
  /**
   * The matchers that some rule reports: with an error, a type other than bool, a constant result, a refusal by one
   * version of cel-go, or a claim of a wrong type or spelling. Empty unless `fit`; incomplete when the budget runs out.
   */
  readonly notable: readonly CompiledMatcher[]
  /** Matchers that may be true for a caller without claims; empty unless `fit`, incomplete when the budget ends. */
  readonly perhapsOpen: readonly Matcher[]
}

const NO_FACTS: Facts = {
  both: [],
  neither: [],
  repeats: false,
  tooLong: [],
  fit: true,
  notable: [],
  perhapsOpen: [],
}

/** Facts about the role mappings of the judged object. Empty matchers are ignored, because the schema refuses them. */
export const factsAbout = oncePerReview((mappings: RoleMappings | undefined, context: Compiling): Facts =>
  mappings === undefined ? NO_FACTS : read(mappings, context),
)

function read(mappings: RoleMappings, context: Compiling): Facts {
  const both: number[] = []
  const neither: number[] = []
  const tooLong: Matcher[] = []
  const short: Matcher[] = []
  const conditions = new Set<string>()
  let repeats = false
  for (let index = 0; index < mappings.length; index++) {
    const mapping = mappings[index]
    if (mapping === undefined) continue
    const { claim, matcher } = mapping
    // Equivalent to `!isAbsent(mapping, 'claim')`, which is several times slower.
    const hasClaim = claim !== undefined || 'claim' in mapping
    if (hasClaim === (matcher !== undefined || 'matcher' in mapping)) (hasClaim ? both : neither).push(index)
    if (matcher) (isTooLong(matcher) ? tooLong : short).push({ index, text: matcher })
    const condition = claim ?? matcher
    if (condition === undefined) continue
    if (conditions.has(condition)) repeats = true
    else conditions.add(condition)
  }
  const fit = distinctBytes(short.map(({ text }) => text)) <= MOST_MATCHER_TEXT
  return { both, neither, repeats, tooLong, fit, ...(fit ? compile(short, context) : NOTHING_COMPILED) }
}

/** The matchers that only this version of cel-go refuses: the index of the role mapping, and `line:column: message`. */
export function* refusedOnlyBy(
  version: CelGoVersion,
  mappings: RoleMappings | undefined,
  context: Compiling,
): Generator<{ readonly index: number; readonly error: string }> {
  for (const { index, verdict } of factsAbout(mappings, context).notable) {
    if (!verdict.ok || verdict.refusedBy?.version !== version) continue
    const { line, column, message } = verdict.refusedBy
    yield { index, error: `${line}:${column}: ${message}` }
  }
}

/**
 * The most matchers with errors that are collected: enough to refuse an object and to show why. Making an error is
 * slow, and a request may have 100,000 wrong matchers.
 */
const MOST_BAD = 1_001

function compile(matchers: readonly Matcher[], context: Compiling): Compiled {
  const notable: CompiledMatcher[] = []
  const perhapsOpen: Matcher[] = []
  let bad = 0
  for (const { index, text } of matchers) {
    const verdict = withinBudget(() => matcherVerdict(text, context))
    if (verdict === undefined) {
      context.budget.leaveUndecided(matcherAt(index), false)
      break
    }
    if (!verdict.ok || verdict.type !== 'bool' || isNotable(verdict)) notable.push({ index, text, verdict })
    if (verdict.ok && verdict.mayBeOpen) perhapsOpen.push({ index, text })
    if (!verdict.ok && ++bad === MOST_BAD) break
  }
  return { notable, perhapsOpen }
}

const matcherAt = (index: number) => pathTo<unknown>(['spec', 'awsSts', 'roleMappings', index, 'matcher'])

type Compiled = Pick<Facts, 'notable' | 'perhapsOpen'>
const NOTHING_COMPILED: Compiled = { notable: [], perhapsOpen: [] }

const isNotable = ({ constant, refusedBy, misfit, slip }: MatcherResult & { readonly ok: true }): boolean =>
  [constant, refusedBy, misfit, slip].some((each) => each !== undefined)

/** Characters of matchers that are compiled, in about two milliseconds, before other requests get a turn. */
const STEP = 8 * 1024

/** Compiles the matchers of a resource in steps, until the budget runs out; rules later find the results in a cache. */
export function* compileMatchers({ spec }: Resource, context: Compiling): Steps<void> {
  const awsSts = isObject(spec) && isObject(spec.awsSts) ? spec.awsSts : undefined
  const mappings = (awsSts?.roleMappings ?? []) as RoleMappings
  const short = mappings.flatMap((mapping) => {
    const { matcher } = mapping ?? {}
    return matcher && !isTooLong(matcher) ? [matcher] : []
  })
  if (distinctBytes(short) > MOST_MATCHER_TEXT) return
  let characters = 0
  for (const text of short) {
    if (withinBudget(() => matcherVerdict(text, context)) === undefined) return
    characters += text.length
    if (characters < STEP) continue
    characters = 0
    yield
  }
}

/** An upper bound of the UTF-8 bytes: three for each UTF-16 code unit. For most texts it makes counting unnecessary. */
const mostBytes = (text: string) => text.length * 3

function isTooLong(text: string): boolean {
  return mostBytes(text) > LONGEST_MATCHER && utf8Length(text) > LONGEST_MATCHER
}

/** The UTF-8 bytes of all distinct texts, or a cheap upper bound if that is within MOST_MATCHER_TEXT. */
function distinctBytes(texts: readonly string[]): number {
  const most = texts.reduce((sum, text) => sum + mostBytes(text), 0)
  if (most <= MOST_MATCHER_TEXT) return most
  return [...new Set(texts)].reduce((sum, text) => sum + utf8Length(text), 0)
}
