import { advice, defineRule, namesText, relatedTo } from '../../rule/index.ts'
import { MCPExternalAuthConfig, MCPRemoteProxy, MCPServer, VirtualMCPServer } from '../../kinds/schemas.ts'
import { embedded, oidc, server } from '../../kinds/virtual-mcp-server/examples.ts'
import {
  AUTH_CONFIG,
  authServer,
  type Gateway,
  type HeldIssuing,
  issuingBeside,
  issuingHere,
  ofHolders,
  servedBy,
  serverConfig,
  serverEnd,
  serving,
  SINGLE_PROVIDER_KINDS,
  type Workload,
  WORKLOAD,
} from '../index.ts'

const ID = 'offline-access-advertised'
const EFFECT = 'clients get no refresh token without it, and users log in again when the access token ends'
const MISSING = `add 'offline_access': ${EFFECT}`
const SERVER = { spec: { type: 'embeddedAuthServer' as const, embeddedAuthServer: authServer('okta') } }
const advertising = (...scopes: readonly string[]) =>
  server({
    incomingAuth: { ...oidc, oidcConfigRef: { ...oidc.oidcConfigRef, scopes } },
    authServerConfig: embedded,
  })

export const offlineAccessAdvertised = defineRule({
  id: ID,
  on: [VirtualMCPServer, MCPServer, MCPRemoteProxy, MCPExternalAuthConfig],
  needs: ['authServerConfig', 'oidcConfigRef', 'embeddedAuthServer'],
  reads: ['MCPExternalAuthConfig', ...SINGLE_PROVIDER_KINDS],
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
    if (self.kind === 'MCPExternalAuthConfig') {
      const holders = issuingHere(resource, self, cluster)
        .filter(lacksIt)
        .map(({ holder }) => holder)
      if (holders.length === 0) return
      const detail = `add 'offline_access' to oidcConfigRef.scopes of ${namesText(holders, 2)}: ${EFFECT}`
      yield ofHolders(advice(AUTH_CONFIG.spec.embeddedAuthServer, detail), {
        holders,
        at: WORKLOAD.spec.oidcConfigRef.scopes,
        text: 'lacks `offline_access`',
        cause: [ID, self.name],
      })
      return
    }
    for (const issuing of issuingBeside(resource as Gateway | Workload, self, cluster))
      if (lacksIt(issuing))
        yield relatedTo(
          advice(issuing.at.scopes, MISSING),
          [serverEnd(issuing, self, 'issues the refresh tokens')],
          () => (issuing.to === undefined ? [] : [[ID, issuing.to.name]]),
        )
  },
  examples: {
    'the scope': { kind: 'VirtualMCPServer', value: advertising('openid', 'offline_access') },
    'the scopes by default': { kind: 'VirtualMCPServer', value: server({ authServerConfig: embedded }) },
    'the scope of a proxy': {
      kind: 'MCPExternalAuthConfig',
      value: SERVER,
      others: [servedBy('example', serving({ scopes: ['openid', 'offline_access'] }).spec)],
    },
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
    'a server that comes after its proxy': {
      kind: 'MCPExternalAuthConfig',
      value: SERVER,
      others: [servedBy('example', serving({ scopes: ['openid'] }).spec)],
      findings: `spec.embeddedAuthServer: add 'offline_access' to oidcConfigRef.scopes of MCPRemoteProxy "wiki": ${EFFECT}`,
    },
  },
})

/** Whether an authorization server with logins does not advertise the scope of refresh tokens. */
const lacksIt = ({ server, scopes }: Pick<HeldIssuing, 'server' | 'scopes'>): boolean =>
  scopes !== undefined &&
  (server.upstreamProviders?.length ?? 0) > 0 &&
  !scopes.includes('offline_access') &&
  !scopes.includes('offline')
