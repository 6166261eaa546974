import { advice, defineRule, outage, shortQuote } from '../../../rule/index.ts'
import {
  authorizationField,
  authorizationHost,
  hostOf,
  LOGIN_RETURNS_ELSEWHERE,
} from '../authorization-host.ts'
import { missesCallback } from '../callback.ts'
import { server, withOidc } from '../examples.ts'
import { EmbeddedAuthServer } from '../schema.ts'

export const upstreamRedirectUriHostAgreed = defineRule({
  id: 'upstream-redirect-uri-host-agreed',
  on: EmbeddedAuthServer,
  appliesTo: { from: '0.55' },
  severity: 'warning',
  summary:
    'A redirect URI has the host of the authorization endpoint: of `authorizationEndpointBaseUrl`, else of the issuer.',
  why: 'From release 0.55 on a cookie of that host binds a login to the browser that began it. No browser sends it to another host, so the callback rejects every login.',
  failure: LOGIN_RETURNS_ELSEWHERE,
  sources: ['decision 3', 'decision 21'],
  *check(server, { path }) {
    const host = authorizationHost(server)
    if (host === '') return
    const { upstreamProviders = [] } = server
    for (let i = 0; i < upstreamProviders.length; i++) {
      const provider = upstreamProviders[i]
      for (const config of ['oidcConfig', 'oauth2Config'] as const) {
        const redirectUri = provider?.[config]?.redirectUri
        const callback = hostOf(redirectUri)
        // Skips a redirect URI whose path is not that of the callback: no host serves it, and another rule says so.
        if (redirectUri !== undefined && missesCallback(server, redirectUri)) continue
        if (callback !== '' && callback !== host)
          yield outage(
            advice(
              path.upstreamProviders.at(i)[config].redirectUri,
              `must have the host of \`${authorizationField(server)}\`, ${shortQuote(host)}: from release 0.55 on the callback rejects every login otherwise`,
            ),
          )
      }
    }
  },
  examples: {
    'the host of the issuer': { value: withOidc({ redirectUri: 'https://auth.example.com/oauth/callback' }) },
    'the host of the authorization endpoint, with another port': {
      value: {
        ...withOidc({ redirectUri: 'https://LOGIN.example.com:8443/oauth/callback' }),
        authorizationEndpointBaseUrl: 'https://login.example.com',
      },
    },
    'the host of the resource': {
      value: withOidc({ redirectUri: 'https://mcp.example.com/oauth/callback' }),
      findings:
        'upstreamProviders[0].oidcConfig.redirectUri: must have the host of `issuer`, "auth.example.com": from release 0.55 on the callback rejects every login otherwise',
    },
    'the host of the issuer, where the authorization endpoint has another one': {
      value: {
        ...withOidc({ redirectUri: `${server.issuer ?? ''}/oauth/callback` }),
        authorizationEndpointBaseUrl: 'https://login.example.com',
      },
      findings:
        'upstreamProviders[0].oidcConfig.redirectUri: must have the host of `authorizationEndpointBaseUrl`, "login.example.com": from release 0.55 on the callback rejects every login otherwise',
    },
  },
})
