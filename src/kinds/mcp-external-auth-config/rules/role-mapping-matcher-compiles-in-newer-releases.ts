import { advice, defineRule, must } from '../../../rule/index.ts'
import { mappingTo } from '../examples.ts'
import { refusedOnlyBy } from '../role-mappings.ts'
import { MCPExternalAuthConfig } from '../schema.ts'

/** Warns about matchers that only newer cel-go refuses: operator releases since 0.59 contain cel-go 0.33. */
export const roleMappingMatcherCompilesInNewerReleases = defineRule({
  id: 'role-mapping-matcher-compiles-in-newer-releases',
  on: MCPExternalAuthConfig,
  needs: ['awsSts'],
  severity: 'warning',
  summary: 'A matcher that operator releases up to 0.58 compile also compiles in releases from 0.59.',
  why: 'Newer releases have a newer CEL, which compares no numbers of different types and is stricter with types. One matcher that does not compile keeps the workload from starting. Where such a release is installed, make this an error.',
  sources: [
    must('2.4.1', 'matcher is a CEL expression over the variable claims, a map of all JWT claims.'),
    'decision 15',
  ],
  *check({ spec }, context) {
    for (const { index, error } of refusedOnlyBy('0.33', spec?.awsSts?.roleMappings, context)) {
      yield advice(
        context.path.spec.awsSts.roleMappings.at(index).matcher,
        `workloads of operator releases from 0.59 do not start with it: ${error}`,
      )
    }
  },
  examples: {
    'numbers of one type': {
      value: mappingTo({ admin: { matcher: 'claims.groups.exists(g, size(g) > 2)' } }),
    },
    'numbers of two types in a loop': {
      value: mappingTo({ admin: { matcher: 'claims.groups.exists(g, size(g) > 2.0)' } }),
      findings:
        'spec.awsSts.roleMappings[0].matcher: workloads of operator releases from 0.59 do not start with it: 1:33: found no matching overload for int > double (convert one, as in double(x))',
    },
    'the type of an empty list, compared with another': {
      value: mappingTo({ admin: { matcher: 'type([]) == int' } }),
      findings:
        'spec.awsSts.roleMappings[0].matcher: workloads of operator releases from 0.59 do not start with it: 1:10: found no matching overload for type(list(dyn)) == type(int)',
    },
  },
})
