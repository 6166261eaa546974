import {
  about,
  advice,
  defineRule,
  end,
  namesText,
  nameText,
  relatedTo,
  says,
  type ErrorSubject,
} from '../../rule/index.ts'
import {
  MCPExternalAuthConfig,
  MCPRemoteProxy,
  MCPServer,
  MCPServerEntry,
  VirtualMCPServer,
} from '../../kinds/schemas.ts'
import {
  AUTH_CONFIG,
  type AuthConfig,
  authConfigNamed,
  backend,
  configsReached,
  discoverersOf,
  exchangeConfig,
  exchangesCallerToken,
  gateway,
  type Gateway,
  GATEWAY,
  gatewayOf,
  getAuthConfig,
  headerConfig,
  inline,
  isWithoutTokens,
  joiningAs,
  REACHED_KINDS,
  reachersOf,
  stsConfig,
  type Workload,
  WORKLOAD,
} from '../index.ts'

const FAILS = 'every call fails: "identity has no token"'
const anonymous = { incomingAuth: { type: 'anonymous' as const } }
const exchanging = {
  spec: {
    type: 'tokenExchange' as const,
    tokenExchange: { tokenUrl: 'https://idp.example.com/token', audience: 'jira' },
  },
}
const causeOf = (config: string): ErrorSubject => ['no token to exchange', config]

export const exchangedTokenBrought = defineRule({
  id: 'exchanged-token-brought',
  on: [VirtualMCPServer, MCPExternalAuthConfig, MCPServer, MCPRemoteProxy, MCPServerEntry],
  needs: ['incomingAuth', 'tokenExchange', 'awsSts', 'externalAuthConfigRef'],
  reads: ['VirtualMCPServer', ...REACHED_KINDS],
  severity: 'warning',
  summary:
    'Callers of a VirtualMCPServer bring the token that a token exchange or AWS STS exchanges for its backends.',
  why: 'With `anonymous` and without an authorization server callers have no token: the VirtualMCPServer is ready, lists the tools, and each call to such a backend fails.',
  failure: {
    symptom: 'the gateway is ready and lists the tools, and every call ends with `identity has no token`',
    reportedBy: 'nobody',
    consequence: 'denies everyone',
  },
  sources: [
    says('5.1', 'anonymous: no authentication.'),
    says('5.2', 'tokenExchange exchanges a token for the caller.'),
    'decision 3',
  ],
  *check(resource, { cluster, self }) {
    if (self.kind === 'VirtualMCPServer') {
      if (!isWithoutTokens(resource as Gateway)) return
      const configs = configsReached(resource as Gateway, cluster).flatMap(({ config, auth }) =>
        exchangesCallerToken(auth) ? [config] : [],
      )
      const named = Array.from(new Set(configs), authConfigNamed)
      if (named.length === 0) return
      const detail = `callers bring no token that ${namesText(named, 1)} can exchange: ${FAILS}; set 'oidc', or another type`
      yield relatedTo(
        advice(GATEWAY.spec.incomingAuth.type, detail),
        named.slice(0, 4).map((each) => end(each, AUTH_CONFIG.spec.type, 'exchanges the token')),
        () => configs.map(causeOf),
      )
      return
    }
    const isConfig = self.kind === 'MCPExternalAuthConfig'
    const config = isConfig ? self.name : (resource as Workload).spec?.externalAuthConfigRef?.name
    if (config === undefined) return
    if (!exchangesCallerToken(isConfig ? (resource as AuthConfig) : getAuthConfig(cluster, config))) return
    const gateways = isConfig
      ? reachersOf(config, cluster)
      : discoverersOf(self.name, resource as Workload, cluster)
    const found = gateways.find(({ gateway }) => isWithoutTokens(gateway))
    if (found === undefined) return
    const open = `${nameText(found.name)} is anonymous: ${FAILS}; set type oidc there`
    const error = isConfig
      ? advice(AUTH_CONFIG.spec.type, `exchanges the token of the caller, and ${open}, or use another type`)
      : advice(
          WORKLOAD.spec.externalAuthConfigRef.name,
          `${nameText(authConfigNamed(config))} exchanges the token of the caller, and ${open}`,
        )
    yield relatedTo(
      about(error, 'exchanged-token-brought', config, found.name.name),
      [end(found.name, GATEWAY.spec.incomingAuth.type, 'is anonymous')],
      () => [causeOf(config)],
    )
  },
  examples: {
    'callers log in elsewhere': {
      kind: 'VirtualMCPServer',
      value: gatewayOf(),
      others: [backend('jira', 'jira'), exchangeConfig('jira')],
    },
    'an anonymous VirtualMCPServer with a key of its own': {
      kind: 'VirtualMCPServer',
      value: gatewayOf(anonymous),
      others: [backend('jira', 'key'), headerConfig('key')],
    },
    'an anonymous VirtualMCPServer that lists another configuration': {
      kind: 'MCPServer',
      value: joiningAs('jira'),
      others: [
        gateway('vmcp', { ...anonymous, outgoingAuth: inline({ example: 'key' }) }),
        headerConfig('key'),
        exchangeConfig('jira'),
      ],
    },
    'a token exchange and a role of AWS': {
      kind: 'VirtualMCPServer',
      value: gatewayOf(anonymous),
      others: [
        backend('jira', 'jira'),
        exchangeConfig('jira'),
        backend('aws', 'aws', 'MCPServerEntry'),
        stsConfig('aws'),
      ],
      findings: `spec.incomingAuth.type: callers bring no token that MCPExternalAuthConfig "jira" and MCPExternalAuthConfig "aws" can exchange: ${FAILS}; set 'oidc', or another type`,
    },
    'a backend that joins later': {
      kind: 'MCPServerEntry',
      value: joiningAs('jira'),
      others: [gateway('vmcp', anonymous), exchangeConfig('jira')],
      findings: `spec.externalAuthConfigRef.name: MCPExternalAuthConfig "jira" exchanges the token of the caller, and VirtualMCPServer "vmcp" is anonymous: ${FAILS}; set type oidc there`,
    },
    'a proxy that joins later': {
      kind: 'MCPRemoteProxy',
      value: { spec: { ...joiningAs('aws').spec, oidcConfigRef: { name: 'corporate', audience: 'aws' } } },
      others: [gateway('vmcp', anonymous), stsConfig('aws')],
      findings: `spec.externalAuthConfigRef.name: MCPExternalAuthConfig "aws" exchanges the token of the caller, and VirtualMCPServer "vmcp" is anonymous: ${FAILS}; set type oidc there`,
    },
    'the configuration comes later': {
      kind: 'MCPExternalAuthConfig',
      value: exchanging,
      others: [gateway('vmcp', anonymous), backend('jira', 'example', 'MCPServerEntry')],
      findings: `spec.type: exchanges the token of the caller, and VirtualMCPServer "vmcp" is anonymous: ${FAILS}; set type oidc there, or use another type`,
    },
  },
})
