import { about, advice, defineRule, end, nameText, pathTo, relatedTo, shortQuote } from '../../rule/index.ts'
import { hasNoProviders } from '../../kinds/embedded-auth-server/effective.ts'
import { without } from '../../kinds/embedded-auth-server/examples.ts'
import { MCPRemoteProxy, MCPServer } from '../../kinds/schemas.ts'
import {
  AUTH_CONFIG,
  authServer,
  authServersOf,
  bearerConfig,
  configsOf,
  exchangeConfig,
  serverConfig,
  serving,
} from '../index.ts'

/** The strategy types that add credentials after the embedded server has removed the client's credentials. */
const ADDS_CREDENTIALS: ReadonlySet<string | undefined> = new Set(['tokenExchange', 'awsSts', 'obo'])

const stripping = (config: string) => ({
  kind: 'MCPExternalAuthConfig',
  metadata: { name: config },
  spec: {
    type: 'embeddedAuthServer',
    embeddedAuthServer: { ...authServer('okta'), disableUpstreamTokenInjection: true },
  },
})

const issuingOnly = (config: string, upstreamProviders: undefined | readonly []) => ({
  kind: 'MCPExternalAuthConfig',
  metadata: { name: config },
  spec: {
    type: 'embeddedAuthServer',
    embeddedAuthServer: {
      ...without(authServer(), 'upstreamProviders'),
      ...(upstreamProviders !== undefined && { upstreamProviders }),
      inboundGrants: { tokenExchange: {} },
    },
  },
})

export const workloadCredentialsKept = defineRule({
  id: 'workload-credentials-kept',
  on: [MCPServer, MCPRemoteProxy],
  reads: ['MCPExternalAuthConfig'],
  severity: 'warning',
  summary:
    'An embedded authorization server that keeps credentials from the backend stands beside no configuration that adds some.',
  why: 'The two contradict each other, so releases do not reconcile the workload: `tokenExchange`, `awsSts` and `obo` would add credentials that `disableUpstreamTokenInjection` takes out.',
  failure: {
    symptom:
      '`disableUpstreamTokenInjection cannot be combined with token exchange` (or AWS STS), and the workload is not reconciled',
    reportedBy: 'operator',
    consequence: 'does not start',
    threads: [],
  },
  sources: ['decision 3'],
  *check(workload, { cluster, self }) {
    const servers = authServersOf(self.kind, workload, cluster).map((found) => ({
      to: found.to,
      strips: found.server.disableUpstreamTokenInjection === true,
      issuesOnly: hasNoProviders(found.server),
    }))
    const stripper = servers.find(({ strips, issuesOnly }) => strips || issuesOnly)
    if (stripper === undefined) return
    const server = shortQuote(stripper.to.name)
    const [removing, remedy] = stripper.strips
      ? [`disableUpstreamTokenInjection of ${server} removes`, 'one']
      : [`${server}, a server without upstream providers, removes`, 'this reference or add a provider']
    for (const { to, at, config } of configsOf(self.kind, workload, cluster)) {
      const type: string | undefined = config.spec?.type
      if (!ADDS_CREDENTIALS.has(type)) continue
      const detail = `${nameText(to)} (${type ?? ''}) adds credentials that ${removing}, so the workload is not reconciled; remove ${remedy}`
      const { disableUpstreamTokenInjection, upstreamProviders } = AUTH_CONFIG.spec.embeddedAuthServer
      const why = stripper.strips
        ? end(stripper.to, disableUpstreamTokenInjection, 'takes them out')
        : end(stripper.to, upstreamProviders, 'has no provider')
      yield relatedTo(
        about(advice(pathTo(at()), detail), 'workload-credentials-kept', to.name, stripper.to.name),
        [end(to, AUTH_CONFIG.spec.type, 'adds credentials'), why],
      )
    }
  },
  examples: {
    valid: [
      {
        title: 'the exchange of the upstream token',
        value: { spec: { ...serving({}).spec, externalAuthConfigRef: { name: 'jira' } } },
        others: [serverConfig('auth', 'okta'), exchangeConfig('jira')],
      },
      {
        title: 'no token for the backend',
        value: serving({}),
        others: [stripping('auth')],
      },
      {
        title: 'a fixed token of a remote server',
        kind: 'MCPRemoteProxy',
        value: { spec: { ...serving({}).spec, externalAuthConfigRef: { name: 'token' } } },
        others: [stripping('auth'), bearerConfig('token')],
      },
    ],
    invalid: [
      {
        title: 'an exchange beside it',
        value: { spec: { ...serving({}).spec, externalAuthConfigRef: { name: 'jira' } } },
        others: [stripping('auth'), exchangeConfig('jira')],
        findings: [
          'spec.externalAuthConfigRef.name: MCPExternalAuthConfig "jira" (tokenExchange) adds credentials that disableUpstreamTokenInjection of "auth" removes, so the workload is not reconciled; remove one',
        ],
      },
      ...([undefined, []] as const).map((providers) => ({
        title: `an exchange beside a server without a login${providers === undefined ? '' : ', with an empty list'}`,
        value: { spec: { ...serving({}).spec, externalAuthConfigRef: { name: 'jira' } } },
        others: [issuingOnly('auth', providers), exchangeConfig('jira')],
        findings: [
          'spec.externalAuthConfigRef.name: MCPExternalAuthConfig "jira" (tokenExchange) adds credentials that "auth", a server without upstream providers, removes, so the workload is not reconciled; remove this reference or add a provider',
        ] as const,
      })),
    ],
  },
})
