import {
  advice,
  type Cluster,
  defineRule,
  isAbsent,
  isInsideCluster,
  type ObjectName,
  parseUrl,
} from '../../../rule/index.ts'
import { authServer, gateway, getGateway, getWorkload } from '../../../relations/index.ts'
import { issuing } from '../examples.ts'
import { MCPOIDCConfig } from '../schema.ts'

const WORKLOADS = ['MCPServer', 'MCPRemoteProxy']
/** The port of a VirtualMCPServer, which knows the keys of its own authorization server and does not fetch them. */
const GATEWAY_PORT = '4483'
const INSIDE =
  'is at a private address, where no keys are fetched, so every token is refused; set `jwksAllowPrivateIP: true` beside it'

export const oidcConfigAddressAllowed = defineRule({
  id: 'oidc-config-address-allowed',
  on: MCPOIDCConfig,
  reads: ['VirtualMCPServer', ...WORKLOADS],
  severity: 'warning',
  summary:
    'An issuer at a private address or inside the cluster has `jwksAllowPrivateIP: true`, unless tokens of an embedded authorization server are validated.',
  why: 'Keys are fetched from public addresses only, with the first token. A VirtualMCPServer validates the tokens of its own authorization server with keys that it has.',
  failure: {
    symptom:
      'every request gets 401; the log says "the provided URL redirects to a private IP address, which is not allowed"',
    reportedBy: 'nobody',
    consequence: 'denies everyone',
    threads: ['stacklok/toolhive#4523'],
  },
  sources: [{ section: '2.3', says: 'jwksAllowPrivateIP exists on the OIDC configuration.' }, 'decision 21'],
  *check({ spec }, { path, cluster, self }) {
    const inline = spec?.inline
    if (spec === undefined || inline === undefined || mayAllow(spec) || mayAllow(inline)) return
    const field = isAbsent(inline, 'jwksUrl') || inline.jwksUrl === '' ? 'issuer' : 'jwksUrl'
    const url = parseUrl(inline[field] ?? '')
    if (url === undefined || url.port === GATEWAY_PORT || !isInsideCluster(url.host)) return
    const referrers = cluster.referrers(self.kind, self.name, ['VirtualMCPServer', ...WORKLOADS])
    if (!referrers.some((referrer) => mayHaveAuthServer(referrer, cluster)))
      yield advice(path.spec.inline[field], INSIDE)
  },
  examples: {
    valid: [
      { title: 'a public issuer', value: issuing('https://idp.example.com') },
      {
        title: 'an issuer in the cluster, allowed',
        value: issuing('https://keycloak.auth.svc/realms/prod', { jwksAllowPrivateIP: true }),
      },
      {
        title: 'the issuer of an embedded authorization server',
        value: issuing('https://tools.default.svc.cluster.local'),
        others: [
          gateway('tools', {
            authServerConfig: authServer('okta'),
            incomingAuth: { type: 'oidc', oidcConfigRef: { name: 'example' }, audience: 'tools' },
          }),
        ],
      },
    ],
    invalid: [
      {
        title: 'an issuer in the cluster',
        value: issuing('https://keycloak.auth.svc.cluster.local/realms/prod'),
        findings: [`spec.inline.issuer: ${INSIDE}`],
      },
      {
        title: 'keys at an address',
        value: issuing('https://idp.example.com', { jwksUrl: 'https://10.0.0.7/jwks' }),
        findings: [`spec.inline.jwksUrl: ${INSIDE}`],
      },
    ],
  },
})

/**
 * Whether a resource that refers to the MCPOIDCConfig has an embedded authorization server; true for a workload with a
 * field that may name such a server.
 */
function mayHaveAuthServer(referrer: ObjectName, cluster: Cluster): boolean {
  if (referrer.kind === 'VirtualMCPServer') {
    const spec = getGateway(cluster, referrer.name)?.spec
    return spec !== undefined && !isAbsent(spec, 'authServerConfig')
  }
  const spec = getWorkload(cluster, referrer)?.spec
  return spec !== undefined && !(isAbsent(spec, 'authServerRef') && isAbsent(spec, 'externalAuthConfigRef'))
}

interface Allowing {
  readonly jwksAllowPrivateIP?: boolean | undefined
  readonly protectedResourceAllowPrivateIP?: boolean | undefined
}

/** Whether requests to private addresses may be allowed: a setting is true, or has a wrong JSON type. */
const mayAllow = (holder: Allowing): boolean =>
  (['jwksAllowPrivateIP', 'protectedResourceAllowPrivateIP'] as const).some(
    (field) => !isAbsent(holder, field) && holder[field] !== false,
  )
