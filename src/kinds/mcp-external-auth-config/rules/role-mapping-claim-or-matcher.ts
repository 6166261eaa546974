import { forbidden } from '../../../rule/field-error.ts'
import { isAbsent } from '../../../rule/resource.ts'
import { defineRule } from '../../../rule/rule.ts'
import { role } from '../examples.ts'
import { MCPExternalAuthConfig } from '../schema.ts'

export const roleMappingClaimOrMatcher = defineRule({
  id: 'role-mapping-claim-or-matcher',
  on: MCPExternalAuthConfig,
  reads: [],
  severity: 'error',
  summary: 'A role mapping matches by claim or by matcher, not by both.',
  why: 'The two are mutually exclusive; the workload refuses to start with a mapping that sets both.',
  sources: ['2.4.1', '7'],
  *check({ spec }, { path }) {
    const mappings = spec?.awsSts?.roleMappings ?? []
    for (let i = 0; i < mappings.length; i++) {
      const mapping = mappings[i]
      if (!mapping || isAbsent(mapping, 'claim') || isAbsent(mapping, 'matcher')) continue
      yield forbidden(
        path.spec.awsSts.roleMappings.at(i).matcher,
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
    valid: [
      {
        title: 'one mapping by claim, one by matcher',
        value: {
          spec: {
            type: 'awsSts',
            awsSts: {
              region: 'eu-central-1',
              roleMappings: [
                { roleArn: role('admin'), claim: 'admins', priority: 0 },
                { roleArn: role('reader'), matcher: 'claims.email.endsWith("@example.com")', priority: 1 },
              ],
            },
          },
        },
      },
    ],
    invalid: [
      {
        title: 'a mapping with both',
        value: {
          spec: {
            type: 'awsSts',
            awsSts: {
              region: 'eu-central-1',
              roleMappings: [
                { roleArn: role('admin'), claim: 'admins', matcher: '"admins" in claims.groups' },
              ],
            },
          },
        },
        findings: [
          'spec.awsSts.roleMappings[0].matcher: Forbidden: may not be specified when `claim` is set; keep one of the two',
        ],
      },
    ],
  },
})
