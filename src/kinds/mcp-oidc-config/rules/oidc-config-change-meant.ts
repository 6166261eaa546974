import { defineRule, says } from '../../../rule/index.ts'
import { changesFor, gateway, heldIn, referenceEnds } from '../../../relations/index.ts'
import { issuing } from '../examples.ts'
import { MCPOIDCConfig } from '../schema.ts'

const CONSUMERS = ['VirtualMCPServer', 'MCPServer', 'MCPRemoteProxy']

const EFFECT = ', so tokens accepted until now are refused; check that this is meant'

export const oidcConfigChangeMeant = defineRule({
  id: 'oidc-config-change-meant',
  on: MCPOIDCConfig,
  reads: CONSUMERS,
  when: 'change',
  severity: 'warning',
  summary: 'A change of the type or the issuer is meant for everybody who uses it.',
  why: 'All of them refuse the tokens that they accepted before.',
  sources: [
    says(
      '1',
      'Shared resources are referenced by name: what is named exists, what is shared is still wanted.',
    ),
    'decision 21',
  ],
  *check({ spec }, { path, cluster, self, old }) {
    const before = old()?.spec
    if (before === undefined || spec === undefined) return
    const consumers = cluster.referrers(self.kind, self.name, CONSUMERS)
    const type = { at: path.spec.type, before: before.type, after: spec.type }
    const issuer = {
      at: path.spec.inline.issuer,
      before: heldIn(before.inline, 'issuer'),
      after: heldIn(spec.inline, 'issuer'),
    }
    const ends = () => referenceEnds(consumers, self, cluster, 'uses it')
    yield* changesFor(consumers, type, [issuer], ends, EFFECT)
  },
  examples: {
    'nobody uses it': {
      value: issuing('https://login.example.com'),
      old: issuing('https://auth.example.com'),
    },
    'another type': {
      value: { spec: { type: 'kubernetesServiceAccount', kubernetesServiceAccount: {} } },
      old: issuing('https://auth.example.com'),
      others: [
        gateway('tools', {
          incomingAuth: { type: 'oidc', oidcConfigRef: { name: 'example' }, audience: 'tools' },
        }),
      ],
      findings: `spec.type: changes from "inline" for VirtualMCPServer "tools"${EFFECT}`,
    },
    'another issuer': {
      value: issuing('https://login.example.com'),
      old: issuing('https://auth.example.com'),
      others: [
        gateway('tools', {
          incomingAuth: { type: 'oidc', oidcConfigRef: { name: 'example' }, audience: 'tools' },
        }),
      ],
      findings: `spec.inline.issuer: changes from "https://auth.example.com" for VirtualMCPServer "tools"${EFFECT}`,
    },
  },
})
