import { defineRule, forbidden, invalid, isAbsent, isLoopback, parseUrl } from '../../../rule/index.ts'
import { server } from '../examples.ts'
import { EmbeddedAuthServer } from '../schema.ts'

export const forceConfidentialRedirectUriAccepted = defineRule({
  id: 'force-confidential-redirect-uri-accepted',
  on: EmbeddedAuthServer,
  needs: ['forceConfidentialRedirectUris'],
  severity: 'warning',
  summary:
    '`forceConfidentialRedirectUris` stands beside `allowConfidentialClientRegistration: true` and lists https URLs of hosts that are not loopback.',
  why: 'The API server refuses the list without the registration, the operator an entry of another form.',
  failure: {
    symptom:
      'the API server says "forceConfidentialRedirectUris requires allowConfidentialClientRegistration to be true", or Valid=False says "must not be a loopback redirect URI"',
    reportedBy: 'API server',
    consequence: 'does not start',
    releases: 'from 0.43 on',
  },
  sources: ['decision 3'],
  *check(server, { path }) {
    const uris = server.forceConfidentialRedirectUris ?? []
    if (uris.length === 0) return
    const allows = server.allowConfidentialClientRegistration
    if (isAbsent(server, 'allowConfidentialClientRegistration') || allows === false)
      yield forbidden(
        path.forceConfidentialRedirectUris,
        'may only be set where `allowConfidentialClientRegistration` is true, or the API server refuses the resource',
      )
    for (const [i, uri] of uris.entries()) {
      if (!uri?.startsWith('https://')) continue
      const host = parseUrl(uri)?.host ?? ''
      if (host === '' || uri.includes('#') || isLoopback(host))
        yield invalid(
          path.forceConfidentialRedirectUris.at(i),
          uri,
          'must have a host that is not loopback, and no fragment, or the server does not start',
        )
    }
  },
  examples: {
    'a client of the web': {
      value: {
        ...server,
        allowConfidentialClientRegistration: true,
        forceConfidentialRedirectUris: ['https://client.example.com/callback'],
      },
    },
    'no such registration': {
      value: { ...server, forceConfidentialRedirectUris: ['https://client.example.com/callback'] },
      findings:
        'forceConfidentialRedirectUris: Forbidden: may only be set where `allowConfidentialClientRegistration` is true, or the API server refuses the resource',
    },
    'a client on the machine of the user': {
      value: {
        ...server,
        allowConfidentialClientRegistration: true,
        forceConfidentialRedirectUris: ['https://localhost:3000/callback'],
      },
      findings:
        'forceConfidentialRedirectUris[0]: Invalid value: "https://localhost:3000/callback": must have a host that is not loopback, and no fragment, or the server does not start',
    },
  },
})
