import { defineRule, invalid, isLoopback, parseUrl } from '../../../rule/index.ts'
import { githubConfig, withOAuth2, withOidc } from '../examples.ts'
import { mayBeTrue } from '../effective.ts'
import { EmbeddedAuthServer } from '../schema.ts'

export const upstreamRedirectUriAccepted = defineRule({
  id: 'upstream-redirect-uri-accepted',
  on: EmbeddedAuthServer,
  severity: 'warning',
  summary:
    'A redirect URI has no fragment and uses https, or http on a loopback host or with `insecureAllowHTTP`.',
  why: 'The authorization server does not start, or crashes in a loop.',
  failure: {
    symptom:
      'the pod ends at start with "redirect_uri must be an absolute URI without a fragment" or "redirect_uri must use http (for loopback) or https scheme"',
    reportedBy: 'start-up',
    consequence: 'does not start',
  },
  sources: ['decision 3', 'decision 13'],
  *check(server, { path }) {
    const allowsHttp = mayBeTrue(server, 'insecureAllowHTTP')
    const { upstreamProviders = [] } = server
    for (let i = 0; i < upstreamProviders.length; i++) {
      const provider = upstreamProviders[i]
      const { oidcConfig, oauth2Config } = provider ?? {}
      if (!oidcConfig?.redirectUri && !oauth2Config?.redirectUri) continue
      const here = path.upstreamProviders.at(i)
      for (const [config, place, allows] of [
        [oidcConfig, here.oidcConfig, allowsHttp],
        [oauth2Config, here.oauth2Config, allowsHttp || mayBeTrue(oauth2Config ?? {}, 'insecureAllowHTTP')],
      ] as const) {
        const text = config?.redirectUri
        const problem = text && problemOf(text, allows)
        if (problem) yield invalid(place.redirectUri, text, problem)
      }
    }
  },
  examples: {
    https: { value: withOidc({ redirectUri: 'https://auth.example.com/oauth/callback' }) },
    'a loopback host': { value: withOidc({ redirectUri: 'http://localhost:8080/oauth/callback' }) },
    'http that is allowed': {
      value: withOAuth2({
        ...githubConfig,
        insecureAllowHTTP: true,
        redirectUri: 'http://auth.internal/oauth/callback',
      }),
    },
    'an empty one, which is none': { value: withOidc({ redirectUri: '' }) },
    'a fragment': {
      value: withOidc({ redirectUri: 'https://auth.example.com/oauth/callback#done' }),
      findings:
        'upstreamProviders[0].oidcConfig.redirectUri: Invalid value: "https://auth.example.com/oauth/callback#done": must have no fragment, or the server does not start',
    },
    'http and another scheme': {
      value: withOAuth2({ ...githubConfig, redirectUri: 'http://auth.example.com/oauth/callback' }),
      findings:
        'upstreamProviders[0].oauth2Config.redirectUri: Invalid value: "http://auth.example.com/oauth/callback": must start with \'https://\' unless the host is loopback, or the server does not start',
    },
  },
})

/** The problem of an absolute URL; undefined when it has none, or when the text has no scheme or host. */
function problemOf(text: string, allowsHttp: boolean): string | undefined {
  const url = parseUrl(text)
  if (url === undefined || url.scheme === '' || url.host === '') return undefined
  if (text.includes('#')) return 'must have no fragment, or the server does not start'
  const isLocal = isLoopback(url.host) || url.host.endsWith('.localhost')
  if (url.scheme === 'https' || (url.scheme === 'http' && (isLocal || allowsHttp))) return undefined
  return "must start with 'https://' unless the host is loopback, or the server does not start"
}
