import { advice } from '../../../rule/field-error.ts'
import { defineRule } from '../../../rule/rule.ts'
import { parseUrl } from '../../../rule/url.ts'
import { issuing } from '../examples.ts'
import { MCPOIDCConfig } from '../schema.ts'

export const oidcConfigIssuerAbsolute = defineRule({
  id: 'oidc-config-issuer-absolute',
  on: MCPOIDCConfig,
  reads: [],
  severity: 'warning',
  summary: 'The issuer is an absolute http or https URL with a host.',
  why: 'The keys of the issuer cannot be fetched, so no token can be validated.',
  sources: ['2.3', 'decision 13'],
  *check({ spec }, { path }) {
    const issuer = spec?.inline?.issuer
    if (!issuer) return
    const url = parseUrl(issuer)
    if ((url?.scheme === 'https' || url?.scheme === 'http') && url.host !== '') return
    yield advice(
      path.spec.inline.issuer,
      "must be an absolute URL with a host, such as 'https://idp.example.com'",
    )
  },
  examples: {
    valid: [{ title: 'a URL', value: issuing('https://idp.example.com/realms/prod') }],
    invalid: [
      {
        title: 'no scheme',
        value: issuing('idp.example.com'),
        findings: [
          "spec.inline.issuer: must be an absolute URL with a host, such as 'https://idp.example.com'",
        ],
      },
    ],
  },
})
