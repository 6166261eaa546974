import { type Cluster, defineRule, type ObjectName, type Path, says } from '../../../rule/index.ts'
import {
  type AuthConfig,
  authServer,
  backend,
  BACKEND_KINDS,
  changesFor,
  gateway,
  type HeldValue,
  heldIn,
  isChanged,
  leavesSubjectProvider,
  providersOf,
  reachersOf,
  referenceEnds,
} from '../../../relations/index.ts'
import { exchanging, injecting } from '../examples.ts'
import { MCPExternalAuthConfig } from '../schema.ts'

const EFFECT = ' at once; check that each works with the new value'

export const authConfigChangeMeant = defineRule({
  id: 'auth-config-change-meant',
  on: MCPExternalAuthConfig,
  reads: ['VirtualMCPServer', ...BACKEND_KINDS],
  when: 'change',
  severity: 'warning',
  summary: 'A change of the type, the issuer or the name of a provider is meant for everybody who uses it.',
  why: 'All of them change at once, and the configuration itself reads as valid whatever becomes of them.',
  sources: [
    says(
      '1',
      'Shared resources are referenced by name: what is named exists, what is shared is still wanted.',
    ),
    'decision 21',
  ],
  *check(config, { path, cluster, self, old }) {
    const before = old()
    if (before === undefined) return
    const watch = (at: Path<unknown>, of: (config: AuthConfig) => HeldValue) => ({
      at,
      before: of(before),
      after: of(config),
    })
    const type = watch(path.spec.type, ({ spec }) => heldIn(spec, 'type'))
    const others = [
      watch(path.spec.embeddedAuthServer.issuer, ({ spec }) => heldIn(spec?.embeddedAuthServer, 'issuer')),
      watch(path.spec.embeddedAuthServer.upstreamProviders, providerNames),
      watch(path.spec.upstreamInject.providerName, ({ spec }) =>
        heldIn(spec?.upstreamInject, 'providerName'),
      ),
      watch(path.spec.tokenExchange.subjectProviderName, (config) => ownSubject(config, cluster)),
    ]
    if (![type, ...others].some(isChanged)) return
    const consumers = consumersOf(self.name, cluster)
    const ends = () => referenceEnds(consumers, self, cluster, 'uses it')
    yield* changesFor(consumers, type, others, ends, EFFECT)
  },
  examples: {
    'nobody uses it': {
      value: injecting('X-Api-Key'),
      old: { spec: { type: 'unauthenticated' } },
      others: [gateway('tools')],
    },
    'another header': {
      value: injecting('X-Api-Key'),
      old: injecting('X-Key'),
      others: [backend('jira', 'example')],
    },
    'another type': {
      value: injecting('X-Api-Key'),
      old: { spec: { type: 'unauthenticated' } },
      others: [backend('jira', 'example'), gateway('tools')],
      findings: `spec.type: changes from "unauthenticated" for MCPServer "jira" and VirtualMCPServer "tools"${EFFECT}`,
    },
    'another issuer, and a provider with another name': {
      value: {
        spec: {
          type: 'embeddedAuthServer',
          embeddedAuthServer: { ...authServer('corporate'), issuer: 'https://login.example.com' },
        },
      },
      old: { spec: { type: 'embeddedAuthServer', embeddedAuthServer: authServer('okta') } },
      others: [backend('jira', 'example', 'MCPRemoteProxy')],
      findings: [
        `spec.embeddedAuthServer.issuer: changes from "https://auth.example.com" for MCPRemoteProxy "jira"${EFFECT}`,
        `spec.embeddedAuthServer.upstreamProviders: changes from "okta" for MCPRemoteProxy "jira"${EFFECT}`,
      ],
    },
    'a subject provider that is no longer chosen': {
      value: exchanging({}),
      old: exchanging({ subjectProviderName: 'okta' }),
      others: [backend('jira', 'example')],
      findings: `spec.tokenExchange.subjectProviderName: changes from "okta" to none for MCPServer "jira"${EFFECT}`,
    },
    'one that was not chosen before': {
      value: exchanging({ subjectProviderName: 'okta' }),
      old: exchanging({}),
      others: [backend('jira', 'example')],
      findings: `spec.tokenExchange.subjectProviderName: changes from none to "okta" for MCPServer "jira"${EFFECT}`,
    },
  },
})

function providerNames({ spec }: AuthConfig): HeldValue {
  const providers = providersOf(spec, 'embeddedAuthServer')
  if (providers?.complete !== true) return undefined
  return providers.names.length === 0 ? null : providers.names.join(', ')
}

/** The subject provider that the user chose; null when /mutate chooses it. */
function ownSubject(config: AuthConfig, { group }: Cluster): HeldValue {
  return leavesSubjectProvider(config, group)
    ? null
    : heldIn(config.spec?.tokenExchange, 'subjectProviderName')
}

/** The workloads that name the MCPExternalAuthConfig, followed by the VirtualMCPServers that use it. */
function consumersOf(name: string, cluster: Cluster): readonly ObjectName[] {
  const referrers = cluster.referrers('MCPExternalAuthConfig', name, BACKEND_KINDS)
  const gateways = reachersOf(name, cluster).map((reacher) => reacher.name)
  return [...referrers, ...gateways]
}
