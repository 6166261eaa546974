import { advice, defineRule } from '../../../rule/index.ts'
import { server } from '../examples.ts'
import { EmbeddedAuthServer } from '../schema.ts'

const REFUSED = 'no release up to 0.63 verifies SPIFFE IDs: the operator refuses the configuration; remove it'

export const spiffeClientAuthEnforced = defineRule({
  id: 'spiffe-client-auth-enforced',
  on: EmbeddedAuthServer,
  needs: ['spiffeTrustDomains', 'inboundGrants'],
  severity: 'warning',
  summary: 'No SPIFFE trust domain is configured, since no release verifies the identities yet.',
  why: 'The CRD accepts the fields, and the operator then refuses the configuration, because nothing would check the certificates and tokens of such clients.',
  failure: {
    symptom:
      'the workload or AuthServerConfigValidated says "SPIFFE client authentication is not yet enforced by this build"',
    reportedBy: 'operator',
    consequence: 'does not start',
    releases: '0.48 to 0.63',
  },
  sources: ['decision 3'],
  *check({ spiffeTrustDomains, inboundGrants }, { path }) {
    if (spiffeTrustDomains !== undefined && spiffeTrustDomains.length > 0)
      yield advice(path.spiffeTrustDomains, REFUSED)
    else if (inboundGrants?.spiffeClientAuth !== undefined && inboundGrants.spiffeClientAuth.length > 0)
      yield advice(path.inboundGrants.spiffeClientAuth, REFUSED)
  },
  examples: {
    'other grants': { value: { ...server, inboundGrants: { tokenExchange: {} } } },
    'a trust domain and a client': {
      value: {
        ...server,
        spiffeTrustDomains: [{ name: 'prod' }],
        inboundGrants: { spiffeClientAuth: [{ clientId: 'agent' }] },
      },
      findings: `spiffeTrustDomains: ${REFUSED}`,
    },
  },
})
