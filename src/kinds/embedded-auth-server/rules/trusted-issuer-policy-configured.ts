import { defineRule, isAbsent, required } from '../../../rule/index.ts'
import { isUnreadable, type Server } from '../effective.ts'
import { granting, partner, trusting } from '../examples.ts'
import { mayHaveDelegationPolicy, policiesOf } from '../inbound-grants.ts'
import { EmbeddedAuthServer } from '../schema.ts'

export const trustedIssuerPolicyConfigured = defineRule({
  id: 'trusted-issuer-policy-configured',
  on: EmbeddedAuthServer,
  needs: ['trustedIssuers'],
  severity: 'warning',
  summary: 'Each trusted issuer has a policy: in itself, or in `inboundGrants` under its name.',
  why: 'The operator refuses the configuration with an issuer to which nothing is granted.',
  failure: {
    symptom: 'Valid=False with "expected_audience is required when JWT-bearer grant is disabled"',
    reportedBy: 'operator',
    consequence: 'does not start',
    releases: 'from 0.45 on; the CRD of 0.44 refuses it',
  },
  sources: ['decision 3'],
  *check(server, { path }) {
    const refs = issuerRefs(server)
    if (refs === undefined) return
    for (const [i, issuer] of (server.trustedIssuers ?? []).entries()) {
      if (issuer === undefined || mayHaveDelegationPolicy(issuer) || !isAbsent(issuer, 'jwtBearerGrant'))
        continue
      const { name } = issuer
      if (name === undefined ? isAbsent(issuer, 'name') : !refs.has(name))
        yield required(
          path.trustedIssuers.at(i).expectedAudience,
          'must be set unless a policy of `inboundGrants` refers to this issuer, or the operator refuses the configuration',
        )
    }
  },
  examples: {
    'a policy in the issuer itself': { value: trusting(partner) },
    'a policy for its name': {
      value: granting({
        tokenExchange: {
          issuerPolicies: [
            {
              issuerRef: 'partner',
              expectedAudience: 'https://mcp.example.com',
              allowedDelegateClients: ['agent'],
              allowedActors: ['orchestrator'],
            },
          ],
        },
      }),
    },
    'a grant without policies': {
      value: granting({ tokenExchange: {} }),
      findings:
        'trustedIssuers[0].expectedAudience: Required value: must be set unless a policy of `inboundGrants` refers to this issuer, or the operator refuses the configuration',
    },
  },
})

/** The issuer names in policies of `inboundGrants`; undefined when a policy or a name has a wrong JSON type. */
function issuerRefs(server: Server): ReadonlySet<string> | undefined {
  const { inboundGrants = {} } = server
  if (isUnreadable(server, 'inboundGrants')) return undefined
  const refs = new Set<string>()
  for (const grant of ['tokenExchange', 'jwtBearer'] as const) {
    const policies = policiesOf(server, grant)
    if (isUnreadable(inboundGrants, grant) || isUnreadable(inboundGrants[grant] ?? {}, 'issuerPolicies'))
      return undefined
    for (const policy of policies) {
      if (policy === undefined || isUnreadable(policy, 'issuerRef')) return undefined
      if (policy.issuerRef !== undefined) refs.add(policy.issuerRef)
    }
  }
  return refs
}
