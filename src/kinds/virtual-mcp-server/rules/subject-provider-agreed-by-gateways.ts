import {
  about,
  advice,
  defineRule,
  end,
  nameText,
  pathTo,
  relatedTo,
  says,
  shortQuote,
} from '../../../rule/index.ts'
import {
  AUTH_CONFIG,
  authConfigNamed,
  authServer,
  backend,
  choiceEnds,
  choicesText,
  configsReached,
  exchangeConfig,
  firstProvider,
  gateway,
  gatewayOf,
  inline,
  leavesSubjectProvider,
  REACHED_KINDS,
  subjectProviders,
  undecidedCause,
} from '../../../relations/index.ts'
import { VirtualMCPServer } from '../schema.ts'

export const subjectProviderAgreedByGateways = defineRule({
  id: 'subject-provider-agreed-by-gateways',
  on: VirtualMCPServer,
  needs: ['authServerConfig'],
  reads: ['VirtualMCPServer', ...REACHED_KINDS],
  severity: 'warning',
  summary:
    'VirtualMCPServers that share a token exchange without `subjectProviderName` have the same first provider.',
  why: 'Each exchanges the token of another provider, and no default can be written into the shared configuration.',
  sources: [
    says(
      '2.4.5',
      'An empty subjectProviderName is filled in with the first provider of the VirtualMCPServer.',
    ),
    'decision 25',
  ],
  *check(value, { path, cluster }) {
    const own = firstProvider(value)
    if (own === undefined) return
    for (const { config, auth: shared, at } of configsReached(value, cluster)) {
      if (shared === undefined || !leavesSubjectProvider(shared, cluster.group)) continue
      const others = subjectProviders(config, cluster).filter(({ provider }) => provider !== own)
      if (others.length === 0) continue
      const detail = `set subjectProviderName in ${nameText(authConfigNamed(config))}: no default is written, as it would be ${shortQuote(own)} here; ${choicesText(others)}`
      const place = at === undefined ? path.spec.authServerConfig.upstreamProviders : pathTo<unknown>(at())
      const warning = about(advice(place, detail), 'subject-provider-agreed-by-gateways', config)
      const open = end(
        authConfigNamed(config),
        AUTH_CONFIG.spec.tokenExchange.subjectProviderName,
        'chooses none',
      )
      yield relatedTo(warning, [open, ...choiceEnds(others)], () => [undecidedCause(config)])
    }
  },
  examples: {
    'the same first provider': {
      value: gatewayOf({ authServerConfig: authServer('okta') }),
      others: [
        gateway('other', { authServerConfig: authServer('okta', 'github') }),
        backend('jira', 'jira'),
        exchangeConfig('jira'),
      ],
    },
    'the configuration says which': {
      value: gatewayOf({ authServerConfig: authServer('okta', 'github') }),
      others: [
        gateway('other', { authServerConfig: authServer('github') }),
        backend('jira', 'jira'),
        exchangeConfig('jira', 'github'),
      ],
    },
    'two that discover the same backend': {
      value: gatewayOf({ authServerConfig: authServer('okta') }),
      others: [
        gateway('other', { authServerConfig: authServer('github') }),
        backend('jira', 'jira'),
        exchangeConfig('jira'),
      ],
      findings:
        'spec.authServerConfig.upstreamProviders: set subjectProviderName in MCPExternalAuthConfig "jira": no default is written, as it would be "okta" here; "github" in VirtualMCPServer "other"',
    },
    'inline here, discovered there': {
      value: gatewayOf({ authServerConfig: authServer('okta'), outgoingAuth: inline({ jira: 'jira' }) }),
      others: [
        gateway('other', { authServerConfig: authServer('github') }),
        backend('jira', 'jira'),
        exchangeConfig('jira'),
      ],
      findings:
        'spec.outgoingAuth.backends[jira].externalAuthConfigRef.name: set subjectProviderName in MCPExternalAuthConfig "jira": no default is written, as it would be "okta" here; "github" in VirtualMCPServer "other"',
    },
  },
})
