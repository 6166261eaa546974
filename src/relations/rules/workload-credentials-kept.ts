import {
  about,
  aboutEach,
  advice,
  type Cluster,
  defineRule,
  end,
  type FieldError,
  namesText,
  nameText,
  type ObjectName,
  pathTo,
  type Related,
  relatedTo,
  shortQuote,
} from '../../rule/index.ts'
import { hasNoProviders } from '../../kinds/embedded-auth-server/effective.ts'
import { without } from '../../kinds/embedded-auth-server/examples.ts'
import { exchanging } from '../../kinds/mcp-external-auth-config/examples.ts'
import { MCPExternalAuthConfig, MCPRemoteProxy, MCPServer } from '../../kinds/schemas.ts'
import {
  AUTH_CONFIG,
  type AuthConfig,
  authServer,
  authServersOf,
  bearerConfig,
  configsOf,
  configWith,
  exchangeConfig,
  getWorkload,
  otherOf,
  serverConfig,
  serving,
  SINGLE_PROVIDER_KINDS,
  WORKLOAD,
  type Workload,
} from '../index.ts'

/** The strategy types that add credentials after the embedded server has removed the client's credentials. */
const ADDS_CREDENTIALS: ReadonlySet<string | undefined> = new Set(['tokenExchange', 'awsSts', 'obo'])

const ID = 'workload-credentials-kept'

const stripping = (config: string) =>
  otherOf('MCPExternalAuthConfig', config, {
    type: 'embeddedAuthServer' as const,
    embeddedAuthServer: { ...authServer('okta'), disableUpstreamTokenInjection: true },
  })

/** A proxy with this authorization server, which exchanges tokens by this MCPExternalAuthConfig. */
const exchangingBy = (auth: string, exchange: string) =>
  otherOf('MCPRemoteProxy', 'wiki', {
    authServerRef: { kind: 'MCPExternalAuthConfig', name: auth },
    externalAuthConfigRef: { name: exchange },
  })

const issuingOnly = (config: string, upstreamProviders: undefined | readonly []) =>
  configWith(config, 'embeddedAuthServer', {
    ...without(authServer(), 'upstreamProviders'),
    ...(upstreamProviders !== undefined && { upstreamProviders }),
    inboundGrants: { tokenExchange: {} },
  })

export const workloadCredentialsKept = defineRule({
  id: ID,
  on: [MCPServer, MCPRemoteProxy, MCPExternalAuthConfig],
  reads: ['MCPExternalAuthConfig', ...SINGLE_PROVIDER_KINDS],
  severity: 'warning',
  summary:
    'An embedded authorization server that keeps credentials from the backend stands beside no configuration that adds some.',
  why: 'The two contradict each other, so releases do not reconcile the workload: `tokenExchange`, `awsSts` and `obo` would add credentials that `disableUpstreamTokenInjection` takes out.',
  failure: {
    symptom:
      '`disableUpstreamTokenInjection cannot be combined with token exchange` (or AWS STS), and the workload is not reconciled',
    reportedBy: 'operator',
    consequence: 'does not start',
  },
  sources: ['decision 3'],
  *check(resource, { cluster, self }) {
    if (self.kind === 'MCPExternalAuthConfig') {
      const { spec } = resource as AuthConfig
      const isServer = spec?.type === 'embeddedAuthServer'
      if (isServer || ADDS_CREDENTIALS.has(spec?.type)) yield* conflictsAt(self, cluster)
      return
    }
    for (const { stripper, adder, type } of conflictsOf(self.kind, resource as Workload, cluster)) {
      const server = shortQuote(stripper.to.name)
      const [removing, remedy] = stripper.strips
        ? [`disableUpstreamTokenInjection of ${server} removes`, 'one']
        : [`${server}, a server without upstream providers, removes`, 'this reference or add a provider']
      const detail = `${nameText(adder.to)} (${type}) adds credentials that ${removing}, so the workload is not reconciled; remove ${remedy}`
      yield relatedTo(
        about(advice(pathTo(adder.at()), detail), ID, adder.to.name, stripper.to.name),
        [end(adder.to, AUTH_CONFIG.spec.type, 'adds credentials'), stripperEnd(stripper)],
        () => [[ID, adder.to.name, stripper.to.name]],
      )
    }
  },
  examples: {
    'the exchange of the upstream token': {
      kind: 'MCPServer',
      value: { spec: { ...serving({}).spec, externalAuthConfigRef: { name: 'jira' } } },
      others: [serverConfig('auth', 'okta'), exchangeConfig('jira')],
    },
    'no token for the backend': { kind: 'MCPServer', value: serving({}), others: [stripping('auth')] },
    'a fixed token of a remote server': {
      kind: 'MCPRemoteProxy',
      value: { spec: { ...serving({}).spec, externalAuthConfigRef: { name: 'token' } } },
      others: [stripping('auth'), bearerConfig('token')],
    },
    'the exchange of the upstream token, and a server that removes it from another workload': {
      kind: 'MCPExternalAuthConfig',
      value: { spec: stripping('example').spec },
      others: [exchangingBy('auth', 'jira'), serverConfig('auth', 'okta'), exchangeConfig('jira')],
    },
    'an exchange beside it': {
      kind: 'MCPServer',
      value: { spec: { ...serving({}).spec, externalAuthConfigRef: { name: 'jira' } } },
      others: [stripping('auth'), exchangeConfig('jira')],
      findings:
        'spec.externalAuthConfigRef.name: MCPExternalAuthConfig "jira" (tokenExchange) adds credentials that disableUpstreamTokenInjection of "auth" removes, so the workload is not reconciled; remove one',
    },
    ...Object.fromEntries(
      ([undefined, []] as const).map((providers) => [
        `an exchange beside a server without a login${providers === undefined ? '' : ', with an empty list'}`,
        {
          kind: 'MCPServer',
          value: { spec: { ...serving({}).spec, externalAuthConfigRef: { name: 'jira' } } },
          others: [issuingOnly('auth', providers), exchangeConfig('jira')],
          findings:
            'spec.externalAuthConfigRef.name: MCPExternalAuthConfig "jira" (tokenExchange) adds credentials that "auth", a server without upstream providers, removes, so the workload is not reconciled; remove this reference or add a provider',
        },
      ]),
    ),
    'an exchange of a workload that names the server': {
      kind: 'MCPExternalAuthConfig',
      value: { spec: stripping('example').spec },
      others: [exchangingBy('example', 'jira'), exchangeConfig('jira')],
      findings:
        'spec.embeddedAuthServer.disableUpstreamTokenInjection: removes credentials that MCPExternalAuthConfig "jira" (tokenExchange) adds, so MCPRemoteProxy "wiki" is not reconciled; remove one',
    },
    'an exchange beside a server that removes it': {
      kind: 'MCPExternalAuthConfig',
      value: exchanging({}),
      others: [exchangingBy('auth', 'example'), stripping('auth')],
      findings:
        'spec.type: adds credentials that MCPExternalAuthConfig "auth" removes, so MCPRemoteProxy "wiki" is not reconciled; remove one',
    },
  },
})

interface Stripper {
  readonly to: ObjectName
  /** Whether `disableUpstreamTokenInjection` removes credentials; else the server has no upstream provider. */
  readonly strips: boolean
}

/** The MCPExternalAuthConfigs of a workload that add credentials which its authorization server removes. */
function conflictsOf(kind: string, workload: Workload, cluster: Cluster) {
  const stripper = authServersOf(kind, workload, cluster)
    .map(({ to, server }) => ({
      to,
      strips: server.disableUpstreamTokenInjection === true,
      issuesOnly: hasNoProviders(server),
    }))
    .find(({ strips, issuesOnly }) => strips || issuesOnly)
  if (stripper === undefined) return []
  return configsOf(kind, workload, cluster).flatMap((adder) => {
    const type: string = adder.config.spec?.type ?? ''
    return ADDS_CREDENTIALS.has(type) ? [{ stripper, adder, type }] : []
  })
}

const { disableUpstreamTokenInjection, upstreamProviders } = AUTH_CONFIG.spec.embeddedAuthServer

const stripperEnd = ({ to, strips }: Stripper): Related =>
  strips
    ? end(to, disableUpstreamTokenInjection, 'takes them out')
    : end(to, upstreamProviders, 'has no provider')

/** The warnings at an MCPExternalAuthConfig: one for each other MCPExternalAuthConfig, with all workloads. */
function* conflictsAt(self: ObjectName, cluster: Cluster): Iterable<FieldError> {
  const found = cluster
    .referrers(self.kind, self.name, SINGLE_PROVIDER_KINDS)
    .flatMap((holder) =>
      conflictsOf(holder.kind, getWorkload(cluster, holder) ?? {}, cluster).map((conflict) => ({
        holder,
        ...conflict,
      })),
    )
    .filter(({ stripper, adder }) => [stripper.to.name, adder.to.name].includes(self.name))
  for (const group of Map.groupBy(
    found,
    ({ stripper, adder }) => `${stripper.to.name}/${adder.to.name}`,
  ).values()) {
    const [first] = group
    if (first === undefined) continue
    const { stripper, adder, type } = first
    const isStripper = stripper.to.name === self.name
    const [place, other] = isStripper
      ? [stripper.strips ? disableUpstreamTokenInjection : upstreamProviders, adder.to]
      : [AUTH_CONFIG.spec.type, stripper.to]
    const does = isStripper
      ? `removes credentials that ${nameText(other)} (${type}) adds`
      : `adds credentials that ${nameText(other)} removes`
    const holders = group.map(({ holder }) => holder)
    const detail = `${does}, so ${namesText(holders, 2)} ${holders.length > 1 ? 'are' : 'is'} not reconciled; remove one`
    yield relatedTo(
      aboutEach(advice(place, detail), () =>
        holders.map(({ kind, name }) => [ID, kind, name, adder.to.name, stripper.to.name]),
      ),
      [
        isStripper ? end(other, AUTH_CONFIG.spec.type, 'adds credentials') : stripperEnd(stripper),
        end(first.holder, WORKLOAD.spec, 'names both'),
      ],
      () => [[ID, adder.to.name, stripper.to.name]],
    )
  }
}
