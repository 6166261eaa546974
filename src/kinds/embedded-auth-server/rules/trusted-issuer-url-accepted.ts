import { defineRule, invalid, isPrivateAddress, parseUrl } from '../../../rule/index.ts'
import { partner, trusting } from '../examples.ts'
import { mayBeTrue } from '../effective.ts'
import type { TrustedIssuer } from '../inbound-grants.ts'
import { EmbeddedAuthServer } from '../schema.ts'

export const trustedIssuerUrlAccepted = defineRule({
  id: 'trusted-issuer-url-accepted',
  on: EmbeddedAuthServer,
  needs: ['trustedIssuers'],
  severity: 'warning',
  summary:
    'The URLs of a trusted issuer use https, or http with its own `insecureAllowHTTP`, and have no query, fragment, user information or private address.',
  why: 'The authorization server refuses its whole configuration: new pods do not start, in newer releases the operator sets a condition. Loopback hosts are no exception.',
  failure: {
    symptom:
      'the condition or the log says "trusted_issuers" and "scheme must be https", "must not contain query component" or "must not point to a private or loopback address"',
    reportedBy: 'operator',
    consequence: 'does not start',
    releases: 'from 0.44 on',
    threads: ['stacklok/toolhive#6353', 'stacklok/toolhive#6499'],
  },
  sources: ['decision 3', 'decision 13'],
  *check({ trustedIssuers = [] }, { path }) {
    for (const [i, issuer] of trustedIssuers.entries()) {
      for (const field of ['issuerUrl', 'jwksUrl'] as const) {
        const text = issuer?.[field]
        const problem = text && problemOf(text, field, issuer)
        if (problem)
          yield invalid(path.trustedIssuers.at(i)[field], text, `${problem}, or the server does not start`)
      }
    }
  },
  examples: {
    'https, also with a slash at the end; http and a private address where they are allowed': {
      value: trusting(
        { ...partner, issuerUrl: 'https://login.partner.example/' },
        {
          ...partner,
          issuerUrl: 'http://idp.agents.svc:8080',
          jwksUrl: 'http://10.0.0.7:8080/jwks?format=jwk',
          insecureAllowHTTP: true,
          allowPrivateIPs: true,
        },
      ),
    },
    'http, also to a loopback host': {
      value: trusting(
        { ...partner, issuerUrl: 'http://login.partner.example' },
        { ...partner, issuerUrl: 'http://localhost:8080', jwksUrl: 'http://localhost:8080/jwks' },
      ),
      findings: [
        'trustedIssuers[0].issuerUrl: Invalid value: "http://login.partner.example": must start with \'https://\' unless `insecureAllowHTTP` of this issuer is true, or the server does not start',
        'trustedIssuers[1].issuerUrl: Invalid value: "http://localhost:8080": must start with \'https://\' unless `insecureAllowHTTP` of this issuer is true, or the server does not start',
        'trustedIssuers[1].jwksUrl: Invalid value: "http://localhost:8080/jwks": must start with \'https://\' unless `insecureAllowHTTP` of this issuer is true, or the server does not start',
      ],
    },
    'a query, a fragment, a user, no host': {
      value: trusting(
        { ...partner, issuerUrl: 'https://login.partner.example?tenant=a' },
        {
          ...partner,
          issuerUrl: 'https://login.partner.example#a',
          jwksUrl: 'https://user:secret@login.partner.example/jwks',
        },
        { ...partner, issuerUrl: 'login.partner.example' },
      ),
      findings: [
        'trustedIssuers[0].issuerUrl: Invalid value: "https://login.partner.example?tenant=a": must have no query and no fragment, or the server does not start',
        'trustedIssuers[1].issuerUrl: Invalid value: "https://login.partner.example#a": must have no query and no fragment, or the server does not start',
        'trustedIssuers[1].jwksUrl: Invalid value: "https://***@login.partner.example/jwks": must have no user information, or the server does not start',
        'trustedIssuers[2].issuerUrl: Invalid value: "login.partner.example": must be an absolute URL with a host, or the server does not start',
      ],
    },
    'keys at a private address': {
      value: trusting({ ...partner, jwksUrl: 'https://10.0.0.7/jwks' }),
      findings:
        'trustedIssuers[0].jwksUrl: Invalid value: "https://10.0.0.7/jwks": is at a private address, which needs `allowPrivateIPs: true`, or the server does not start',
    },
  },
})

function problemOf(text: string, field: 'issuerUrl' | 'jwksUrl', issuer: TrustedIssuer): string | undefined {
  const url = parseUrl(text)
  if (url === undefined || url.scheme === '' || url.host === '') return 'must be an absolute URL with a host'
  if (field === 'issuerUrl' && /[?#]/.test(text)) return 'must have no query and no fragment'
  if (text.includes('#')) return 'must have no fragment'
  if (url.hasUserInfo) return 'must have no user information'
  if (url.scheme !== 'https' && (url.scheme !== 'http' || !mayBeTrue(issuer, 'insecureAllowHTTP')))
    return "must start with 'https://' unless `insecureAllowHTTP` of this issuer is true"
  return field === 'jwksUrl' && isPrivateAddress(url.host) && !mayBeTrue(issuer, 'allowPrivateIPs')
    ? 'is at a private address, which needs `allowPrivateIPs: true`'
    : undefined
}
