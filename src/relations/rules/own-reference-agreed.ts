import { defineRule, says } from '../../rule/index.ts'
import { MCPRemoteProxy, MCPServer, MCPServerEntry, VirtualMCPServer } from '../../kinds/schemas.ts'
import {
  backend,
  exchangeConfig,
  gateway,
  gatewayOf,
  headerConfig,
  inline,
  ownReferenceErrors,
  REACHED_KINDS,
  workload,
} from '../index.ts'

const ID = 'own-reference-agreed'

export const ownReferenceAgreed = defineRule({
  id: ID,
  on: [VirtualMCPServer, MCPServer, MCPRemoteProxy, MCPServerEntry],
  needs: ['outgoingAuth', 'externalAuthConfigRef'],
  reads: ['VirtualMCPServer', ...REACHED_KINDS],
  severity: 'advice',
  summary:
    'Where no release is known, a backend that an inline VirtualMCPServer does not list has no `externalAuthConfigRef` of its own.',
  why: 'The specification sends such a backend nothing, or the default; releases use its own reference. With the release named or installed, this is not said.',
  sources: [
    says('5.2', 'inline: backends that are not in the map receive unauthenticated requests.'),
    'decision 10',
  ],
  check: (resource, { cluster, self }) =>
    ownReferenceErrors(ID, resource, self, cluster, ({ endsPod, isLeftOut }) => !endsPod && !isLeftOut),
  examples: {
    'each backend is listed': {
      kind: 'VirtualMCPServer',
      value: gatewayOf({ outgoingAuth: inline({ jira: 'key' }) }),
      others: [backend('jira', 'other'), headerConfig('key'), headerConfig('other')],
    },
    'each backend chooses': {
      kind: 'MCPServer',
      value: workload('jira', 'tools'),
      others: [gateway('tools'), exchangeConfig('jira')],
    },
    'the default is the same configuration': {
      kind: 'MCPRemoteProxy',
      value: workload('jira', 'tools'),
      others: [gateway('tools', { outgoingAuth: inline({}, 'jira') }), exchangeConfig('jira')],
    },
    'an exchange, where the default is another one': {
      kind: 'VirtualMCPServer',
      value: gatewayOf({ outgoingAuth: inline({}, 'all') }),
      others: [backend('jira', 'jira', 'MCPServerEntry'), exchangeConfig('jira'), exchangeConfig('all')],
      findings:
        'spec.outgoingAuth.backends: list MCPServerEntry "jira": the specification has the default for it, releases use its own MCPExternalAuthConfig "jira"',
    },
    'the same, of an entry, where the default is another one': {
      kind: 'MCPServerEntry',
      value: workload('key', 'tools'),
      others: [gateway('tools', { outgoingAuth: inline({}, 'other') }), exchangeConfig('key')],
      findings:
        'spec.externalAuthConfigRef: list this workload in `backends` of VirtualMCPServer "tools": the specification has the default for it, releases use this reference',
    },
  },
})
