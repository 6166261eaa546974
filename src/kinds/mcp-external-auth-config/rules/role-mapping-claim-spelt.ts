import { advice, defineRule, says } from '../../../rule/index.ts'
import { meantClaim } from '../claim-shapes.ts'
import { mappingTo } from '../examples.ts'
import { factsAbout } from '../role-mappings.ts'
import { MCPExternalAuthConfig } from '../schema.ts'

export const roleMappingClaimSpelt = defineRule({
  id: 'role-mapping-claim-spelt',
  on: MCPExternalAuthConfig,
  needs: ['awsSts'],
  severity: 'warning',
  summary: 'The claims that choose a role are spelt as identity providers spell them.',
  why: 'A matcher that reads a claim which the token does not have fails, and the mapping is skipped without a word: the caller gets the fallback role. Without the claim for the session name each call ends with 401.',
  failure: {
    symptom:
      'callers get the fallback role, or `no role mapping`; or each call ends with 401 `Missing session name claim`',
    reportedBy: 'nobody',
    consequence: 'wrong identity',
  },
  sources: [says('2.4.1', 'roleClaim names the claim into which mappings with claim look.')],
  *check({ spec }, context) {
    const awsSts = spec?.awsSts
    if (awsSts === undefined) return
    const path = context.path.spec.awsSts
    const { roleClaim, sessionNameClaim } = awsSts
    const meant = { role: meantIn(roleClaim), session: meantIn(sessionNameClaim) }
    if (meant.role !== undefined)
      yield advice(
        path.roleClaim,
        `no common claim has this name, so no \`claim\` matches; did you mean '${meant.role}'`,
      )
    if (meant.session !== undefined)
      yield advice(
        path.sessionNameClaim,
        `no common claim has this name, and without it each call ends with 401; did you mean '${meant.session}'`,
      )
    for (const { index, verdict } of factsAbout(awsSts.roleMappings, context).notable)
      if (verdict.ok && verdict.slip !== undefined)
        yield advice(
          path.roleMappings.at(index).matcher,
          `tokens have claims.${verdict.slip.meant}, not claims.${verdict.slip.claim}, without which the mapping is skipped; write claims.${verdict.slip.meant}`,
        )
  },
  examples: {
    'common claims, and claims of an own': {
      value: mappingTo(
        {
          admin: { claim: 'admin' },
          staff: { matcher: 'claims.email.endsWith("@example.com")' },
          team: { matcher: '"a" in claims.group || claims.givenname == "Ann"' },
          rule: { matcher: 'claims.rules == "x" && claims["https://example.com/roles"] == "y"' },
        },
        { roleClaim: 'roles', sessionNameClaim: 'email' },
      ),
    },
    'the claims of identity providers': {
      value: mappingTo(
        {
          admin: { claim: 'admin' },
          staff: { matcher: '"staff" in claims["groups"]' },
          reader: { matcher: 'has(claims.email) && claims.email == "a@example.com"' },
        },
        { roleClaim: 'groups', sessionNameClaim: 'email' },
      ),
    },
    'letters that are swapped': {
      value: mappingTo(
        {
          admin: { claim: 'admin' },
          staff: { matcher: '"staff" in claims["gropus"]' },
          reader: { matcher: 'has(claims.emal) && claims.emal == "a@example.com"' },
        },
        { roleClaim: 'gruops', sessionNameClaim: 'emial' },
      ),
      findings: [
        "spec.awsSts.roleClaim: no common claim has this name, so no `claim` matches; did you mean 'groups'",
        "spec.awsSts.sessionNameClaim: no common claim has this name, and without it each call ends with 401; did you mean 'email'",
        'spec.awsSts.roleMappings[1].matcher: tokens have claims.groups, not claims.gropus, without which the mapping is skipped; write claims.groups',
        'spec.awsSts.roleMappings[2].matcher: tokens have claims.email, not claims.emal, without which the mapping is skipped; write claims.email',
      ],
    },
  },
})

const meantIn = (claim: string | undefined): string | undefined =>
  claim === undefined ? undefined : meantClaim(claim)
