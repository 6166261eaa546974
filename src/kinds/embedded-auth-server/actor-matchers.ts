import type { Static } from 'typebox'
import type { Context } from '../../rule/rule.ts'
import {
  LONGEST_MATCHER,
  type MatcherVerdict,
  matcherVerdict,
} from '../mcp-external-auth-config/matcher-verdicts.ts'
import type { Server } from './effective.ts'
import { delegationPolicies } from './inbound-grants.ts'
import type { EmbeddedAuthServer } from './schema.ts'

/** Most characters of actor matchers of one server that are compiled: 30 milliseconds. */
const MOST_TEXT = 128 * 1024

interface ActorMatcher extends Pick<ReturnType<typeof delegationPolicies>[number], 'place'> {
  readonly text: string
  readonly verdict: MatcherVerdict
}

/** The actor matchers of a server, each with its verdict; the first one beyond the bound is left undecided. */
export function* actorMatchers(
  server: Server,
  { path, budget }: Pick<Context<Static<typeof EmbeddedAuthServer>>, 'path' | 'budget'>,
): Iterable<ActorMatcher> {
  let left = MOST_TEXT
  for (const { value, place } of delegationPolicies(server, path)) {
    const text = value.actorMatcher
    if (!text) continue
    left -= Math.min(text.length, LONGEST_MATCHER)
    if (left < 0) {
      budget.leaveUndecided(place().actorMatcher)
      return
    }
    yield { text, verdict: matcherVerdict(text), place }
  }
}
