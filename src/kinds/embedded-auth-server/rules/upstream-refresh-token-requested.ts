import { advice, defineRule, isAbsent, parseUrl } from '../../../rule/index.ts'
import { mayBeTrue, type Provider, requestedScopes } from '../effective.ts'
import { withOidc } from '../examples.ts'
import { EmbeddedAuthServer } from '../schema.ts'

/** Issuer URLs of providers that always issue a refresh token, or have no scope for it: Keycloak, Cognito, GitLab. */
const ALWAYS = /\/realms\/|^https:\/\/cognito-idp\.|^https:\/\/gitlab\./

export const upstreamRefreshTokenRequested = defineRule({
  id: 'upstream-refresh-token-requested',
  on: EmbeddedAuthServer,
  reads: [],
  severity: 'warning',
  summary:
    'An OpenID Connect provider is asked for a refresh token: by scope `offline_access`, at Google by `access_type: offline`.',
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
      const config = provider?.oidcConfig
      const scopes = provider && requestedScopes(provider, 'oidcConfig')
      if (!config || scopes === undefined || scopes.includes(undefined)) continue
      if (mayAskByParameter(config)) continue
      const issuer = config.issuerUrl
      if (issuer === undefined) continue
      const isAsked = scopes.includes('offline_access')
      const here = path.upstreamProviders.at(i).oidcConfig
      if (parseUrl(issuer)?.host === 'accounts.google.com')
        yield advice(
          here.additionalAuthorizationParams,
          isAsked
            ? "add 'access_type: offline', and set `scopes` without offline_access, which Google refuses with invalid_scope"
            : "add 'access_type: offline': Google gives no refresh token without it, and users log in again every hour",
        )
      else if (!isAsked && !ALWAYS.test(issuer))
        yield advice(
          here.scopes,
          "add 'offline_access': without a refresh token users log in again when the access token ends",
        )
    }
  },
  examples: {
    valid: [
      { title: 'the scope', value: withOidc({ scopes: ['openid', 'email', 'offline_access'] }) },
      { title: 'the scopes by default', value: withOidc({}) },
      { title: 'an empty list, which means the same', value: withOidc({ scopes: [] }) },
      {
        title: 'Google',
        value: withOidc({
          issuerUrl: 'https://accounts.google.com',
          scopes: ['openid', 'email'],
          additionalAuthorizationParams: { access_type: 'offline', prompt: 'consent' },
        }),
      },
      {
        title: 'a provider that gives it unasked',
        value: withOidc({ issuerUrl: 'https://sso.example.com/realms/prod', scopes: ['openid', 'email'] }),
      },
    ],
    invalid: [
      {
        title: 'scopes without it',
        value: withOidc({ scopes: ['openid', 'profile', 'email'] }),
        findings: [
          "upstreamProviders[0].oidcConfig.scopes: add 'offline_access': without a refresh token users log in again when the access token ends",
        ],
      },
      {
        title: 'Google with the scopes by default',
        value: withOidc({ issuerUrl: 'https://accounts.google.com' }),
        findings: [
          "upstreamProviders[0].oidcConfig.additionalAuthorizationParams: add 'access_type: offline', and set `scopes` without offline_access, which Google refuses with invalid_scope",
        ],
      },
      {
        title: 'Google with scopes of its own',
        value: withOidc({ issuerUrl: 'https://accounts.google.com', scopes: ['openid', 'email'] }),
        findings: [
          "upstreamProviders[0].oidcConfig.additionalAuthorizationParams: add 'access_type: offline': Google gives no refresh token without it, and users log in again every hour",
        ],
      },
    ],
  },
})

/** Whether an extra parameter of the login requests a refresh token; true when its value has a wrong JSON type. */
function mayAskByParameter(config: NonNullable<Provider['oidcConfig']>): boolean {
  if (isAbsent(config, 'additionalAuthorizationParams')) return false
  const params = config.additionalAuthorizationParams
  if (params === undefined) return true
  return Object.hasOwn(params, 'access_type') && (params.access_type ?? 'offline') === 'offline'
}
