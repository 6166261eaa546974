import { advice, defineRule, isAbsent, parseUrl, says } from '../../../rule/index.ts'
import { issuing } from '../examples.ts'
import { MCPOIDCConfig } from '../schema.ts'

const NO_CLIENT =
  'releases send no client authentication to `introspectionUrl` without `clientId`, so most issuers refuse opaque tokens; set `clientId` beside it'
const PLAIN =
  "releases ask with a client over https alone, even with `insecureAllowHTTP`, so opaque tokens are refused; use 'https://'"

/** Releases ask this address without client authentication. */
const GOOGLE = 'https://oauth2.googleapis.com/tokeninfo'

const ISSUER = 'https://idp.example.com'
const INTROSPECTION = { introspectionUrl: 'https://idp.example.com/introspect' }
const clientSecretRef = { name: 'oidc', key: 'client-secret' }

export const oidcConfigIntrospectionAuthenticates = defineRule({
  id: 'oidc-config-introspection-authenticates',
  on: MCPOIDCConfig,
  severity: 'warning',
  summary: 'A client secret for introspection has its `clientId`, and is sent over https.',
  why: 'Releases authenticate with `clientId` and the secret together, and their client for it has no plain http. Tokens that are JWTs are validated all the same.',
  failure: {
    symptom:
      'callers with an opaque token get 401: `introspection unauthorized`, `introspection request failed`',
    reportedBy: 'nobody',
    consequence: 'denies everyone',
  },
  sources: [says('5.1', 'clientSecretRef enables the introspection of opaque tokens.'), 'decision 3'],
  *check({ spec }, { path }) {
    const inline = spec?.inline
    if (!inline?.introspectionUrl || inline.introspectionUrl === GOOGLE) return
    const hasClient = !isAbsent(inline, 'clientId') && inline.clientId !== ''
    const hasSecret = !isAbsent(inline, 'clientSecretRef')
    if (hasSecret && !hasClient) yield advice(path.spec.inline.clientSecretRef, NO_CLIENT)
    if ((hasClient || hasSecret) && parseUrl(inline.introspectionUrl)?.scheme === 'http')
      yield advice(path.spec.inline.introspectionUrl, PLAIN)
  },
  examples: {
    'a client': { value: issuing(ISSUER, { ...INTROSPECTION, clientId: 'vmcp', clientSecretRef }) },
    'no client': { value: issuing(ISSUER, INTROSPECTION) },
    'Google, which needs no client': {
      value: issuing('https://accounts.google.com', { introspectionUrl: GOOGLE, clientSecretRef }),
    },
    'JWTs alone': { value: issuing(ISSUER, { clientId: 'vmcp', clientSecretRef }) },
    'a secret without a client': {
      value: issuing(ISSUER, { ...INTROSPECTION, clientSecretRef }),
      findings: `spec.inline.clientSecretRef: ${NO_CLIENT}`,
    },
    'a client over http': {
      value: issuing('http://dex.auth.svc', {
        introspectionUrl: 'http://dex.auth.svc/introspect',
        clientId: 'vmcp',
        clientSecretRef,
        insecureAllowHTTP: true,
      }),
      findings: `spec.inline.introspectionUrl: ${PLAIN}`,
    },
  },
})
