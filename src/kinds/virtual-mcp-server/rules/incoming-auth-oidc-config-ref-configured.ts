import { defineRule, isAbsent, must, required } from '../../../rule/index.ts'
import { incoming, oidc } from '../examples.ts'
import { VirtualMCPServer } from '../schema.ts'

export const incomingAuthOidcConfigRefConfigured = defineRule({
  id: 'incoming-auth-oidc-config-ref-configured',
  on: VirtualMCPServer,
  needs: ['incomingAuth'],
  severity: 'error',
  summary:
    'Incoming authentication of type `oidc` names the MCPOIDCConfig that validates tokens, or has the inline `oidcConfig` of older releases.',
  why: 'Nothing says which issuer to trust, so no token can be validated.',
  sources: [
    must('2.2', 'oidcConfigRef is used with type oidc.'),
    must('5.1', 'With type oidc tokens are validated against the MCPOIDCConfig named by oidcConfigRef.'),
    'decision 5',
  ],
  *check({ spec }, { path }) {
    const incomingAuth = spec?.incomingAuth
    if (incomingAuth?.type !== 'oidc') return
    if (!isAbsent(incomingAuth, 'oidcConfigRef') || !isAbsent(incomingAuth, 'oidcConfig')) return
    yield required(path.spec.incomingAuth.oidcConfigRef, "must be set when `type` is 'oidc'")
  },
  policy: {
    expression: `
      self.?spec.?incomingAuth.?type.orValue('') != 'oidc' ||
      self.spec.incomingAuth.?oidcConfigRef.orValue(null) != null ||
      self.spec.incomingAuth.?oidcConfig.orValue(null) != null`,
  },
  examples: {
    'a shared configuration': { value: incoming(oidc) },
    'an inline configuration of an older release': {
      value: incoming({ type: 'oidc', oidcConfig: { type: 'inline' } }),
    },
    'no authentication': { value: incoming({ type: 'anonymous' }) },
    'no configuration': {
      value: incoming({ type: 'oidc' }),
      findings: "spec.incomingAuth.oidcConfigRef: Required value: must be set when `type` is 'oidc'",
    },
  },
})
