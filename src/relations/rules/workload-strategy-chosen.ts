import { advice, defineRule, namesText, says } from '../../rule/index.ts'
import { MCPRemoteProxy, MCPServer, MCPServerEntry } from '../../kinds/schemas.ts'
import {
  addsHeaderFromSecret,
  checksTokens,
  contactedWithout,
  gateway,
  gatewaysWithoutStrategy,
  headerConfig,
  inline,
  workload,
} from '../index.ts'

const ID = 'workload-strategy-chosen'

export const workloadStrategyChosen = defineRule({
  id: ID,
  on: [MCPServer, MCPRemoteProxy, MCPServerEntry],
  reads: ['VirtualMCPServer'],
  severity: 'advice',
  summary: 'Each VirtualMCPServer of the group has a strategy for the workload that joins it.',
  why: 'The workload is contacted without credentials. That is right for many containers inside the cluster, but nothing says that somebody meant it.',
  sources: [
    says('5.2', 'discovered: the externalAuthConfigRef of each backend chooses; without one no credentials.'),
    says('5.2', 'inline: backends that are not in the map receive unauthenticated requests.'),
    'decision 10',
    'decision 21',
  ],
  *check(resource, { path, cluster, self }) {
    if (checksTokens(self.kind, resource) || addsHeaderFromSecret(resource)) return
    const { discovering, listing } = gatewaysWithoutStrategy(self.name, resource, cluster)
    if (discovering.length > 0) {
      const detail = `name a configuration, or one of type unauthenticated; there are no credentials from ${namesText(discovering)}`
      const by = { workload: self, gateways: discovering, text: 'has each backend choose' }
      yield contactedWithout(ID, advice(path.spec.externalAuthConfigRef, detail), by)
    }
    if (listing.length > 0) {
      const detail = `not listed, and no \`default\` names a configuration; there are no credentials from ${namesText(listing)}`
      const by = { workload: self, gateways: listing, text: 'lists the backends' }
      yield contactedWithout(ID, advice(path.spec.groupRef, detail), by)
    }
  },
  examples: {
    'a configuration of its own': {
      value: workload('key', 'tools'),
      others: [headerConfig('key'), gateway('tools')],
    },
    'a default there': {
      value: { spec: { groupRef: { name: 'tools' } } },
      others: [headerConfig('key'), gateway('tools', { outgoingAuth: inline({}, 'key') })],
    },
    'a credential in a header that it adds itself': {
      kind: 'MCPServerEntry',
      value: {
        spec: {
          groupRef: { name: 'tools' },
          headerForward: {
            addHeadersFromSecret: [
              { headerName: 'X-Api-Key', valueSecretRef: { name: 'jira', key: 'api-key' } },
            ],
          },
        },
      },
      others: [gateway('tools')],
    },
    'no VirtualMCPServer yet': { value: { spec: { groupRef: { name: 'tools' } } } },
    'not listed, with a reference of its own, which releases use': {
      value: workload('key', 'tools'),
      others: [headerConfig('key'), gateway('other', { outgoingAuth: inline({ wiki: 'key' }) })],
    },
    'no configuration of its own': {
      value: { spec: { groupRef: { name: 'tools' } } },
      others: [gateway('tools')],
      findings:
        'spec.externalAuthConfigRef: name a configuration, or one of type unauthenticated; there are no credentials from VirtualMCPServer "tools"',
    },
    'not listed in one': {
      value: { spec: { groupRef: { name: 'tools' } } },
      others: [headerConfig('key'), gateway('other', { outgoingAuth: inline({ wiki: 'key' }) })],
      findings:
        'spec.groupRef: not listed, and no `default` names a configuration; there are no credentials from VirtualMCPServer "other"',
    },
  },
})
