import {
  aboutEach,
  advice,
  defineRule,
  end,
  namesText,
  type ObjectName,
  relatedTo,
  shortQuote,
} from '../../../rule/index.ts'
import {
  agreedProvider,
  AUTH_CONFIG,
  authConfigNamed,
  authServer,
  backend,
  configsReached,
  exchangeConfig,
  exchangeConfigWritten,
  firstProvider,
  gateway,
  gatewayOf,
  inline,
  knowsReachers,
  leavesSubjectProvider,
  providersOf,
  REACHED_KINDS,
  sourceOf,
} from '../../../relations/index.ts'
import { VirtualMCPServer } from '../schema.ts'

export const subjectProviderChosen = defineRule({
  id: 'subject-provider-chosen',
  on: VirtualMCPServer,
  needs: ['authServerConfig'],
  reads: ['VirtualMCPServer', ...REACHED_KINDS],
  severity: 'warning',
  summary: 'A token exchange that existed before its VirtualMCPServer says whose token it exchanges.',
  why: 'With source inline the first provider of this VirtualMCPServer decides it. With source discovered, operator releases choose none: until `subjectProviderName` is written, by you or by the mutating webhook when the configuration is applied again, vMCP exchanges the JWT that it issued itself.',
  failure: {
    symptom:
      'the identity provider refuses the token exchange: `invalid_grant`, or an unknown issuer of the subject token',
    reportedBy: 'nobody',
    consequence: 'denies everyone',
    threads: ['stacklok/toolhive#4528', 'stacklok/toolhive#5697'],
  },
  sources: [
    {
      section: '2.4.5',
      says: 'An empty subjectProviderName is filled in with the first provider of the VirtualMCPServer.',
    },
    'decision 25',
  ],
  *check(value, { path, cluster, old }) {
    const provider = firstProvider(value)
    if (provider === undefined || !knowsReachers(cluster)) return
    const before = old()
    const isKept = before !== undefined && firstProvider(before) === provider
    const kept = new Set(isKept ? configsReached(before, cluster).map(({ config }) => config) : [])
    const providers = new Set(providersOf(value.spec, 'authServerConfig')?.names)
    const decided = new Map<string, ObjectName>()
    const isDiscovered = sourceOf(value) === 'discovered'
    for (const { config, auth: found, at } of configsReached(value, cluster)) {
      // The operator fills in the first provider for what the VirtualMCPServer names itself.
      if (isDiscovered && at !== undefined) continue
      if (found === undefined || kept.has(config) || !leavesSubjectProvider(found, cluster.group)) continue
      const written = found.spec?.tokenExchange?.subjectProviderName ?? ''
      // The rule written-subject-provider-exists reports a provider that /mutate wrote and that no longer exists.
      if (written === provider || (written !== '' && !providers.has(written))) continue
      if (agreedProvider(config, cluster) === provider) decided.set(config, authConfigNamed(config))
    }
    if (decided.size === 0) return
    const names = namesText([...decided.values()])
    const detail = isDiscovered
      ? `set \`subjectProviderName\`, such as ${shortQuote(provider)}, in ${names}: until then vMCP exchanges its own JWT, which identity providers refuse`
      : `vMCP exchanges the token of the first provider, ${shortQuote(provider)}; to choose another, set \`subjectProviderName\` in ${names}`
    const warning = aboutEach(advice(path.spec.authServerConfig.upstreamProviders, detail), () =>
      Array.from(decided.keys(), (config) => ['subject-provider-chosen', config, provider] as const),
    )
    const at = AUTH_CONFIG.spec.tokenExchange.subjectProviderName
    yield relatedTo(
      warning,
      Array.from(decided.values(), (config) => end(config, at, 'chooses none')),
    )
  },
  examples: {
    valid: [
      {
        title: 'said in the configuration',
        value: gatewayOf({ authServerConfig: authServer('okta') }),
        others: [backend('jira', 'jira'), exchangeConfig('jira', 'okta')],
      },
      {
        title: 'written there already',
        value: gatewayOf({ authServerConfig: authServer('okta') }),
        others: [backend('jira', 'jira'), exchangeConfigWritten('jira', 'okta')],
      },
      {
        title: 'one that is gone was written: the configuration keeps it until it is written again',
        value: gatewayOf({ authServerConfig: authServer('okta') }),
        old: gatewayOf({ authServerConfig: authServer('github') }),
        others: [backend('jira', 'jira'), exchangeConfigWritten('jira', 'github')],
      },
      {
        title: 'an update that keeps the first provider',
        value: gatewayOf({ authServerConfig: authServer('okta', 'github') }),
        old: gatewayOf({ authServerConfig: authServer('okta') }),
        others: [backend('jira', 'jira'), exchangeConfig('jira')],
      },
      {
        title: 'another VirtualMCPServer has no provider, and so does not agree',
        value: gatewayOf({ authServerConfig: authServer('okta') }),
        others: [
          backend('jira', 'jira'),
          exchangeConfig('jira'),
          gateway('other', { authServerConfig: authServer() }),
        ],
      },
      {
        title: 'another VirtualMCPServer has a source that nobody can read',
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
    ],
    invalid: [
      {
        title: 'named inline: the first of two is meant, unless the configuration says otherwise',
        value: gatewayOf({
          authServerConfig: authServer('okta', 'github'),
          outgoingAuth: inline({ jira: 'jira' }),
        }),
        others: [backend('jira'), exchangeConfig('jira')],
        findings: [
          'spec.authServerConfig.upstreamProviders: vMCP exchanges the token of the first provider, "okta"; to choose another, set `subjectProviderName` in MCPExternalAuthConfig "jira"',
        ],
      },
      {
        title: 'the configuration came first',
        value: gatewayOf({ authServerConfig: authServer('okta') }),
        others: [backend('jira', 'jira'), exchangeConfig('jira')],
        findings: [
          'spec.authServerConfig.upstreamProviders: set `subjectProviderName`, such as "okta", in MCPExternalAuthConfig "jira": until then vMCP exchanges its own JWT, which identity providers refuse',
        ],
      },
      {
        title: 'an update by which it is reached',
        value: gatewayOf({ authServerConfig: authServer('okta') }),
        old: gatewayOf({ authServerConfig: authServer('okta'), groupRef: { name: 'others' } }),
        others: [backend('jira', 'jira'), exchangeConfig('jira')],
        findings: [
          'spec.authServerConfig.upstreamProviders: set `subjectProviderName`, such as "okta", in MCPExternalAuthConfig "jira": until then vMCP exchanges its own JWT, which identity providers refuse',
        ],
      },
      {
        title: 'a record of what is not there any more',
        value: gatewayOf({ authServerConfig: authServer('okta') }),
        others: [
          backend('jira', 'jira'),
          { ...exchangeConfigWritten('jira', 'github'), spec: exchangeConfig('jira').spec },
        ],
        findings: [
          'spec.authServerConfig.upstreamProviders: set `subjectProviderName`, such as "okta", in MCPExternalAuthConfig "jira": until then vMCP exchanges its own JWT, which identity providers refuse',
        ],
      },
      {
        title: 'another VirtualMCPServer with the same first provider, whatever the second is',
        value: gatewayOf({ authServerConfig: authServer('okta') }),
        others: [
          backend('jira', 'jira'),
          exchangeConfig('jira'),
          gateway('other', { authServerConfig: authServer('okta', '') }),
        ],
        findings: [
          'spec.authServerConfig.upstreamProviders: set `subjectProviderName`, such as "okta", in MCPExternalAuthConfig "jira": until then vMCP exchanges its own JWT, which identity providers refuse',
        ],
      },
      {
        title: 'another one comes first',
        value: gatewayOf({ authServerConfig: authServer('github', 'okta') }),
        old: gatewayOf({ authServerConfig: authServer('okta', 'github') }),
        others: [backend('jira', 'jira'), exchangeConfigWritten('jira', 'okta')],
        findings: [
          'spec.authServerConfig.upstreamProviders: set `subjectProviderName`, such as "github", in MCPExternalAuthConfig "jira": until then vMCP exchanges its own JWT, which identity providers refuse',
        ],
      },
    ],
  },
})
