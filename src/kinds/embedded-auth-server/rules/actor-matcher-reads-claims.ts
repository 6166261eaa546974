import { advice, type Budget, defineRule } from '../../../rule/index.ts'
import { acceptsNoClaims, constantOfAllReleases } from '../../mcp-external-auth-config/proofs.ts'
import { misfitText } from '../../mcp-external-auth-config/claim-shapes.ts'
import { readsClaims } from '../../mcp-external-auth-config/matcher-verdicts.ts'
import { MATCHER_TYPES } from '../../mcp-external-auth-config/role-mappings.ts'
import { actorMatchers } from '../actor-matchers.ts'
import { partner, trusting } from '../examples.ts'
import { EmbeddedAuthServer } from '../schema.ts'

/** The most actor matchers of an authorization server for which a proof that they are constant is attempted. */
const MOST_PROOFS = 10

export const actorMatcherReadsClaims = defineRule({
  id: 'actor-matcher-reads-claims',
  on: EmbeddedAuthServer,
  needs: ['trustedIssuers', 'inboundGrants'],
  severity: 'warning',
  summary: 'An actor matcher decides by the claims of the token.',
  why: 'A constant matcher lets every actor of the issuer exchange tokens of users, or none.',
  failure: {
    symptom: 'every token exchange is denied, or any actor of the issuer exchanges tokens of users',
    reportedBy: 'nobody',
    consequence: 'lets anyone in',
    releases: 'from 0.45 on',
    threads: ['stacklok/toolhive#6364'],
  },
  sources: ['decision 3', 'decision 15'],
  *check(server, context) {
    const { budget } = context
    let proofs = MOST_PROOFS
    for (const { text, verdict, place } of actorMatchers(server, context)) {
      if (!verdict.ok || !MATCHER_TYPES.has(verdict.type)) continue
      const { misfit, mayBeOpen } = verdict
      const decide = <T>(question: (matcher: string, budget: Budget) => T) =>
        budget.decide(
          () => place().actorMatcher,
          () => question(text, budget),
        )
      const constant =
        verdict.constant ?? (readsClaims(text) && proofs-- > 0 ? decide(constantOfAllReleases) : undefined)
      if (constant !== undefined)
        yield advice(
          place().actorMatcher,
          constant
            ? 'is always true, so any actor of the issuer may exchange tokens of users; write a test such as claims.azp == "…"'
            : 'is never true, so it authorizes no actor; write a test such as claims.azp == "…"',
        )
      else if (misfit !== undefined)
        yield advice(place().actorMatcher, misfitText(misfit, 'the matcher authorizes no actor'))
      else if (mayBeOpen && decide(acceptsNoClaims))
        yield advice(
          place().actorMatcher,
          'is true for a token that has none of the claims that the matcher reads, so any actor may exchange it; require a claim: claims.azp == "…"',
        )
      else if (!readsClaims(text))
        yield advice(
          place().actorMatcher,
          'does not read `claims`, so it authorizes every actor or none; write a test such as claims.azp == "…"',
        )
    }
  },
  examples: {
    'a claim': { value: trusting({ ...partner, actorMatcher: 'claims["azp"] == "orchestrator"' }) },
    'one of two actors, and a group': {
      value: trusting({
        ...partner,
        actorMatcher: '(claims.azp == "gateway" || claims.azp == "agent") && "agents" in claims.groups',
      }),
    },
    'not two actors at once, which fails for a token without the claim': {
      value: trusting({ ...partner, actorMatcher: '!(claims.azp == "gateway" && claims.azp == "agent")' }),
    },
    'no other service, and an actor': {
      value: trusting({ ...partner, actorMatcher: '!has(claims.act) && claims.azp == "gateway"' }),
    },
    'an actor, if there is one': {
      value: trusting({ ...partner, actorMatcher: '!has(claims.act) || claims.act.sub == "gateway"' }),
      findings:
        'trustedIssuers[0].actorMatcher: is true for a token that has none of the claims that the matcher reads, so any actor may exchange it; require a claim: claims.azp == "…"',
    },
    'the same, compared with false': {
      value: trusting({
        ...partner,
        actorMatcher: 'has(claims.act) == false || claims.act.sub == "gateway"',
      }),
      findings:
        'trustedIssuers[0].actorMatcher: is true for a token that has none of the claims that the matcher reads, so any actor may exchange it; require a claim: claims.azp == "…"',
    },
    'every actor, and none': {
      value: trusting(
        { ...partner, actorMatcher: 'true' },
        { ...partner, issuerUrl: 'https://idp.example.com', actorMatcher: 'false' },
      ),
      findings: [
        'trustedIssuers[0].actorMatcher: is always true, so any actor of the issuer may exchange tokens of users; write a test such as claims.azp == "…"',
        'trustedIssuers[1].actorMatcher: is never true, so it authorizes no actor; write a test such as claims.azp == "…"',
      ],
    },
    'a claim in quotes': {
      value: trusting({ ...partner, actorMatcher: '"claims.azp" == "orchestrator"' }),
      findings:
        'trustedIssuers[0].actorMatcher: is never true, so it authorizes no actor; write a test such as claims.azp == "…"',
    },
    'two actors at once': {
      value: trusting({ ...partner, actorMatcher: 'claims.azp == "gateway" && claims.azp == "agent"' }),
      findings:
        'trustedIssuers[0].actorMatcher: is never true, so it authorizes no actor; write a test such as claims.azp == "…"',
    },
    'whatever the first test says': {
      value: trusting({ ...partner, actorMatcher: 'claims.azp == "gateway" || true' }),
      findings:
        'trustedIssuers[0].actorMatcher: is always true, so any actor of the issuer may exchange tokens of users; write a test such as claims.azp == "…"',
    },
    'a value in a text': {
      value: trusting({ ...partner, actorMatcher: '"agent" in claims.azp' }),
      findings:
        'trustedIssuers[0].actorMatcher: claims.azp is a string, not a list, so `in` and exists() fail at run time: the matcher authorizes no actor; write == or matches()',
    },
    'a test and its opposite': {
      value: trusting({ ...partner, actorMatcher: '!has(claims.act) || has(claims.act)' }),
      findings:
        'trustedIssuers[0].actorMatcher: is always true, so any actor of the issuer may exchange tokens of users; write a test such as claims.azp == "…"',
    },
    'a calculation': {
      value: trusting({ ...partner, actorMatcher: '1 + 1 == 2' }),
      findings:
        'trustedIssuers[0].actorMatcher: does not read `claims`, so it authorizes every actor or none; write a test such as claims.azp == "…"',
    },
  },
})
