import { advice, defineRule, must, parseUrl } from '../../../rule/index.ts'
import { githubConfig, withOAuth2, withOidc } from '../examples.ts'
import { EmbeddedAuthServer } from '../schema.ts'
import { upstreamEndpoints, upstreamIdentifiers } from '../upstream-urls.ts'

export const upstreamUrlAbsolute = defineRule({
  id: 'upstream-url-absolute',
  on: EmbeddedAuthServer,
  severity: 'warning',
  summary: 'The URLs of upstream providers are absolute and have a host.',
  why: 'Their patterns let `https://` pass; the server cannot call it or send a user there.',
  sources: [
    must('2.4.3', 'Endpoints of upstream providers are URLs.'),
    must('2.5', 'P-url'),
    must('2.5', 'P-https'),
    'decision 13',
  ],
  *check(server, { path }) {
    const urls = [...upstreamEndpoints(server, path), ...upstreamIdentifiers(server, path)]
    for (const { text, place, pattern } of urls) {
      const url = parseUrl(text)
      const isAbsolute = url !== undefined && url.scheme !== '' && url.host !== ''
      if (!isAbsolute && pattern?.test(text) !== false)
        yield advice(place(), 'must be an absolute URL with a host, or the server does not start')
    }
  },
  examples: {
    'absolute URLs': { value: withOidc({ redirectUri: 'https://mcp.example.com/oauth/callback' }) },
    'an empty redirect URI counts as not given': { value: withOidc({ redirectUri: '' }) },
    'an OAuth 2.0 provider without hosts': {
      value: withOAuth2({
        ...githubConfig,
        authorizationEndpoint: 'https://',
        tokenEndpoint: 'https:///token',
        userInfo: { endpointUrl: 'https://idp example.com/user' },
        redirectUri: '/oauth/callback',
      }),
      findings: [
        'upstreamProviders[0].oauth2Config.authorizationEndpoint: must be an absolute URL with a host, or the server does not start',
        'upstreamProviders[0].oauth2Config.tokenEndpoint: must be an absolute URL with a host, or the server does not start',
        'upstreamProviders[0].oauth2Config.userInfo.endpointUrl: must be an absolute URL with a host, or the server does not start',
        'upstreamProviders[0].oauth2Config.redirectUri: must be an absolute URL with a host, or the server does not start',
      ],
    },
    'an OpenID Connect provider without hosts': {
      value: withOidc({
        issuerUrl: 'https://:8443',
        redirectUri: 'mcp.example.com/oauth/callback',
        userInfoOverride: { endpointUrl: 'http://[::1' },
      }),
      findings: [
        'upstreamProviders[0].oidcConfig.userInfoOverride.endpointUrl: must be an absolute URL with a host, or the server does not start',
        'upstreamProviders[0].oidcConfig.issuerUrl: must be an absolute URL with a host, or the server does not start',
        'upstreamProviders[0].oidcConfig.redirectUri: must be an absolute URL with a host, or the server does not start',
      ],
    },
  },
})
