import { advice, defineRule } from '../../../rule/index.ts'
import { withOidc } from '../examples.ts'
import { EmbeddedAuthServer } from '../schema.ts'

export const upstreamOidcScopeOpenid = defineRule({
  id: 'upstream-oidc-scope-openid',
  on: EmbeddedAuthServer,
  severity: 'warning',
  summary: 'The scopes of an OpenID Connect provider include `openid`.',
  why: 'Without it the provider gives no ID token, from which the server learns who the user is: it does not start.',
  failure: {
    symptom: 'the pod ends at start with "openid scope is required for OIDC provider"',
    reportedBy: 'start-up',
    consequence: 'does not start',
  },
  sources: ['decision 3', 'decision 21'],
  *check({ upstreamProviders = [] }, { path }) {
    for (let i = 0; i < upstreamProviders.length; i++) {
      const provider = upstreamProviders[i]
      const scopes = provider?.oidcConfig?.scopes ?? []
      if (scopes.length === 0 || scopes.includes('openid') || scopes.includes(undefined)) continue
      yield advice(
        path.upstreamProviders.at(i).oidcConfig.scopes,
        "add 'openid': without it the authorization server does not start",
      )
    }
  },
  examples: {
    'the scope and others': { value: withOidc({ scopes: ['openid', 'offline_access'] }) },
    'the scopes by default': { value: withOidc({}) },
    'the scopes of an API alone': {
      value: withOidc({ scopes: ['api://tools/read', 'offline_access'] }),
      findings:
        "upstreamProviders[0].oidcConfig.scopes: add 'openid': without it the authorization server does not start",
    },
  },
})
