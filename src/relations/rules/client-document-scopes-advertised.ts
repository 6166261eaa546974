import { advice, defineRule, relatedTo } from '../../rule/index.ts'
import { DEFAULT_SCOPES } from '../../kinds/embedded-auth-server/advertised-scopes.ts'
import { MCPRemoteProxy, MCPServer, VirtualMCPServer } from '../../kinds/schemas.ts'
import { embedded, oidc, server } from '../../kinds/virtual-mcp-server/examples.ts'
import { authServer, configWith, issuingBeside, serverEnd, serving } from '../index.ts'

const advertising = (enabled: boolean, ...scopes: readonly string[]) =>
  server({
    incomingAuth: { ...oidc, oidcConfigRef: { ...oidc.oidcConfigRef, scopes } },
    authServerConfig: { ...embedded, cimd: { enabled } },
  })

export const clientDocumentScopesAdvertised = defineRule({
  id: 'client-document-scopes-advertised',
  on: [VirtualMCPServer, MCPServer, MCPRemoteProxy],
  reads: ['MCPExternalAuthConfig'],
  appliesTo: { to: '0.46' },
  severity: 'warning',
  summary: 'Where `cimd` is enabled, openid, profile, email and offline_access are advertised.',
  why: 'Up to release 0.46 a client whose metadata document names no scope gets these four, and is refused when one of them is not advertised. Later releases give it those that are.',
  failure: {
    symptom:
      'the authorization endpoint says that the client does not exist, for a client identifier that is a URL',
    reportedBy: 'nobody',
    consequence: 'denies everyone',
    releases: '0.29 to 0.46',
    threads: ['stacklok/toolhive#6186'],
  },
  sources: ['decision 3', 'decision 21'],
  *check(resource, { cluster, self }) {
    for (const issuing of issuingBeside(resource, self, cluster)) {
      const { server, scopes, at } = issuing
      if (scopes === undefined || server.cimd?.enabled !== true) continue
      const missing = DEFAULT_SCOPES.filter((scope) => !scopes.includes(scope))
      if (missing.length > 0)
        yield relatedTo(
          advice(
            at.scopes,
            `add ${missing.join(', ')}: up to release 0.46 clients whose metadata document names no scope are refused`,
          ),
          [serverEnd(issuing, self, 'enables `cimd`')],
        )
    }
  },
  examples: {
    'all four and more': {
      kind: 'VirtualMCPServer',
      value: advertising(true, 'openid', 'profile', 'email', 'offline_access', 'tools'),
    },
    'no documents of clients of a server': { kind: 'MCPServer', value: serving({ scopes: ['openid'] }) },
    'no documents': { kind: 'VirtualMCPServer', value: advertising(false, 'openid', 'offline_access') },
    'two of the four': {
      kind: 'VirtualMCPServer',
      value: advertising(true, 'openid', 'offline_access'),
      findings:
        'spec.incomingAuth.oidcConfigRef.scopes: add profile, email: up to release 0.46 clients whose metadata document names no scope are refused',
    },
    'three of the four, for a workload': {
      kind: 'MCPRemoteProxy',
      value: serving({ scopes: ['openid', 'profile', 'offline_access'] }),
      others: [configWith('auth', 'embeddedAuthServer', { ...authServer('okta'), cimd: { enabled: true } })],
      findings:
        'spec.oidcConfigRef.scopes: add email: up to release 0.46 clients whose metadata document names no scope are refused',
    },
  },
})
