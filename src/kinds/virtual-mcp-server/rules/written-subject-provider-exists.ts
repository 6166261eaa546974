import { defineRule, says } from '../../../rule/index.ts'
import {
  authServer,
  backend,
  exchangeConfigWritten,
  gateway,
  gatewayOf,
  isDecided,
  REACHED_KINDS,
  unservedBy,
} from '../../../relations/index.ts'
import { VirtualMCPServer } from '../schema.ts'

export const writtenSubjectProviderExists = defineRule({
  id: 'written-subject-provider-exists',
  on: VirtualMCPServer,
  reads: ['VirtualMCPServer', ...REACHED_KINDS],
  severity: 'warning',
  summary:
    'A `subjectProviderName` that this webhook wrote earlier is still a provider of the embedded authorization server.',
  why: 'Calls to the backend fail until its spec is written again; an unchanged file that is applied again is not a write.',
  sources: [
    says(
      '2.4.5',
      'An empty subjectProviderName is filled in with the first provider of the VirtualMCPServer.',
    ),
    'decision 25',
  ],
  *check(gateway, { path, cluster, self, old }) {
    yield* unservedBy(
      gateway,
      path,
      { cluster, self },
      ({ provider, written }, config) => written && isDecided({ config, provider }, cluster, old()),
    )
  },
  examples: {
    'the provider is there': {
      value: gatewayOf({ authServerConfig: authServer('okta') }),
      others: [backend('jira', 'jira'), exchangeConfigWritten('jira', 'okta')],
    },
    'the provider was renamed': {
      value: gatewayOf({ authServerConfig: authServer('corporate') }),
      old: gatewayOf({ authServerConfig: authServer('okta') }),
      others: [backend('jira', 'jira'), exchangeConfigWritten('jira', 'okta')],
      findings:
        'spec.authServerConfig.upstreamProviders: Not found: "okta": calls fail until you set or remove tokenExchange.subjectProviderName in MCPExternalAuthConfig "jira", where it was written by default; used by MCPServer "jira"',
    },
    'another VirtualMCPServer shares the configuration, and has the provider': {
      value: gatewayOf({ authServerConfig: authServer('corporate') }),
      others: [
        backend('jira', 'jira'),
        exchangeConfigWritten('jira', 'okta'),
        gateway('other', { authServerConfig: authServer('okta') }),
      ],
      findings:
        'spec.authServerConfig.upstreamProviders: Not found: "okta": calls fail until you set or remove tokenExchange.subjectProviderName in MCPExternalAuthConfig "jira", where it was written by default; used by MCPServer "jira"',
    },
  },
})
