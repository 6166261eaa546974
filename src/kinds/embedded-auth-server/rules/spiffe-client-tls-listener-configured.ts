import { defineRule, invalid, isAbsent, parseUrl, required, shortQuote } from '../../../rule/index.ts'
import { server, spiffeClient, trustDomain } from '../examples.ts'
import { EmbeddedAuthServer } from '../schema.ts'

const listener = {
  certificateSecretRef: { name: 'tls', key: 'tls.crt' },
  privateKeySecretRef: { name: 'tls', key: 'tls.key' },
}
const withClient = (methods: (typeof spiffeClient)['methods']) => ({
  ...server,
  spiffeTrustDomains: [trustDomain],
  inboundGrants: { spiffeClientAuth: [{ ...spiffeClient, methods }] },
})

export const spiffeClientTlsListenerConfigured = defineRule({
  id: 'spiffe-client-tls-listener-configured',
  on: EmbeddedAuthServer,
  needs: ['inboundGrants'],
  severity: 'warning',
  summary: 'Where a SPIFFE client uses `spiffe_x509`, there is a `tlsListener`, and the issuer uses https.',
  why: 'A client shows its certificate in the TLS handshake with port 8443 of the server: without the listener the server does not start.',
  failure: {
    symptom:
      'the pod ends at start, or the operator says "tls_listener is required when a SPIFFE client association enables spiffe_x509"',
    reportedBy: 'start-up',
    consequence: 'does not start',
    releases: 'from 0.62 on',
  },
  sources: ['decision 3'],
  *check(server, { path }) {
    const clients = server.inboundGrants?.spiffeClientAuth ?? []
    // The first client that uses `spiffe_x509`. If an earlier client or its `methods` have a wrong JSON type, there
    // is no finding, because that client may be the first.
    const client = clients.find(
      (each) =>
        each === undefined ||
        (each.methods === undefined
          ? !isAbsent(each, 'methods')
          : each.methods.some((method) => method === undefined || method === 'spiffe_x509')),
    )
    if (client?.methods?.includes('spiffe_x509') !== true || client.clientId === undefined) return
    const who = `client ${shortQuote(client.clientId)}`
    if (isAbsent(server, 'tlsListener'))
      yield required(
        path.tlsListener,
        `${who} proves who it is by its certificate (spiffe_x509): without a listener the server does not start`,
      )
    const { issuer } = server
    if (issuer !== undefined && parseUrl(issuer)?.scheme === 'http')
      yield invalid(
        path.issuer,
        issuer,
        `must use https, or the server does not start: ${who} shows its certificate there (spiffe_x509)`,
      )
  },
  examples: {
    'a listener': { value: { ...withClient(['spiffe_x509']), tlsListener: listener } },
    'tokens, and no certificates': { value: withClient(['spiffe_jwt']) },
    'certificates without a listener': {
      value: withClient(['spiffe_jwt', 'spiffe_x509']),
      findings:
        'tlsListener: Required value: client "agent" proves who it is by its certificate (spiffe_x509): without a listener the server does not start',
    },
    'certificates over plain http': {
      value: {
        ...withClient(['spiffe_x509']),
        issuer: 'http://localhost:8080',
        tlsListener: listener,
      },
      findings:
        'issuer: Invalid value: "http://localhost:8080": must use https, or the server does not start: client "agent" shows its certificate there (spiffe_x509)',
    },
  },
})
