import type { Static } from 'typebox'
import { LONGEST_MATCHER, type MatcherVerdict, matcherVerdict } from '../../rule/expression.ts'
import type { Given } from '../../rule/resource.ts'
import type { roleMapping } from './schema.ts'

export type RoleMapping = Given<Static<typeof roleMapping>>
export type RoleMappings = readonly (RoleMapping | undefined)[]

/** Most distinct matcher text in one object, in UTF-8 bytes (decision 15): the API server's patience is finite. */
const MOST_MATCHER_TEXT = 512 * 1024

/** Result types of a matcher that may match; `dyn` is known only at run time. */
export const MATCHER_TYPES: ReadonlySet<string> = new Set(['bool', 'dyn'])

export interface Matcher {
  /** Index of the mapping. */
  readonly index: number
  readonly text: string
}

export interface CompiledMatcher extends Matcher {
  readonly verdict: MatcherVerdict
}

/** The matchers that can be read; an empty one is left to the schema. */
export function matchersIn(mappings: RoleMappings = []): Matcher[] {
  return mappings.flatMap((mapping, index) => (mapping?.matcher ? [{ index, text: mapping.matcher }] : []))
}

export function isTooLong({ text }: Matcher): boolean {
  return Buffer.byteLength(text) > LONGEST_MATCHER
}

/** Whether the matchers of one object may be compiled; those that are too long on their own never are. */
export function matchersFit(mappings: RoleMappings = []): boolean {
  const texts = new Set(compilable(mappings).map(({ text }) => text))
  let bytes = 0
  for (const text of texts) bytes += Buffer.byteLength(text)
  return bytes <= MOST_MATCHER_TEXT
}

/** The matchers with their verdicts; none when together they are too much to compile. */
export function compiledMatchers(mappings: RoleMappings = []): CompiledMatcher[] {
  if (!matchersFit(mappings)) return []
  return compilable(mappings).map((matcher) => ({ ...matcher, verdict: matcherVerdict(matcher.text) }))
}

function compilable(mappings: RoleMappings): Matcher[] {
  return matchersIn(mappings).filter((matcher) => !isTooLong(matcher))
}
