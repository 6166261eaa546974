import { advice, defineRule, isAbsent, must } from '../../../rule/index.ts'
import { incoming, oidc } from '../examples.ts'
import { VirtualMCPServer } from '../schema.ts'

export const incomingAuthOidcConfigRefUsed = defineRule({
  id: 'incoming-auth-oidc-config-ref-used',
  on: VirtualMCPServer,
  needs: ['incomingAuth'],
  severity: 'warning',
  summary: '`oidcConfigRef` is set with the type `oidc` only.',
  why: 'It looks as if tokens were validated, and none is.',
  sources: [must('2.2', 'oidcConfigRef is used with type oidc.'), 'decision 5'],
  *check({ spec }, { path }) {
    const incomingAuth = spec?.incomingAuth
    if (incomingAuth?.type !== 'anonymous' || isAbsent(incomingAuth, 'oidcConfigRef')) return
    yield advice(
      path.spec.incomingAuth.oidcConfigRef,
      "is not used when `type` is 'anonymous', so no token is checked; set `type` to 'oidc' or remove the reference",
    )
  },
  examples: {
    OIDC: { value: incoming(oidc) },
    'a reference and no authentication': {
      value: incoming({ ...oidc, type: 'anonymous' }),
      findings:
        "spec.incomingAuth.oidcConfigRef: is not used when `type` is 'anonymous', so no token is checked; set `type` to 'oidc' or remove the reference",
    },
  },
})
