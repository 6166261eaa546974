import { advice, defineRule, namesText, says } from '../../../rule/index.ts'
import {
  addsHeaderFromSecret,
  backend,
  checking,
  checksTokens,
  gatewayOf,
  getWorkload,
  hasNoStrategy,
  headerConfig,
  inline,
  REACHED_KINDS,
  sourceOf,
  withoutCredentials,
  withoutStrategy,
} from '../../../relations/index.ts'
import { VirtualMCPServer } from '../schema.ts'

const ID = 'backend-strategy-chosen'

export const backendStrategyChosen = defineRule({
  id: ID,
  on: VirtualMCPServer,
  reads: REACHED_KINDS,
  severity: 'advice',
  summary: 'Every backend of the group has a strategy; type `unauthenticated` says that none is needed.',
  why: 'The backend is contacted without credentials. That is right for many containers inside the cluster, but nothing says that somebody meant it.',
  sources: [
    says('5.2', 'discovered: the externalAuthConfigRef of each backend chooses; without one no credentials.'),
    says('5.2', 'inline: backends that are not in the map receive unauthenticated requests.'),
    'decision 21',
  ],
  *check(gateway, { path, cluster }) {
    if (hasNoStrategy(gateway)) return
    const others = withoutStrategy(gateway, cluster).filter((member) => {
      const workload = getWorkload(cluster, member) ?? {}
      return !checksTokens(member.kind, workload) && !addsHeaderFromSecret(workload)
    })
    if (others.length === 0) return
    const at = path.spec.outgoingAuth
    yield withoutCredentials(
      ID,
      sourceOf(gateway) === 'discovered'
        ? advice(at, `without \`externalAuthConfigRef\` there are no credentials for ${namesText(others)}`)
        : advice(
            at.backends,
            `not listed, and no \`default\` names a configuration; there are no credentials for ${namesText(others)}`,
          ),
      others,
    )
  },
  examples: {
    'discovered: a reference in each backend': {
      value: gatewayOf(),
      others: [backend('jira', 'key'), headerConfig('key')],
    },
    'inline: an entry, and a default for the others': {
      value: gatewayOf({ outgoingAuth: inline({ jira: 'key' }, 'key') }),
      others: [backend('jira'), backend('wiki'), headerConfig('key')],
    },
    'discovered: an entry whose credential is a header that it adds itself': {
      value: gatewayOf(),
      others: [
        {
          ...backend('jira', undefined, 'MCPServerEntry'),
          spec: {
            groupRef: { name: 'tools' },
            headerForward: {
              addHeadersFromSecret: [
                { headerName: 'X-Api-Key', valueSecretRef: { name: 'jira', key: 'api-key' } },
              ],
            },
          },
        },
      ],
    },
    'inline: a reference in a backend that is not listed, which releases use': {
      value: gatewayOf({ outgoingAuth: inline({ jira: 'key' }) }),
      others: [backend('jira'), backend('wiki', 'key'), headerConfig('key')],
    },
    'inline: nothing at all, which another rule tells without looking at the group': {
      value: gatewayOf({ outgoingAuth: { source: 'inline', backends: {} } }),
      others: [backend('jira')],
    },
    'a backend that checks tokens, of which a warning tells': {
      value: gatewayOf(),
      others: [checking('wiki')],
    },
    'discovered: a backend without a reference': {
      value: gatewayOf(),
      others: [backend('jira', 'key'), backend('wiki'), headerConfig('key')],
      findings:
        'spec.outgoingAuth: without `externalAuthConfigRef` there are no credentials for MCPServer "wiki"',
    },
    'inline: a backend that is not listed, and has no reference': {
      value: gatewayOf({ outgoingAuth: inline({ jira: 'key' }) }),
      others: [backend('jira'), backend('wiki'), headerConfig('key')],
      findings:
        'spec.outgoingAuth.backends: not listed, and no `default` names a configuration; there are no credentials for MCPServer "wiki"',
    },
    'inline: a default that names nothing': {
      value: gatewayOf({ outgoingAuth: { source: 'inline', backends: {}, default: {} } }),
      others: [backend('jira')],
      findings:
        'spec.outgoingAuth.backends: not listed, and no `default` names a configuration; there are no credentials for MCPServer "jira"',
    },
  },
})
