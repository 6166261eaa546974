import { advice, defineRule, forbidden, invalid, isAbsent, required } from '../../../rule/index.ts'
import { granting, partner, trusting, without } from '../examples.ts'
import { delegationPolicies } from '../inbound-grants.ts'
import { EmbeddedAuthServer } from '../schema.ts'

/** Claims that the authorization server itself uses: `actorClaim` cannot name them. */
const TAKEN = new Set([
  'sub',
  'iss',
  'aud',
  'exp',
  'iat',
  'nbf',
  'jti',
  'name',
  'email',
  'scope',
  'scp',
  'may_act',
])

export const delegationPolicyAccepted = defineRule({
  id: 'delegation-policy-accepted',
  on: EmbeddedAuthServer,
  needs: ['trustedIssuers', 'inboundGrants'],
  severity: 'warning',
  summary:
    'A policy for exchanges names an audience and clients, `*` stands alone and without `allowMayAct`, and the claim of the actor is one that the server can read.',
  why: 'The API server refuses the resource where its CRD has these rules, and the authorization server refuses its configuration.',
  failure: {
    symptom:
      'the API server says "allowedDelegateClients must not combine the wildcard", "actorClaim must name a readable claim" or "allowPrivateIPs requires jwksUrl"; older CRDs store it and the pod ends at start',
    reportedBy: 'API server',
    consequence: 'does not start',
    releases: 'from 0.44 on',
    threads: ['stacklok/toolhive#6353', 'stacklok/toolhive#6499'],
  },
  sources: ['decision 3'],
  *check(server, { path }) {
    for (const { value, place } of delegationPolicies(server, path)) {
      const { expectedAudience, allowedDelegateClients: clients, actorClaim, allowMayAct } = value
      if (isAbsent(value, 'expectedAudience') || expectedAudience === '')
        yield required(
          place().expectedAudience,
          'must be the audience that the tokens have, or the server does not start',
        )
      if (isAbsent(value, 'allowedDelegateClients') || clients?.length === 0)
        yield required(
          place().allowedDelegateClients,
          "must name the clients, or '*' for any: with neither the server does not start",
        )
      if (clients?.includes('*') && clients.length > 1)
        yield advice(
          place().allowedDelegateClients,
          "'*' is every client; name no other one beside it, or the server does not start",
        )
      if (clients?.includes('*') && allowMayAct === true)
        yield forbidden(
          place().allowMayAct,
          "may not be true where `allowedDelegateClients` is '*', or the server does not start; name the clients",
        )
      if (actorClaim !== undefined && TAKEN.has(actorClaim))
        yield invalid(
          place().actorClaim,
          actorClaim,
          "cannot name the actor, so the server does not start; use 'client_id', or a claim such as azp, appid or cid",
        )
    }
    for (const [i, issuer] of (server.trustedIssuers ?? []).entries()) {
      const hasKeys = issuer && !isAbsent(issuer, 'jwksUrl') && issuer.jwksUrl !== ''
      if (issuer?.allowPrivateIPs === true && !hasKeys)
        yield required(
          path.trustedIssuers.at(i).jwksUrl,
          'must be set where `allowPrivateIPs` is true, or the server does not start: discovery may not choose a private address',
        )
    }
  },
  examples: {
    'one client': { value: trusting({ ...partner, actorClaim: 'client_id' }) },
    'any client': { value: trusting({ ...partner, allowedDelegateClients: ['*'] }) },
    'the same in newer releases, beside an issuer without a policy of its own': {
      value: granting({
        tokenExchange: {
          issuerPolicies: [
            {
              issuerRef: 'partner',
              expectedAudience: 'https://mcp.example.com',
              allowedDelegateClients: ['agent'],
              allowMayAct: true,
            },
          ],
        },
      }),
    },
    'neither an audience nor clients': {
      value: trusting({ issuerUrl: 'https://login.partner.example', allowedActors: ['orchestrator'] }),
      findings: [
        'trustedIssuers[0].expectedAudience: Required value: must be the audience that the tokens have, or the server does not start',
        "trustedIssuers[0].allowedDelegateClients: Required value: must name the clients, or '*' for any: with neither the server does not start",
      ],
    },
    'any client and one more': {
      value: trusting({ ...partner, allowedDelegateClients: ['*', 'agent'] }),
      findings:
        "trustedIssuers[0].allowedDelegateClients: '*' is every client; name no other one beside it, or the server does not start",
    },
    'any client, and tokens that name their actor': {
      value: trusting({
        ...without(partner, 'allowedActors'),
        allowedDelegateClients: ['*'],
        allowMayAct: true,
      }),
      findings:
        "trustedIssuers[0].allowMayAct: Forbidden: may not be true where `allowedDelegateClients` is '*', or the server does not start; name the clients",
    },
    'the subject as the actor': {
      value: trusting({ ...partner, actorClaim: 'sub' }),
      findings:
        'trustedIssuers[0].actorClaim: Invalid value: "sub": cannot name the actor, so the server does not start; use \'client_id\', or a claim such as azp, appid or cid',
    },
    'private addresses by discovery': {
      value: trusting({ ...partner, allowPrivateIPs: true }),
      findings:
        'trustedIssuers[0].jwksUrl: Required value: must be set where `allowPrivateIPs` is true, or the server does not start: discovery may not choose a private address',
    },
  },
})
