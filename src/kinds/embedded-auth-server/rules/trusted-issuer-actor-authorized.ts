import { advice, defineRule, isAbsent } from '../../../rule/index.ts'
import { granting, partner, trusting, without } from '../examples.ts'
import { delegationPolicies } from '../inbound-grants.ts'
import { EmbeddedAuthServer } from '../schema.ts'

const DENIED =
  'authorizes no actor, so every token of this issuer is denied; set `allowedActors`, `actorMatcher` or `allowMayAct`'

export const trustedIssuerActorAuthorized = defineRule({
  id: 'trusted-issuer-actor-authorized',
  on: EmbeddedAuthServer,
  needs: ['trustedIssuers', 'inboundGrants'],
  severity: 'warning',
  summary: 'A policy for exchanges of a trusted issuer authorizes an actor.',
  why: 'A token needs the consent of its issuer for the exchange: an actor in `allowedActors`, a true `actorMatcher`, or with `allowMayAct` its claim `may_act`. Without any of the three none is exchanged.',
  failure: {
    symptom:
      'every token exchange is denied although Valid=True; the log says that no subject tokens from the trusted issuer will be accepted',
    reportedBy: 'nobody',
    consequence: 'denies everyone',
    releases: 'from 0.44 on',
    threads: ['stacklok/toolhive#6437'],
  },
  sources: ['decision 3', 'decision 21'],
  *check(server, { path }) {
    for (const { value, place } of delegationPolicies(server, path)) {
      const { allowedActors, actorMatcher, allowMayAct } = value
      const authorizes =
        (!isAbsent(value, 'allowedActors') && allowedActors?.length !== 0) ||
        (!isAbsent(value, 'actorMatcher') && actorMatcher !== '') ||
        (!isAbsent(value, 'allowMayAct') && allowMayAct !== false)
      if (!authorizes) yield advice(place(), DENIED)
    }
  },
  examples: {
    'an actor': { value: trusting(partner) },
    'a matcher, and tokens that name their actor': {
      value: trusting(
        { ...without(partner, 'allowedActors'), actorMatcher: 'claims.azp.startsWith("agent-")' },
        { ...without(partner, 'allowedActors'), issuerUrl: 'https://idp.example.com', allowMayAct: true },
      ),
    },
    'an issuer of assertions alone': {
      value: granting({
        jwtBearer: {
          issuerPolicies: [
            {
              issuerRef: 'partner',
              maxAssertionAge: '5m',
              subjectBindings: [{ subject: 'ci', allowedResources: ['https://mcp.example.com'] }],
            },
          ],
        },
      }),
    },
    'clients and no actor': {
      value: trusting(without(partner, 'allowedActors'), {
        ...partner,
        issuerUrl: 'https://idp.example.com',
        allowedActors: [],
        actorClaim: 'client_id',
      }),
      findings: [`trustedIssuers[0]: ${DENIED}`, `trustedIssuers[1]: ${DENIED}`],
    },
    'a policy of newer releases': {
      value: granting({
        tokenExchange: {
          issuerPolicies: [
            {
              issuerRef: 'partner',
              expectedAudience: 'https://mcp.example.com',
              allowedDelegateClients: ['*'],
              allowMayAct: false,
            },
          ],
        },
      }),
      findings: `inboundGrants.tokenExchange.issuerPolicies[0]: ${DENIED}`,
    },
  },
})
