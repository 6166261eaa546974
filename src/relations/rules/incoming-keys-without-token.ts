import { advice, compareReleases, defineRule, end, nameText, relatedTo, says } from '../../rule/index.ts'
import { isApiServer, keysHostOf, usesClusterAuth } from '../../kinds/mcp-oidc-config/cluster-keys.ts'
import { issuing } from '../../kinds/mcp-oidc-config/examples.ts'
import { MCPOIDCConfig, VirtualMCPServer } from '../../kinds/schemas.ts'
import {
  authServer,
  gateway,
  GATEWAY,
  gatewayOf,
  OIDC_CONFIG,
  oidcConfig,
  type OidcConfig,
  validationOf,
} from '../index.ts'

/** The first release whose vMCP trusts the CA of the cluster, or of `caBundleRef`, where it fetches keys. */
const TRUSTS_FROM = '0.41'

const NO_TOKEN =
  'releases ask the API server for keys without a token: 401 for all; bind system:service-account-issuer-discovery to system:unauthenticated, or use a public jwksUrl'
const NO_CA =
  'releases up to 0.40 ask the API server for keys without its CA: 401 for all callers; set a public jwksUrl'
const FILE = 'vMCP of releases ignores it and asks for keys without a token; name a jwksUrl that needs none'

const ofCluster = (settings: object) => ({
  spec: { type: 'kubernetesServiceAccount' as const, kubernetesServiceAccount: settings },
})
const corporate = ({ spec }: object & { readonly spec: object }) => ({ ...oidcConfig('corporate'), spec })
const withFile = issuing('https://auth.example.com', { jwksAuthTokenPath: '/var/run/token' })
const fronting = gateway('vmcp', {
  incomingAuth: { type: 'oidc', oidcConfigRef: { name: 'example', audience: 'vmcp' } },
})

/** Whether vMCP needs a token to fetch keys: `file` of `jwksAuthTokenPath`, or `account` at the API server. */
function neededToken({ spec }: OidcConfig): 'file' | 'account' | undefined {
  const { type, inline, kubernetesServiceAccount: account } = spec ?? {}
  if (type === 'inline') return inline?.jwksAuthTokenPath ? 'file' : undefined
  if (type !== 'kubernetesServiceAccount' || account === undefined || usesClusterAuth(account) !== true)
    return undefined
  const keys = keysHostOf(account)
  return keys !== undefined && isApiServer(keys.host) ? 'account' : undefined
}

export const incomingKeysWithoutToken = defineRule({
  id: 'incoming-keys-without-token',
  on: [VirtualMCPServer, MCPOIDCConfig],
  needs: ['incomingAuth', 'kubernetesServiceAccount', 'inline'],
  reads: ['VirtualMCPServer', 'MCPOIDCConfig'],
  severity: 'warning',
  summary: 'A VirtualMCPServer can fetch the keys of its tokens without a token of its own.',
  why: 'The API server gives its keys to service accounts only, unless the ClusterRole `system:service-account-issuer-discovery` is bound to others. MCPServers and MCPRemoteProxies send the token of their pod; vMCP of releases does not, so it gets 403 and refuses each caller with 401. A public `jwksUrl` needs `useClusterAuth: false` beside it, which leaves the CA of the cluster aside.',
  failure: {
    symptom: 'every request gets 401; the log says `OIDC discovery endpoint returned status 403`',
    reportedBy: 'nobody',
    consequence: 'denies everyone',
    threads: ['stacklok/toolhive#4918'],
  },
  sources: [
    says('2.3', 'kubernetesServiceAccount selects the API server as issuer.'),
    says('5.1', 'kubernetesServiceAccount validates service account tokens.'),
    'decision 3',
  ],
  *check(resource, { cluster, self }) {
    const validation = validationOf(resource, self, cluster)
    if (validation === undefined) return
    const { config, named, gateway } = validation
    const needed = neededToken(config)
    if (needed === undefined) return
    const { spec } = OIDC_CONFIG
    const cause = needed === 'file' ? spec.inline.jwksAuthTokenPath : spec.type
    const isOld = cluster.release !== undefined && compareReleases(cluster.release, TRUSTS_FROM) < 0
    const isGateway = self.kind === 'VirtualMCPServer'
    const detail =
      needed === 'file'
        ? `${isGateway ? `${nameText(named)} has jwksAuthTokenPath: ` : ''}${FILE}`
        : isOld
          ? NO_CA
          : NO_TOKEN
    const reference = GATEWAY.spec.incomingAuth.oidcConfigRef.name
    const [at, other] = isGateway
      ? [reference, end(named, cause, 'says where the keys are')]
      : [cause, end(gateway, reference, 'fetches the keys')]
    yield relatedTo(advice(at, detail), [other], () => [['keys without token', named.name]])
  },
  examples: {
    'keys at a public address': {
      kind: 'VirtualMCPServer',
      value: gatewayOf(),
      others: [
        corporate(
          ofCluster({
            issuer: 'https://oidc.eks.eu-central-1.amazonaws.com/id/0123',
            useClusterAuth: false,
          }),
        ),
      ],
    },
    'a VirtualMCPServer that issues the tokens': {
      kind: 'VirtualMCPServer',
      value: gatewayOf({ authServerConfig: authServer('okta') }),
      others: [corporate(withFile)],
    },
    'the keys of the cluster for a proxy, which sends its token': {
      kind: 'MCPOIDCConfig',
      value: ofCluster({}),
      others: [
        {
          kind: 'MCPRemoteProxy',
          metadata: { name: 'proxy' },
          spec: { oidcConfigRef: { name: 'example', audience: 'proxy' } },
        },
      ],
    },
    'the keys of the cluster': {
      kind: 'VirtualMCPServer',
      value: gatewayOf(),
      others: [corporate(ofCluster({}))],
      findings: `spec.incomingAuth.oidcConfigRef.name: ${NO_TOKEN}`,
    },
    'the MCPOIDCConfig comes later': {
      kind: 'MCPOIDCConfig',
      value: ofCluster({ jwksUrl: 'https://kubernetes.default.svc.cluster.local/openid/v1/jwks' }),
      others: [fronting],
      findings: `spec.type: ${NO_TOKEN}`,
    },
    'a file with a token': {
      kind: 'VirtualMCPServer',
      value: gatewayOf(),
      others: [corporate(withFile)],
      findings: `spec.incomingAuth.oidcConfigRef.name: MCPOIDCConfig "corporate" has jwksAuthTokenPath: ${FILE}`,
    },
    'a file with a token, later': {
      kind: 'MCPOIDCConfig',
      value: withFile,
      others: [fronting],
      findings: `spec.inline.jwksAuthTokenPath: ${FILE}`,
    },
  },
})
