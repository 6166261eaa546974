import { advice, defineRule, isAbsent, parseUrl } from '../../../rule/index.ts'
import { mayBeTrue, type OAuth2Config, type Provider, requestedScopes } from '../effective.ts'
import { githubConfig, withOAuth2, withOidc } from '../examples.ts'
import { EmbeddedAuthServer } from '../schema.ts'

/** Issuer URLs of providers that always issue a refresh token, or have no scope for it: Keycloak, Cognito, GitLab. */
const ALWAYS = /\/realms\/|^https:\/\/cognito-idp\.|^https:\/\/gitlab\./

const google: OAuth2Config = {
  ...githubConfig,
  authorizationEndpoint: 'https://accounts.google.com/o/oauth2/v2/auth',
  tokenEndpoint: 'https://oauth2.googleapis.com/token',
  scopes: ['openid', 'email'],
  userInfo: { endpointUrl: 'https://openidconnect.googleapis.com/v1/userinfo' },
}

export const upstreamRefreshTokenRequested = defineRule({
  id: 'upstream-refresh-token-requested',
  on: EmbeddedAuthServer,
  severity: 'warning',
  summary:
    'A provider is asked for a refresh token: OpenID Connect by scope `offline_access`, Google by `access_type: offline`.',
  why: 'Without a refresh token the login ends with the first access token of the provider, mostly after an hour. Google refuses a login with the scope `offline_access`.',
  failure: {
    symptom: 'users have to log in again every hour; at Google the login ends with 400 "invalid_scope"',
    reportedBy: 'nobody',
    consequence: 'degrades',
    threads: ['stacklok/toolhive#3776', 'stacklok/toolhive#5507'],
  },
  sources: ['2.4.3', 'decision 21'],
  *check(server, { path }) {
    if (mayBeTrue(server, 'disableUpstreamTokenInjection')) return
    const { upstreamProviders = [] } = server
    for (let i = 0; i < upstreamProviders.length; i++) {
      const provider = upstreamProviders[i]
      if (provider === undefined) continue
      const field = provider.oidcConfig ? 'oidcConfig' : 'oauth2Config'
      const config = provider[field]
      const scopes = requestedScopes(provider, field)
      if (!config || scopes === undefined || scopes.includes(undefined)) continue
      if (mayAskByParameter(config)) continue
      const address = provider.oidcConfig
        ? provider.oidcConfig.issuerUrl
        : provider.oauth2Config?.authorizationEndpoint
      if (address === undefined) continue
      const isAsked = scopes.includes('offline_access')
      const here = path.upstreamProviders.at(i)[field]
      if (parseUrl(address)?.host === 'accounts.google.com')
        yield advice(
          here.additionalAuthorizationParams,
          isAsked
            ? "add 'access_type: offline', and set `scopes` without offline_access, which Google refuses with invalid_scope"
            : "add 'access_type: offline': Google gives no refresh token without it, and users log in again every hour",
        )
      else if (field === 'oidcConfig' && !isAsked && !ALWAYS.test(address))
        yield advice(
          here.scopes,
          "add 'offline_access': without a refresh token users log in again when the access token ends",
        )
    }
  },
  examples: {
    'the scope': { value: withOidc({ scopes: ['openid', 'email', 'offline_access'] }) },
    'the scopes by default': { value: withOidc({}) },
    'an empty list, which means the same': { value: withOidc({ scopes: [] }) },
    Google: {
      value: withOidc({
        issuerUrl: 'https://accounts.google.com',
        scopes: ['openid', 'email'],
        additionalAuthorizationParams: { access_type: 'offline', prompt: 'consent' },
      }),
    },
    'Google as an OAuth 2.0 provider': [
      { value: withOAuth2({ ...google, additionalAuthorizationParams: { access_type: 'offline' } }) },
      {
        value: withOAuth2(google),
        findings:
          "upstreamProviders[0].oauth2Config.additionalAuthorizationParams: add 'access_type: offline': Google gives no refresh token without it, and users log in again every hour",
      },
    ],
    'a provider without OpenID Connect, which has no such scope': { value: withOAuth2(githubConfig) },
    'a provider that gives it unasked': {
      value: withOidc({ issuerUrl: 'https://sso.example.com/realms/prod', scopes: ['openid', 'email'] }),
    },
    'scopes without it': {
      value: withOidc({ scopes: ['openid', 'profile', 'email'] }),
      findings:
        "upstreamProviders[0].oidcConfig.scopes: add 'offline_access': without a refresh token users log in again when the access token ends",
    },
    'Google with the scopes by default': {
      value: withOidc({ issuerUrl: 'https://accounts.google.com' }),
      findings:
        "upstreamProviders[0].oidcConfig.additionalAuthorizationParams: add 'access_type: offline', and set `scopes` without offline_access, which Google refuses with invalid_scope",
    },
    'Google with scopes of its own': {
      value: withOidc({ issuerUrl: 'https://accounts.google.com', scopes: ['openid', 'email'] }),
      findings:
        "upstreamProviders[0].oidcConfig.additionalAuthorizationParams: add 'access_type: offline': Google gives no refresh token without it, and users log in again every hour",
    },
  },
})

/** Whether an extra parameter of the login requests a refresh token; true when its value has a wrong JSON type. */
function mayAskByParameter(config: NonNullable<Provider['oidcConfig']> | OAuth2Config): boolean {
  if (isAbsent(config, 'additionalAuthorizationParams')) return false
  const params = config.additionalAuthorizationParams
  if (params === undefined) return true
  return Object.hasOwn(params, 'access_type') && (params.access_type ?? 'offline') === 'offline'
}
