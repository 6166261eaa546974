import { defineRule, forbidden } from '../../../rule/index.ts'
import { agent, granting, partner, server, trusting } from '../examples.ts'
import { hasDelegationPolicy } from '../inbound-grants.ts'
import { EmbeddedAuthServer } from '../schema.ts'

const REFUSED = 'or the API server refuses the resource (from 0.48 on)'

export const inboundGrantConfiguredOnce = defineRule({
  id: 'inbound-grant-configured-once',
  on: EmbeddedAuthServer,
  needs: ['inboundGrants'],
  severity: 'warning',
  summary: 'A grant of `inboundGrants` is not configured in the older fields as well.',
  why: 'The API server refuses the resource, and the operator sets Valid=False.',
  failure: {
    symptom:
      'the API server says "canonical tokenExchange conflicts with legacy delegateClients or RFC 8693 trusted issuer policy", or the same of jwtBearer',
    reportedBy: 'API server',
    consequence: 'does not start',
    releases: 'from 0.48 on',
  },
  sources: ['decision 3'],
  *check({ inboundGrants, delegateClients, trustedIssuers = [] }, { path }) {
    const { tokenExchange, jwtBearer } = inboundGrants ?? {}
    if (tokenExchange !== undefined && delegateClients !== undefined && delegateClients.length > 0)
      yield forbidden(
        path.delegateClients,
        `move these clients to \`inboundGrants.tokenExchange.delegateClients\`, ${REFUSED}`,
      )
    for (const [i, issuer] of trustedIssuers.entries()) {
      const here = path.trustedIssuers.at(i)
      if (tokenExchange !== undefined && issuer && hasDelegationPolicy(issuer))
        yield forbidden(
          here,
          `move the policy of this issuer to \`inboundGrants.tokenExchange.issuerPolicies\`, ${REFUSED}`,
        )
      if (jwtBearer !== undefined && issuer?.jwtBearerGrant !== undefined)
        yield forbidden(
          here.jwtBearerGrant,
          `move it to \`inboundGrants.jwtBearer.issuerPolicies\`, ${REFUSED}`,
        )
    }
  },
  examples: {
    'the older fields': { value: { ...trusting(partner), delegateClients: [agent] } },
    'the newer ones': { value: granting({ tokenExchange: { delegateClients: [agent] }, jwtBearer: {} }) },
    'each for a grant of its own': {
      value: { ...trusting(partner), delegateClients: [agent], inboundGrants: { jwtBearer: {} } },
    },
    'clients in the newer fields': {
      value: {
        ...server,
        inboundGrants: { tokenExchange: { delegateClients: [{ ...agent, clientId: 'other' }] } },
      },
    },
    'clients in both': {
      value: {
        ...server,
        delegateClients: [agent],
        inboundGrants: { tokenExchange: { delegateClients: [{ ...agent, clientId: 'other' }] } },
      },
      findings:
        'delegateClients: Forbidden: move these clients to `inboundGrants.tokenExchange.delegateClients`, or the API server refuses the resource (from 0.48 on)',
    },
    'an issuer with the policies of both grants': {
      value: {
        ...trusting({
          ...partner,
          jwtBearerGrant: {
            maxAssertionAge: '5m',
            subjectBindings: [{ subject: 'ci', allowedResources: ['https://mcp.example.com'] }],
          },
        }),
        inboundGrants: { tokenExchange: {}, jwtBearer: {} },
      },
      findings: [
        'trustedIssuers[0]: Forbidden: move the policy of this issuer to `inboundGrants.tokenExchange.issuerPolicies`, or the API server refuses the resource (from 0.48 on)',
        'trustedIssuers[0].jwtBearerGrant: Forbidden: move it to `inboundGrants.jwtBearer.issuerPolicies`, or the API server refuses the resource (from 0.48 on)',
      ],
    },
  },
})
