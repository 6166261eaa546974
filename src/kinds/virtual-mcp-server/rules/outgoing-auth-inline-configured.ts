import { advice, defineRule, says } from '../../../rule/index.ts'
import {
  BACKEND_KINDS,
  groupOf,
  hasNoStrategy,
  membersOf,
  withoutStrategy,
} from '../../../relations/index.ts'
import { outgoing } from '../examples.ts'
import { VirtualMCPServer } from '../schema.ts'

const NOTHING =
  'nothing is listed: backends without a reference of their own get no credentials; set `backends` or `default`'

export const outgoingAuthInlineConfigured = defineRule({
  id: 'outgoing-auth-inline-configured',
  on: VirtualMCPServer,
  reads: BACKEND_KINDS,
  severity: 'advice',
  summary: 'With source inline there is a strategy for some backend, or a default.',
  why: 'Backends are contacted without credentials; releases use the reference of a backend itself, where it has one.',
  sources: [
    says('5.2', 'inline: backends that are not in the map receive unauthenticated requests.'),
    says('7', 'A backend not listed under inline outgoing authentication gets no credentials.'),
    'decision 21',
  ],
  *check(gateway, { path, cluster }) {
    if (!hasNoStrategy(gateway)) return
    // All known releases use the `externalAuthConfigRef` of a backend itself, so there is no advice when every backend
    // has this reference.
    const areReferring = cluster.release !== undefined && withoutStrategy(gateway, cluster).length === 0
    if (areReferring && membersOf(cluster, groupOf(gateway) ?? '').length > 0) return
    yield advice(path.spec.outgoingAuth, NOTHING)
  },
  examples: {
    'a default for all': {
      value: outgoing({ source: 'inline', default: { externalAuthConfigRef: { name: 'jira' } } }),
    },
    'nothing inline': { value: outgoing({ source: 'inline' }), findings: `spec.outgoingAuth: ${NOTHING}` },
    'an empty map': {
      value: outgoing({ source: 'inline', backends: {} }),
      findings: `spec.outgoingAuth: ${NOTHING}`,
    },
  },
})
