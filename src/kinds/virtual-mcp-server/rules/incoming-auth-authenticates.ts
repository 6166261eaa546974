import { advice, defineRule, says } from '../../../rule/index.ts'
import { incoming, oidc } from '../examples.ts'
import { VirtualMCPServer } from '../schema.ts'

export const incomingAuthAuthenticates = defineRule({
  id: 'incoming-auth-authenticates',
  on: VirtualMCPServer,
  needs: ['incomingAuth'],
  severity: 'advice',
  summary: 'Clients authenticate before they reach a backend.',
  why: 'With `anonymous` all access control is disabled: whoever reaches the server may call every backend.',
  sources: [
    says('5.1', 'anonymous disables all access control: development only, not for production.'),
    'decision 21',
  ],
  *check({ spec }, { path }) {
    if (spec?.incomingAuth?.type !== 'anonymous') return
    yield advice(
      path.spec.incomingAuth.type,
      "'anonymous' disables all access control; use 'oidc' in production",
    )
  },
  examples: {
    OIDC: { value: incoming(oidc) },
    'no authentication': {
      value: incoming({ type: 'anonymous' }),
      findings: "spec.incomingAuth.type: 'anonymous' disables all access control; use 'oidc' in production",
    },
  },
})
