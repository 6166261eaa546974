import { advice, defineRule, isAbsent, says } from '../../../rule/index.ts'
import { incoming, oidc } from '../examples.ts'
import { VirtualMCPServer } from '../schema.ts'

export const incomingAuthInlineOidcChecked = defineRule({
  id: 'incoming-auth-inline-oidc-checked',
  on: VirtualMCPServer,
  needs: ['incomingAuth'],
  severity: 'warning',
  summary: 'Token validation is described by an MCPOIDCConfig, which is checked.',
  why: 'Mistakes in the inline `oidcConfig` of older releases show only when the first client comes; without an audience tokens for other services pass.',
  sources: [says('2.2', 'For inline OIDC configuration audience is optional but recommended.'), 'decision 5'],
  *check({ spec }, { path }) {
    const incomingAuth = spec?.incomingAuth
    if (!incomingAuth || isAbsent(incomingAuth, 'oidcConfig')) return
    yield advice(
      path.spec.incomingAuth.oidcConfig,
      'is of older releases, and nothing here checks it: without an audience tokens for other services pass; add one, or move it to an MCPOIDCConfig and set `oidcConfigRef`',
    )
  },
  examples: {
    'a shared configuration': { value: incoming(oidc) },
    'an inline configuration': {
      value: incoming({ type: 'oidc', oidcConfig: { type: 'inline' } }),
      findings:
        'spec.incomingAuth.oidcConfig: is of older releases, and nothing here checks it: without an audience tokens for other services pass; add one, or move it to an MCPOIDCConfig and set `oidcConfigRef`',
    },
  },
})
