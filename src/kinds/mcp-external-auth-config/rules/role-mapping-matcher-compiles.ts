import { defineRule, invalid, must, tooLong } from '../../../rule/index.ts'
import { LONGEST_MATCHER } from '../matcher-verdicts.ts'
import { mappingTo } from '../examples.ts'
import { MATCHER_TYPES, factsAbout } from '../role-mappings.ts'
import { MCPExternalAuthConfig } from '../schema.ts'

export const roleMappingMatcherCompiles = defineRule({
  id: 'role-mapping-matcher-compiles',
  on: MCPExternalAuthConfig,
  needs: ['awsSts'],
  severity: 'error',
  summary: 'A matcher is a CEL expression over `claims` that compiles and is a bool.',
  why: 'The workload refuses a matcher that does not compile, and one that is not a bool never matches.',
  sources: [
    must('2.4.1', 'matcher is a CEL expression over the variable claims, a map of all JWT claims.'),
    'decision 15',
  ],
  *check({ spec }, context) {
    const { tooLong: long, notable } = factsAbout(spec?.awsSts?.roleMappings, context)
    const matcherAt = (index: number) => context.path.spec.awsSts.roleMappings.at(index).matcher
    for (const { index } of long)
      yield tooLong(matcherAt(index), `may not be more than ${LONGEST_MATCHER} bytes`)
    for (const { index, text, verdict } of notable) {
      if (!verdict.ok) {
        const { line, column, message } = verdict
        yield invalid(matcherAt(index), text, `${line}:${column}: ${message}`)
      } else if (!MATCHER_TYPES.has(verdict.type)) {
        yield invalid(matcherAt(index), text, `must be a bool, and this is of type ${verdict.type}`)
      }
    }
  },
  policy: { needsWebhook: 'CEL cannot parse and type-check CEL' },
  examples: {
    'a test of one claim': {
      value: mappingTo({ admin: { matcher: '"admins" in claims.groups' } }),
    },
    'a claim that not every token has': {
      value: mappingTo({ agent: { matcher: 'has(claims.act) && claims.act.sub == "gateway"' } }),
    },
    'an expression that ends too early': {
      value: mappingTo({ admin: { matcher: '"admins" in' } }),
      findings: String.raw`spec.awsSts.roleMappings[0].matcher: Invalid value: "\"admins\" in": 1:12: the expression ends too early`,
    },
    'a variable that does not exist': {
      value: mappingTo({ admin: { matcher: 'groups.size() > 0' } }),
      findings: `spec.awsSts.roleMappings[0].matcher: Invalid value: "groups.size() > 0": 1:1: undeclared reference to 'groups' (the only variable is claims: write claims.groups, and text in quotes)`,
    },
    'a number': {
      value: mappingTo({ admin: { matcher: 'size(claims.groups)' } }),
      findings:
        'spec.awsSts.roleMappings[0].matcher: Invalid value: "size(claims.groups)": must be a bool, and this is of type int',
    },
    'a matcher that is too long': {
      value: mappingTo({ admin: { matcher: `claims.sub == "${'x'.repeat(LONGEST_MATCHER)}"` } }),
      findings: 'spec.awsSts.roleMappings[0].matcher: Too long: may not be more than 10000 bytes',
    },
  },
})
