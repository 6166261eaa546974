import { advice, defineRule, isAbsent, says, shortQuote } from '../../../rule/index.ts'
import { olderGroupOf } from '../../../relations/index.ts'
import { oidc, server } from '../examples.ts'
import { VirtualMCPServer } from '../schema.ts'

export const groupRefConfigured = defineRule({
  id: 'group-ref-configured',
  on: VirtualMCPServer,
  severity: 'warning',
  summary: 'The server names the MCPGroup whose backends it fronts.',
  why: 'Without a group it has no backends.',
  sources: [says('2.2', 'groupRef names the MCPGroup whose backends are fronted.'), 'decision 5'],
  *check({ spec }, { path }) {
    if (!spec || !isAbsent(spec, 'groupRef')) return
    if (!isAbsent(spec, 'config') && spec.config === undefined) return
    const older = olderGroupOf({ spec })
    const detail =
      older === undefined
        ? 'no backends are fronted; name the MCPGroup that holds them'
        : `\`spec.config.groupRef\` is of older releases and not read; write \`groupRef: {name: ${shortQuote(older)}}\` at spec`
    yield advice(path.spec.groupRef, detail)
  },
  examples: {
    'a group': { value: server({}) },
    'no group': {
      value: { spec: { incomingAuth: oidc } },
      findings: 'spec.groupRef: no backends are fronted; name the MCPGroup that holds them',
    },
    'a group where older releases had it': {
      value: { spec: { incomingAuth: oidc, config: { groupRef: 'tools' } } as object },
      findings:
        'spec.groupRef: `spec.config.groupRef` is of older releases and not read; write `groupRef: {name: "tools"}` at spec',
    },
  },
})
