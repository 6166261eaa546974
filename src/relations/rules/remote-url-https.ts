import { advice, defineRule, isPublicHost, parseUrl } from '../../rule/index.ts'
import { MCPRemoteProxy, MCPServerEntry } from '../../kinds/schemas.ts'

export const remoteUrlHttps = defineRule({
  id: 'remote-url-https',
  on: [MCPRemoteProxy, MCPServerEntry],
  severity: 'warning',
  summary: 'A remote server on the internet is reached over https.',
  why: 'Each request carries the token or the key for the server; over http everybody on the way can read and change it. The operator accepts it.',
  failure: {
    symptom:
      'tokens of users in the clear on the internet; many servers answer with a redirect, which loses the request',
    reportedBy: 'nobody',
    consequence: 'lets anyone in',
  },
  sources: ['decision 3', 'decision 21'],
  *check({ spec }, { path }) {
    const url = parseUrl(spec?.remoteUrl ?? '')
    if (url?.scheme !== 'http' || !isPublicHost(url.host)) return
    yield advice(
      path.spec.remoteUrl,
      "sends requests and their credentials over the internet in the clear; use 'https://'",
    )
  },
  examples: {
    https: { value: { spec: { remoteUrl: 'https://mcp.example.com/mcp' } } },
    'a Service, by the short name': {
      value: { spec: { remoteUrl: 'http://grafana.observability:8000/mcp' } },
    },
    'a Service in a namespace that is also a top-level domain': {
      value: { spec: { remoteUrl: 'http://jira.dev:8080/mcp' } },
    },
    'a Service in a namespace of two letters': { value: { spec: { remoteUrl: 'http://jira.qa:8080/mcp' } } },
    'a private address that is allowed': {
      value: { spec: { remoteUrl: 'http://10.1.2.3/mcp', allowPrivateEndpoint: true } },
    },
    'a name of an own network': { value: { spec: { remoteUrl: 'http://mcp.corp.internal/mcp' } } },
    'http on the internet': {
      value: { spec: { remoteUrl: 'http://mcp.example.com/mcp' } },
      findings:
        "spec.remoteUrl: sends requests and their credentials over the internet in the clear; use 'https://'",
    },
    'http, in the domain of a country': {
      value: { spec: { remoteUrl: 'http://mcp.example.de/mcp' } },
      findings:
        "spec.remoteUrl: sends requests and their credentials over the internet in the clear; use 'https://'",
    },
  },
})
