import { advice, defineRule, isAbsent } from '../../../rule/index.ts'
import { outgoing } from '../examples.ts'
import { VirtualMCPServer } from '../schema.ts'

export const outgoingAuthDefaultRefConfigured = defineRule({
  id: 'outgoing-auth-default-ref-configured',
  on: VirtualMCPServer,
  needs: ['outgoingAuth'],
  reads: [],
  severity: 'warning',
  summary: 'The default strategy names the MCPExternalAuthConfig to use.',
  why: 'Backends that are not listed are contacted without credentials, as if there were no default.',
  sources: [
    { section: '2.2', says: 'A default reference exists at outgoingAuth.default.externalAuthConfigRef.' },
    {
      section: '5.2',
      says: 'inline: strategies come from the map outgoingAuth.backends; discovered: it is not read.',
    },
    'decision 10',
  ],
  *check({ spec }, { path }) {
    const fallback = spec?.outgoingAuth?.default
    if (spec?.outgoingAuth?.source !== 'inline' || !fallback) return
    if (!isAbsent(fallback, 'externalAuthConfigRef')) return
    const isEmpty = Object.keys(fallback).length === 0
    // Operator releases have a field `type` in `default`, as in `backends`; the specification does not.
    const isReference = 'type' in fallback && fallback.type === 'externalAuthConfigRef'
    if (isEmpty || isReference)
      yield advice(path.spec.outgoingAuth.default, 'does nothing; set `externalAuthConfigRef` or remove it')
  },
  examples: {
    valid: [
      {
        title: 'a reference',
        value: outgoing({ source: 'inline', default: { externalAuthConfigRef: { name: 'jira' } } }),
      },
    ],
    invalid: [
      {
        title: 'an empty default',
        value: outgoing({ source: 'inline', default: {} }),
        findings: ['spec.outgoingAuth.default: does nothing; set `externalAuthConfigRef` or remove it'],
      },
    ],
  },
})
