import { defineRule, must } from '../../../rule/index.ts'
import {
  authServer,
  backend,
  gatewayOf,
  injectConfig,
  inline,
  REACHED_KINDS,
  unservedBy,
} from '../../../relations/index.ts'
import { agent } from '../../embedded-auth-server/examples.ts'
import { VirtualMCPServer } from '../schema.ts'

export const upstreamInjectProviderExists = defineRule({
  id: 'upstream-inject-provider-exists',
  on: VirtualMCPServer,
  reads: REACHED_KINDS,
  severity: 'error',
  summary:
    'The provider that a reached configuration of type `upstreamInject` names is one of the embedded authorization server.',
  why: 'No token is stored under that name, so every call to the backend fails with "upstream token not found".',
  failure: {
    symptom: 'every call to the backend fails with `upstream token not found`',
    reportedBy: 'nobody',
    consequence: 'denies everyone',
  },
  sources: [
    must(
      '2.4.3',
      'upstreamInject.providerName and tokenExchange.subjectProviderName refer to a provider name.',
    ),
    must('2.4.6', 'providerName must equal a name in upstreamProviders of the embedded server.'),
    'decision 9',
  ],
  *check(gateway, { path, cluster, self }) {
    yield* unservedBy(
      gateway,
      path,
      { cluster, self },
      ({ field, reason }) => field === 'upstreamInject.providerName' && reason === 'no such provider',
    )
  },
  examples: {
    'one of two providers': {
      value: gatewayOf({ authServerConfig: authServer('okta', 'github') }),
      others: [backend('jira', 'jira'), injectConfig('jira', 'github')],
    },
    'an empty name, of which the configuration itself tells': {
      value: gatewayOf({ authServerConfig: authServer('okta') }),
      others: [backend('jira', 'jira'), injectConfig('jira', '')],
    },
    'the configuration does not exist yet': {
      value: gatewayOf({ authServerConfig: authServer('okta') }),
      others: [backend('jira', 'jira')],
    },
    'discovered through two backends': {
      value: gatewayOf({ authServerConfig: authServer('okta') }),
      others: [
        backend('jira', 'jira'),
        backend('wiki', 'jira', 'MCPRemoteProxy'),
        injectConfig('jira', 'octa'),
      ],
      findings:
        'spec.authServerConfig.upstreamProviders: Not found: "octa": MCPExternalAuthConfig "jira" has it as upstreamInject.providerName; did you mean "okta"; used by MCPRemoteProxy "wiki" and MCPServer "jira"',
    },
    'no provider, because clients get tokens without a login': {
      value: gatewayOf({
        authServerConfig: { issuer: 'https://auth.example.com', delegateClients: [agent] },
      }),
      others: [backend('jira', 'jira'), injectConfig('jira', 'okta')],
      findings:
        'spec.authServerConfig.upstreamProviders: Not found: "okta": MCPExternalAuthConfig "jira" has it as upstreamInject.providerName; used by MCPServer "jira"',
    },
    'the default of inline': {
      value: gatewayOf({ authServerConfig: authServer('okta'), outgoingAuth: inline({}, 'jira') }),
      others: [injectConfig('jira', 'github')],
      findings:
        'spec.outgoingAuth.default.externalAuthConfigRef.name: Invalid value: "jira": MCPExternalAuthConfig "jira" has upstreamInject.providerName "github", and authServerConfig has no such upstream provider; there is "okta"',
    },
  },
})
