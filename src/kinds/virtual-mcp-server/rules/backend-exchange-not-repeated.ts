import { defineRule } from '../../../rule/index.ts'
import {
  backend,
  exchangeConfig,
  exchangedAgain,
  gatewayOf,
  inline,
  REACHED_KINDS,
  repeated,
} from '../../../relations/index.ts'
import { VirtualMCPServer } from '../schema.ts'

const ID = 'backend-exchange-not-repeated'

export const backendExchangeNotRepeated = defineRule({
  id: ID,
  on: VirtualMCPServer,
  reads: REACHED_KINDS,
  severity: 'warning',
  summary: 'Not both vMCP and the proxy of a backend exchange the token by the same configuration.',
  why: 'The specification has vMCP read the `externalAuthConfigRef` of an MCPServer, but the proxy of the MCPServer follows it too, and so exchanges the exchanged token once more for the same audience. Identity providers that refuse this answer 401; with the others it costs a request.',
  failure: {
    symptom: 'the backend answers 401 `Token exchange failed`, while the gateway exchanged the token',
    toldBy: 'nobody',
    threads: ['stacklok/toolhive#4863', 'stacklok/toolhive#4109'],
  },
  sources: [
    {
      section: '5.2',
      says: 'discovered: the externalAuthConfigRef of each backend chooses; without one no credentials.',
    },
    'decision 3',
  ],
  *check(gateway, { path, cluster }) {
    for (const again of exchangedAgain(gateway, cluster)) {
      if (!again.isSame) continue
      const remedy =
        again.at === undefined
          ? 'name the configuration in `backends` (source inline) only'
          : 'remove its `externalAuthConfigRef`'
      const detail = `the proxy of the workload exchanges again, which may be refused; ${remedy}`
      yield repeated(ID, again, { detail, otherwise: path.spec.outgoingAuth })
    }
  },
  examples: {
    valid: [
      {
        title: 'an entry, which has no proxy',
        value: gatewayOf(),
        others: [backend('jira', 'jira', 'MCPServerEntry'), exchangeConfig('jira')],
      },
      {
        title: 'named here, and not in the workload',
        value: gatewayOf({ outgoingAuth: inline({ jira: 'jira' }) }),
        others: [backend('jira'), exchangeConfig('jira')],
      },
    ],
    invalid: [
      {
        title: 'discovered: the reference of the workload counts for both',
        value: gatewayOf(),
        others: [backend('jira', 'jira'), exchangeConfig('jira')],
        findings: [
          'spec.outgoingAuth: the proxy of the workload exchanges again, which may be refused; name the configuration in `backends` (source inline) only: MCPServer "jira", after MCPExternalAuthConfig "jira"',
        ],
      },
      {
        title: 'inline: the same configuration here and in the workload',
        value: gatewayOf({ outgoingAuth: inline({ wiki: 'wiki' }) }),
        others: [backend('wiki', 'wiki', 'MCPRemoteProxy'), exchangeConfig('wiki')],
        findings: [
          'spec.outgoingAuth.backends[wiki].externalAuthConfigRef.name: the proxy of the workload exchanges again, which may be refused; remove its `externalAuthConfigRef`: MCPRemoteProxy "wiki", after MCPExternalAuthConfig "wiki"',
        ],
      },
    ],
  },
})
