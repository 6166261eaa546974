import { defineRule, invalid, shortQuote } from '../../../rule/index.ts'
import { CALLBACK_NOT_SERVED, missesCallback, providerText, workingCallback } from '../callback.ts'
import { githubConfig, server, withOAuth2, withOidc } from '../examples.ts'
import { EmbeddedAuthServer } from '../schema.ts'

export const upstreamRedirectUriServed = defineRule({
  id: 'upstream-redirect-uri-served',
  on: EmbeddedAuthServer,
  severity: 'warning',
  summary: 'A redirect URI has the path `/oauth/callback`, which the authorization server serves.',
  why: 'The server answers at the root of each host that leads to its pod, with and without a path in `resourceUrl`. At another path the request reaches the MCP server, which asks for a token. Only an Ingress that rewrites the path helps.',
  failure: CALLBACK_NOT_SERVED,
  sources: ['decision 3', 'decision 21'],
  *check(server, { path }) {
    const { upstreamProviders = [] } = server
    for (let i = 0; i < upstreamProviders.length; i++) {
      const provider = upstreamProviders[i]
      if (!provider?.oidcConfig?.redirectUri && !provider?.oauth2Config?.redirectUri) continue
      for (const config of ['oidcConfig', 'oauth2Config'] as const) {
        const redirectUri = provider[config]?.redirectUri
        if (!redirectUri || !missesCallback(server, redirectUri)) continue
        const works = workingCallback(server)
        const who = providerText(provider)
        if (works === undefined || who === undefined) continue
        const at = path.upstreamProviders.at(i)[config].redirectUri
        const detail = `unserved: logins fail; write and register ${shortQuote(works)} at ${who}`
        yield invalid(at, redirectUri, detail)
      }
    }
  },
  examples: {
    'the path of the callback': {
      value: withOidc({ redirectUri: 'https://auth.example.com/oauth/callback' }),
    },
    'the path of the callback, and a query': {
      value: withOidc({ redirectUri: 'https://auth.example.com/oauth/callback?tenant=tools' }),
    },
    'on a port of this machine': {
      value: withOAuth2({ ...githubConfig, redirectUri: 'http://localhost:8080/oauth/callback' }),
    },
    'below the path of the issuer, which the Ingress removes': {
      value: {
        ...withOidc({ redirectUri: 'https://auth.example.com/team-a/oauth/callback' }),
        issuer: 'https://auth.example.com/team-a',
      },
    },
    'none, so that it follows from `resourceUrl`': { value: server },
    'a path in front': {
      value: withOidc({ redirectUri: 'https://auth.example.com/mcp/oauth/callback' }),
      findings:
        'upstreamProviders[0].oidcConfig.redirectUri: Invalid value: "https://auth.example.com/mcp/oauth/callback": unserved: logins fail; write and register "https://auth.example.com/oauth/callback" at "okta"',
    },
    'the path of another product': {
      value: withOAuth2({ ...githubConfig, redirectUri: 'https://auth.example.com/callback' }),
      findings:
        'upstreamProviders[0].oauth2Config.redirectUri: Invalid value: "https://auth.example.com/callback": unserved: logins fail; write and register "https://auth.example.com/oauth/callback" at "github"',
    },
  },
})
