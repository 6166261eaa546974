import { advice, defineRule } from '../../rule/index.ts'
import { MCPRemoteProxy, MCPServer, VirtualMCPServer } from '../../kinds/schemas.ts'
import { embedded, oidc, server } from '../../kinds/virtual-mcp-server/examples.ts'
import { mayIssue, oidcReferenceOf, oidcReferencePath } from '../index.ts'

const REMEDY =
  "remove 'offline_access': no call needs it, and clients that want refresh tokens ask for it by themselves (SEP-2207)"
const advertising = (...scopes: readonly string[]) => ({
  incomingAuth: { ...oidc, oidcConfigRef: { ...oidc.oidcConfigRef, scopes } },
})

export const refreshScopeNotAdvertised = defineRule({
  id: 'refresh-scope-not-advertised',
  on: [VirtualMCPServer, MCPServer, MCPRemoteProxy],
  needs: ['incomingAuth', 'oidcConfigRef'],
  reads: ['MCPExternalAuthConfig'],
  severity: 'advice',
  summary: '`scopes` of a server has no `offline_access`, but beside an embedded authorization server.',
  why: 'The list says which scopes a call needs, and none needs a refresh token. An authorization server that does not grant it to a client ends the login with `invalid_scope`.',
  sources: ['decision 21'],
  *check(resource, { cluster, self }) {
    const scopes = oidcReferenceOf(resource, self.kind)?.scopes ?? []
    if (!scopes.includes('offline_access') || mayIssue(resource, self, cluster)) return
    for (const [i, scope] of scopes.entries())
      if (scope === 'offline_access') yield advice(oidcReferencePath(self.kind).scopes.at(i), REMEDY)
  },
  examples: {
    'the scopes of calls': { kind: 'VirtualMCPServer', value: server(advertising('openid', 'tools')) },
    'beside an embedded server, whose clients ask for no other scopes': {
      kind: 'VirtualMCPServer',
      value: server({ ...advertising('openid', 'offline_access'), authServerConfig: embedded }),
    },
    'the scope of refresh tokens': {
      kind: 'VirtualMCPServer',
      value: server(advertising('openid', 'offline_access')),
      findings: `spec.incomingAuth.oidcConfigRef.scopes[1]: ${REMEDY}`,
    },
    'the same of a workload': {
      kind: 'MCPServer',
      value: {
        spec: { oidcConfigRef: { name: 'corporate', audience: 'jira', scopes: ['offline_access'] } },
      },
      findings: `spec.oidcConfigRef.scopes[0]: ${REMEDY}`,
    },
    'the same of a proxy': {
      kind: 'MCPRemoteProxy',
      value: {
        spec: { oidcConfigRef: { name: 'corporate', audience: 'jira', scopes: ['offline_access'] } },
      },
      findings: `spec.oidcConfigRef.scopes[0]: ${REMEDY}`,
    },
  },
})
