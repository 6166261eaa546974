import { nameText, namesText, type ObjectName } from '../../../rule/cluster.ts'
import { aboutEach, advice, end, relatedTo } from '../../../rule/field-error.ts'
import { pathTo } from '../../../rule/path.ts'
import { defineRule } from '../../../rule/rule.ts'
import { backend, exchangeConfig, gatewayOf, headerConfig, inline } from '../../between/examples.ts'
import { configsReached, REACHED_KINDS } from '../../between/reach.ts'
import { authConfigNamed, getAuthConfig, getWorkload } from '../../between/related-resources.ts'
import { VirtualMCPServer } from '../schema.ts'
import { AUTH_CONFIG, WORKLOAD } from '../../between/ends.ts'

export const backendTokenExchangedOnce = defineRule({
  id: 'backend-token-exchanged-once',
  on: VirtualMCPServer,
  reads: REACHED_KINDS,
  severity: 'warning',
  summary:
    'Where vMCP exchanges the token for a backend, the proxy of the backend does not exchange it again.',
  why: 'An MCPServer or MCPRemoteProxy exchanges each token that it gets as its own `externalAuthConfigRef` says, also the one that vMCP has exchanged: the second exchange is refused, or returns a token of the proxy instead of the user. An MCPServerEntry has no proxy.',
  failure: {
    symptom: 'the backend answers 401 `Token exchange failed`, or sees a token that was exchanged twice',
    toldBy: 'nobody',
    threads: ['stacklok/toolhive#4863', 'stacklok/toolhive#4109'],
  },
  sources: ['decision 3'],
  *check(gateway, { path, cluster }) {
    for (const { config, auth, members, at } of configsReached(gateway, cluster)) {
      if (auth?.spec?.type !== 'tokenExchange') continue
      const twice = members.filter((member) => {
        if (member.kind === 'MCPServerEntry') return false
        const own = getWorkload(cluster, member)?.spec?.externalAuthConfigRef?.name
        return own !== undefined && getAuthConfig(cluster, own)?.spec?.type === 'tokenExchange'
      })
      if (twice.length === 0) continue
      const remedy =
        at === undefined
          ? 'name the configuration in `backends`, with source inline, and not in the workload'
          : 'remove `externalAuthConfigRef` from the workload'
      const named = authConfigNamed(config)
      const warning = aboutEach(
        advice(
          at === undefined ? path.spec.outgoingAuth : pathTo(at()),
          `${remedy}, whose proxy exchanges the token again: ${namesText(twice, 2)}, after ${nameText(named)}`,
        ),
        () => twice.map(({ kind, name }: ObjectName) => ['backend-token-exchanged-once', kind, name]),
      )
      yield relatedTo(warning, [
        ...twice
          .slice(0, 2)
          .map((member) => end(member, WORKLOAD.spec.externalAuthConfigRef, 'exchanges it again')),
        end(named, AUTH_CONFIG.spec.type, 'exchanges the token'),
      ])
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
      {
        title: 'a workload that does something else itself',
        value: gatewayOf({ outgoingAuth: inline({ jira: 'jira' }) }),
        others: [backend('jira', 'key'), exchangeConfig('jira'), headerConfig('key')],
      },
    ],
    invalid: [
      {
        title: 'discovered: the reference of the workload counts for both',
        value: gatewayOf(),
        others: [backend('jira', 'jira'), exchangeConfig('jira')],
        findings: [
          'spec.outgoingAuth: name the configuration in `backends`, with source inline, and not in the workload, whose proxy exchanges the token again: MCPServer "jira", after MCPExternalAuthConfig "jira"',
        ],
      },
      {
        title: 'inline, and in the workload too',
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
