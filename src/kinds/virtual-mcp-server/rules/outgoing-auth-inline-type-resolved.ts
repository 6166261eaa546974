import { advice, defineRule } from '../../../rule/index.ts'
import { outgoing } from '../examples.ts'
import { VirtualMCPServer } from '../schema.ts'
import { TYPE_NOT_RESOLVED } from '../type-not-resolved.ts'

export const outgoingAuthInlineTypeResolved = defineRule({
  id: 'outgoing-auth-inline-type-resolved',
  on: VirtualMCPServer,
  needs: ['outgoingAuth'],
  severity: 'warning',
  summary: 'With the source `inline` no strategy is of type `discovered`.',
  why: 'The operator writes the type as it is into the configuration of vMCP, which knows no strategy of that name and ends. Without an entry, the reference of the backend itself counts.',
  failure: {
    symptom:
      'CrashLoopBackOff; the log says "outgoingAuth.backends.<name>: type must be one of: unauthenticated, …"',
    reportedBy: 'start-up',
    consequence: 'does not start',
  },
  sources: ['decision 3', 'decision 5'],
  *check({ spec }, { path }) {
    const outgoingAuth = spec?.outgoingAuth
    if (outgoingAuth?.source !== 'inline') return
    if (outgoingAuth.default?.type === 'discovered')
      yield advice(path.spec.outgoingAuth.default.type, TYPE_NOT_RESOLVED)
    const backends = outgoingAuth.backends ?? {}
    for (const name of Object.keys(backends)) {
      if (backends[name]?.type === 'discovered')
        yield advice(path.spec.outgoingAuth.backends.at(name).type, TYPE_NOT_RESOLVED)
    }
  },
  examples: {
    'a configuration': {
      value: outgoing({
        source: 'inline',
        backends: { jira: { type: 'externalAuthConfigRef', externalAuthConfigRef: { name: 'jira' } } },
      }),
    },
    'the source discovered': {
      value: outgoing({ source: 'discovered', backends: { jira: { type: 'discovered' } } }),
    },
    'a backend that is to bring its own': {
      value: outgoing({ source: 'inline', backends: { jira: { type: 'discovered' } } }),
      findings: `spec.outgoingAuth.backends[jira].type: ${TYPE_NOT_RESOLVED}`,
    },
    'the others as well': {
      value: outgoing({ source: 'inline', default: { type: 'discovered' } }),
      findings: `spec.outgoingAuth.default.type: ${TYPE_NOT_RESOLVED}`,
    },
  },
})
