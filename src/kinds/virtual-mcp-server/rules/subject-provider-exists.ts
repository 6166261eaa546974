import { defineRule } from '../../../rule/rule.ts'
import {
  authServer,
  backend,
  exchangeConfig,
  exchangeConfigWritten,
  gatewayOf,
} from '../../between/examples.ts'
import { unservedBy } from '../../between/providers.ts'
import { REACHED_KINDS } from '../../between/reach.ts'
import { VirtualMCPServer } from '../schema.ts'

export const subjectProviderExists = defineRule({
  id: 'subject-provider-exists',
  on: VirtualMCPServer,
  reads: REACHED_KINDS,
  severity: 'error',
  summary:
    'The `subjectProviderName` of a reached token exchange is a provider of the embedded authorization server.',
  why: 'No token is stored under that name, so there is nothing to exchange and every call to the backend fails.',
  sources: ['2.4.5', '5.2', 'decision 9'],
  *check(gateway, { path, cluster }) {
    yield* unservedBy(
      gateway,
      path,
      cluster,
      ({ field, written }) => field === 'tokenExchange.subjectProviderName' && !written,
    )
  },
  examples: {
    valid: [
      {
        title: 'a provider',
        value: gatewayOf({ authServerConfig: authServer('okta', 'github') }),
        others: [backend('jira', 'jira'), exchangeConfig('jira', 'github')],
      },
      {
        title: 'none named: the token of vMCP is exchanged',
        value: gatewayOf(),
        others: [backend('jira', 'jira'), exchangeConfig('jira')],
      },
      {
        title: 'written by the webhook for an earlier authServerConfig: a warning of its own',
        value: gatewayOf({ authServerConfig: authServer('github') }),
        others: [backend('jira', 'jira'), exchangeConfigWritten('jira', 'okta')],
      },
    ],
    invalid: [
      {
        title: 'no such provider',
        value: gatewayOf({ authServerConfig: authServer('github') }),
        others: [backend('jira', 'jira'), exchangeConfig('jira', 'okta')],
        findings: [
          'spec.authServerConfig.upstreamProviders: Not found: "okta": MCPExternalAuthConfig "jira" of MCPServer "jira" has it as tokenExchange.subjectProviderName; there is "github"',
        ],
      },
      {
        title: 'no embedded authorization server',
        value: gatewayOf(),
        others: [backend('jira', 'jira'), exchangeConfig('jira', 'okta')],
        findings: [
          'spec.authServerConfig: Required value: MCPExternalAuthConfig "jira" of MCPServer "jira" has tokenExchange.subjectProviderName "okta": set an authorization server with that provider, or use another configuration',
        ],
      },
    ],
  },
})
