import {
  about,
  aboutEach,
  advice,
  type Cluster,
  defineRule,
  end,
  type ErrorSubject,
  type FieldError,
  namesText,
  nameText,
  type ObjectName,
  relatedTo,
  says,
  shortQuote,
} from '../../rule/index.ts'
import { MCPRemoteProxy, MCPServer, MCPServerEntry, VirtualMCPServer } from '../../kinds/schemas.ts'
import {
  agreedProvider,
  AUTH_CONFIG,
  authConfigNamed,
  authServer,
  backend,
  configsReached,
  discoverersOf,
  exchangeConfig,
  exchangeConfigWritten,
  firstProvider,
  type Gateway,
  gateway,
  GATEWAY,
  gatewayOf,
  getAuthConfig,
  groupOf,
  inline,
  joiningAs,
  knowsReachers,
  leavesSubjectProvider,
  providersOf,
  REACHED_KINDS,
  sourceOf,
  type Workload,
  WORKLOAD,
} from '../index.ts'

export const subjectProviderChosen = defineRule({
  id: 'subject-provider-chosen',
  on: [VirtualMCPServer, MCPServer, MCPRemoteProxy, MCPServerEntry],
  needs: ['authServerConfig', 'externalAuthConfigRef'],
  reads: ['VirtualMCPServer', ...REACHED_KINDS],
  when: 'change',
  severity: 'warning',
  summary:
    'A token exchange that existed before a VirtualMCPServer reached it says whose token it exchanges.',
  why: 'With source inline the first provider of this VirtualMCPServer decides it. With source discovered, operator releases choose none: until `subjectProviderName` is written, by you or by the mutating webhook when the configuration is applied again, vMCP exchanges the JWT that it issued itself.',
  failure: {
    symptom:
      'the identity provider refuses the token exchange: `invalid_grant`, or an unknown issuer of the subject token',
    reportedBy: 'nobody',
    consequence: 'denies everyone',
    threads: ['stacklok/toolhive#4528', 'stacklok/toolhive#5697'],
  },
  sources: [
    says(
      '2.4.5',
      'An empty subjectProviderName is filled in with the first provider of the VirtualMCPServer.',
    ),
    'decision 25',
  ],
  *check(resource, { cluster, self, old }) {
    if (self.kind !== 'VirtualMCPServer') {
      const found = joining(resource, old(), self, cluster)
      if (found !== undefined) yield found
      return
    }
    const value = resource as Gateway
    const provider = firstProvider(value)
    if (provider === undefined || !knowsReachers(cluster)) return
    const before = old() as Gateway | undefined
    const isKept = before !== undefined && firstProvider(before) === provider
    const kept = new Set(isKept ? configsReached(before, cluster).map(({ config }) => config) : [])
    const { names = [], complete = false } = providersOf(value.spec, 'authServerConfig') ?? {}
    const isDiscovered = sourceOf(value) === 'discovered'
    // The operator fills in the only provider.
    if (!isDiscovered && complete && names.length === 1) return
    const providers = new Set(names)
    const decided = new Map<string, ObjectName>()
    for (const { config, auth: found, at } of configsReached(value, cluster)) {
      // For configurations that the VirtualMCPServer names itself, the operator chooses its first provider.
      if (isDiscovered && at !== undefined) continue
      if (found === undefined || kept.has(config) || !leavesSubjectProvider(found, cluster.group)) continue
      const written = found.spec?.tokenExchange?.subjectProviderName ?? ''
      // The rule written-subject-provider-exists reports a provider that /mutate wrote and that no longer exists.
      if (written === provider || (written !== '' && !providers.has(written))) continue
      if (agreedProvider(config, cluster) === provider) decided.set(config, authConfigNamed(config))
    }
    if (decided.size === 0) return
    const configs = namesText([...decided.values()])
    const detail = isDiscovered
      ? unchosenText(provider, configs)
      : `vMCP exchanges the token of the first provider, ${shortQuote(provider)}; to choose another, set \`subjectProviderName\` in ${configs}`
    const warning = aboutEach(advice(GATEWAY.spec.authServerConfig.upstreamProviders, detail), () =>
      Array.from(decided.keys(), (config) => ['subject-provider-chosen', config, provider] as const),
    )
    yield relatedTo(warning, Array.from(decided.values(), choosesNone), () =>
      Array.from(decided.keys(), unchosenCause),
    )
  },
  examples: {
    'said in the configuration': {
      kind: 'VirtualMCPServer',
      value: gatewayOf({ authServerConfig: authServer('okta') }),
      others: [backend('jira', 'jira'), exchangeConfig('jira', 'okta')],
    },
    'written there already': {
      kind: 'VirtualMCPServer',
      value: gatewayOf({ authServerConfig: authServer('okta') }),
      others: [backend('jira', 'jira'), exchangeConfigWritten('jira', 'okta')],
    },
    'one that is gone was written: the configuration keeps it until it is written again': {
      kind: 'VirtualMCPServer',
      value: gatewayOf({ authServerConfig: authServer('okta') }),
      old: gatewayOf({ authServerConfig: authServer('github') }),
      others: [backend('jira', 'jira'), exchangeConfigWritten('jira', 'github')],
    },
    'named inline, and there is no other provider': {
      kind: 'VirtualMCPServer',
      value: gatewayOf({ authServerConfig: authServer('okta'), outgoingAuth: inline({ jira: 'jira' }) }),
      others: [backend('jira'), exchangeConfig('jira')],
    },
    'an update that keeps the first provider': {
      kind: 'VirtualMCPServer',
      value: gatewayOf({ authServerConfig: authServer('okta', 'github') }),
      old: gatewayOf({ authServerConfig: authServer('okta') }),
      others: [backend('jira', 'jira'), exchangeConfig('jira')],
    },
    'another VirtualMCPServer has no provider, and so does not agree': {
      kind: 'VirtualMCPServer',
      value: gatewayOf({ authServerConfig: authServer('okta') }),
      others: [
        backend('jira', 'jira'),
        exchangeConfig('jira'),
        gateway('other', { authServerConfig: authServer() }),
      ],
    },
    'another VirtualMCPServer has a source that nobody can read': {
      kind: 'VirtualMCPServer',
      value: gatewayOf({ authServerConfig: authServer('okta') }),
      others: [
        backend('jira', 'jira'),
        exchangeConfig('jira'),
        gateway('other', {
          authServerConfig: authServer('okta'),
          outgoingAuth: { source: 'mixed' as never },
        }),
      ],
    },
    'a backend that joins, with a provider in the configuration': {
      kind: 'MCPServer',
      value: joiningAs('jira'),
      others: [gateway('vmcp', { authServerConfig: authServer('okta') }), exchangeConfig('jira', 'okta')],
    },
    'a backend that joined before': {
      kind: 'MCPRemoteProxy',
      value: joiningAs('jira'),
      old: joiningAs('jira'),
      others: [gateway('vmcp', { authServerConfig: authServer('okta') }), exchangeConfig('jira')],
    },
    'a backend that joins a VirtualMCPServer without logins': {
      kind: 'MCPServerEntry',
      value: joiningAs('jira'),
      others: [gateway('vmcp'), exchangeConfig('jira')],
    },
    'named inline: the first of two is meant, unless the configuration says otherwise': {
      kind: 'VirtualMCPServer',
      value: gatewayOf({
        authServerConfig: authServer('okta', 'github'),
        outgoingAuth: inline({ jira: 'jira' }),
      }),
      others: [backend('jira'), exchangeConfig('jira')],
      findings:
        'spec.authServerConfig.upstreamProviders: vMCP exchanges the token of the first provider, "okta"; to choose another, set `subjectProviderName` in MCPExternalAuthConfig "jira"',
    },
    'the configuration came first': {
      kind: 'VirtualMCPServer',
      value: gatewayOf({ authServerConfig: authServer('okta') }),
      others: [backend('jira', 'jira'), exchangeConfig('jira')],
      findings:
        'spec.authServerConfig.upstreamProviders: set `subjectProviderName`, such as "okta", in MCPExternalAuthConfig "jira": until then vMCP exchanges its own JWT, which identity providers refuse',
    },
    'an update by which it is reached': {
      kind: 'VirtualMCPServer',
      value: gatewayOf({ authServerConfig: authServer('okta') }),
      old: gatewayOf({ authServerConfig: authServer('okta'), groupRef: { name: 'others' } }),
      others: [backend('jira', 'jira'), exchangeConfig('jira')],
      findings:
        'spec.authServerConfig.upstreamProviders: set `subjectProviderName`, such as "okta", in MCPExternalAuthConfig "jira": until then vMCP exchanges its own JWT, which identity providers refuse',
    },
    'a record of what is not there any more': {
      kind: 'VirtualMCPServer',
      value: gatewayOf({ authServerConfig: authServer('okta') }),
      others: [
        backend('jira', 'jira'),
        { ...exchangeConfigWritten('jira', 'github'), spec: exchangeConfig('jira').spec },
      ],
      findings:
        'spec.authServerConfig.upstreamProviders: set `subjectProviderName`, such as "okta", in MCPExternalAuthConfig "jira": until then vMCP exchanges its own JWT, which identity providers refuse',
    },
    'another VirtualMCPServer with the same first provider, whatever the second is': {
      kind: 'VirtualMCPServer',
      value: gatewayOf({ authServerConfig: authServer('okta') }),
      others: [
        backend('jira', 'jira'),
        exchangeConfig('jira'),
        gateway('other', { authServerConfig: authServer('okta', '') }),
      ],
      findings:
        'spec.authServerConfig.upstreamProviders: set `subjectProviderName`, such as "okta", in MCPExternalAuthConfig "jira": until then vMCP exchanges its own JWT, which identity providers refuse',
    },
    'another one comes first': {
      kind: 'VirtualMCPServer',
      value: gatewayOf({ authServerConfig: authServer('github', 'okta') }),
      old: gatewayOf({ authServerConfig: authServer('okta', 'github') }),
      others: [backend('jira', 'jira'), exchangeConfigWritten('jira', 'okta')],
      findings:
        'spec.authServerConfig.upstreamProviders: set `subjectProviderName`, such as "github", in MCPExternalAuthConfig "jira": until then vMCP exchanges its own JWT, which identity providers refuse',
    },
    'a backend that joins later': {
      kind: 'MCPServerEntry',
      value: joiningAs('jira'),
      others: [gateway('vmcp', { authServerConfig: authServer('okta') }), exchangeConfig('jira')],
      findings:
        'spec.externalAuthConfigRef.name: set `subjectProviderName`, such as "okta", in MCPExternalAuthConfig "jira": until then VirtualMCPServer "vmcp" exchanges its own JWT, which identity providers refuse',
    },
  },
})

/** Advice about the first VirtualMCPServer that discovers the workload and exchanges its own token for it. */
function joining(
  workload: Workload,
  before: Workload | undefined,
  { name }: ObjectName,
  cluster: Cluster,
): FieldError | undefined {
  const config = configOf(workload)
  const auth = config === undefined ? undefined : getAuthConfig(cluster, config)
  if (config === undefined || auth === undefined || !leavesSubjectProvider(auth, cluster.group))
    return undefined
  // Until the configuration is written again, a provider that /mutate wrote stays.
  if (auth.spec?.tokenExchange?.subjectProviderName) return undefined
  const isKept = before !== undefined && configOf(before) === config && groupOf(before) === groupOf(workload)
  if (isKept) return undefined
  for (const { name: gateway, gateway: found, source } of discoverersOf(name, workload, cluster)) {
    const provider = firstProvider(found)
    if (provider === undefined || source !== 'discovered') continue
    const named = authConfigNamed(config)
    const detail = unchosenText(provider, nameText(named), nameText(gateway))
    return relatedTo(
      about(
        advice(WORKLOAD.spec.externalAuthConfigRef.name, detail),
        'subject-provider-chosen',
        config,
        gateway.name,
      ),
      [
        choosesNone(named),
        end(gateway, GATEWAY.spec.authServerConfig.upstreamProviders, 'has these providers'),
      ],
      () => [unchosenCause(config)],
    )
  }
  return undefined
}

const configOf = ({ spec }: Workload): string | undefined => spec?.externalAuthConfigRef?.name

const unchosenText = (provider: string, config: string, gateway = 'vMCP'): string =>
  `set \`subjectProviderName\`, such as ${shortQuote(provider)}, in ${config}: until then ${gateway} exchanges its own JWT, which identity providers refuse`

const choosesNone = (config: ObjectName) =>
  end(config, AUTH_CONFIG.spec.tokenExchange.subjectProviderName, 'chooses none')

/** Identifies, for grouping errors, the cause that an MCPExternalAuthConfig chooses no subject provider. */
const unchosenCause = (config: string): ErrorSubject => ['no subject provider', config]
