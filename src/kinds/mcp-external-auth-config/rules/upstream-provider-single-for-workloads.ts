import {
  aboutEach,
  defineRule,
  dependingOn,
  must,
  namesText,
  relatedTo,
  tooMany,
} from '../../../rule/index.ts'
import {
  authServer,
  backend,
  gateway,
  inline,
  referenceEnds,
  SINGLE_PROVIDER_KINDS,
} from '../../../relations/index.ts'
import { MCPExternalAuthConfig } from '../schema.ts'

export const upstreamProviderSingleForWorkloads = defineRule({
  id: 'upstream-provider-single-for-workloads',
  on: MCPExternalAuthConfig,
  needs: ['embeddedAuthServer'],
  reads: SINGLE_PROVIDER_KINDS,
  severity: 'error',
  summary:
    'An authorization server to which an MCPServer or MCPRemoteProxy refers has one upstream provider.',
  why: 'Only VirtualMCPServer accepts several: the workload stops working, while the configuration reads as valid.',
  sources: [
    must('2.4.3', 'MCPServer and MCPRemoteProxy accept one upstream provider, VirtualMCPServer several.'),
    must('8', 'Upstream providers per MCPServer or MCPRemoteProxy: 1.'),
    'decision 9',
  ],
  *check({ spec }, { path, cluster, self }) {
    const count = spec?.embeddedAuthServer?.upstreamProviders?.length ?? 0
    if (spec?.type !== 'embeddedAuthServer' || count < 2) return
    const holders = cluster.referrers(self.kind, self.name, SINGLE_PROVIDER_KINDS)
    const [first] = holders
    if (first === undefined) return
    const detail = `must have at most 1 item while it is referred to by ${namesText(holders)}`
    const error = tooMany(path.spec.embeddedAuthServer.upstreamProviders, count, detail)
    // Each provider beyond the first is a separate subject of the error: so the ratchet (decision 8) denies an update
    // that adds a provider, but admits an update that only removes providers.
    const counted = aboutEach(dependingOn(error, first), () =>
      Array.from(
        { length: count - 1 },
        (_, i) => ['upstream-provider-single-for-workloads', String(i + 2)] as const,
      ),
    )
    yield relatedTo(counted, referenceEnds(holders, self, cluster), () => [['single provider', self.name]])
  },
  examples: {
    'two providers, and only a VirtualMCPServer refers to it': {
      value: { spec: { type: 'embeddedAuthServer', embeddedAuthServer: authServer('okta', 'github') } },
      others: [gateway('tools', { outgoingAuth: inline({ jira: 'example' }) })],
    },
    'one provider': {
      value: { spec: { type: 'embeddedAuthServer', embeddedAuthServer: authServer('okta') } },
      others: [backend('jira', 'example')],
    },
    'a second provider': {
      value: { spec: { type: 'embeddedAuthServer', embeddedAuthServer: authServer('okta', 'github') } },
      others: [backend('jira', 'example'), backend('wiki', 'example', 'MCPRemoteProxy')],
      findings:
        'spec.embeddedAuthServer.upstreamProviders: Too many: 2: must have at most 1 item while it is referred to by MCPRemoteProxy "wiki" and MCPServer "jira"',
    },
  },
})
