import { advice, defineRule, isAbsent, says } from '../../../rule/index.ts'
import { issuing } from '../examples.ts'
import { MCPOIDCConfig } from '../schema.ts'

const NO_URL =
  'releases ask nobody about opaque tokens without `introspectionUrl`, and refuse them; set it beside the Secret, unless all tokens are JWTs'

const ISSUER = 'https://idp.example.com'
const client = { clientId: 'vmcp', clientSecretRef: { name: 'oidc', key: 'client-secret' } }

export const oidcConfigIntrospectionConfigured = defineRule({
  id: 'oidc-config-introspection-configured',
  on: MCPOIDCConfig,
  severity: 'advice',
  summary: 'Beside a client secret, `introspectionUrl` says who is asked about opaque tokens.',
  why: 'The specification has introspection where there is a client secret; releases have it where there is `introspectionUrl`, and do not take it from the metadata of the issuer.',
  failure: {
    symptom: 'callers with an opaque token get 401: `no introspection endpoint available`',
    reportedBy: 'nobody',
    consequence: 'degrades',
  },
  sources: [says('2.3', 'clientSecretRef enables token introspection for opaque tokens.'), 'decision 3'],
  *check({ spec }, { path }) {
    const inline = spec?.inline
    if (inline === undefined || isAbsent(inline, 'clientSecretRef')) return
    if (isAbsent(inline, 'introspectionUrl') || inline.introspectionUrl === '')
      yield advice(path.spec.inline.clientSecretRef, NO_URL)
  },
  examples: {
    'JWTs alone': { value: issuing(ISSUER, { clientId: 'vmcp' }) },
    'opaque tokens': {
      value: issuing(ISSUER, { ...client, introspectionUrl: 'https://idp.example.com/introspect' }),
    },
    'a Secret alone': { value: issuing(ISSUER, client), findings: `spec.inline.clientSecretRef: ${NO_URL}` },
  },
})
