import type { Static } from 'typebox'
import { type Context, withinBudget } from '../../rule/index.ts'
import { type MatcherResult, matcherVerdict } from '../mcp-external-auth-config/matcher-verdicts.ts'
import type { Server } from './effective.ts'
import { delegationPolicies } from './inbound-grants.ts'
import type { EmbeddedAuthServer } from './schema.ts'

interface ActorMatcher extends Pick<ReturnType<typeof delegationPolicies>[number], 'place'> {
  readonly text: string
  readonly verdict: MatcherResult
}

/**
 * The actor matchers of a server, with the results of compiling them. When the budget runs out, stops and records in
 * the budget which matcher was next.
 */
export function* actorMatchers(
  server: Server,
  context: Context<Static<typeof EmbeddedAuthServer>>,
): Iterable<ActorMatcher> {
  const { path, budget } = context
  for (const { value, place } of delegationPolicies(server, path)) {
    const text = value.actorMatcher
    if (!text) continue
    const verdict = withinBudget(() => matcherVerdict(text, context))
    if (verdict === undefined) {
      budget.leaveUndecided(place().actorMatcher, false)
      return
    }
    yield { text, verdict, place }
  }
}
