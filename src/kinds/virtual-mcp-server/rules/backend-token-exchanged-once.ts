import { defineRule } from '../../../rule/index.ts'
import {
  backend,
  exchangeConfig,
  exchangedAgain,
  gatewayOf,
  headerConfig,
  inline,
  REACHED_KINDS,
  repeated,
} from '../../../relations/index.ts'
import { VirtualMCPServer } from '../schema.ts'

const ID = 'backend-token-exchanged-once'

export const backendTokenExchangedOnce = defineRule({
  id: ID,
  on: VirtualMCPServer,
  reads: REACHED_KINDS,
  severity: 'warning',
  summary:
    'Where vMCP exchanges the token for a backend, the proxy of the backend does not exchange it again with other settings.',
  why: 'An MCPServer or MCPRemoteProxy exchanges each token that it gets as its own `externalAuthConfigRef` says, also the one that vMCP has exchanged: the second exchange is refused, or returns a token of the proxy instead of the user. An MCPServerEntry has no proxy.',
  failure: {
    symptom: 'the backend answers 401 `Token exchange failed`, or sees a token that was exchanged twice',
    toldBy: 'nobody',
    threads: ['stacklok/toolhive#4863', 'stacklok/toolhive#4109'],
  },
  sources: ['decision 3'],
  *check(gateway, { path, cluster }) {
    const detail = 'remove `externalAuthConfigRef` from the workload, whose proxy exchanges the token again'
    for (const again of exchangedAgain(gateway, cluster))
      if (!again.isSame) yield repeated(ID, again, { detail, otherwise: path.spec.outgoingAuth })
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
      {
        title: 'a workload that does something else itself',
        value: gatewayOf({ outgoingAuth: inline({ jira: 'jira' }) }),
        others: [backend('jira', 'key'), exchangeConfig('jira'), headerConfig('key')],
      },
      {
        title: 'discovered: one configuration for both, as the specification has it',
        value: gatewayOf(),
        others: [backend('jira', 'jira'), exchangeConfig('jira')],
      },
    ],
    invalid: [
      {
        title: 'by one configuration here, and by another in the workload',
        value: gatewayOf({ outgoingAuth: inline({ wiki: 'wiki' }) }),
        others: [
          backend('wiki', 'second', 'MCPRemoteProxy'),
          exchangeConfig('wiki'),
          exchangeConfig('second'),
        ],
        findings: [
          'spec.outgoingAuth.backends[wiki].externalAuthConfigRef.name: remove `externalAuthConfigRef` from the workload, whose proxy exchanges the token again: MCPRemoteProxy "wiki", after MCPExternalAuthConfig "wiki"',
        ],
      },
    ],
  },
})
