import { defineRule, MOST_HINTS, nearest, notFound, shortQuote } from '../../../rule/index.ts'
import { isUnreadable } from '../effective.ts'
import { server, spiffeClient, trustDomain } from '../examples.ts'
import { EmbeddedAuthServer } from '../schema.ts'

export const spiffeClientTrustDomainConfigured = defineRule({
  id: 'spiffe-client-trust-domain-configured',
  on: EmbeddedAuthServer,
  needs: ['inboundGrants'],
  severity: 'warning',
  summary: '`trustDomainRef` of a SPIFFE client is the name of one of `spiffeTrustDomains`.',
  why: 'The API server refuses the resource: there are no keys by which to verify the client.',
  failure: {
    symptom:
      'the API server says "every SPIFFE client trustDomainRef must reference a declared trust domain" or "spiffeTrustDomains and inboundGrants.spiffeClientAuth must be configured together"',
    reportedBy: 'API server',
    consequence: 'does not start',
    releases: 'from 0.48 on',
  },
  sources: ['decision 3'],
  *check(server, { path }) {
    const clients = server.inboundGrants?.spiffeClientAuth ?? []
    const { spiffeTrustDomains = [] } = server
    if (clients.length === 0 || isUnreadable(server, 'spiffeTrustDomains')) return
    if (spiffeTrustDomains.some((domain) => domain?.name === undefined)) return
    const names = spiffeTrustDomains.map((domain) => domain?.name ?? '')
    const domains = new Set(names)
    let hints = MOST_HINTS
    for (let i = 0; i < clients.length; i++) {
      const ref = clients[i]?.trustDomainRef
      if (!ref || domains.has(ref)) continue
      const near = hints-- > 0 ? nearest(ref, names) : undefined
      const hint =
        near !== undefined
          ? `; did you mean ${shortQuote(near)}`
          : names.length === 0
            ? '; there is none'
            : `; there is ${names.slice(0, 3).map(shortQuote).join(', ')}`
      const place = path.inboundGrants.spiffeClientAuth.at(i).trustDomainRef
      yield notFound(
        place,
        ref,
        `is not the name of one of \`spiffeTrustDomains\`, so the API server refuses the resource${hint}`,
      )
    }
  },
  examples: {
    'a domain by its name': {
      value: {
        ...server,
        spiffeTrustDomains: [trustDomain],
        inboundGrants: { spiffeClientAuth: [spiffeClient] },
      },
    },
    'the domain itself, and not its name': {
      value: {
        ...server,
        spiffeTrustDomains: [trustDomain],
        inboundGrants: { spiffeClientAuth: [{ ...spiffeClient, trustDomainRef: 'prod.example.com' }] },
      },
      findings:
        'inboundGrants.spiffeClientAuth[0].trustDomainRef: Not found: "prod.example.com": is not the name of one of `spiffeTrustDomains`, so the API server refuses the resource; there is "prod"',
    },
    'no domains': {
      value: { ...server, inboundGrants: { spiffeClientAuth: [spiffeClient] } },
      findings:
        'inboundGrants.spiffeClientAuth[0].trustDomainRef: Not found: "prod": is not the name of one of `spiffeTrustDomains`, so the API server refuses the resource; there is none',
    },
  },
})
