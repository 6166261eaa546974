import { about, advice, defineRule, dependingAsError, MOST_HINTS, must, relatedTo } from '../../rule/index.ts'
import { MCPRemoteProxy, MCPServer, MCPServerEntry } from '../../kinds/schemas.ts'
import {
  authServer,
  configEnd,
  discoverersOf,
  gateway,
  gatewayEnd,
  getAuthConfig,
  injectConfig,
  inline,
  mappedConfig,
  neededProvider,
  newerSubjectProvider,
  unserved,
  unservedCause,
  unservedText,
  workload,
} from '../index.ts'

export const backendAuthServed = defineRule({
  id: 'backend-auth-served',
  on: [MCPServer, MCPRemoteProxy, MCPServerEntry],
  reads: ['MCPExternalAuthConfig', 'VirtualMCPServer'],
  severity: 'warning',
  summary:
    'Each VirtualMCPServer that uses the own reference of the backend has the upstream provider that its configuration names.',
  why: 'Every call to the backend fails there, until the VirtualMCPServer is changed as well.',
  sources: [
    must('2.4.6', 'providerName must equal a name in upstreamProviders of the embedded server.'),
    must('5.2', 'upstreamInject requires an embedded authorization server on the VirtualMCPServer.'),
    'decision 9',
  ],
  *check(resource, { path, cluster, self }) {
    const name = resource.spec?.externalAuthConfigRef?.name
    const config = name === undefined ? undefined : getAuthConfig(cluster, name)
    const needed = config && (neededProvider(config, cluster.group) ?? newerSubjectProvider(config))
    if (needed === undefined) return
    let hints = MOST_HINTS
    for (const { name: fronter, gateway } of discoverersOf(self.name, resource, cluster)) {
      const problem = unserved(gateway, needed)
      if (problem === undefined) continue
      const text = unservedText(fronter, problem, hints-- > 0, name)
      const warning = advice(path.spec.externalAuthConfigRef.name, text)
      const error = dependingAsError(warning, fronter, { kind: 'MCPExternalAuthConfig', name: name ?? '' })
      const ends = [gatewayEnd(fronter, problem), configEnd(name ?? '', problem)]
      yield relatedTo(about(error, 'backend-auth-served', name ?? '', fronter.name), ends, () => [
        unservedCause(name ?? ''),
      ])
    }
  },
  examples: {
    'the provider is there': {
      value: workload('jira', 'tools'),
      others: [injectConfig('jira', 'okta'), gateway('tools', { authServerConfig: authServer('okta') })],
    },
    'inline: a VirtualMCPServer that lists it with another configuration': {
      value: workload('jira', 'tools'),
      others: [injectConfig('jira', 'okta'), gateway('tools', { outgoingAuth: inline({ example: 'key' }) })],
    },
    'another provider': {
      value: workload('jira', 'tools'),
      others: [injectConfig('jira', 'okta'), gateway('tools', { authServerConfig: authServer('github') })],
      findings:
        'spec.externalAuthConfigRef.name: MCPExternalAuthConfig "jira" has upstreamInject.providerName "okta", and VirtualMCPServer "tools" has no such upstream provider, so its calls here fail; there is "github"',
    },
    'an AWS role for the token of another provider': {
      kind: 'MCPRemoteProxy',
      value: workload('aws', 'tools'),
      others: [
        mappedConfig('aws', {
          fallbackRoleArn: 'arn:aws:iam::123456789012:role/tools',
          subjectProviderName: 'okta',
        }),
        gateway('tools', { authServerConfig: authServer('github') }),
      ],
      findings:
        'spec.externalAuthConfigRef.name: MCPExternalAuthConfig "aws" has awsSts.subjectProviderName "okta", and VirtualMCPServer "tools" has no such upstream provider, so its calls here fail; there is "github"',
    },
  },
})
