import { defineRule, must, says } from '../../../rule/index.ts'
import {
  authServer,
  backend,
  exchangeConfig,
  exchangeConfigWritten,
  gatewayOf,
  isDecided,
  REACHED_KINDS,
  unservedBy,
} from '../../../relations/index.ts'
import { VirtualMCPServer } from '../schema.ts'

export const subjectProviderExists = defineRule({
  id: 'subject-provider-exists',
  on: VirtualMCPServer,
  reads: ['VirtualMCPServer', ...REACHED_KINDS],
  severity: 'error',
  summary:
    'The `subjectProviderName` of a reached token exchange is a provider of the embedded authorization server.',
  why: 'No token is stored under that name, so there is nothing to exchange and every call to the backend fails.',
  failure: {
    symptom: 'every call to the backend fails with `upstream token not found`',
    reportedBy: 'nobody',
    consequence: 'denies everyone',
    threads: ['stacklok/toolhive#4528'],
  },
  sources: [
    must(
      '2.4.3',
      'upstreamInject.providerName and tokenExchange.subjectProviderName refer to a provider name.',
    ),
    must('2.4.5', 'subjectProviderName names an upstream provider whose stored token is the subject.'),
    says(
      '5.2',
      'tokenExchange: with subjectProviderName, the subject token is that of this upstream provider.',
    ),
    'decision 9',
  ],
  *check(gateway, { path, cluster, self, old }) {
    yield* unservedBy(gateway, path, { cluster, self }, ({ field, provider, written }, config) => {
      const isOurs = written && isDecided({ config, provider }, cluster, old())
      return field === 'tokenExchange.subjectProviderName' && !isOurs
    })
  },
  examples: {
    'a provider': {
      value: gatewayOf({ authServerConfig: authServer('okta', 'github') }),
      others: [backend('jira', 'jira'), exchangeConfig('jira', 'github')],
    },
    'none named: the token of vMCP is exchanged': {
      value: gatewayOf(),
      others: [backend('jira', 'jira'), exchangeConfig('jira')],
    },
    'written by the webhook for an earlier authServerConfig: a warning of its own': {
      value: gatewayOf({ authServerConfig: authServer('github') }),
      old: gatewayOf({ authServerConfig: authServer('okta') }),
      others: [backend('jira', 'jira'), exchangeConfigWritten('jira', 'okta')],
    },
    'no such provider': {
      value: gatewayOf({ authServerConfig: authServer('github') }),
      others: [backend('jira', 'jira'), exchangeConfig('jira', 'okta')],
      findings:
        'spec.authServerConfig.upstreamProviders: Not found: "okta": MCPExternalAuthConfig "jira" has it as tokenExchange.subjectProviderName; there is "github"; used by MCPServer "jira"',
    },
    'the annotation says that the webhook wrote it, and no VirtualMCPServer decides so': {
      value: gatewayOf({ authServerConfig: authServer('github') }),
      others: [backend('jira', 'jira'), exchangeConfigWritten('jira', 'okta')],
      findings:
        'spec.authServerConfig.upstreamProviders: Not found: "okta": calls fail until you set or remove tokenExchange.subjectProviderName in MCPExternalAuthConfig "jira", where it was written by default; used by MCPServer "jira"',
    },
    'no embedded authorization server': {
      value: gatewayOf(),
      others: [backend('jira', 'jira'), exchangeConfig('jira', 'okta')],
      findings:
        'spec.authServerConfig: Required value: set an authorization server with the provider, or use another configuration; MCPExternalAuthConfig "jira" has tokenExchange.subjectProviderName "okta", used by MCPServer "jira"',
    },
  },
})
