import type { Cluster, ObjectName } from '../../../rule/cluster.ts'
import { defineRule } from '../../../rule/rule.ts'
import { changesFor } from '../../between/change.ts'
import { authServer, backend, gateway } from '../../between/examples.ts'
import { type AuthConfig, BACKEND_KINDS, namedProvider } from '../../between/neighbours.ts'
import { reachersOf } from '../../between/reach.ts'
import { injecting } from '../examples.ts'
import { MCPExternalAuthConfig } from '../schema.ts'

export const authConfigChangeMeant = defineRule({
  id: 'auth-config-change-meant',
  on: MCPExternalAuthConfig,
  reads: ['VirtualMCPServer', ...BACKEND_KINDS],
  severity: 'warning',
  summary: 'A change of the type, the issuer or the name of a provider is meant for everybody who uses it.',
  why: 'All of them change at once, and the configuration itself reads as valid whatever becomes of them.',
  sources: ['1', 'decision 21'],
  *check(config, { path, cluster, self, old }) {
    const before = old()
    if (before === undefined) return
    const watched = [
      { at: path.spec.type, of: ({ spec }: AuthConfig) => spec?.type },
      {
        at: path.spec.embeddedAuthServer.issuer,
        of: ({ spec }: AuthConfig) => spec?.embeddedAuthServer?.issuer,
      },
      { at: path.spec.embeddedAuthServer.upstreamProviders, of: providerNames },
      {
        at: path.spec.upstreamInject.providerName,
        of: ({ spec }: AuthConfig) => spec?.upstreamInject?.providerName,
      },
      {
        at: path.spec.tokenExchange.subjectProviderName,
        of: (config: AuthConfig) => ownSubject(config, cluster),
      },
    ].map(({ at, of }) => ({ at, before: of(before), after: of(config) }))
    if (watched.every((field) => field.before === field.after)) return
    yield* changesFor(consumersOf(self.name, cluster), watched)
  },
  examples: {
    valid: [
      {
        title: 'nobody uses it',
        value: injecting('X-Api-Key'),
        old: { spec: { type: 'unauthenticated' } },
        others: [gateway('tools')],
      },
      {
        title: 'another header',
        value: injecting('X-Api-Key'),
        old: injecting('X-Key'),
        others: [backend('jira', 'example')],
      },
    ],
    invalid: [
      {
        title: 'another type',
        value: injecting('X-Api-Key'),
        old: { spec: { type: 'unauthenticated' } },
        others: [backend('jira', 'example'), gateway('tools')],
        findings: [
          'spec.type: changes from "unauthenticated" for MCPServer "jira" and VirtualMCPServer "tools"',
        ],
      },
      {
        title: 'another issuer, and a provider with another name',
        value: {
          spec: {
            type: 'embeddedAuthServer',
            embeddedAuthServer: { ...authServer('corporate'), issuer: 'https://login.example.com' },
          },
        },
        old: { spec: { type: 'embeddedAuthServer', embeddedAuthServer: authServer('okta') } },
        others: [backend('jira', 'example', 'MCPRemoteProxy')],
        findings: [
          'spec.embeddedAuthServer.issuer: changes from "https://auth.example.com" for MCPRemoteProxy "jira"',
          'spec.embeddedAuthServer.upstreamProviders: changes from "okta" for MCPRemoteProxy "jira"',
        ],
      },
    ],
  },
})

const providerNames = ({ spec }: AuthConfig) =>
  spec?.embeddedAuthServer?.upstreamProviders?.map((provider) => provider?.name ?? '').join(', ')

/** What the user chose; what /mutate wrote is nobody's choice. */
function ownSubject(config: AuthConfig, { group }: Cluster): string | undefined {
  const named = namedProvider(config, group)
  return named?.field === 'tokenExchange.subjectProviderName' && !named.written ? named.provider : undefined
}

/** Who names it, and who discovers it through a backend. */
function consumersOf(name: string, cluster: Cluster): ObjectName[] {
  const referrers = cluster.referrers('MCPExternalAuthConfig', name, BACKEND_KINDS)
  const gateways = reachersOf(name, cluster).map((reacher) => ({
    kind: 'VirtualMCPServer',
    name: reacher.name,
  }))
  return [...referrers, ...gateways]
}
