import { advice, defineRule, isAbsent, parseUrl, remoteHost } from '../../rule/index.ts'
import { MCPRemoteProxy, MCPServerEntry } from '../../kinds/schemas.ts'

export const remoteUrlAllowed = defineRule({
  id: 'remote-url-allowed',
  on: [MCPRemoteProxy, MCPServerEntry],
  severity: 'warning',
  summary:
    'A `remoteUrl` has a host outside the cluster and its network, or `allowPrivateEndpoint` allows it.',
  why: 'The operator refuses loopback, link-local and metadata addresses always, and private addresses and names of Services unless they are allowed, so that nobody reaches internal services with credentials of the proxy.',
  failure: {
    symptom: '`remote URL host is not allowed: …`; the workload is Failed, and the gateway leaves it out',
    reportedBy: 'operator',
    consequence: 'does not start',
    releases: '`allowPrivateEndpoint` is of 0.45 and later',
  },
  sources: ['decision 3'],
  *check({ spec }, { path }) {
    const host = parseUrl(spec?.remoteUrl ?? '')?.host ?? ''
    const reached = remoteHost(host)
    if (spec === undefined || reached === 'public') return
    if (reached === 'never')
      yield advice(
        path.spec.remoteUrl,
        'the operator refuses this host: a remote server is never at a loopback, link-local or metadata address',
      )
    else if (isAbsent(spec, 'allowPrivateEndpoint') || spec.allowPrivateEndpoint === false)
      yield advice(
        path.spec.remoteUrl,
        'the operator refuses a host inside the cluster or its network; set `allowPrivateEndpoint: true` (from release 0.45 on), or use an MCPServer',
      )
  },
  examples: {
    'a public server': { value: { spec: { remoteUrl: 'https://mcp.example.com/mcp' } } },
    'a private address that is allowed': {
      value: { spec: { remoteUrl: 'https://10.1.2.3/mcp', allowPrivateEndpoint: true } },
    },
    'the short name of a Service, which no release refuses': {
      value: { spec: { remoteUrl: 'http://jira.tools.svc:8080/mcp' } },
    },
    'a Service': {
      value: { spec: { remoteUrl: 'http://jira.tools.svc.cluster.local:8080/mcp' } },
      findings:
        'spec.remoteUrl: the operator refuses a host inside the cluster or its network; set `allowPrivateEndpoint: true` (from release 0.45 on), or use an MCPServer',
    },
    'this machine, whatever is allowed': {
      value: { spec: { remoteUrl: 'http://localhost:8080/mcp', allowPrivateEndpoint: true } },
      findings:
        'spec.remoteUrl: the operator refuses this host: a remote server is never at a loopback, link-local or metadata address',
    },
  },
})
