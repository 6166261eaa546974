import { defineRule, forbidden, must } from '../../../rule/index.ts'
import { githubConfig, withOAuth2, withOidc } from '../examples.ts'
import { EmbeddedAuthServer } from '../schema.ts'

/** The parameters that users must not set, and where the server takes each of them from. */
const RESERVED = new Map([
  ['response_type', 'the server sets it'],
  ['client_id', 'the server takes it from `clientId`'],
  ['redirect_uri', 'the server takes it from `redirectUri`'],
  ['scope', 'the server takes it from `scopes`'],
  ['state', 'the server sets it'],
  ['code_challenge', 'the server sets it'],
  ['code_challenge_method', 'the server sets it'],
  ['nonce', 'the server sets it'],
])

export const upstreamAuthorizationParamsAllowed = defineRule({
  id: 'upstream-authorization-params-allowed',
  on: EmbeddedAuthServer,
  severity: 'error',
  summary: 'Extra authorization parameters leave alone those that the server sets itself.',
  why: 'A second value for one of them breaks the login or its protection against forgery; the server refuses it.',
  sources: [
    must('2.4.3', 'additionalAuthorizationParams may not hold the eight names that the service sets itself.'),
    must('7', 'additionalAuthorizationParams contains a framework-managed name.'),
  ],
  *check({ upstreamProviders = [] }, { path }) {
    for (let i = 0; i < upstreamProviders.length; i++) {
      const provider = upstreamProviders[i]
      for (const config of ['oidcConfig', 'oauth2Config'] as const) {
        const params = provider?.[config]?.additionalAuthorizationParams
        if (params === undefined) continue
        for (const [name, origin] of RESERVED) {
          if (!Object.hasOwn(params, name)) continue
          const place = path.upstreamProviders.at(i)[config].additionalAuthorizationParams.at(name)
          yield forbidden(place, `may not be set here; ${origin}`)
        }
      }
    }
  },
  policy: {
    expression: `
      self.?upstreamProviders.orValue([]).all(provider,
        [provider.?oidcConfig.orValue({}), provider.?oauth2Config.orValue({})].all(config,
          config.?additionalAuthorizationParams.orValue({}).all(name,
            !(name in ${JSON.stringify([...RESERVED.keys()])}))))`,
  },
  examples: {
    'parameters of the provider; names are case-sensitive': {
      value: withOidc({ additionalAuthorizationParams: { prompt: 'consent', Scope: 'all' } }),
    },
    'parameters that come from other fields': {
      value: withOAuth2({
        ...githubConfig,
        additionalAuthorizationParams: {
          client_id: 'other',
          redirect_uri: 'https://mcp.example.com/callback',
          scope: 'repo',
        },
      }),
      findings: [
        'upstreamProviders[0].oauth2Config.additionalAuthorizationParams[client_id]: Forbidden: may not be set here; the server takes it from `clientId`',
        'upstreamProviders[0].oauth2Config.additionalAuthorizationParams[redirect_uri]: Forbidden: may not be set here; the server takes it from `redirectUri`',
        'upstreamProviders[0].oauth2Config.additionalAuthorizationParams[scope]: Forbidden: may not be set here; the server takes it from `scopes`',
      ],
    },
    'parameters that the server makes up': {
      value: withOidc({
        additionalAuthorizationParams: {
          response_type: 'token',
          state: 'fixed',
          code_challenge: 'fixed',
          code_challenge_method: 'plain',
          nonce: 'fixed',
        },
      }),
      findings: [
        'upstreamProviders[0].oidcConfig.additionalAuthorizationParams[response_type]: Forbidden: may not be set here; the server sets it',
        'upstreamProviders[0].oidcConfig.additionalAuthorizationParams[state]: Forbidden: may not be set here; the server sets it',
        'upstreamProviders[0].oidcConfig.additionalAuthorizationParams[code_challenge]: Forbidden: may not be set here; the server sets it',
        'upstreamProviders[0].oidcConfig.additionalAuthorizationParams[code_challenge_method]: Forbidden: may not be set here; the server sets it',
        'upstreamProviders[0].oidcConfig.additionalAuthorizationParams[nonce]: Forbidden: may not be set here; the server sets it',
      ],
    },
  },
})
