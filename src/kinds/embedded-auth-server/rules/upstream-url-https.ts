import { advice, defineRule, isLoopback, must, parseUrl } from '../../../rule/index.ts'
import { githubConfig, withOAuth2, withOidc } from '../examples.ts'
import { EmbeddedAuthServer } from '../schema.ts'
import { upstreamEndpoints } from '../upstream-urls.ts'

export const upstreamUrlHttps = defineRule({
  id: 'upstream-url-https',
  on: EmbeddedAuthServer,
  severity: 'warning',
  summary:
    'The endpoints of upstream providers use https, except on loopback hosts or with `insecureAllowHTTP`.',
  why: 'Codes, tokens and the client secret can be read on the way; without `insecureAllowHTTP`, which does not count for userinfo endpoints, releases do not start.',
  failure: {
    symptom:
      'the pod ends at start with "endpoint must use HTTPS", or "endpoint_url with http scheme requires loopback address"',
    reportedBy: 'start-up',
    consequence: 'does not start',
  },
  sources: [must('2.4.3', 'Endpoints of upstream providers are URLs.'), 'decision 21'],
  *check(server, { path }) {
    for (const { text, place, mayBeHttp } of upstreamEndpoints(server, path)) {
      if (mayBeHttp || !text.startsWith('http:')) continue
      const host = parseUrl(text)?.host ?? ''
      if (host !== '' && !isLoopback(host)) {
        yield advice(place(), "use 'https://': codes, tokens and secrets can be read on the way")
      }
    }
  },
  examples: {
    'https endpoints': { value: withOAuth2(githubConfig) },
    'a provider on the same host': {
      value: withOAuth2({ ...githubConfig, tokenEndpoint: 'http://localhost:8080/token' }),
    },
    'plain http on purpose (newer releases)': {
      value: withOAuth2({
        ...githubConfig,
        insecureAllowHTTP: true,
        authorizationEndpoint: 'http://dex.auth.svc:5556/auth',
        tokenEndpoint: 'http://dex.auth.svc:5556/token',
      }),
    },
    'plain http on purpose, but the userinfo endpoint must be https all the same': {
      value: withOAuth2({
        ...githubConfig,
        insecureAllowHTTP: true,
        tokenEndpoint: 'http://dex.auth.svc:5556/token',
        userInfo: { endpointUrl: 'http://dex.auth.svc:5556/userinfo' },
      }),
      findings:
        "upstreamProviders[0].oauth2Config.userInfo.endpointUrl: use 'https://': codes, tokens and secrets can be read on the way",
    },
    'http endpoints of an OAuth 2.0 provider': {
      value: withOAuth2({
        ...githubConfig,
        authorizationEndpoint: 'http://idp.example.com/authorize',
        tokenEndpoint: 'http://idp.example.com/token',
        userInfo: { endpointUrl: 'http://idp.example.com/user' },
      }),
      findings: [
        "upstreamProviders[0].oauth2Config.authorizationEndpoint: use 'https://': codes, tokens and secrets can be read on the way",
        "upstreamProviders[0].oauth2Config.tokenEndpoint: use 'https://': codes, tokens and secrets can be read on the way",
        "upstreamProviders[0].oauth2Config.userInfo.endpointUrl: use 'https://': codes, tokens and secrets can be read on the way",
      ],
    },
    'an http userinfo endpoint of an OpenID Connect provider': {
      value: withOidc({ userInfoOverride: { endpointUrl: 'http://idp.example.com/user' } }),
      findings:
        "upstreamProviders[0].oidcConfig.userInfoOverride.endpointUrl: use 'https://': codes, tokens and secrets can be read on the way",
    },
  },
})
