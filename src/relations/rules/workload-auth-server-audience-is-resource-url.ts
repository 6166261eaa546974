import { defineRule, dependingAsError, end, outage, relatedTo } from '../../rule/index.ts'
import { MCPRemoteProxy, MCPServer } from '../../kinds/schemas.ts'
import {
  audienceErrors,
  AUTH_CONFIG,
  authServersOf,
  namespaceOf,
  proxyPortOf,
  serverConfig,
  serving,
} from '../index.ts'

export const workloadAuthServerAudienceIsResourceUrl = defineRule({
  id: 'workload-auth-server-audience-is-resource-url',
  on: [MCPServer, MCPRemoteProxy],
  reads: ['MCPExternalAuthConfig'],
  severity: 'warning',
  summary:
    'Beside an embedded authorization server, `oidcConfigRef.audience` is the `resourceUrl`, an absolute URL.',
  why: 'The server issues tokens for the `resourceUrl` only: releases do not reconcile a workload that expects another audience, and refuse every login for a resource that is not a URL.',
  failure: {
    symptom:
      'the workload is not reconciled: `oidcConfigRef.audience … must match resourceUrl`; up to release 0.21 every request is answered with 401',
    reportedBy: 'operator',
    consequence: 'does not start',
    threads: ['stacklok/toolhive#4860', 'stacklok/toolhive#4904'],
  },
  sources: ['decision 4', 'decision 23'],
  *check(workload, { path, cluster, self }) {
    const { spec } = workload
    const reference = spec?.oidcConfigRef
    const audience = reference?.audience ?? ''
    const port = spec && proxyPortOf(spec)
    if (reference === undefined || audience === '' || port === undefined) return
    const [server] = authServersOf(self.kind, workload, cluster)
    if (server === undefined) return
    const ends = [end(server.to, AUTH_CONFIG.spec.type, 'issues the tokens')]
    const at = path.spec.oidcConfigRef
    const errors = audienceErrors({
      name: self.name,
      namespace: namespaceOf(workload),
      port,
      reference,
      audience,
      at: at.audience,
      resourceUrl: at.resourceUrl,
    })
    for (const error of errors) yield relatedTo(dependingAsError(outage(error), server.to), ends)
  },
  examples: {
    'the URL of clients in both': {
      value: serving({
        audience: 'https://jira.example.com/mcp',
        resourceUrl: 'https://jira.example.com/mcp',
      }),
      others: [serverConfig('auth', 'okta')],
    },
    'no embedded server: another server says what the audience is': {
      value: { spec: { oidcConfigRef: { name: 'corporate', audience: 'jira' } } },
    },
    'no resourceUrl': {
      kind: 'MCPServer',
      value: serving({ audience: 'https://jira.example.com' }),
      others: [serverConfig('auth', 'okta')],
      findings:
        'spec.oidcConfigRef.resourceUrl: defaults to the address in the cluster, which is not the audience, so the operator refuses the resource; set it to "https://jira.example.com"',
    },
    'another URL': {
      kind: 'MCPRemoteProxy',
      value: serving({ audience: 'https://jira.example.com', resourceUrl: 'https://mcp.example.com' }),
      others: [serverConfig('auth', 'okta')],
      findings:
        'spec.oidcConfigRef.audience: must equal `resourceUrl`, "https://mcp.example.com", the only audience of tokens of the embedded server, or the operator refuses it',
    },
    'a name, through the other field': {
      kind: 'MCPServer',
      value: {
        spec: {
          externalAuthConfigRef: { name: 'auth' },
          oidcConfigRef: { name: 'corporate', audience: 'jira', resourceUrl: 'jira' },
        },
      },
      others: [serverConfig('auth', 'okta')],
      findings:
        'spec.oidcConfigRef.audience: must be an absolute http(s) URL without a fragment, or every login at the embedded server fails; write the URL of clients, in `resourceUrl` too',
    },
  },
})
