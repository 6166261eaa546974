import { advice, defineRule, isAbsent, parseUrl } from '../../../rule/index.ts'
import { issuing } from '../examples.ts'
import { MCPOIDCConfig } from '../schema.ts'

const REFUSED =
  "use 'https://', or set `insecureAllowHTTP: true` beside it: the operator refuses plain http, to loopback hosts too"

export const oidcConfigUrlHttps = defineRule({
  id: 'oidc-config-url-https',
  on: MCPOIDCConfig,
  severity: 'warning',
  summary: 'The issuer and `jwksUrl` use https, unless `insecureAllowHTTP` is true.',
  why: 'Operator releases from 0.42.1 on set Valid=False at reconcile, and every workload that refers to the configuration fails. Over http anyone on the path can answer with keys of their own.',
  failure: {
    symptom: 'MCPOIDCConfig has Valid=False, or tokens are rejected because the issuer cannot be discovered',
    reportedBy: 'operator',
    consequence: 'does not start',
    releases: 'from 0.42.1 on',
    threads: ['stacklok/toolhive#4823', 'stacklok/toolhive#5936'],
  },
  sources: ['decision 3', 'decision 21'],
  *check({ spec }, { path }) {
    const { inline } = spec ?? {}
    if (!inline || mayAllowHttp(inline)) return
    for (const field of ['issuer', 'jwksUrl'] as const) {
      const url = parseUrl(inline[field] ?? '')
      if (url?.scheme === 'http' && url.host !== '') yield advice(path.spec.inline[field], REFUSED)
    }
  },
  examples: {
    'https URLs': { value: issuing('https://idp.example.com', { jwksUrl: 'https://idp.example.com/jwks' }) },
    'http URLs that are allowed': {
      value: issuing('http://keycloak.auth.svc:8080/realms/prod', {
        jwksUrl: 'http://keycloak.auth.svc:8080/jwks',
        insecureAllowHTTP: true,
      }),
    },
    'tokens of the cluster': {
      value: { spec: { type: 'kubernetesServiceAccount', kubernetesServiceAccount: {} } },
    },
    'http URLs': {
      value: issuing('HTTP://idp.example.com', { jwksUrl: 'http://idp.example.com/jwks' }),
      findings: [
        "spec.inline.issuer: use 'https://', or set `insecureAllowHTTP: true` beside it: the operator refuses plain http, to loopback hosts too",
        "spec.inline.jwksUrl: use 'https://', or set `insecureAllowHTTP: true` beside it: the operator refuses plain http, to loopback hosts too",
      ],
    },
    'an http URL to a loopback host': {
      value: issuing('http://localhost:8080', { insecureAllowHTTP: false }),
      findings:
        "spec.inline.issuer: use 'https://', or set `insecureAllowHTTP: true` beside it: the operator refuses plain http, to loopback hosts too",
    },
    'keys over http': {
      value: issuing('https://idp.example.com', { jwksUrl: 'http://10.0.0.7/jwks' }),
      findings:
        "spec.inline.jwksUrl: use 'https://', or set `insecureAllowHTTP: true` beside it: the operator refuses plain http, to loopback hosts too",
    },
  },
})

/** Whether http may be allowed: `insecureAllowHTTP` is true, or has a wrong JSON type. */
function mayAllowHttp(inline: { readonly insecureAllowHTTP?: boolean | undefined }): boolean {
  return !isAbsent(inline, 'insecureAllowHTTP') && (inline.insecureAllowHTTP ?? true)
}
