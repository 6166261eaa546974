import { advice, defineRule, isAbsent, outage, says } from '../../../rule/index.ts'
import { outgoing } from '../examples.ts'
import { VirtualMCPServer } from '../schema.ts'

const NOT_RECONCILED = 'the operator does not reconcile the VirtualMCPServer with it'

export const outgoingAuthDefaultRefConfigured = defineRule({
  id: 'outgoing-auth-default-ref-configured',
  on: VirtualMCPServer,
  needs: ['outgoingAuth'],
  severity: 'warning',
  summary: 'The default strategy names the MCPExternalAuthConfig to use.',
  why: 'Backends that are not listed are contacted without credentials, as if there were no default. With `type: externalAuthConfigRef` the operator does not reconcile the VirtualMCPServer, whatever the source.',
  failure: {
    symptom:
      'the VirtualMCPServer is not reconciled: "failed to convert default backend auth: … externalAuthConfigRef type requires externalAuthConfigRef field"',
    reportedBy: 'operator',
    consequence: 'does not start',
  },
  sources: [
    says('2.2', 'A default reference exists at outgoingAuth.default.externalAuthConfigRef.'),
    says('5.2', 'inline: strategies come from the map outgoingAuth.backends; discovered: it is not read.'),
    'decision 10',
  ],
  *check({ spec }, { path }) {
    const { source, default: fallback } = spec?.outgoingAuth ?? {}
    if (!fallback || !isAbsent(fallback, 'externalAuthConfigRef')) return
    const at = path.spec.outgoingAuth.default
    if (fallback.type === 'externalAuthConfigRef')
      yield outage(advice(at, `${NOT_RECONCILED}; set \`externalAuthConfigRef\` or remove it`))
    else if (source === 'inline' && Object.keys(fallback).length === 0)
      yield advice(at, 'does nothing; set `externalAuthConfigRef` or remove it')
  },
  examples: {
    'a reference': {
      value: outgoing({ source: 'inline', default: { externalAuthConfigRef: { name: 'jira' } } }),
    },
    'an empty default': {
      value: outgoing({ source: 'inline', default: {} }),
      findings: 'spec.outgoingAuth.default: does nothing; set `externalAuthConfigRef` or remove it',
    },
    'the type of releases without a reference, although it is not used': {
      value: outgoing({ source: 'discovered', default: { type: 'externalAuthConfigRef' } }),
      findings: `spec.outgoingAuth.default: ${NOT_RECONCILED}; set \`externalAuthConfigRef\` or remove it`,
    },
  },
})
