import { advice, defineRule, isAbsent, says } from '../../../rule/index.ts'
import { incoming, oidc } from '../examples.ts'
import { VirtualMCPServer } from '../schema.ts'

export const incomingAuthConfigured = defineRule({
  id: 'incoming-auth-configured',
  on: VirtualMCPServer,
  severity: 'warning',
  summary: 'The server says how clients authenticate.',
  why: 'Whether everyone may call the backends is left to the release that runs.',
  sources: [
    says('2.2', 'incomingAuth says how clients authenticate: type anonymous or oidc.'),
    says('5.1', 'A client authenticates to vMCP as incomingAuth says.'),
    'decision 5',
  ],
  *check({ spec }, { path }) {
    if (!spec || !isAbsent(spec, 'incomingAuth')) return
    yield advice(
      path.spec.incomingAuth,
      "without it the operator release decides whether everyone may call the backends; set it, with `type` 'oidc'",
    )
  },
  examples: {
    OIDC: { value: incoming(oidc) },
    'no incoming authentication': {
      value: { spec: { groupRef: { name: 'tools' } } },
      findings:
        "spec.incomingAuth: without it the operator release decides whether everyone may call the backends; set it, with `type` 'oidc'",
    },
  },
})
