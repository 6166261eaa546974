import { defineRule, invalid, shortQuote } from '../../../rule/index.ts'
import { hasPath, originOf } from '../callback.ts'
import { server } from '../examples.ts'
import { EmbeddedAuthServer } from '../schema.ts'

export const authServerUrlWithoutPath = defineRule({
  id: 'auth-server-url-without-path',
  on: EmbeddedAuthServer,
  severity: 'warning',
  summary: 'The issuer and the authorization base URL have no path.',
  why: 'Discovery tells clients that the endpoints are below the issuer, such as `/auth/oauth/token`. The server answers at the root of the host only, at `/oauth/token`. Only an Ingress that takes the path away helps.',
  failure: {
    symptom:
      'clients find the authorization server, and then get 404 or 401 from its endpoints /oauth/register, /oauth/authorize and /oauth/token, or from jwks.json',
    reportedBy: 'nobody',
    consequence: 'denies everyone',
  },
  sources: ['decision 3', 'decision 21'],
  *check(server, { path }) {
    for (const field of ['issuer', 'authorizationEndpointBaseUrl'] as const) {
      const url = server[field]
      if (url === undefined || !hasPath(url)) continue
      const calls = field === 'issuer' ? 'requests' : 'logins'
      const detail = `${calls} below this path get 404 or 401; write ${shortQuote(originOf(url) ?? '')}, or have the Ingress remove the path`
      yield invalid(path[field], url, detail)
    }
  },
  examples: {
    'a host': { value: server },
    'a host with a port': {
      value: { ...server, authorizationEndpointBaseUrl: 'https://login.example.com:8443' },
    },
    'a path in the issuer': {
      value: { ...server, issuer: 'https://mcp.example.com/auth' },
      findings:
        'issuer: Invalid value: "https://mcp.example.com/auth": requests below this path get 404 or 401; write "https://mcp.example.com", or have the Ingress remove the path',
    },
    'a path in the base of the authorization endpoint': {
      value: { ...server, authorizationEndpointBaseUrl: 'https://login.example.com/mcp' },
      findings:
        'authorizationEndpointBaseUrl: Invalid value: "https://login.example.com/mcp": logins below this path get 404 or 401; write "https://login.example.com", or have the Ingress remove the path',
    },
  },
})
