import { advice, defineRule, says } from '../../../rule/index.ts'
import { issuerDetail, meantIssuer } from '../../known-issuers.ts'
import { issuing } from '../examples.ts'
import { MCPOIDCConfig } from '../schema.ts'

export const oidcConfigIssuerSpelt = defineRule({
  id: 'oidc-config-issuer-spelt',
  on: MCPOIDCConfig,
  severity: 'warning',
  summary:
    'The issuer of a known identity provider is written with or without a slash as its tokens have it.',
  why: 'The issuer of a token is compared as a text: one that differs by a slash is another one, so every token is refused.',
  failure: {
    symptom: 'every caller gets 401: `invalid issuer`, `issuer mismatch`',
    reportedBy: 'nobody',
    consequence: 'denies everyone',
  },
  sources: [says('2.3', 'inline.issuer is the URL of the token issuer.')],
  *check({ spec }, { path }) {
    const meant = meantIssuer(spec?.inline?.issuer ?? '')
    if (meant !== undefined)
      yield advice(path.spec.inline.issuer, issuerDetail(meant, 'every token is refused'))
  },
  examples: {
    Okta: { value: issuing('https://example.okta.com/oauth2/default') },
    'Auth0, whose issuer has one': { value: issuing('https://example.eu.auth0.com/') },
    'a provider that is not known': { value: issuing('https://idp.example.com/') },
    'Okta, of an organisation': { value: issuing('https://example.okta.com') },
    'Okta with a slash': {
      value: issuing('https://example.okta.com/'),
      findings:
        "spec.inline.issuer: Okta writes its issuer without a slash at the end, so every token is refused; write 'https://example.okta.com'",
    },
    'Entra ID, version 1, without one': {
      value: issuing('https://sts.windows.net/3aa4a235'),
      findings:
        "spec.inline.issuer: Entra ID writes its issuer with a slash at the end, so every token is refused; write 'https://sts.windows.net/3aa4a235/'",
    },
  },
})
