import { advice, defineRule } from '../../../rule/index.ts'
import { role, signing } from '../examples.ts'
import { factsAbout } from '../role-mappings.ts'
import { MCPExternalAuthConfig } from '../schema.ts'

export const roleMappingHasCondition = defineRule({
  id: 'role-mapping-has-condition',
  on: MCPExternalAuthConfig,
  needs: ['awsSts'],
  reads: [],
  severity: 'warning',
  summary: 'A role mapping has a claim or a matcher.',
  why: 'Without either there is nothing to match, so the role is never assumed.',
  sources: [
    { section: '2.4.1', says: 'claim is matched against the claim named by roleClaim.' },
    'decision 14',
  ],
  *check({ spec }, context) {
    for (const index of factsAbout(spec?.awsSts?.roleMappings, context).neither)
      yield advice(
        context.path.spec.awsSts.roleMappings.at(index),
        'matches no caller; set `claim` or `matcher`',
      )
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
