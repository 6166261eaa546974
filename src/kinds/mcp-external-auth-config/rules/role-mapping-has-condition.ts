import { advice } from '../../../rule/field-error.ts'
import { isAbsent } from '../../../rule/resource.ts'
import { defineRule } from '../../../rule/rule.ts'
import { role, signing } from '../examples.ts'
import { MCPExternalAuthConfig } from '../schema.ts'

export const roleMappingHasCondition = defineRule({
  id: 'role-mapping-has-condition',
  on: MCPExternalAuthConfig,
  reads: [],
  severity: 'warning',
  summary: 'A role mapping has a claim or a matcher.',
  why: 'Without either there is nothing to match, so the role is never assumed.',
  sources: ['2.4.1', 'decision 14'],
  *check({ spec }, { path }) {
    const mappings = spec?.awsSts?.roleMappings ?? []
    for (let i = 0; i < mappings.length; i++) {
      const mapping = mappings[i]
      if (!mapping || !isAbsent(mapping, 'claim') || !isAbsent(mapping, 'matcher')) continue
      yield advice(path.spec.awsSts.roleMappings.at(i), 'matches no caller; set `claim` or `matcher`')
    }
  },
  examples: {
    valid: [
      {
        title: 'one mapping by claim, one by matcher',
        value: signing({
          roleMappings: [
            { roleArn: role('admin'), claim: 'admins' },
            { roleArn: role('reader'), matcher: 'claims.email_verified == true' },
          ],
        }),
      },
    ],
    invalid: [
      {
        title: 'a mapping with neither',
        value: signing({ roleMappings: [{ roleArn: role('admin') }] }),
        findings: ['spec.awsSts.roleMappings[0]: matches no caller; set `claim` or `matcher`'],
      },
    ],
  },
})
