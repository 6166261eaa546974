import { advice, defineRule, relatedTo } from '../../rule/index.ts'
import { MCPRemoteProxy, MCPServer, VirtualMCPServer } from '../../kinds/schemas.ts'
import { embedded, oidc, server } from '../../kinds/virtual-mcp-server/examples.ts'
import { issuingBeside, serverConfig, serverEnd, serving } from '../index.ts'

const MISSING =
  "add 'offline_access': clients get no refresh token without it, and users log in again when the access token ends"
const advertising = (...scopes: readonly string[]) =>
  server({
    incomingAuth: { ...oidc, oidcConfigRef: { ...oidc.oidcConfigRef, scopes } },
    authServerConfig: embedded,
  })

export const offlineAccessAdvertised = defineRule({
  id: 'offline-access-advertised',
  on: [VirtualMCPServer, MCPServer, MCPRemoteProxy],
  reads: ['MCPExternalAuthConfig'],
  severity: 'warning',
  summary: 'Where scopes are given beside an embedded authorization server, `offline_access` is one of them.',
  why: 'Clients ask for the scopes that are advertised, and get a refresh token with this one only. The access token ends after an hour by default.',
  failure: {
    symptom: 'users of MCP clients have to log in again every hour',
    reportedBy: 'nobody',
    consequence: 'degrades',
    threads: ['stacklok/toolhive#3776', 'stacklok/toolhive#5507'],
  },
  sources: ['decision 3', 'decision 21'],
  *check(resource, { cluster, self }) {
    for (const issuing of issuingBeside(resource, self, cluster)) {
      const { server, scopes, at } = issuing
      if (scopes === undefined || !server.upstreamProviders?.length) continue
      if (!scopes.includes('offline_access') && !scopes.includes('offline'))
        yield relatedTo(advice(at.scopes, MISSING), [serverEnd(issuing, self, 'issues the refresh tokens')])
    }
  },
  examples: {
    'the scope': { kind: 'VirtualMCPServer', value: advertising('openid', 'offline_access') },
    'the scopes by default': { kind: 'VirtualMCPServer', value: server({ authServerConfig: embedded }) },
    'scopes of another issuer': {
      kind: 'VirtualMCPServer',
      value: server({
        incomingAuth: { ...oidc, oidcConfigRef: { ...oidc.oidcConfigRef, scopes: ['openid'] } },
      }),
    },
    'scopes without it': {
      kind: 'VirtualMCPServer',
      value: advertising('openid', 'profile'),
      findings: `spec.incomingAuth.oidcConfigRef.scopes: ${MISSING}`,
    },
    'scopes of a proxy without it': {
      kind: 'MCPRemoteProxy',
      value: serving({ scopes: ['openid', 'email'] }),
      others: [serverConfig('auth', 'okta')],
      findings: `spec.oidcConfigRef.scopes: ${MISSING}`,
    },
    'scopes of a server without it': {
      kind: 'MCPServer',
      value: serving({ scopes: ['openid'] }),
      others: [serverConfig('auth', 'okta')],
      findings: `spec.oidcConfigRef.scopes: ${MISSING}`,
    },
  },
})
