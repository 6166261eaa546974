import { advice, defineRule, outage, says } from '../../../rule/index.ts'
import { mappingTo } from '../examples.ts'
import { factsAbout } from '../role-mappings.ts'
import { MCPExternalAuthConfig } from '../schema.ts'

export const roleMappingHasCondition = defineRule({
  id: 'role-mapping-has-condition',
  on: MCPExternalAuthConfig,
  needs: ['awsSts'],
  severity: 'warning',
  summary: 'A role mapping has a claim or a matcher.',
  why: 'Without either there is nothing to match. The operator refuses the whole configuration, and what uses it does not start.',
  failure: {
    symptom: 'Valid=False with "awsSts.roleMappings[0]: exactly one of claim or matcher must be set"',
    reportedBy: 'operator',
    consequence: 'does not start',
  },
  sources: [says('2.4.1', 'claim is matched against the claim named by roleClaim.'), 'decision 14'],
  *check({ spec }, context) {
    for (const index of factsAbout(spec?.awsSts?.roleMappings, context).neither)
      yield outage(
        advice(
          context.path.spec.awsSts.roleMappings.at(index),
          'the operator refuses the configuration with this mapping; set `claim` or `matcher`',
        ),
      )
  },
  examples: {
    'one mapping by claim, one by matcher': {
      value: mappingTo({ admin: { claim: 'admins' }, reader: { matcher: 'claims.email_verified == true' } }),
    },
    'a mapping with neither': {
      value: mappingTo({ admin: {} }),
      findings:
        'spec.awsSts.roleMappings[0]: the operator refuses the configuration with this mapping; set `claim` or `matcher`',
    },
  },
})
