import { defineRule, says } from '../../../rule/index.ts'
import { issuerErrors } from '../../known-issuers.ts'
import { issuing } from '../examples.ts'
import { MCPOIDCConfig } from '../schema.ts'

export const oidcConfigIssuerSpelt = defineRule({
  id: 'oidc-config-issuer-spelt',
  on: MCPOIDCConfig,
  severity: 'warning',
  summary:
    'The issuer is written as its tokens have it: not the address of its metadata, and of a known identity provider with or without a slash.',
  why: 'The issuer of a token is compared as a text: one that differs by a slash is another one, so every token is refused. Discovery appends the path of the metadata.',
  failure: {
    symptom: 'every caller gets 401: `invalid issuer`, `issuer mismatch`',
    reportedBy: 'nobody',
    consequence: 'denies everyone',
  },
  sources: [says('2.3', 'inline.issuer is the URL of the token issuer.')],
  check: ({ spec }, { path }) =>
    issuerErrors(() => path.spec.inline.issuer, spec?.inline?.issuer, 'every token is refused'),
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
    'the address of the metadata': {
      value: issuing('https://sso.example.com/realms/a/.well-known/openid-configuration'),
      findings:
        "spec.inline.issuer: is the address of the metadata of an issuer, so every token is refused; write 'https://sso.example.com/realms/a'",
    },
    'the address of the metadata of Auth0': {
      value: issuing('https://example.auth0.com/.well-known/openid-configuration'),
      findings:
        "spec.inline.issuer: is the address of the metadata of an issuer, so every token is refused; write 'https://example.auth0.com/'",
    },
    'the address of the metadata of authentik': {
      value: issuing('https://sso.example.com/application/o/mcp/.well-known/openid-configuration'),
      findings:
        "spec.inline.issuer: is the address of the metadata of an issuer, so every token is refused; write 'https://sso.example.com/application/o/mcp/'",
    },
    'the address of the metadata of a host, whose issuer may have a slash': {
      value: issuing('https://login.example.com/.well-known/oauth-authorization-server'),
      findings:
        "spec.inline.issuer: is the address of the metadata of an issuer, so every token is refused; write the `issuer` there, such as 'https://login.example.com'",
    },
  },
})
