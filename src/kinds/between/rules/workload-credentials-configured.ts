import { namesText, type ObjectName } from '../../../rule/cluster.ts'
import { advice, aboutEach, end, relatedTo } from '../../../rule/field-error.ts'
import { defineRule } from '../../../rule/rule.ts'
import { MCPRemoteProxy } from '../../mcp-remote-proxy/schema.ts'
import { MCPServerEntry } from '../../mcp-server-entry/schema.ts'
import { MCPServer } from '../../mcp-server/schema.ts'
import { gateway, headerConfig, inline, workload } from '../examples.ts'
import { frontingsOf } from '../reach.ts'
import { addsHeaderFromSecret } from '../related-resources.ts'
import { GATEWAY, withoutCredentialsCause } from '../ends.ts'

const thing = (gateway: ObjectName) => ['workload-credentials-configured', gateway.name] as const

export const workloadCredentialsConfigured = defineRule({
  id: 'workload-credentials-configured',
  on: [MCPServer, MCPRemoteProxy, MCPServerEntry],
  reads: ['VirtualMCPServer'],
  severity: 'warning',
  summary: 'Each VirtualMCPServer of the group has a strategy for the workload that joins it.',
  why: 'The workload is contacted without credentials, and nobody may have meant that. With `oidcConfigRef` it answers 401, and the VirtualMCPServer offers none of its tools.',
  failure: {
    symptom: 'the gateway is ready and serves zero tools; the backend answers 401',
    toldBy: 'nobody',
    threads: ['mitodl/ol-infrastructure#5295'],
  },
  sources: [
    {
      section: '5.2',
      says: 'discovered: the externalAuthConfigRef of each backend chooses; without one no credentials.',
    },
    { section: '5.2', says: 'inline: backends that are not in the map receive unauthenticated requests.' },
    { section: '7', says: 'A backend not listed under inline outgoing authentication gets no credentials.' },
    'decision 10',
    'decision 21',
  ],
  *check(resource, { path, cluster, self }) {
    const isChecking = 'oidcConfigRef' in (resource.spec ?? {})
    if (!isChecking && addsHeaderFromSecret(resource)) return
    const without = frontingsOf(self.name, resource, cluster).filter(({ from }) => from === 'none')
    const ofSource = (wanted: string) =>
      without.filter(({ source }) => source === wanted).map(({ gateway }) => gateway)
    const [discovering, listing] = [ofSource('discovered'), ofSource('inline')]
    const ends = (gateways: readonly ObjectName[], text: string) =>
      gateways.map((gateway) => end(gateway, GATEWAY.spec.outgoingAuth, text))
    const causes = () => [withoutCredentialsCause(self)]
    if (discovering.length > 0)
      yield relatedTo(
        aboutEach(
          advice(
            path.spec.externalAuthConfigRef,
            isChecking
              ? `name a configuration: without a token \`oidcConfigRef\` answers 401, and the tools are missing; there are no credentials from ${namesText(discovering)}`
              : `name a configuration, or one of type unauthenticated; there are no credentials from ${namesText(discovering)}`,
          ),
          () => discovering.map(thing),
        ),
        ends(discovering, 'has each backend choose'),
        causes,
      )
    if (listing.length > 0)
      yield relatedTo(
        aboutEach(
          advice(
            path.spec.groupRef,
            `not listed, and no \`default\` names a configuration; there are no credentials from ${namesText(listing)}`,
          ),
          () => listing.map(thing),
        ),
        ends(listing, 'lists the backends'),
        causes,
      )
  },
  examples: {
    valid: [
      {
        title: 'a configuration of its own',
        value: workload('key', 'tools'),
        others: [headerConfig('key'), gateway('tools')],
      },
      {
        title: 'a default there',
        value: { spec: { groupRef: { name: 'tools' } } },
        others: [headerConfig('key'), gateway('tools', { outgoingAuth: inline({}, 'key') })],
      },
      {
        title: 'a credential in a header that it adds itself',
        kind: 'MCPServerEntry',
        value: {
          spec: {
            groupRef: { name: 'tools' },
            headerForward: {
              addHeadersFromSecret: [
                { headerName: 'X-Api-Key', valueSecretRef: { name: 'jira', key: 'api-key' } },
              ],
            },
          },
        },
        others: [gateway('tools')],
      },
      {
        title: 'no VirtualMCPServer yet',
        value: { spec: { groupRef: { name: 'tools' } } },
      },
    ],
    invalid: [
      {
        title: 'no configuration of its own, and it checks tokens',
        kind: 'MCPServer',
        value: {
          spec: { groupRef: { name: 'tools' }, oidcConfigRef: { name: 'corporate', audience: 'jira' } },
        },
        others: [gateway('tools')],
        findings: [
          'spec.externalAuthConfigRef: name a configuration: without a token `oidcConfigRef` answers 401, and the tools are missing; there are no credentials from VirtualMCPServer "tools"',
        ],
      },
      {
        title: 'no configuration of its own',
        value: { spec: { groupRef: { name: 'tools' } } },
        others: [gateway('tools')],
        findings: [
          'spec.externalAuthConfigRef: name a configuration, or one of type unauthenticated; there are no credentials from VirtualMCPServer "tools"',
        ],
      },
      {
        title: 'not listed in one, and not discovered by it either',
        value: workload('key', 'tools'),
        others: [
          headerConfig('key'),
          gateway('tools'),
          gateway('other', { outgoingAuth: inline({ wiki: 'key' }) }),
        ],
        findings: [
          'spec.groupRef: not listed, and no `default` names a configuration; there are no credentials from VirtualMCPServer "other"',
        ],
      },
    ],
  },
})
