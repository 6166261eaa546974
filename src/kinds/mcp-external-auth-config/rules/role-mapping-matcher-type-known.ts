import { advice, defineRule, must } from '../../../rule/index.ts'
import { mappingTo } from '../examples.ts'
import { factsAbout } from '../role-mappings.ts'
import { MCPExternalAuthConfig } from '../schema.ts'

export const roleMappingMatcherTypeKnown = defineRule({
  id: 'role-mapping-matcher-type-known',
  on: MCPExternalAuthConfig,
  needs: ['awsSts'],
  severity: 'warning',
  summary: 'The type checker knows that a matcher is a bool.',
  why: 'A matcher that gives a value of another type never matches, and no log or status reports it.',
  sources: [
    must('2.4.1', 'matcher is a CEL expression over the variable claims, a map of all JWT claims.'),
    'decision 15',
  ],
  *check({ spec }, context) {
    for (const { index, verdict } of factsAbout(spec?.awsSts?.roleMappings, context).notable) {
      if (!verdict.ok || verdict.type !== 'dyn') continue
      yield advice(
        context.path.spec.awsSts.roleMappings.at(index).matcher,
        "must be a bool, and its type is known only at run time, where any other type never matches; write a comparison, such as '… == true'",
      )
    }
  },
  examples: {
    'a claim that is compared': {
      value: mappingTo({ admin: { matcher: 'claims.is_admin == true' } }),
    },
    'the bare claim': {
      value: mappingTo({ admin: { matcher: 'claims.is_admin' } }),
      findings:
        "spec.awsSts.roleMappings[0].matcher: must be a bool, and its type is known only at run time, where any other type never matches; write a comparison, such as '… == true'",
    },
  },
})
