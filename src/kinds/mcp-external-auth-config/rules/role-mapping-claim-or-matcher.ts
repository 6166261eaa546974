import { defineRule, forbidden, must } from '../../../rule/index.ts'
import { mappingTo } from '../examples.ts'
import { factsAbout } from '../role-mappings.ts'
import { MCPExternalAuthConfig } from '../schema.ts'

export const roleMappingClaimOrMatcher = defineRule({
  id: 'role-mapping-claim-or-matcher',
  on: MCPExternalAuthConfig,
  needs: ['awsSts'],
  severity: 'error',
  summary: 'A role mapping matches by claim or by matcher, not by both.',
  why: 'The two are mutually exclusive; the workload refuses to start with a mapping that sets both.',
  sources: [
    must('2.4.1', 'claim and matcher of a role mapping are mutually exclusive.'),
    must('7', 'A roleMappings item sets both claim and matcher.'),
  ],
  *check({ spec }, context) {
    for (const index of factsAbout(spec?.awsSts?.roleMappings, context).both) {
      yield forbidden(
        context.path.spec.awsSts.roleMappings.at(index).matcher,
        'may not be specified when `claim` is set; keep one of the two',
      )
    }
  },
  policy: {
    expression: `
      self.?spec.?awsSts.?roleMappings.orValue([]).all(mapping,
        mapping.?claim.orValue(null) == null || mapping.?matcher.orValue(null) == null)`,
  },
  examples: {
    'one mapping by claim, one by matcher': {
      value: mappingTo({
        admin: { claim: 'admins', priority: 0 },
        reader: { matcher: 'claims.email.endsWith("@example.com")', priority: 1 },
      }),
    },
    'the claim alone': {
      value: mappingTo({ admin: { claim: 'admins' } }),
    },
    'a mapping with both': {
      value: mappingTo({ admin: { claim: 'admins', matcher: '"admins" in claims.groups' } }),
      findings:
        'spec.awsSts.roleMappings[0].matcher: Forbidden: may not be specified when `claim` is set; keep one of the two',
    },
  },
})
