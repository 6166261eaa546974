import {
  advice,
  type Cluster,
  defineRule,
  namesText,
  nameText,
  type ObjectName,
  says,
} from '../../../rule/index.ts'
import {
  authConfigNamed,
  backend,
  checking,
  checksTokens,
  configsReached,
  gatewayOf,
  getWorkload,
  headerConfig,
  inline,
  REACHED_KINDS,
  sourceOf,
  withoutCredentials,
  withoutStrategy,
} from '../../../relations/index.ts'
import { VirtualMCPServer } from '../schema.ts'

const ID = 'backend-credentials-configured'
const REFUSED = 'workloads with `oidcConfigRef` answer 401 without one, and vMCP serves none of their tools'

const refusing = (members: readonly ObjectName[], cluster: Cluster) =>
  members.filter((member) => checksTokens(member.kind, getWorkload(cluster, member) ?? {}))

export const backendCredentialsConfigured = defineRule({
  id: ID,
  on: VirtualMCPServer,
  reads: REACHED_KINDS,
  severity: 'warning',
  summary: 'A VirtualMCPServer sends a token to every backend that checks tokens.',
  why: 'A workload with `oidcConfigRef` answers 401 to callers without a token, so the VirtualMCPServer offers none of its tools.',
  failure: {
    symptom: 'the gateway is ready and serves zero tools; the backend answers 401',
    reportedBy: 'nobody',
    consequence: 'denies everyone',
    threads: ['mitodl/ol-infrastructure#5295'],
  },
  sources: [
    says('5.2', 'discovered: the externalAuthConfigRef of each backend chooses; without one no credentials.'),
    says('5.2', 'inline: backends that are not in the map receive unauthenticated requests.'),
    says('7', 'A backend not listed under inline outgoing authentication gets no credentials.'),
    'decision 21',
  ],
  *check(gateway, { path, cluster }) {
    const at = path.spec.outgoingAuth
    for (const { config, auth, members } of configsReached(gateway, cluster)) {
      if (auth?.spec?.type !== 'unauthenticated') continue
      const checking = refusing(members, cluster)
      if (checking.length === 0) continue
      const detail = `${nameText(authConfigNamed(config))} of type unauthenticated sends no token; ${REFUSED}: ${namesText(checking, 2)}`
      yield withoutCredentials(ID, advice(at, detail), checking)
    }
    const checking = refusing(withoutStrategy(gateway, cluster), cluster)
    if (checking.length === 0) return
    const isDiscovered = sourceOf(gateway) === 'discovered'
    const remedy = isDiscovered
      ? 'set `externalAuthConfigRef` in the workload, so that vMCP sends a token'
      : 'list the workload, or set a `default`, so that vMCP sends a token'
    const detail = `${remedy}; ${REFUSED}: ${namesText(checking)}`
    yield withoutCredentials(ID, advice(isDiscovered ? at : at.backends, detail), checking)
  },
  examples: {
    'discovered: a reference in the backend': {
      value: gatewayOf(),
      others: [checking('jira', 'key'), headerConfig('key')],
    },
    'inline: an entry, and a default for the others': {
      value: gatewayOf({ outgoingAuth: inline({ jira: 'key' }, 'key') }),
      others: [checking('jira'), checking('wiki'), headerConfig('key')],
    },
    'inline: a reference in a backend that is not listed, which releases use': {
      value: gatewayOf({ outgoingAuth: { source: 'inline' } }),
      others: [checking('wiki', 'key'), headerConfig('key')],
    },
    'a backend that checks no tokens': { value: gatewayOf(), others: [backend('jira')] },
    'discovered: a backend that checks tokens': {
      value: gatewayOf(),
      others: [checking('wiki')],
      findings:
        'spec.outgoingAuth: set `externalAuthConfigRef` in the workload, so that vMCP sends a token; workloads with `oidcConfigRef` answer 401 without one, and vMCP serves none of their tools: MCPServer "wiki"',
    },
    'inline: a backend that checks tokens': {
      value: gatewayOf({ outgoingAuth: inline({ jira: 'key' }) }),
      others: [backend('jira'), checking('wiki'), headerConfig('key')],
      findings:
        'spec.outgoingAuth.backends: list the workload, or set a `default`, so that vMCP sends a token; workloads with `oidcConfigRef` answer 401 without one, and vMCP serves none of their tools: MCPServer "wiki"',
    },
    'no credentials on purpose, for a backend that checks tokens': {
      value: gatewayOf(),
      others: [
        checking('wiki', 'none'),
        { kind: 'MCPExternalAuthConfig', metadata: { name: 'none' }, spec: { type: 'unauthenticated' } },
      ],
      findings:
        'spec.outgoingAuth: MCPExternalAuthConfig "none" of type unauthenticated sends no token; workloads with `oidcConfigRef` answer 401 without one, and vMCP serves none of their tools: MCPServer "wiki"',
    },
  },
})
