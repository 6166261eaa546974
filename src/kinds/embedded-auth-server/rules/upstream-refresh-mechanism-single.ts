import { advice, defineRule, says } from '../../../rule/index.ts'
import { requestedScopes } from '../effective.ts'
import { githubConfig, withOAuth2, withOidc } from '../examples.ts'
import { EmbeddedAuthServer } from '../schema.ts'

export const upstreamRefreshMechanismSingle = defineRule({
  id: 'upstream-refresh-mechanism-single',
  on: EmbeddedAuthServer,
  severity: 'warning',
  summary:
    'Refresh tokens are asked for by scope `offline_access` or by parameter `access_type`, not by both.',
  why: 'Both are sent; a provider that knows only one of them may refuse the login.',
  sources: [
    says('2.4.3', 'With a refresh mechanism of the provider set explicit scopes, so that both are not sent.'),
    'decision 21',
  ],
  *check({ upstreamProviders = [] }, { path }) {
    for (let i = 0; i < upstreamProviders.length; i++) {
      const provider = upstreamProviders[i]
      for (const config of ['oidcConfig', 'oauth2Config'] as const) {
        const params = provider?.[config]?.additionalAuthorizationParams
        if (!provider || !params || !Object.hasOwn(params, 'access_type')) continue
        if (!requestedScopes(provider, config)?.includes('offline_access')) continue
        yield advice(
          path.upstreamProviders.at(i)[config].additionalAuthorizationParams.at('access_type'),
          "is a second mechanism for refresh tokens, beside scope 'offline_access'; keep one, or a provider may refuse the login",
        )
      }
    }
  },
  examples: {
    'the parameter alone': {
      value: withOidc({
        scopes: ['openid', 'email'],
        additionalAuthorizationParams: { access_type: 'offline' },
      }),
    },
    'the scope alone': { value: withOidc({ scopes: ['openid', 'offline_access'] }) },
    'both, the scope by default': {
      value: withOidc({ additionalAuthorizationParams: { access_type: 'offline' } }),
      findings:
        "upstreamProviders[0].oidcConfig.additionalAuthorizationParams[access_type]: is a second mechanism for refresh tokens, beside scope 'offline_access'; keep one, or a provider may refuse the login",
    },
    'both, as an empty list means the default': {
      value: withOidc({ scopes: [], additionalAuthorizationParams: { access_type: 'offline' } }),
      findings:
        "upstreamProviders[0].oidcConfig.additionalAuthorizationParams[access_type]: is a second mechanism for refresh tokens, beside scope 'offline_access'; keep one, or a provider may refuse the login",
    },
    'both, given': {
      value: withOAuth2({
        ...githubConfig,
        scopes: ['offline_access'],
        additionalAuthorizationParams: { access_type: 'offline' },
      }),
      findings:
        "upstreamProviders[0].oauth2Config.additionalAuthorizationParams[access_type]: is a second mechanism for refresh tokens, beside scope 'offline_access'; keep one, or a provider may refuse the login",
    },
  },
})
