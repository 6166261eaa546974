import {
  advice,
  defineRule,
  isAbsent,
  isInsideCluster,
  type ObjectName,
  parseUrl,
  says,
} from '../../../rule/index.ts'
import {
  authServer,
  gateway,
  type Gateway,
  mayIssue,
  otherOf,
  serverConfig,
  stsConfig,
  type Workload,
} from '../../../relations/index.ts'
import { issuing } from '../examples.ts'
import { MCPOIDCConfig } from '../schema.ts'

const USERS = ['VirtualMCPServer', 'MCPServer', 'MCPRemoteProxy']
/** The port of a VirtualMCPServer, which knows the keys of its own authorization server and does not fetch them. */
const GATEWAY_PORT = '4483'
const INSIDE =
  'is at a private address, where no keys are fetched, so every token is refused; set `jwksAllowPrivateIP: true` beside it'

const user = (name: string, settings: object = {}) =>
  otherOf('MCPRemoteProxy', name, { oidcConfigRef: { name: 'example', audience: name }, ...settings })
const proxy = (config: string) => user('proxy', { externalAuthConfigRef: { name: config } })

export const oidcConfigAddressAllowed = defineRule({
  id: 'oidc-config-address-allowed',
  on: MCPOIDCConfig,
  reads: [...USERS, 'MCPExternalAuthConfig'],
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
  sources: [says('2.3', 'jwksAllowPrivateIP exists on the OIDC configuration.'), 'decision 21'],
  *check({ spec }, { path, cluster, self }) {
    const inline = spec?.inline
    if (spec === undefined || inline === undefined || mayAllow(spec) || mayAllow(inline)) return
    const field = isAbsent(inline, 'jwksUrl') || inline.jwksUrl === '' ? 'issuer' : 'jwksUrl'
    const url = parseUrl(inline[field] ?? '')
    if (url === undefined || url.port === GATEWAY_PORT || !isInsideCluster(url.host)) return
    const users = cluster.referrers(self.kind, self.name, USERS)
    const fetchesKeys = (user: ObjectName) =>
      !mayIssue((cluster.get(user.kind, user.name) ?? {}) as Gateway | Workload, user, cluster)
    if (users.length === 0 || users.some(fetchesKeys)) yield advice(path.spec.inline[field], INSIDE)
  },
  examples: {
    'a public issuer': { value: issuing('https://idp.example.com') },
    'an issuer in the cluster, allowed': {
      value: issuing('https://keycloak.auth.svc/realms/prod', { jwksAllowPrivateIP: true }),
    },
    'the issuer of an embedded authorization server': {
      value: issuing('https://tools.default.svc.cluster.local'),
      others: [
        gateway('tools', {
          authServerConfig: authServer('okta'),
          incomingAuth: { type: 'oidc', oidcConfigRef: { name: 'example' }, audience: 'tools' },
        }),
      ],
    },
    'the issuer of the embedded authorization server of a proxy': {
      value: issuing('https://tools.default.svc.cluster.local'),
      others: [proxy('auth'), serverConfig('auth', 'okta')],
    },
    'an issuer in the cluster': {
      value: issuing('https://keycloak.auth.svc.cluster.local/realms/prod'),
      findings: `spec.inline.issuer: ${INSIDE}`,
    },
    'a user that signs requests to AWS, and issues no tokens': {
      value: issuing('https://keycloak.auth.svc/realms/prod'),
      others: [proxy('aws'), stsConfig('aws')],
      findings: `spec.inline.issuer: ${INSIDE}`,
    },
    'a user that fetches keys, beside one that has them': {
      value: issuing('https://tools.default.svc.cluster.local'),
      others: [proxy('auth'), serverConfig('auth', 'okta'), user('other')],
      findings: `spec.inline.issuer: ${INSIDE}`,
    },
    'keys at an address': {
      value: issuing('https://idp.example.com', { jwksUrl: 'https://10.0.0.7/jwks' }),
      findings: `spec.inline.jwksUrl: ${INSIDE}`,
    },
  },
})

interface Allowing {
  readonly jwksAllowPrivateIP?: boolean | undefined
  readonly protectedResourceAllowPrivateIP?: boolean | undefined
}

/** Whether requests to private addresses may be allowed: a setting is true, or has a wrong JSON type. */
const mayAllow = (holder: Allowing): boolean =>
  (['jwksAllowPrivateIP', 'protectedResourceAllowPrivateIP'] as const).some(
    (field) => !isAbsent(holder, field) && holder[field] !== false,
  )
