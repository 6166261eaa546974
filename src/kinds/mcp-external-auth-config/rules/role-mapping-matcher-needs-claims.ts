import { advice, defineRule, isAbsent, says } from '../../../rule/index.ts'
import { mappingTo, role } from '../examples.ts'
import { acceptsNoClaims } from '../proofs.ts'
import { factsAbout } from '../role-mappings.ts'
import { MCPExternalAuthConfig } from '../schema.ts'

export const roleMappingMatcherNeedsClaims = defineRule({
  id: 'role-mapping-matcher-needs-claims',
  on: MCPExternalAuthConfig,
  needs: ['awsSts'],
  severity: 'warning',
  summary: 'A matcher that demands the value of a claim is not true for a caller without any claim.',
  why: 'A test behind `!has(…) ||` is passed by every caller that does not have the claim: all of them get the role.',
  failure: {
    symptom: 'callers without a group or a claim get a role that was meant for a few',
    reportedBy: 'nobody',
    consequence: 'lets anyone in',
    releases: 'all',
  },
  sources: [says('2.4.1', 'matcher is a CEL expression evaluated against the claims.'), 'decision 21'],
  *check({ spec }, context) {
    const awsSts = spec?.awsSts
    if (awsSts === undefined) return
    const { fallbackRoleArn } = awsSts
    const isFallbackKnown = fallbackRoleArn !== undefined || isAbsent(awsSts, 'fallbackRoleArn')
    for (const { index, text } of factsAbout(awsSts.roleMappings, context).perhapsOpen) {
      const roleArn = awsSts.roleMappings?.[index]?.roleArn
      const mayBeFallback = roleArn === undefined || !isFallbackKnown || roleArn === fallbackRoleArn
      if (mayBeFallback) continue
      const place = () => context.path.spec.awsSts.roleMappings.at(index).matcher
      if (!context.budget.decide(place, () => acceptsNoClaims(text, context.budget))) continue
      yield advice(
        place(),
        'is true for every caller without the claims that it reads, so they all get the role; add a test that fails for them, such as \'&& "admins" in claims.groups\'',
      )
    }
  },
  examples: {
    'a claim that must not be there, beside one that must': {
      value: mappingTo({
        admin: { matcher: '!has(claims.act) && "admins" in claims.groups' },
        reader: { matcher: 'has(claims.email) && claims.email.endsWith("@example.com")' },
      }),
    },
    'everyone but a few, said in so many words': {
      value: mappingTo({
        editor: { matcher: '!has(claims.act)' },
        reader: { matcher: '!(has(claims.groups) && "guests" in claims.groups)' },
      }),
    },
    'everyone without a claim': {
      value: mappingTo({
        editor: { matcher: 'has(claims.act) == false' },
        reader: { matcher: '!has(claims.blocked) || claims.blocked == false' },
      }),
    },
    'the role that everyone else gets anyway': {
      value: mappingTo(
        { reader: { matcher: '!has(claims.act) || claims.act.sub == "gateway"' } },
        { fallbackRoleArn: role('reader') },
      ),
    },
    'a test for those who have the claim': {
      value: mappingTo({
        admin: { matcher: '!has(claims.act) || claims.act.sub == "gateway"' },
        editor: { matcher: 'has(claims.tenant) ? claims.tenant == "core" : true' },
      }),
      findings: [
        'spec.awsSts.roleMappings[0].matcher: is true for every caller without the claims that it reads, so they all get the role; add a test that fails for them, such as \'&& "admins" in claims.groups\'',
        'spec.awsSts.roleMappings[1].matcher: is true for every caller without the claims that it reads, so they all get the role; add a test that fails for them, such as \'&& "admins" in claims.groups\'',
      ],
    },
    'the same, compared with false': {
      value: mappingTo({
        admin: { matcher: 'has(claims.act) == false || claims.act.sub == "gateway"' },
        editor: { matcher: '("tenant" in claims) == false || claims.tenant == "core"' },
      }),
      findings: [
        'spec.awsSts.roleMappings[0].matcher: is true for every caller without the claims that it reads, so they all get the role; add a test that fails for them, such as \'&& "admins" in claims.groups\'',
        'spec.awsSts.roleMappings[1].matcher: is true for every caller without the claims that it reads, so they all get the role; add a test that fails for them, such as \'&& "admins" in claims.groups\'',
      ],
    },
  },
})
