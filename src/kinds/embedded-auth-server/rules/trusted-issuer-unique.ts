import { defineRule, duplicate, invalid } from '../../../rule/index.ts'
import { partner, server, trusting } from '../examples.ts'
import { EmbeddedAuthServer } from '../schema.ts'

const UNIQUE = 'give each issuer one entry and a name of its own, or the server refuses its configuration'

export const trustedIssuerUnique = defineRule({
  id: 'trusted-issuer-unique',
  on: EmbeddedAuthServer,
  needs: ['trustedIssuers'],
  severity: 'warning',
  summary: 'Each trusted issuer is listed once, under a name of its own, and is not the server itself.',
  why: 'The authorization server refuses its whole configuration. Its own tokens are accepted without an entry.',
  failure: {
    symptom:
      'Valid=False, or the pod ends at start with "configured more than once" or "must not equal the authorization server\'s own issuer"',
    reportedBy: 'operator',
    consequence: 'does not start',
    releases: 'from 0.44 on',
    threads: ['stacklok/toolhive#6353', 'stacklok/toolhive#6499'],
  },
  sources: ['decision 3'],
  *check({ issuer: own, trustedIssuers = [] }, { path }) {
    for (const field of ['issuerUrl', 'name'] as const) {
      const seen = new Set<string>()
      for (const [i, trusted] of trustedIssuers.entries()) {
        const text = trusted?.[field]
        if (!text) continue
        const place = path.trustedIssuers.at(i)[field]
        if (seen.has(text)) yield duplicate(place, text, UNIQUE)
        if (field === 'issuerUrl' && text === own)
          yield invalid(
            place,
            text,
            'is the issuer of this server, whose tokens need no entry: remove it, or the server refuses its configuration',
          )
        seen.add(text)
      }
    }
  },
  examples: {
    'issuers that differ by a slash at the end': {
      value: trusting(
        { ...partner, name: 'partner' },
        { ...partner, name: 'other', issuerUrl: 'https://login.partner.example/' },
      ),
    },
    'an issuer for each client': {
      value: trusting(partner, { ...partner, allowedDelegateClients: ['other'] }),
      findings: `trustedIssuers[1].issuerUrl: Duplicate value: "https://login.partner.example": ${UNIQUE}`,
    },
    'a name twice': {
      value: trusting(
        { ...partner, name: 'partner' },
        { ...partner, name: 'partner', issuerUrl: 'https://idp.example.com' },
      ),
      findings: `trustedIssuers[1].name: Duplicate value: "partner": ${UNIQUE}`,
    },
    'the server itself': {
      value: trusting({ ...partner, issuerUrl: server.issuer ?? '' }),
      findings:
        'trustedIssuers[0].issuerUrl: Invalid value: "https://auth.example.com": is the issuer of this server, whose tokens need no entry: remove it, or the server refuses its configuration',
    },
    'the server itself, twice': {
      value: trusting(
        { ...partner, issuerUrl: server.issuer ?? '' },
        { ...partner, issuerUrl: server.issuer ?? '' },
      ),
      findings: [
        'trustedIssuers[0].issuerUrl: Invalid value: "https://auth.example.com": is the issuer of this server, whose tokens need no entry: remove it, or the server refuses its configuration',
        `trustedIssuers[1].issuerUrl: Duplicate value: "https://auth.example.com": ${UNIQUE}`,
        'trustedIssuers[1].issuerUrl: Invalid value: "https://auth.example.com": is the issuer of this server, whose tokens need no entry: remove it, or the server refuses its configuration',
      ],
    },
  },
})
