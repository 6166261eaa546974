import {
  advice,
  defineRule,
  dependingAsError,
  MOST_HINTS,
  must,
  pathTo,
  relatedTo,
} from '../../../rule/index.ts'
import {
  authServer,
  backend,
  BACKEND_KINDS,
  gateway,
  gatewayEnd,
  inline,
  neededProvider,
  newerSubjectProvider,
  reachersOf,
  unserved,
  unservedCause,
  unservedText,
} from '../../../relations/index.ts'
import { MCPExternalAuthConfig } from '../schema.ts'

export const authConfigServed = defineRule({
  id: 'auth-config-served',
  on: MCPExternalAuthConfig,
  reads: ['VirtualMCPServer', ...BACKEND_KINDS],
  severity: 'warning',
  summary: 'Each VirtualMCPServer that reaches the configuration has the upstream provider that it names.',
  why: 'Calls with this configuration fail there, until the VirtualMCPServer is changed as well.',
  sources: [
    must('2.4.5', 'subjectProviderName names an upstream provider whose stored token is the subject.'),
    must('2.4.6', 'providerName must equal a name in upstreamProviders of the embedded server.'),
    'decision 9',
  ],
  *check(config, { cluster, self }) {
    const needed = neededProvider(config, cluster.group) ?? newerSubjectProvider(config)
    if (needed === undefined) return
    let hints = MOST_HINTS
    for (const { name, gateway } of reachersOf(self.name, cluster)) {
      const problem = unserved(gateway, needed)
      // A provider that /mutate wrote counts as unset: at the next write /mutate chooses one again (decision 25).
      if (problem === undefined || problem.written) continue
      const at = problem.field.split('.')
      const warning = advice(pathTo(['spec', ...at]), unservedText(name, problem, hints-- > 0))
      yield relatedTo(dependingAsError(warning, name), [gatewayEnd(name, problem)], () => [
        unservedCause(self.name),
      ])
    }
  },
  examples: {
    'the provider is there': {
      value: { spec: { type: 'upstreamInject', upstreamInject: { providerName: 'okta' } } },
      others: [backend('jira', 'example'), gateway('tools', { authServerConfig: authServer('okta') })],
    },
    'beside type `discovered`, where nobody reads it': {
      value: { spec: { type: 'upstreamInject', upstreamInject: { providerName: 'okta' } } },
      others: [
        gateway('tools', {
          outgoingAuth: {
            source: 'inline',
            backends: { jira: { type: 'discovered', externalAuthConfigRef: { name: 'example' } } },
          },
        }),
      ],
    },
    'a role for the token of a provider that is there': {
      value: {
        spec: {
          type: 'awsSts',
          awsSts: {
            region: 'eu-central-1',
            fallbackRoleArn: 'arn:aws:iam::123456789012:role/tools',
            subjectProviderName: 'okta',
          },
        },
      },
      others: [
        backend('jira', 'example', 'MCPRemoteProxy'),
        gateway('a', { authServerConfig: authServer('okta') }),
      ],
    },
    'discovered by one, inline in another': {
      value: { spec: { type: 'upstreamInject', upstreamInject: { providerName: 'okta' } } },
      others: [
        backend('jira', 'example'),
        gateway('a', { authServerConfig: authServer('corporate') }),
        gateway('b', { outgoingAuth: inline({ jira: 'example' }) }),
      ],
      findings: [
        'spec.upstreamInject.providerName: names provider "okta", and VirtualMCPServer "a" has no such upstream provider, so its calls with this configuration fail; there is "corporate"',
        'spec.upstreamInject.providerName: names provider "okta", and VirtualMCPServer "b" has no authServerConfig, so its calls with this configuration fail; add one with the provider there',
      ],
    },
    'a role for the token of another provider': {
      value: {
        spec: {
          type: 'awsSts',
          awsSts: {
            region: 'eu-central-1',
            fallbackRoleArn: 'arn:aws:iam::123456789012:role/tools',
            subjectProviderName: 'octa',
          },
        },
      },
      others: [
        backend('jira', 'example', 'MCPRemoteProxy'),
        gateway('a', { authServerConfig: authServer('okta') }),
      ],
      findings:
        'spec.awsSts.subjectProviderName: names provider "octa", and VirtualMCPServer "a" has no such upstream provider, so its calls with this configuration fail; did you mean "okta"',
    },
  },
})
