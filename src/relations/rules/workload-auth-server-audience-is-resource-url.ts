import {
  advice,
  defineRule,
  dependingAsError,
  end,
  type FieldError,
  namesText,
  outage,
  relatedTo,
} from '../../rule/index.ts'
import { MCPExternalAuthConfig, MCPRemoteProxy, MCPServer } from '../../kinds/schemas.ts'
import {
  audienceErrors,
  AUTH_CONFIG,
  authServer,
  authServersOf,
  heldServersOf,
  namespaceOf,
  ofHolders,
  proxyPortOf,
  servedBy,
  serverConfig,
  serving,
  SINGLE_PROVIDER_KINDS,
  type Workload,
  WORKLOAD,
} from '../index.ts'

const ID = 'workload-auth-server-audience-is-resource-url'
const SERVER = { spec: { type: 'embeddedAuthServer' as const, embeddedAuthServer: authServer('okta') } }

export const workloadAuthServerAudienceIsResourceUrl = defineRule({
  id: ID,
  on: [MCPServer, MCPRemoteProxy, MCPExternalAuthConfig],
  needs: ['oidcConfigRef', 'embeddedAuthServer'],
  reads: ['MCPExternalAuthConfig', ...SINGLE_PROVIDER_KINDS],
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
  *check(resource, { cluster, self }) {
    if (self.kind === 'MCPExternalAuthConfig') {
      const holders = heldServersOf(resource, self, cluster)
        .filter(({ holder, workload }) => errorsOf(holder.name, workload, namespaceOf(resource)).length > 0)
        .map(({ holder }) => holder)
      if (holders.length === 0) return
      const detail = `audience and resourceUrl of ${namesText(holders, 2)} must be one absolute URL, or releases refuse it or its logins: tokens issued here are for resourceUrl alone`
      yield ofHolders(advice(AUTH_CONFIG.spec.type, detail), {
        holders,
        at: AT.audience,
        text: 'is not the `resourceUrl`',
        cause: [ID, self.name],
      })
      return
    }
    const errors = errorsOf(self.name, resource as Workload, namespaceOf(resource))
    const [server] = errors.length === 0 ? [] : authServersOf(self.kind, resource as Workload, cluster)
    if (server === undefined) return
    const ends = [end(server.to, AUTH_CONFIG.spec.type, 'issues the tokens')]
    for (const error of errors)
      yield relatedTo(dependingAsError(outage(error), server.to), ends, () => [[ID, server.to.name]])
  },
  examples: {
    'the URL of clients in both': {
      kind: 'MCPServer',
      value: serving({
        audience: 'https://jira.example.com/mcp',
        resourceUrl: 'https://jira.example.com/mcp',
      }),
      others: [serverConfig('auth', 'okta')],
    },
    'the URL of clients in both, at the configuration': {
      kind: 'MCPExternalAuthConfig',
      value: SERVER,
      others: [servedBy('example')],
    },
    'no embedded server: another server says what the audience is': {
      kind: 'MCPRemoteProxy',
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
    'a server that comes after its proxy': {
      kind: 'MCPExternalAuthConfig',
      value: SERVER,
      others: [
        servedBy('example', { oidcConfigRef: { name: 'corporate', audience: 'https://wiki.example.com' } }),
      ],
      findings:
        'spec.type: audience and resourceUrl of MCPRemoteProxy "wiki" must be one absolute URL, or releases refuse it or its logins: tokens issued here are for resourceUrl alone',
    },
  },
})

const AT = WORKLOAD.spec.oidcConfigRef

/** What is wrong with the audience of a workload, if an embedded authorization server issues its tokens. */
function errorsOf(name: string, { spec }: Workload, namespace: string | undefined): readonly FieldError[] {
  const reference = spec?.oidcConfigRef
  const audience = reference?.audience ?? ''
  const port = spec && proxyPortOf(spec)
  if (reference === undefined || audience === '' || port === undefined) return []
  const [at, resourceUrl] = [AT.audience, AT.resourceUrl]
  return [...audienceErrors({ name, namespace, port, reference, audience, at, resourceUrl })]
}
