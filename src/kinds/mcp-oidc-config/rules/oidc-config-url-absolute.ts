import { advice, defineRule, parseUrl, says } from '../../../rule/index.ts'
import { issuing } from '../examples.ts'
import { MCPOIDCConfig } from '../schema.ts'

export const oidcConfigUrlAbsolute = defineRule({
  id: 'oidc-config-url-absolute',
  on: MCPOIDCConfig,
  severity: 'warning',
  summary: 'The issuer and `jwksUrl` are absolute http or https URLs with a host.',
  why: 'The keys of the issuer cannot be fetched, so no token can be validated.',
  sources: [says('2.3', 'inline.issuer is the URL of the token issuer.'), 'decision 13'],
  *check({ spec }, { path }) {
    for (const field of ['issuer', 'jwksUrl'] as const) {
      const text = spec?.inline?.[field]
      if (!text) continue
      const url = parseUrl(text)
      if ((url?.scheme === 'https' || url?.scheme === 'http') && url.host !== '') continue
      yield advice(
        path.spec.inline[field],
        "must be an absolute URL with a host, such as 'https://idp.example.com', or no token can be validated",
      )
    }
  },
  examples: {
    'a URL': { value: issuing('https://idp.example.com/realms/prod') },
    'a URL of the keys': {
      value: issuing('https://idp.example.com', { jwksUrl: 'https://keys.example.com:8443/jwks' }),
    },
    'no scheme': {
      value: issuing('idp.example.com', { jwksUrl: '/jwks' }),
      findings: [
        "spec.inline.issuer: must be an absolute URL with a host, such as 'https://idp.example.com', or no token can be validated",
        "spec.inline.jwksUrl: must be an absolute URL with a host, such as 'https://idp.example.com', or no token can be validated",
      ],
    },
  },
})
