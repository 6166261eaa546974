import { advice, defineRule } from '../../../rule/index.ts'
import { scopeSlips } from '../../scope-slips.ts'
import { exchanging } from '../examples.ts'
import { MCPExternalAuthConfig } from '../schema.ts'

const REFUSED = 'so the exchange is refused with invalid_scope, or the token may do less'

export const exchangedScopeSpelt = defineRule({
  id: 'exchanged-scope-spelt',
  on: MCPExternalAuthConfig,
  needs: ['tokenExchange'],
  severity: 'warning',
  summary: 'The scopes of a token exchange are not empty, and those of OpenID Connect are spelt as there.',
  why: 'An authorization server answers a scope that it does not know with `invalid_scope`, and every call of the backend fails; or it leaves the scope out, and the token may do less.',
  failure: {
    symptom: 'calls of the backend fail, with `invalid_scope` from the token endpoint',
    reportedBy: 'nobody',
    consequence: 'denies everyone',
  },
  sources: ['decision 3', 'decision 21'],
  *check({ spec }, { path }) {
    for (const [i, problem] of scopeSlips(spec?.tokenExchange?.scopes, REFUSED))
      yield advice(path.spec.tokenExchange.scopes.at(i), problem)
  },
  examples: {
    'scopes of OpenID Connect': { value: exchanging({ scopes: ['openid', 'profile'] }) },
    'scopes of an API, some of which are near': {
      value: exchanging({ scopes: ['api://jira/.default', 'emails', 'read:profile'] }),
    },
    'letters that are swapped': {
      value: exchanging({ scopes: ['opeind'] }),
      findings:
        'spec.tokenExchange.scopes[0]: "opeind" is not a scope of OpenID Connect, so the exchange is refused with invalid_scope, or the token may do less; did you mean \'openid\'',
    },
    'an empty scope': {
      value: exchanging({ scopes: ['read', ''] }),
      findings:
        'spec.tokenExchange.scopes[1]: an empty scope puts a second space into the list, which may be refused with invalid_scope; remove it',
    },
  },
})
