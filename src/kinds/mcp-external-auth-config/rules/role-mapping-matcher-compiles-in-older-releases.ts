import { advice, defineRule, must } from '../../../rule/index.ts'
import { mappingTo } from '../examples.ts'
import { refusedOnlyBy } from '../role-mappings.ts'
import { MCPExternalAuthConfig } from '../schema.ts'

/** Warns about matchers that only older cel-go refuses: operator releases up to 0.58 contain cel-go 0.31 or 0.32. */
export const roleMappingMatcherCompilesInOlderReleases = defineRule({
  id: 'role-mapping-matcher-compiles-in-older-releases',
  on: MCPExternalAuthConfig,
  needs: ['awsSts'],
  severity: 'warning',
  summary: 'A matcher that operator releases from 0.59 compile also compiles in releases up to 0.58.',
  why: 'Older releases have an older CEL. One matcher that does not compile keeps the workload from starting. Where such a release is installed, make this an error; where only newer ones are, switch it off.',
  sources: [
    must('2.4.1', 'matcher is a CEL expression over the variable claims, a map of all JWT claims.'),
    'decision 15',
  ],
  *check({ spec }, context) {
    for (const { index, error } of refusedOnlyBy('0.32', spec?.awsSts?.roleMappings, context)) {
      yield advice(
        context.path.spec.awsSts.roleMappings.at(index).matcher,
        `workloads of operator releases up to 0.58 do not start with it: ${error}`,
      )
    }
  },
  examples: {
    'a loop variable with a name of its own': {
      value: mappingTo({ admin: { matcher: 'claims.groups.exists(g, type(g) == string)' } }),
    },
    'a type behind a loop variable of the same name': {
      value: mappingTo({ admin: { matcher: 'claims.groups.exists(string, type(string) == .string)' } }),
      findings:
        'spec.awsSts.roleMappings[0].matcher: workloads of operator releases up to 0.58 do not start with it: 1:47: a loop variable hides the type string, give it another name',
    },
  },
})
