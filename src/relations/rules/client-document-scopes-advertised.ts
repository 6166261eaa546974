import { advice, defineRule, namesText, relatedTo } from '../../rule/index.ts'
import { DEFAULT_SCOPES } from '../../kinds/embedded-auth-server/advertised-scopes.ts'
import { MCPExternalAuthConfig, MCPRemoteProxy, MCPServer, VirtualMCPServer } from '../../kinds/schemas.ts'
import { embedded, oidc, server } from '../../kinds/virtual-mcp-server/examples.ts'
import {
  AUTH_CONFIG,
  authServer,
  configWith,
  type Gateway,
  type HeldIssuing,
  issuingBeside,
  issuingHere,
  ofHolders,
  servedBy,
  serverEnd,
  serving,
  SINGLE_PROVIDER_KINDS,
  type Workload,
  WORKLOAD,
} from '../index.ts'

const ID = 'client-document-scopes-advertised'

const advertising = (enabled: boolean, ...scopes: readonly string[]) =>
  server({
    incomingAuth: { ...oidc, oidcConfigRef: { ...oidc.oidcConfigRef, scopes } },
    authServerConfig: { ...embedded, cimd: { enabled } },
  })

/** A proxy that advertises these scopes of the server `example`. */
const withScopes = (...scopes: readonly string[]) =>
  servedBy('example', serving({ scopes: [...scopes] }).spec)

export const clientDocumentScopesAdvertised = defineRule({
  id: ID,
  on: [VirtualMCPServer, MCPServer, MCPRemoteProxy, MCPExternalAuthConfig],
  needs: ['authServerConfig', 'oidcConfigRef', 'embeddedAuthServer'],
  reads: ['MCPExternalAuthConfig', ...SINGLE_PROVIDER_KINDS],
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
    if (self.kind === 'MCPExternalAuthConfig') {
      const held = Map.groupBy(issuingHere(resource, self, cluster), missingIn)
      for (const [missing, lacking] of held) {
        if (missing === '') continue
        const holders = lacking.map(({ holder }) => holder)
        const detail = `add ${missing} to oidcConfigRef.scopes of ${namesText(holders, 2)}: up to release 0.46 clients whose document names no scope are refused`
        yield ofHolders(advice(AUTH_CONFIG.spec.embeddedAuthServer.cimd.enabled, detail), {
          holders,
          at: WORKLOAD.spec.oidcConfigRef.scopes,
          text: `lacks ${missing}`,
          cause: [ID, self.name],
        })
      }
      return
    }
    for (const issuing of issuingBeside(resource as Gateway | Workload, self, cluster)) {
      const missing = missingIn(issuing)
      if (missing !== '')
        yield relatedTo(
          advice(
            issuing.at.scopes,
            `add ${missing}: up to release 0.46 clients whose metadata document names no scope are refused`,
          ),
          [serverEnd(issuing, self, 'enables `cimd`')],
          () => (issuing.to === undefined ? [] : [[ID, issuing.to.name]]),
        )
    }
  },
  examples: {
    'all four and more': {
      kind: 'VirtualMCPServer',
      value: advertising(true, 'openid', 'profile', 'email', 'offline_access', 'tools'),
    },
    'no documents of clients of a server': { kind: 'MCPServer', value: serving({ scopes: ['openid'] }) },
    'no documents of clients of a proxy': {
      kind: 'MCPExternalAuthConfig',
      value: { spec: { type: 'embeddedAuthServer', embeddedAuthServer: authServer('okta') } },
      others: [withScopes('openid')],
    },
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
    'the documents of clients of a proxy come later': {
      kind: 'MCPExternalAuthConfig',
      value: {
        spec: {
          type: 'embeddedAuthServer',
          embeddedAuthServer: { ...authServer('okta'), cimd: { enabled: true } },
        },
      },
      others: [withScopes('openid', 'offline_access')],
      findings:
        'spec.embeddedAuthServer.cimd.enabled: add profile, email to oidcConfigRef.scopes of MCPRemoteProxy "wiki": up to release 0.46 clients whose document names no scope are refused',
    },
  },
})

/** The scopes that clients without a scope of their own get, and that are not advertised; empty for none. */
function missingIn({ server, scopes }: Pick<HeldIssuing, 'server' | 'scopes'>): string {
  if (scopes === undefined || server.cimd?.enabled !== true) return ''
  return DEFAULT_SCOPES.filter((scope) => !scopes.includes(scope)).join(', ')
}
