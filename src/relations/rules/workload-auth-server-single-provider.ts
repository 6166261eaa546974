import { defineRule, dependingOn, end, invalid, must, nameText, pathTo, relatedTo } from '../../rule/index.ts'
import { MCPRemoteProxy, MCPServer } from '../../kinds/schemas.ts'
import { AUTH_CONFIG, getAuthConfig, referencesOf, serverConfig, workload } from '../index.ts'

export const workloadAuthServerSingleProvider = defineRule({
  id: 'workload-auth-server-single-provider',
  on: [MCPServer, MCPRemoteProxy],
  reads: ['MCPExternalAuthConfig'],
  severity: 'error',
  summary:
    'The authorization server to which an MCPServer or MCPRemoteProxy refers has one upstream provider.',
  why: 'Only VirtualMCPServer accepts several: the workload does not start.',
  failure: {
    symptom:
      'condition with reason `MultiUpstreamNotSupported` on the workload, while the configuration is Valid=True',
    reportedBy: 'operator',
    consequence: 'does not start',
  },
  sources: [
    must('2.4.3', 'MCPServer and MCPRemoteProxy accept one upstream provider, VirtualMCPServer several.'),
    must('8', 'Upstream providers per MCPServer or MCPRemoteProxy: 1.'),
    'decision 9',
  ],
  *check(resource, { cluster, self }) {
    for (const { to, at } of referencesOf(self.kind, resource)) {
      if (to.kind !== 'MCPExternalAuthConfig') continue
      const config = getAuthConfig(cluster, to.name)?.spec
      const count = config?.embeddedAuthServer?.upstreamProviders?.length ?? 0
      if (config?.type !== 'embeddedAuthServer' || count < 2) continue
      const detail = `${nameText(to)} has ${count} upstream providers, and ${self.kind} accepts one`
      yield relatedTo(
        dependingOn(invalid(pathTo<string>(at()), to.name, detail), to),
        [end(to, AUTH_CONFIG.spec.embeddedAuthServer.upstreamProviders, `has ${count} providers`)],
        () => [['single provider', to.name]],
      )
    }
  },
  examples: {
    'one provider': { value: workload('auth'), others: [serverConfig('auth', 'okta')] },
    'not there yet': { value: workload('auth') },
    'two providers': {
      kind: 'MCPServer',
      value: workload('auth'),
      others: [serverConfig('auth', 'okta', 'github')],
      findings:
        'spec.externalAuthConfigRef.name: Invalid value: "auth": MCPExternalAuthConfig "auth" has 2 upstream providers, and MCPServer accepts one',
    },
    'two providers, through the field of releases': {
      kind: 'MCPRemoteProxy',
      value: { spec: { authServerRef: { kind: 'MCPExternalAuthConfig', name: 'auth' } } as object },
      others: [serverConfig('auth', 'okta', 'github')],
      findings:
        'spec.authServerRef.name: Invalid value: "auth": MCPExternalAuthConfig "auth" has 2 upstream providers, and MCPRemoteProxy accepts one',
    },
  },
})
