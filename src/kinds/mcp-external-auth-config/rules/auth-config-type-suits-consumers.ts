import {
  advice,
  type Cluster,
  defineRule,
  namesText,
  type ObjectName,
  relatedTo,
} from '../../../rule/index.ts'
import {
  allUnsuited,
  type AuthConfig,
  backend,
  BACKEND_KINDS,
  gateway,
  getWorkload,
  hasIgnoredHeader,
  inline,
  isUnused,
  NOT_FOR_BACKENDS,
  reachersOf,
  referenceEnds,
  someNeedsGateway,
  unsuitedCause,
  unusedText,
  useOf,
} from '../../../relations/index.ts'
import { exchanging, injecting } from '../examples.ts'
import { MCPExternalAuthConfig } from '../schema.ts'

export const authConfigTypeSuitsConsumers = defineRule({
  id: 'auth-config-type-suits-consumers',
  on: MCPExternalAuthConfig,
  reads: ['VirtualMCPServer', ...BACKEND_KINDS],
  severity: 'warning',
  summary: 'The type does something for every workload and VirtualMCPServer that uses the configuration.',
  why: 'Releases ignore some types on some kinds, in silence, and fail on others.',
  failure: {
    symptom: 'the credential is never sent; the configuration reads as Valid=True',
    toldBy: 'nobody',
    threads: ['stacklok/toolhive#5930', 'stacklok/toolhive#5202', 'stacklok/toolhive#6242'],
  },
  sources: [
    {
      section: '1',
      says: 'Every kind of workload can refer to every type of configuration (releases do not use all of them).',
    },
    {
      section: '5.2',
      says: 'tokenExchange: the token replaces the Authorization header unless externalTokenHeaderName is set.',
    },
    { section: '5.2', says: 'Each type is a strategy of vMCP (releases have none for two of them).' },
    'decision 9',
  ],
  *check(config, { path, cluster, self }) {
    const type = config.spec?.type
    if (type === undefined) return
    const causes = () => [unsuitedCause(self.name)]
    for (const [reason, workloads] of unsuitedWorkloads(config, self.name, cluster)) {
      yield relatedTo(
        advice(path.spec.type, `${reason}: ${namesText(workloads)}`),
        referenceEnds(workloads, self, cluster),
        causes,
      )
    }
    const isLeftOut = NOT_FOR_BACKENDS.includes(type)
    if (!isLeftOut && !hasIgnoredHeader(config)) return
    const reachers = reachersOf(self.name, cluster).map(({ name }) => name)
    if (reachers.length === 0) return
    const warning = isLeftOut
      ? advice(path.spec.type, `ToolHive releases cannot use it for backends of ${namesText(reachers)}`)
      : advice(
          path.spec.tokenExchange.externalTokenHeaderName,
          `ToolHive releases ignore it for backends of ${namesText(reachers)}`,
        )
    yield relatedTo(warning, referenceEnds(reachers, self, cluster, 'reaches it'), causes)
  },
  examples: {
    valid: [
      {
        title: 'a header for the backends of a group',
        value: injecting('X-Api-Key'),
        others: [backend('jira', 'example'), gateway('tools')],
      },
      {
        title: 'an MCPServerEntry has no authorization server, whatever it holds',
        value: injecting('X-Api-Key'),
        others: [
          {
            kind: 'MCPServerEntry',
            metadata: { name: 'jira' },
            spec: { externalAuthConfigRef: { name: 'example' }, authServerRef: { name: 'example' } },
          },
        ],
      },
    ],
    invalid: [
      {
        title: 'a header for a workload alone',
        value: injecting('X-Api-Key'),
        others: [
          {
            kind: 'MCPServer',
            metadata: { name: 'jira' },
            spec: { externalAuthConfigRef: { name: 'example' } },
          },
        ],
        findings: ['spec.type: has no effect on an MCPServer outside a group: MCPServer "jira"'],
      },
      {
        title: 'no authorization server',
        value: injecting('X-Api-Key'),
        others: [
          {
            kind: 'MCPRemoteProxy',
            metadata: { name: 'wiki' },
            spec: { authServerRef: { name: 'example' } },
          },
        ],
        findings: [
          'spec.type: cannot be the authorization server of an MCPRemoteProxy: MCPRemoteProxy "wiki"',
        ],
      },
      {
        title: 'a bearer token for backends',
        value: {
          spec: { type: 'bearerToken', bearerToken: { tokenSecretRef: { name: 'jira', key: 'token' } } },
        },
        others: [gateway('tools', { outgoingAuth: inline({ jira: 'example' }) })],
        findings: ['spec.type: ToolHive releases cannot use it for backends of VirtualMCPServer "tools"'],
      },
      {
        title: 'a token exchange with another header',
        value: exchanging({ externalTokenHeaderName: 'X-Token' }),
        others: [backend('jira', 'example'), gateway('tools')],
        findings: [
          'spec.tokenExchange.externalTokenHeaderName: ToolHive releases ignore it for backends of VirtualMCPServer "tools"',
        ],
      },
      {
        title: 'a header that no VirtualMCPServer sends',
        value: injecting('X-Api-Key'),
        others: [backend('jira', 'example'), gateway('tools', { outgoingAuth: inline({ wiki: 'key' }) })],
        findings: [
          'spec.type: has no effect on an MCPServer where each VirtualMCPServer is inline and does not name it: MCPServer "jira"',
        ],
      },
    ],
  },
})

/** The workloads for which the type of a configuration does nothing, by the reason. */
function unsuitedWorkloads(
  config: AuthConfig,
  name: string,
  cluster: Cluster,
): ReadonlyMap<string, readonly ObjectName[]> {
  const found = new Map<string, ObjectName[]>()
  for (const named of cluster.referrers('MCPExternalAuthConfig', name, BACKEND_KINDS)) {
    const use = useOf(named.kind, getWorkload(cluster, named) ?? {}, name)
    const reasons = allUnsuited(use, config)
    const { group } = use
    if (
      group !== undefined &&
      someNeedsGateway(use, config) &&
      isUnused(named.name, { group, config: name }, cluster)
    )
      reasons.push(unusedText(use))
    for (const reason of reasons) {
      const names = found.get(reason)
      if (names === undefined) found.set(reason, [named])
      else names.push(named)
    }
  }
  return found
}
