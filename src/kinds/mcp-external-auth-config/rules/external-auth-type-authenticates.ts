import { advice, defineRule, says } from '../../../rule/index.ts'
import { injecting } from '../examples.ts'
import { MCPExternalAuthConfig } from '../schema.ts'

export const externalAuthTypeAuthenticates = defineRule({
  id: 'external-auth-type-authenticates',
  on: MCPExternalAuthConfig,
  severity: 'advice',
  summary: 'The type sends credentials.',
  why: 'With `unauthenticated` the backend cannot tell who calls it.',
  sources: [says('5.2', 'unauthenticated: no credentials are sent.'), 'decision 21'],
  *check({ spec }, { path }) {
    if (spec?.type !== 'unauthenticated') return
    yield advice(path.spec.type, "'unauthenticated' sends no credentials; keep it to backends that need none")
  },
  examples: {
    'a header with a key': { value: injecting('X-Api-Key') },
    'no credentials': {
      value: { spec: { type: 'unauthenticated' } },
      findings: "spec.type: 'unauthenticated' sends no credentials; keep it to backends that need none",
    },
  },
})
