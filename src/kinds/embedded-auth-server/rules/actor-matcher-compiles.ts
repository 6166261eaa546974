import { defineRule, invalid } from '../../../rule/index.ts'
import type { CelGoVersion } from '../../mcp-external-auth-config/matcher-verdicts.ts'
import { celGoOf, RELEASES_WITH } from '../../mcp-external-auth-config/generations.ts'
import { MATCHER_TYPES } from '../../mcp-external-auth-config/role-mappings.ts'
import { actorMatchers } from '../actor-matchers.ts'
import { partner, trusting } from '../examples.ts'
import { EmbeddedAuthServer } from '../schema.ts'

const WORKLOAD = 'the workload does'

export const actorMatcherCompiles = defineRule({
  id: 'actor-matcher-compiles',
  on: EmbeddedAuthServer,
  needs: ['trustedIssuers', 'inboundGrants'],
  severity: 'warning',
  summary: 'An actor matcher is a CEL expression over `claims` that compiles and is a bool.',
  why: 'The operator refuses a matcher that does not compile, and the workload does not start. One that is not a bool compiles, and then denies every token.',
  failure: {
    symptom:
      'Valid=False or AuthServerConfigValidated=False with "invalid actor_matcher"; where it is not a bool, every token exchange is denied',
    reportedBy: 'operator',
    consequence: 'does not start',
    releases: 'from 0.45 on',
    threads: ['stacklok/toolhive#6364'],
  },
  sources: ['decision 3', 'decision 15'],
  *check(server, context) {
    const { release } = context.cluster
    for (const { text, verdict, place } of actorMatchers(server, context)) {
      const error = verdict.ok ? verdict.refusedBy : verdict
      const who = verdict.ok ? refusing(verdict.refusedBy?.version, release) : WORKLOAD
      if (error !== undefined && who !== undefined)
        yield invalid(
          place().actorMatcher,
          text,
          `${error.line}:${error.column}: ${error.message}, so ${who} not start`,
        )
      else if (verdict.ok && !MATCHER_TYPES.has(verdict.type))
        yield invalid(
          place().actorMatcher,
          text,
          `must be a bool, and this is of type ${verdict.type}: every token is denied; compare it, as in claims.azp == "agent"`,
        )
      else if (verdict.ok && verdict.claim !== undefined)
        yield invalid(
          place().actorMatcher,
          text,
          'must be a bool, and this claim is not: every token is denied; compare it, as in claims.azp == "agent"',
        )
    }
  },
  examples: {
    'tests of claims': {
      value: trusting(
        { ...partner, actorMatcher: 'claims.azp.startsWith("agent-") && "agents" in claims.groups' },
        {
          ...partner,
          issuerUrl: 'https://idp.example.com',
          actorMatcher: 'has(claims.act) && claims.act.sub == "gateway"',
        },
        { ...partner, issuerUrl: 'https://c.example.com', actorMatcher: 'claims.trusted_agent' },
      ),
    },
    'a value in a list': { value: trusting({ ...partner, actorMatcher: '"agents" in claims.groups' }) },
    'an expression that ends too early': {
      value: trusting({ ...partner, actorMatcher: '"agents" in' }),
      findings: String.raw`trustedIssuers[0].actorMatcher: Invalid value: "\"agents\" in": 1:12: the expression ends too early, so the workload does not start`,
    },
    'a variable that does not exist': {
      value: trusting({ ...partner, actorMatcher: 'azp == claims.sub' }),
      findings: `trustedIssuers[0].actorMatcher: Invalid value: "azp == claims.sub": 1:1: undeclared reference to 'azp' (the only variable is claims: write claims.azp, and text in quotes), so the workload does not start`,
    },
    'two types, which the CEL of newer releases does not compare': {
      value: trusting({ ...partner, actorMatcher: 'type([]) == int' }),
      findings:
        'trustedIssuers[0].actorMatcher: Invalid value: "type([]) == int": 1:10: found no matching overload for type(list(dyn)) == type(int), so workloads of releases from 0.59 do not start',
    },
    'a claim that is not a bool': {
      value: trusting({ ...partner, actorMatcher: 'claims.azp' }),
      findings:
        'trustedIssuers[0].actorMatcher: Invalid value: "claims.azp": must be a bool, and this claim is not: every token is denied; compare it, as in claims.azp == "agent"',
    },
    'a list in brackets and parentheses': {
      value: trusting({ ...partner, actorMatcher: "(claims['groups'])" }),
      findings: `trustedIssuers[0].actorMatcher: Invalid value: "(claims['groups'])": must be a bool, and this claim is not: every token is denied; compare it, as in claims.azp == "agent"`,
    },
    'a text': {
      value: trusting({ ...partner, actorMatcher: '"orchestrator"' }),
      findings: String.raw`trustedIssuers[0].actorMatcher: Invalid value: "\"orchestrator\"": must be a bool, and this is of type string: every token is denied; compare it, as in claims.azp == "agent"`,
    },
  },
})

/**
 * Who does not start with a matcher that only this version of cel-go refuses, as the beginning of a phrase; undefined
 * when the known release has another version.
 */
function refusing(version: CelGoVersion | undefined, release: string | undefined): string | undefined {
  if (version === undefined) return undefined
  if (release === undefined) return `workloads of releases ${RELEASES_WITH[version]} do`
  return celGoOf(release) === version ? WORKLOAD : undefined
}
