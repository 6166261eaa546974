import {
  authServer,
  backend,
  bearerConfig,
  exchangeConfig,
  gateway,
  group,
  headerConfig,
  injectConfig,
  inline,
  oidcConfig,
  otherOf,
  serverConfig,
  workload,
} from '../../src/relations/examples.ts'
import type { Other } from '../../src/rule/rule.ts'

/** A workload without a group, which accepts the tokens of the authorization server to which it refers. */
const alone = (name: string, config: string, kind = 'MCPServer'): Other =>
  otherOf(kind, name, { ...workload(config).spec, oidcConfigRef: { name: 'corporate' } })

/** Resources of all kinds that are consistent with each other. */
export const TOOLS: readonly Other[] = [
  group(),
  oidcConfig('corporate'),
  injectConfig('jira', 'okta'),
  backend('jira', 'jira'),
  exchangeConfig('wiki', 'github'),
  backend('wiki', 'wiki', 'MCPRemoteProxy'),
  exchangeConfig('docs'),
  backend('docs', 'docs', 'MCPServerEntry'),
  headerConfig('key'),
  serverConfig('build', 'okta'),
  alone('build', 'build'),
  gateway('tools', { authServerConfig: authServer('okta', 'github') }),
  gateway('inline', {
    authServerConfig: authServer('okta'),
    outgoingAuth: inline({ jira: 'jira', wiki: 'key' }, 'docs'),
  }),
]

/**
 * A commit that changes both ends of a reference: the states before and after it are consistent, intermediate ones are
 * not.
 */
export interface Change {
  readonly title: string
  readonly from: readonly Other[]
  readonly to: readonly Other[]
  /** By tool: the object whose refusal stops it at every attempt. */
  readonly stuck?: Readonly<Record<string, string>>
  /** The content of an intermediate commit with which no tool gets stuck. */
  readonly first?: readonly Other[]
}

const CLUSTER_TOKENS: Other = otherOf('MCPOIDCConfig', 'corporate', {
  type: 'kubernetesServiceAccount',
  kubernetesServiceAccount: {},
})

const issuing = (issuer: string) => gateway('tools', { authServerConfig: { ...authServer('okta'), issuer } })
const providing = (...names: readonly string[]) =>
  gateway('tools', { authServerConfig: authServer(...names) })

/** Flux applies the configuration first. It is refused as long as a workload refers to it, and Flux stops there. */
const ONE_PROVIDER_FIRST = { flux: 'MCPExternalAuthConfig/auth' }

export const CHANGES: readonly Change[] = [
  {
    title: 'an upstream provider is renamed that a backend injects',
    from: [backend('jira', 'jira'), injectConfig('jira', 'okta'), providing('okta')],
    to: [backend('jira', 'jira'), injectConfig('jira', 'corporate'), providing('corporate')],
  },
  {
    title: 'an upstream provider is renamed that is named inline',
    from: [
      injectConfig('jira', 'okta'),
      gateway('tools', { authServerConfig: authServer('okta'), outgoingAuth: inline({ jira: 'jira' }) }),
    ],
    to: [
      injectConfig('jira', 'corporate'),
      gateway('tools', { authServerConfig: authServer('corporate'), outgoingAuth: inline({ jira: 'jira' }) }),
    ],
  },
  {
    title: 'an upstream provider is renamed whose token is exchanged',
    from: [backend('jira', 'jira'), exchangeConfig('jira', 'okta'), providing('okta')],
    to: [backend('jira', 'jira'), exchangeConfig('jira', 'corporate'), providing('corporate')],
  },
  {
    title: 'the issuer changes',
    from: [oidcConfig('corporate'), issuing('https://auth.example.com')],
    to: [oidcConfig('corporate', 'https://login.example.com'), issuing('https://login.example.com')],
  },
  {
    title: 'an embedded server takes the place of tokens of the cluster',
    from: [CLUSTER_TOKENS, gateway('tools')],
    to: [oidcConfig('corporate'), providing('okta')],
  },
  {
    title: 'tokens of the cluster take the place of an embedded server',
    from: [oidcConfig('corporate'), providing('okta')],
    to: [CLUSTER_TOKENS, gateway('tools')],
  },
  {
    title: 'the embedded server goes, and the reference of the backend',
    from: [backend('jira', 'jira'), injectConfig('jira', 'okta'), providing('okta')],
    to: [backend('jira'), injectConfig('jira', 'okta'), gateway('tools')],
  },
  {
    title: 'the embedded server goes, and the configuration is of another type',
    from: [backend('jira', 'jira'), injectConfig('jira', 'okta'), providing('okta')],
    to: [backend('jira', 'jira'), headerConfig('jira'), gateway('tools')],
  },
  {
    title: 'an embedded server comes with the first configuration that needs it',
    from: [backend('jira', 'jira'), headerConfig('jira'), gateway('tools')],
    to: [backend('jira', 'jira'), injectConfig('jira', 'okta'), providing('okta')],
  },
  {
    title: 'a second provider comes, and the MCPServer goes to another configuration',
    from: [serverConfig('auth', 'okta'), alone('build', 'auth')],
    to: [serverConfig('auth', 'okta', 'github'), serverConfig('own', 'okta'), alone('build', 'own')],
    stuck: ONE_PROVIDER_FIRST,
    first: [serverConfig('auth', 'okta'), serverConfig('own', 'okta'), alone('build', 'own')],
  },
  {
    title: 'a second provider comes, and the MCPRemoteProxy goes to another configuration',
    from: [serverConfig('auth', 'okta'), alone('build', 'auth', 'MCPRemoteProxy')],
    to: [
      serverConfig('auth', 'okta', 'github'),
      bearerConfig('own'),
      alone('build', 'own', 'MCPRemoteProxy'),
    ],
    stuck: ONE_PROVIDER_FIRST,
    first: [serverConfig('auth', 'okta'), bearerConfig('own'), alone('build', 'own', 'MCPRemoteProxy')],
  },
  {
    title: 'the second provider goes, and an MCPServer comes',
    from: [serverConfig('auth', 'okta', 'github'), serverConfig('own', 'okta'), alone('build', 'own')],
    to: [serverConfig('auth', 'okta'), serverConfig('own', 'okta'), alone('build', 'auth')],
  },
  {
    title: 'the embedded server goes, and the backend that needs it is deleted',
    from: [backend('jira', 'jira'), injectConfig('jira', 'okta'), providing('okta')],
    to: [injectConfig('jira', 'okta'), gateway('tools')],
    stuck: {
      kubectl: 'VirtualMCPServer/tools',
      'kubectl-reversed': 'VirtualMCPServer/tools',
      flux: 'VirtualMCPServer/tools',
    },
    first: [injectConfig('jira', 'okta'), providing('okta')],
  },
]

export function shuffled<T>(items: readonly T[], random: () => number): T[] {
  const keyed = items.map((item) => ({ item, key: random() }))
  return keyed.toSorted((a, b) => a.key - b.key).map(({ item }) => item)
}
