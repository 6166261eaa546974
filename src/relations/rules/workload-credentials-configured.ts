import {
  advice,
  type Cluster,
  defineRule,
  nameKey,
  namesText,
  nameText,
  type ObjectName,
  says,
} from '../../rule/index.ts'
import { MCPExternalAuthConfig, MCPRemoteProxy, MCPServer } from '../../kinds/schemas.ts'
import {
  AUTH_CONFIG,
  type AuthConfig,
  authConfigNamed,
  backend,
  BACKEND_KINDS,
  checksTokens,
  contactedWithout,
  frontingsOf,
  gateway,
  gatewaysWithoutStrategy,
  getAuthConfig,
  getWorkload,
  headerConfig,
  inline,
  membersFor,
  otherOf,
  reachersOf,
  withoutCredentials,
  type Workload,
  WORKLOAD,
} from '../index.ts'

const ID = 'workload-credentials-configured'
const MISSING = 'without a token this workload answers 401, and its tools are missing'

const OPEN = otherOf('MCPExternalAuthConfig', 'none', { type: 'unauthenticated' as const })

/** A workload that validates the tokens of its callers. */
const checking = (config?: string) => ({
  spec: {
    groupRef: { name: 'tools' },
    oidcConfigRef: { name: 'corporate', audience: 'jira' },
    ...(config !== undefined && { externalAuthConfigRef: { name: config } }),
  },
})

export const workloadCredentialsConfigured = defineRule({
  id: ID,
  on: [MCPServer, MCPRemoteProxy, MCPExternalAuthConfig],
  reads: ['VirtualMCPServer', 'MCPExternalAuthConfig', ...BACKEND_KINDS],
  severity: 'warning',
  summary:
    'A workload that checks the tokens of its callers is sent one by each VirtualMCPServer of its group.',
  why: 'With `oidcConfigRef` the workload answers 401 to callers without a token, so the VirtualMCPServer offers none of its tools.',
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
    'decision 10',
    'decision 21',
  ],
  *check(resource, { cluster, self }) {
    if (self.kind === 'MCPExternalAuthConfig') {
      if ((resource as AuthConfig).spec?.type !== 'unauthenticated') return
      const members = refusing(self.name, cluster)
      if (members.length === 0) return
      const detail = `sends no token; workloads with \`oidcConfigRef\` answer 401 without one, and vMCP serves none of their tools: ${namesText(members, 2)}`
      yield withoutCredentials(ID, advice(AUTH_CONFIG.spec.type, detail), members)
      return
    }
    const workload = resource as Workload
    if (!checksTokens(self.kind, workload)) return
    const { discovering, listing } = gatewaysWithoutStrategy(self.name, workload, cluster)
    if (discovering.length > 0) {
      const detail = `name a configuration: ${MISSING}; there are no credentials from ${namesText(discovering)}`
      const by = { workload: self, gateways: discovering, text: 'has each backend choose' }
      yield contactedWithout(ID, advice(WORKLOAD.spec.externalAuthConfigRef, detail), by)
    }
    if (listing.length > 0) {
      const detail = `list this workload in \`backends\`, or set a \`default\`: ${MISSING}; there are no credentials from ${namesText(listing)}`
      const by = { workload: self, gateways: listing, text: 'lists the backends' }
      yield contactedWithout(ID, advice(WORKLOAD.spec.groupRef, detail), by)
    }
    const sending = Map.groupBy(frontingsOf(self.name, workload, cluster), ({ config }) => config)
    for (const [config, frontings] of sending) {
      if (config === undefined || getAuthConfig(cluster, config)?.spec?.type !== 'unauthenticated') continue
      const gateways = frontings.map(({ gateway }) => gateway)
      const isOwn = frontings.some(({ from }) => from === 'discovered')
      const detail = `${nameText(authConfigNamed(config))} of type unauthenticated sends no token: ${MISSING}; it is used by ${namesText(gateways)}`
      const at = isOwn ? WORKLOAD.spec.externalAuthConfigRef : WORKLOAD.spec.groupRef
      const by = { workload: self, gateways, text: 'sends no token' }
      yield contactedWithout(ID, advice(at, detail), by)
    }
  },
  examples: {
    'a configuration of its own': {
      kind: 'MCPServer',
      value: checking('key'),
      others: [headerConfig('key'), gateway('tools')],
    },
    'a default there': {
      kind: 'MCPServer',
      value: checking(),
      others: [headerConfig('key'), gateway('tools', { outgoingAuth: inline({}, 'key') })],
    },
    'a workload that checks no tokens': {
      kind: 'MCPRemoteProxy',
      value: { spec: { groupRef: { name: 'tools' } } },
      others: [gateway('tools')],
    },
    'not listed, with a reference of its own, which releases use': {
      kind: 'MCPServer',
      value: checking('key'),
      others: [headerConfig('key'), gateway('other', { outgoingAuth: inline({ wiki: 'key' }) })],
    },
    'no credentials, for a workload that checks no tokens': {
      kind: 'MCPExternalAuthConfig',
      value: { spec: OPEN.spec },
      others: [backend('jira', 'example'), gateway('tools')],
    },
    'no configuration of its own': {
      kind: 'MCPServer',
      value: checking(),
      others: [gateway('tools')],
      findings:
        'spec.externalAuthConfigRef: name a configuration: without a token this workload answers 401, and its tools are missing; there are no credentials from VirtualMCPServer "tools"',
    },
    'not listed in one': {
      kind: 'MCPServer',
      value: checking(),
      others: [headerConfig('key'), gateway('other', { outgoingAuth: inline({ wiki: 'key' }) })],
      findings:
        'spec.groupRef: list this workload in `backends`, or set a `default`: without a token this workload answers 401, and its tools are missing; there are no credentials from VirtualMCPServer "other"',
    },
    'no credentials on purpose': {
      kind: 'MCPServer',
      value: checking('none'),
      others: [OPEN, gateway('tools')],
      findings:
        'spec.externalAuthConfigRef: MCPExternalAuthConfig "none" of type unauthenticated sends no token: without a token this workload answers 401, and its tools are missing; it is used by VirtualMCPServer "tools"',
    },
    'no credentials on purpose, by the default there': {
      kind: 'MCPServer',
      value: checking(),
      others: [OPEN, gateway('other', { outgoingAuth: inline({}, 'none') })],
      findings:
        'spec.groupRef: MCPExternalAuthConfig "none" of type unauthenticated sends no token: without a token this workload answers 401, and its tools are missing; it is used by VirtualMCPServer "other"',
    },
    'a configuration that comes later, and has no credentials on purpose': {
      kind: 'MCPExternalAuthConfig',
      value: { spec: OPEN.spec },
      others: [{ kind: 'MCPServer', metadata: { name: 'jira' }, ...checking('example') }, gateway('tools')],
      findings:
        'spec.type: sends no token; workloads with `oidcConfigRef` answer 401 without one, and vMCP serves none of their tools: MCPServer "jira"',
    },
  },
})

/** The most VirtualMCPServers whose backends are looked at for one MCPExternalAuthConfig. */
const MOST_GATEWAYS = 50

/** The backends that check tokens, and for which some VirtualMCPServer uses this MCPExternalAuthConfig. */
function refusing(config: string, cluster: Cluster): readonly ObjectName[] {
  const reachers = reachersOf(config, cluster).slice(0, MOST_GATEWAYS)
  // VirtualMCPServers that discover the same group have the same list.
  const lists = new Set(reachers.map((each) => membersFor(each, config, cluster)))
  const unique = new Map([...lists].flat().map((member) => [nameKey(member), member]))
  return [...unique.values()].filter((member) =>
    checksTokens(member.kind, getWorkload(cluster, member) ?? {}),
  )
}
