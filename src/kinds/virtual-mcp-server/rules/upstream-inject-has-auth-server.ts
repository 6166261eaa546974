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
import { VirtualMCPServer } from '../schema.ts'

export const upstreamInjectHasAuthServer = defineRule({
  id: 'upstream-inject-has-auth-server',
  on: VirtualMCPServer,
  reads: REACHED_KINDS,
  severity: 'error',
  summary:
    'A configuration of type `upstreamInject` is reached only beside an embedded authorization server.',
  why: 'No user ever logs in to an upstream provider, so there is no token to inject and every call fails.',
  failure: {
    symptom:
      '`upstream_inject requires an embedded auth server`; where it is discovered, every call fails with `upstream token not found`',
    reportedBy: 'nobody',
    consequence: 'denies everyone',
  },
  sources: [
    must('5.2', 'upstreamInject requires an embedded authorization server on the VirtualMCPServer.'),
    'decision 9',
  ],
  *check(gateway, { path, cluster, self }) {
    yield* unservedBy(
      gateway,
      path,
      { cluster, self },
      ({ field, reason }) => field === 'upstreamInject.providerName' && reason === 'no authorization server',
    )
  },
  examples: {
    'discovered, beside a server with the provider': {
      value: gatewayOf({ authServerConfig: authServer('okta') }),
      others: [backend('jira', 'jira'), injectConfig('jira', 'okta')],
    },
    'inline, so that what the backend refers to is not read': {
      value: gatewayOf({ outgoingAuth: { source: 'inline', backends: {} } }),
      others: [backend('jira', 'jira'), injectConfig('jira', 'okta')],
    },
    'discovered through a backend': {
      value: gatewayOf(),
      others: [backend('jira', 'jira'), injectConfig('jira', 'okta')],
      findings:
        'spec.authServerConfig: Required value: set an authorization server with the provider, or use another configuration; MCPExternalAuthConfig "jira" has upstreamInject.providerName "okta", used by MCPServer "jira"',
    },
    'of whichever provider': {
      value: gatewayOf(),
      others: [backend('jira', 'jira'), { ...injectConfig('jira', ''), spec: { type: 'upstreamInject' } }],
      findings:
        'spec.authServerConfig: Required value: set an authorization server with the provider, or use another configuration; MCPExternalAuthConfig "jira" is of type upstreamInject, used by MCPServer "jira"',
    },
    inline: {
      value: gatewayOf({ outgoingAuth: inline({ jira: 'jira' }) }),
      others: [backend('jira'), injectConfig('jira', 'okta')],
      findings:
        'spec.outgoingAuth.backends[jira].externalAuthConfigRef.name: Invalid value: "jira": MCPExternalAuthConfig "jira" has upstreamInject.providerName "okta", and there is no authServerConfig',
    },
  },
})
