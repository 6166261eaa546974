import { defineRule, forbidden, invalid, shortQuote, withoutUserInfo } from '../../../rule/index.ts'
import { agent, assertionIssuer } from '../../embedded-auth-server/examples.ts'
import { assertionPolicies, delegateClients } from '../../embedded-auth-server/inbound-grants.ts'
import { embedded, oidc, server, type Spec } from '../examples.ts'
import { issuingOf } from '../issued-tokens.ts'
import { VirtualMCPServer } from '../schema.ts'

const resourceUrl = 'https://mcp.example.com'
const granting = (settings: NonNullable<Spec['authServerConfig']>) =>
  server({
    incomingAuth: { ...oidc, oidcConfigRef: { ...oidc.oidcConfigRef, resourceUrl } },
    authServerConfig: { ...embedded, ...settings },
  })
const asserting = (allowed: string, accepted: string) =>
  granting({ trustedIssuers: [assertionIssuer(allowed, accepted)] })

export const inboundGrantResourceServed = defineRule({
  id: 'inbound-grant-resource-served',
  on: VirtualMCPServer,
  needs: ['authServerConfig'],
  severity: 'warning',
  summary:
    'Delegate clients and subjects of assertions ask for the `resourceUrl` of this server, and no assertion is made for it.',
  why: 'The operator refuses the configuration: tokens are issued for this server alone, and an access token for it must not pass as an assertion.',
  failure: {
    symptom:
      'AuthServerConfigValidated=False says that an audience "is not in allowed_audiences", or that "accepted_audiences … must not also be a configured resource audience"',
    reportedBy: 'operator',
    consequence: 'does not start',
    releases: 'delegate clients from 0.43 on, assertions from 0.45 on',
  },
  sources: ['decision 3'],
  *check({ spec }, { path }) {
    const { server, resourceUrl } = issuingOf(spec) ?? {}
    if (server === undefined || resourceUrl === undefined) return
    const other = `must be \`resourceUrl\`, ${shortQuote(withoutUserInfo(resourceUrl))}, or the operator refuses it`
    for (const { value, place } of delegateClients(server, path.spec.authServerConfig)) {
      for (const [i, audience] of (value.audiences ?? []).entries()) {
        if (audience && audience !== resourceUrl) yield invalid(place().audiences.at(i), audience, other)
      }
    }
    for (const { value, place } of assertionPolicies(server, path.spec.authServerConfig)) {
      for (const [i, binding] of (value.subjectBindings ?? []).entries()) {
        for (const [k, resource] of (binding?.allowedResources ?? []).entries()) {
          if (resource && resource !== resourceUrl && !resource.includes('#'))
            yield invalid(place().subjectBindings.at(i).allowedResources.at(k), resource, other)
        }
      }
      for (const [i, audience] of (value.acceptedAudiences ?? []).entries()) {
        if (audience === resourceUrl)
          yield forbidden(
            place().acceptedAudiences.at(i),
            'may not be `resourceUrl`, which the operator refuses here; name the token endpoint or the issuer of the authorization server',
          )
      }
    }
  },
  examples: {
    'a client': { value: granting({ delegateClients: [agent] }) },
    'an assertion': { value: asserting(resourceUrl, 'https://auth.example.com/oauth/token') },
    'a client that asks for a backend': {
      value: granting({ delegateClients: [{ ...agent, audiences: ['https://jira.example.com'] }] }),
      findings:
        'spec.authServerConfig.delegateClients[0].audiences[0]: Invalid value: "https://jira.example.com": must be `resourceUrl`, "https://mcp.example.com", or the operator refuses it',
    },
    'a slash too many, and an assertion for the resource': {
      value: asserting('https://mcp.example.com/', 'https://mcp.example.com'),
      findings: [
        'spec.authServerConfig.trustedIssuers[0].jwtBearerGrant.subjectBindings[0].allowedResources[0]: Invalid value: "https://mcp.example.com/": must be `resourceUrl`, "https://mcp.example.com", or the operator refuses it',
        'spec.authServerConfig.trustedIssuers[0].jwtBearerGrant.acceptedAudiences[0]: Forbidden: may not be `resourceUrl`, which the operator refuses here; name the token endpoint or the issuer of the authorization server',
      ],
    },
  },
})
