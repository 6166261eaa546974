import { defineRule, isAbsent, must, required } from '../../../rule/index.ts'
import { outgoing } from '../examples.ts'
import { VirtualMCPServer } from '../schema.ts'

export const outgoingAuthBackendRefConfigured = defineRule({
  id: 'outgoing-auth-backend-ref-configured',
  on: VirtualMCPServer,
  needs: ['outgoingAuth'],
  severity: 'error',
  summary: 'A backend of type `externalAuthConfigRef` names the MCPExternalAuthConfig to use.',
  why: 'Nothing says which credentials to send to the backend.',
  sources: [
    must('2.2', 'The type of a backend is externalAuthConfigRef, which then names an MCPExternalAuthConfig.'),
    'decision 5',
  ],
  *check({ spec }, { path }) {
    const backends = spec?.outgoingAuth?.backends ?? {}
    for (const name of Object.keys(backends)) {
      const backend = backends[name]
      if (backend?.type !== 'externalAuthConfigRef' || !isAbsent(backend, 'externalAuthConfigRef')) continue
      yield required(
        path.spec.outgoingAuth.backends.at(name).externalAuthConfigRef,
        "must be set when `type` is 'externalAuthConfigRef'",
      )
    }
  },
  policy: {
    expression: `
      self.?spec.?outgoingAuth.?backends.orValue({}).all(name,
        self.spec.outgoingAuth.backends[name].?type.orValue('') != 'externalAuthConfigRef' ||
        self.spec.outgoingAuth.backends[name].?externalAuthConfigRef.orValue(null) != null)`,
  },
  examples: {
    'a reference, and a backend that brings its own': {
      value: outgoing({
        source: 'inline',
        backends: {
          jira: { type: 'externalAuthConfigRef', externalAuthConfigRef: { name: 'jira' } },
          github: { type: 'discovered' },
        },
      }),
    },
    'no reference': {
      value: outgoing({ source: 'inline', backends: { jira: { type: 'externalAuthConfigRef' } } }),
      findings:
        "spec.outgoingAuth.backends[jira].externalAuthConfigRef: Required value: must be set when `type` is 'externalAuthConfigRef'",
    },
  },
})
