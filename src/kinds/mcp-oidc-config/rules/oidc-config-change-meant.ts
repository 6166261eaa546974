import { defineRule } from '../../../rule/rule.ts'
import { changesFor } from '../../between/change.ts'
import { gateway } from '../../between/examples.ts'
import { issuing } from '../examples.ts'
import { MCPOIDCConfig } from '../schema.ts'

export const oidcConfigChangeMeant = defineRule({
  id: 'oidc-config-change-meant',
  on: MCPOIDCConfig,
  reads: ['VirtualMCPServer', 'MCPServer', 'MCPRemoteProxy'],
  severity: 'warning',
  summary: 'A change of the type or the issuer is meant for everybody who uses it.',
  why: 'All of them refuse the tokens that they accepted before.',
  sources: ['1', 'decision 21'],
  *check({ spec }, { path, cluster, self, old }) {
    const before = old()?.spec
    if (before === undefined || spec === undefined) return
    yield* changesFor(cluster.referrers(self.kind, self.name), [
      { at: path.spec.type, before: before.type, after: spec.type },
      { at: path.spec.inline.issuer, before: before.inline?.issuer, after: spec.inline?.issuer },
    ])
  },
  examples: {
    valid: [
      {
        title: 'nobody uses it',
        value: issuing('https://login.example.com'),
        old: issuing('https://auth.example.com'),
      },
    ],
    invalid: [
      {
        title: 'another issuer',
        value: issuing('https://login.example.com'),
        old: issuing('https://auth.example.com'),
        others: [
          gateway('tools', {
            incomingAuth: { type: 'oidc', oidcConfigRef: { name: 'example' }, audience: 'tools' },
          }),
        ],
        findings: [
          'spec.inline.issuer: changes from "https://auth.example.com" for VirtualMCPServer "tools"',
        ],
      },
    ],
  },
})
