import { advice } from '../../../rule/field-error.ts'
import { defineRule } from '../../../rule/rule.ts'
import { matcherVerdict, readsClaims } from '../../mcp-external-auth-config/matcher-verdicts.ts'
import { partner, trusting } from '../examples.ts'
import { delegationPolicies } from '../inbound-grants.ts'
import { EmbeddedAuthServer } from '../schema.ts'

export const actorMatcherReadsClaims = defineRule({
  id: 'actor-matcher-reads-claims',
  on: EmbeddedAuthServer,
  reads: [],
  severity: 'warning',
  summary: 'An actor matcher decides by the claims of the token.',
  why: 'A constant matcher lets every actor of the issuer exchange tokens of users, or none.',
  failure: {
    symptom: 'every token exchange is denied, or any actor of the issuer exchanges tokens of users',
    toldBy: 'nobody',
    releases: 'from 0.45 on',
    threads: ['stacklok/toolhive#6364'],
  },
  sources: ['decision 3', 'decision 15'],
  *check(server, { path }) {
    for (const { value, place } of delegationPolicies(server, path)) {
      const text = value.actorMatcher
      if (!text || readsClaims(text)) continue
      const verdict = matcherVerdict(text)
      if (!verdict.ok || verdict.type !== 'bool') continue
      const { constant } = verdict
      yield advice(
        place().actorMatcher,
        constant === true
          ? 'is always true: whatever actor the token names may exchange it'
          : constant === false
            ? 'is always false, so it authorizes no actor'
            : 'does not read `claims`, so it decides the same for every token',
      )
    }
  },
  examples: {
    valid: [
      { title: 'a claim', value: trusting({ ...partner, actorMatcher: 'claims["azp"] == "orchestrator"' }) },
    ],
    invalid: [
      {
        title: 'every actor, and none',
        value: trusting(
          { ...partner, actorMatcher: 'true' },
          { ...partner, issuerUrl: 'https://idp.example.com', actorMatcher: 'false' },
        ),
        findings: [
          'trustedIssuers[0].actorMatcher: is always true: whatever actor the token names may exchange it',
          'trustedIssuers[1].actorMatcher: is always false, so it authorizes no actor',
        ],
      },
      {
        title: 'a claim in quotes',
        value: trusting({ ...partner, actorMatcher: '"claims.azp" == "orchestrator"' }),
        findings: [
          'trustedIssuers[0].actorMatcher: does not read `claims`, so it decides the same for every token',
        ],
      },
    ],
  },
})
