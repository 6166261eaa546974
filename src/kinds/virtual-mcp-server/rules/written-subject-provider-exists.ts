import { defineRule } from '../../../rule/rule.ts'
import { authServer, backend, exchangeConfigWritten, gatewayOf } from '../../between/examples.ts'
import { unservedBy } from '../../between/providers.ts'
import { REACHED_KINDS } from '../../between/reach.ts'
import { VirtualMCPServer } from '../schema.ts'

export const writtenSubjectProviderExists = defineRule({
  id: 'written-subject-provider-exists',
  on: VirtualMCPServer,
  reads: REACHED_KINDS,
  severity: 'warning',
  summary:
    'A `subjectProviderName` that this webhook wrote earlier is still a provider of the embedded authorization server.',
  why: 'Calls to the backend fail until its spec is written again; an unchanged file that is applied again is no write.',
  sources: ['2.4.5', 'decision 25'],
  *check(gateway, { path, cluster }) {
    yield* unservedBy(gateway, path, cluster, ({ written }) => written)
  },
  examples: {
    valid: [
      {
        title: 'the provider is there',
        value: gatewayOf({ authServerConfig: authServer('okta') }),
        others: [backend('jira', 'jira'), exchangeConfigWritten('jira', 'okta')],
      },
    ],
    invalid: [
      {
        title: 'the provider was renamed',
        value: gatewayOf({ authServerConfig: authServer('corporate') }),
        others: [backend('jira', 'jira'), exchangeConfigWritten('jira', 'okta')],
        findings: [
          'spec.authServerConfig.upstreamProviders: Not found: "okta": MCPExternalAuthConfig "jira" of MCPServer "jira" has it as tokenExchange.subjectProviderName; written by default: set or remove it there',
        ],
      },
    ],
  },
})
