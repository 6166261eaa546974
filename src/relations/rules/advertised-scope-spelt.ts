import { advice, defineRule, pathTo } from '../../rule/index.ts'
import { MCPRemoteProxy, MCPServer, VirtualMCPServer } from '../../kinds/schemas.ts'
import { scopeSlips } from '../../kinds/scope-slips.ts'
import { oidc, server } from '../../kinds/virtual-mcp-server/examples.ts'
import { serving } from '../index.ts'

const REFUSED = 'and clients ask for it, so logins are refused with invalid_scope'

export const advertisedScopeSpelt = defineRule({
  id: 'advertised-scope-spelt',
  on: [VirtualMCPServer, MCPServer, MCPRemoteProxy],
  needs: ['incomingAuth', 'oidcConfigRef'],
  severity: 'warning',
  summary:
    'The scopes that are advertised to clients are not empty, and those of OpenID Connect are spelt as there.',
  why: 'MCP clients ask for the scopes that the protected resource metadata (RFC 9728) advertise. An authorization server answers one that it does not know with `invalid_scope`.',
  failure: {
    symptom: 'the login of every client ends with `invalid_scope`',
    reportedBy: 'nobody',
    consequence: 'denies everyone',
  },
  sources: ['decision 3', 'decision 21'],
  *check({ spec }, { self }) {
    const isGateway = self.kind === 'VirtualMCPServer'
    const { incomingAuth, oidcConfigRef } = (spec ?? {}) as Advertising
    const scopes = (isGateway ? incomingAuth?.oidcConfigRef : oidcConfigRef)?.scopes
    const at = [...(isGateway ? ['spec', 'incomingAuth'] : ['spec']), 'oidcConfigRef', 'scopes']
    for (const [i, problem] of scopeSlips(scopes, REFUSED)) yield advice(pathTo([...at, i]), problem)
  },
  examples: {
    'scopes of OpenID Connect beside one of an own server': {
      kind: 'VirtualMCPServer',
      value: advertising(['openid', 'offline_access', 'mcp:tools']),
    },
    'scopes at a proxy': {
      kind: 'MCPRemoteProxy',
      value: serving({
        name: 'corporate',
        audience: 'jira',
        scopes: ['openid', 'profile', 'tickets:read'],
      }),
    },
    'scopes by default': { kind: 'VirtualMCPServer', value: server({ incomingAuth: oidc }) },
    'letters that are swapped, at a gateway': {
      kind: 'VirtualMCPServer',
      value: advertising(['opeind']),
      findings: `spec.incomingAuth.oidcConfigRef.scopes[0]: "opeind" is not a scope of OpenID Connect, ${REFUSED}; did you mean 'openid'`,
    },
    'a word without its underscore, at a workload': {
      kind: 'MCPServer',
      value: serving({ name: 'corporate', audience: 'jira', scopes: ['openid', 'offlineaccess'] }),
      findings: `spec.oidcConfigRef.scopes[1]: "offlineaccess" is not a scope of OpenID Connect, ${REFUSED}; did you mean 'offline_access'`,
    },
  },
})

interface Advertising {
  readonly incomingAuth?: { readonly oidcConfigRef?: { readonly scopes?: readonly string[] } }
  readonly oidcConfigRef?: { readonly scopes?: readonly string[] }
}

function advertising(scopes: readonly string[]) {
  return server({ incomingAuth: { ...oidc, oidcConfigRef: { ...oidc.oidcConfigRef, scopes } } })
}
