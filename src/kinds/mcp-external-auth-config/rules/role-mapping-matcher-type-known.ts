import { advice, defineRule } from '../../../rule/index.ts'
import { role, signing } from '../examples.ts'
import { factsAbout } from '../role-mappings.ts'
import { MCPExternalAuthConfig } from '../schema.ts'

export const roleMappingMatcherTypeKnown = defineRule({
  id: 'role-mapping-matcher-type-known',
  on: MCPExternalAuthConfig,
  reads: [],
  severity: 'warning',
  summary: 'A matcher is known to be a bool before it meets a token.',
  why: 'A matcher that turns out to be something else never matches, and nobody is told.',
  sources: [
    {
      section: '2.4.1',
      must: 'matcher is a CEL expression over the variable claims, a map of all JWT claims.',
    },
    'decision 15',
  ],
  *check({ spec }, context) {
    for (const { index, verdict } of factsAbout(spec?.awsSts?.roleMappings, context).notable) {
      if (!verdict.ok || verdict.type !== 'dyn') continue
      yield advice(
        context.path.spec.awsSts.roleMappings.at(index).matcher,
        "must be a bool, known only at run time; compare it, as in '… == true'",
      )
    }
  },
  examples: {
    valid: [
      {
        title: 'a claim that is compared',
        value: signing({ roleMappings: [{ roleArn: role('admin'), matcher: 'claims.is_admin == true' }] }),
      },
    ],
    invalid: [
      {
        title: 'the bare claim',
        value: signing({ roleMappings: [{ roleArn: role('admin'), matcher: 'claims.is_admin' }] }),
        findings: [
          "spec.awsSts.roleMappings[0].matcher: must be a bool, known only at run time; compare it, as in '… == true'",
        ],
      },
    ],
  },
})
