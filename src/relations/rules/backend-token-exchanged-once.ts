import { about, advice, defineRule, end, nameText, pathTo, relatedTo, says } from '../../rule/index.ts'
import { MCPRemoteProxy, MCPServer, VirtualMCPServer } from '../../kinds/schemas.ts'
import {
  AUTH_CONFIG,
  authConfigNamed,
  backend,
  exchangeConfig,
  exchangedAgain,
  exchangedBefore,
  exchangedTwice,
  exchangedTwiceCause,
  type Gateway,
  gateway,
  GATEWAY,
  gatewayOf,
  headerConfig,
  inline,
  REACHED_KINDS,
  repeated,
  type SecondExchange,
  WORKLOAD,
  workload,
} from '../index.ts'

export const backendTokenExchangedOnce = defineRule({
  id: 'backend-token-exchanged-once',
  formerIds: ['backend-exchange-not-repeated'],
  on: [VirtualMCPServer, MCPServer, MCPRemoteProxy],
  reads: ['VirtualMCPServer', ...REACHED_KINDS],
  severity: 'warning',
  summary:
    'Where vMCP exchanges the token for a backend, the proxy of the backend does not exchange it again.',
  why: 'An MCPServer or MCPRemoteProxy exchanges each token that it gets as its own `externalAuthConfigRef` says, also the one that vMCP has exchanged, by the same configuration or by another. Identity providers that refuse the second exchange answer 401; others return a token of the proxy instead of the user, or cost a request. An MCPServerEntry has no proxy.',
  failure: {
    symptom: 'the backend answers 401 `Token exchange failed`, or sees a token that was exchanged twice',
    reportedBy: 'nobody',
    consequence: 'denies everyone',
    threads: ['stacklok/toolhive#4863', 'stacklok/toolhive#4109'],
  },
  sources: [
    says('5.2', 'discovered: the externalAuthConfigRef of each backend chooses; without one no credentials.'),
    'decision 3',
  ],
  *check(resource, { cluster, self }) {
    if (self.kind === 'VirtualMCPServer') {
      for (const again of exchangedAgain(resource as Gateway, cluster))
        yield repeated(again, { detail: detailOf(again), otherwise: GATEWAY.spec.outgoingAuth })
      return
    }
    const first = exchangedBefore(resource, self, cluster)
    if (first === undefined) return
    const named = authConfigNamed(first.config)
    const remedy =
      first.at === undefined
        ? 'name the configuration in its `backends` (source inline) only'
        : 'remove this reference'
    const detail = `${nameText(first.gateway)} exchanges the token before, and the second exchange may be refused; ${remedy}`
    yield relatedTo(
      about(
        advice(WORKLOAD.spec.externalAuthConfigRef, detail),
        exchangedTwice(first.isSame),
        first.gateway.name,
      ),
      [
        end(
          first.gateway,
          first.at === undefined ? GATEWAY.spec.outgoingAuth : pathTo(first.at()),
          'exchanges it first',
        ),
        end(named, AUTH_CONFIG.spec.type, 'says how'),
      ],
      () => [exchangedTwiceCause(first.config)],
    )
  },
  examples: {
    'an entry, which has no proxy': {
      kind: 'VirtualMCPServer',
      value: gatewayOf(),
      others: [backend('jira', 'jira', 'MCPServerEntry'), exchangeConfig('jira')],
    },
    'named here, and not in the workload': {
      kind: 'VirtualMCPServer',
      value: gatewayOf({ outgoingAuth: inline({ jira: 'jira' }) }),
      others: [backend('jira'), exchangeConfig('jira')],
    },
    'a workload that joins a VirtualMCPServer with another strategy for it': {
      kind: 'MCPServer',
      value: workload('jira', 'tools'),
      others: [
        exchangeConfig('jira'),
        headerConfig('key'),
        gateway('vmcp', { outgoingAuth: inline({ example: 'key' }) }),
      ],
    },
    'a workload that does something else itself': {
      kind: 'VirtualMCPServer',
      value: gatewayOf({ outgoingAuth: inline({ jira: 'jira' }) }),
      others: [backend('jira', 'key'), exchangeConfig('jira'), headerConfig('key')],
    },
    'by one configuration here, and by another in the workload': {
      kind: 'VirtualMCPServer',
      value: gatewayOf({ outgoingAuth: inline({ wiki: 'wiki' }) }),
      others: [backend('wiki', 'second', 'MCPRemoteProxy'), exchangeConfig('wiki'), exchangeConfig('second')],
      findings:
        'spec.outgoingAuth.backends[wiki].externalAuthConfigRef.name: remove `externalAuthConfigRef` from the workload, whose second exchange of the token may be refused: MCPRemoteProxy "wiki", after MCPExternalAuthConfig "wiki"',
    },
    'discovered: the reference of the workload counts for both': {
      kind: 'VirtualMCPServer',
      value: gatewayOf(),
      others: [backend('jira', 'jira'), exchangeConfig('jira')],
      findings:
        'spec.outgoingAuth: the proxy of the workload exchanges again, which may be refused; name the configuration in `backends` (source inline) only: MCPServer "jira", after MCPExternalAuthConfig "jira"',
    },
    'a workload that joins later': {
      kind: 'MCPRemoteProxy',
      value: workload('jira', 'tools'),
      others: [exchangeConfig('jira'), gateway('vmcp')],
      findings:
        'spec.externalAuthConfigRef: VirtualMCPServer "vmcp" exchanges the token before, and the second exchange may be refused; name the configuration in its `backends` (source inline) only',
    },
    'a workload that joins, with a configuration of its own': {
      kind: 'MCPServer',
      value: workload('second', 'tools'),
      others: [
        exchangeConfig('jira'),
        exchangeConfig('second'),
        gateway('vmcp', { outgoingAuth: inline({ example: 'jira' }) }),
      ],
      findings:
        'spec.externalAuthConfigRef: VirtualMCPServer "vmcp" exchanges the token before, and the second exchange may be refused; remove this reference',
    },
    'inline: the same configuration here and in the workload': {
      kind: 'VirtualMCPServer',
      value: gatewayOf({ outgoingAuth: inline({ wiki: 'wiki' }) }),
      others: [backend('wiki', 'wiki', 'MCPRemoteProxy'), exchangeConfig('wiki')],
      findings:
        'spec.outgoingAuth.backends[wiki].externalAuthConfigRef.name: the proxy of the workload exchanges again, which may be refused; remove its `externalAuthConfigRef`: MCPRemoteProxy "wiki", after MCPExternalAuthConfig "wiki"',
    },
  },
})

/**
 * The text of the advice. When the VirtualMCPServer finds the MCPExternalAuthConfig only by the workload's reference,
 * it is not enough to remove this reference: `backends` must then name the MCPExternalAuthConfig.
 */
function detailOf({ isSame, at }: SecondExchange): string {
  if (!isSame)
    return 'remove `externalAuthConfigRef` from the workload, whose second exchange of the token may be refused'
  const remedy =
    at === undefined
      ? 'name the configuration in `backends` (source inline) only'
      : 'remove its `externalAuthConfigRef`'
  return `the proxy of the workload exchanges again, which may be refused; ${remedy}`
}
