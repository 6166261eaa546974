import type { Static } from 'typebox'
import {
  advice,
  defineRule,
  end,
  nameText,
  pathTo,
  relatedTo,
  shortQuote,
  withoutUserInfo,
} from '../../rule/index.ts'
import { agent, assertionIssuer } from '../../kinds/embedded-auth-server/examples.ts'
import {
  assertionPolicies,
  delegateClients,
  spiffeClients,
} from '../../kinds/embedded-auth-server/inbound-grants.ts'
import { type EmbeddedAuthServer, MCPRemoteProxy, MCPServer } from '../../kinds/schemas.ts'
import { authServer, configWith, issuingBeside, serving } from '../index.ts'

const SERVER = pathTo<Static<typeof EmbeddedAuthServer>>(['spec', 'embeddedAuthServer'])
const resourceUrl = 'https://mcp.example.com'
const delegating = (...clients: (typeof agent)[]) =>
  configWith('auth', 'embeddedAuthServer', {
    ...authServer('okta'),
    ...(clients.length > 0 && { delegateClients: clients }),
  })

const asserting = (allowed: string, accepted: string) =>
  configWith('auth', 'embeddedAuthServer', {
    ...authServer('okta'),
    trustedIssuers: [assertionIssuer(allowed, accepted)],
  })

export const workloadDelegateClientServed = defineRule({
  id: 'workload-delegate-client-served',
  on: [MCPServer, MCPRemoteProxy],
  reads: ['MCPExternalAuthConfig'],
  severity: 'warning',
  summary:
    'The delegate clients and subjects of assertions of the authorization server that a workload names ask for its `resourceUrl` and for scopes that it advertises, and no assertion is made for the workload.',
  why: 'Tokens are issued for this workload alone and with these scopes only: releases refuse the configuration for the workload. An access token for the workload must not pass as an assertion.',
  failure: {
    symptom:
      'the workload is not reconciled: a scope of "delegate_clients" is not in the supported scopes, an audience "is not in allowed_audiences", or one of assertions "must not also be a configured resource audience"',
    reportedBy: 'operator',
    consequence: 'does not start',
    releases: 'delegate clients from 0.43 on, assertions from 0.45 on',
  },
  sources: ['decision 3'],
  *check(workload, { cluster, self }) {
    for (const { server, to, scopes, resourceUrl, at } of issuingBeside(workload, self, cluster)) {
      if (to === undefined) continue
      const advertised = scopes && new Set(scopes)
      for (const { value, place } of spiffeClients(server, SERVER)) {
        const scope = value.scopes?.find((scope) => scope && advertised?.has(scope) === false)
        if (scope)
          yield relatedTo(
            advice(
              at.scopes,
              `add ${shortQuote(scope)} of a SPIFFE client of ${nameText(to)}, or remove it there: the operator refuses a scope that is not advertised`,
            ),
            [end(to, place().scopes, `has ${shortQuote(scope)}`)],
          )
      }
      for (const { value, place } of delegateClients(server, SERVER)) {
        const scope = value.scopes?.find((scope) => scope && advertised?.has(scope) === false)
        const who = `a delegate client of ${nameText(to)}`
        if (scope)
          yield relatedTo(
            advice(
              at.scopes,
              `add ${shortQuote(scope)} of ${who}, or remove it there: the operator refuses a scope that is not advertised`,
            ),
            [end(to, place().scopes, `has ${shortQuote(scope)}`)],
          )
        const audience = value.audiences?.find((audience) => audience && audience !== resourceUrl)
        if (audience && resourceUrl !== undefined)
          yield relatedTo(
            advice(
              at.resourceUrl,
              `is the only audience here; the operator refuses ${shortQuote(audience)} of ${who}: write the same there`,
            ),
            [end(to, place().audiences, `has ${shortQuote(audience)}`)],
          )
      }
      if (resourceUrl === undefined) continue
      for (const { value, place } of assertionPolicies(server, SERVER)) {
        const other = (value.subjectBindings ?? [])
          .flatMap((binding) => binding?.allowedResources ?? [])
          .find((resource) => resource && resource !== resourceUrl && !resource.includes('#'))
        if (other)
          yield relatedTo(
            advice(
              at.resourceUrl,
              `is the only resource here; releases refuse ${shortQuote(withoutUserInfo(other))} of an assertion policy of ${nameText(to)}: write the same there`,
            ),
            [end(to, place().subjectBindings, 'allows another resource')],
          )
        if (value.acceptedAudiences?.includes(resourceUrl))
          yield relatedTo(
            advice(
              at.resourceUrl,
              `is an accepted audience of assertions in ${nameText(to)}, which releases refuse; name the token endpoint or the issuer there`,
            ),
            [end(to, place().acceptedAudiences, 'has the same URL')],
          )
      }
    }
  },
  examples: {
    'a client of this workload': {
      value: serving({ audience: resourceUrl, resourceUrl }),
      others: [delegating(agent)],
    },
    'no clients': { value: serving({}), others: [delegating()] },
    'an assertion for the authorization server, about this workload': {
      value: serving({ audience: resourceUrl, resourceUrl }),
      others: [asserting(resourceUrl, 'https://auth.example.com')],
    },
    'a scope that is not advertised': {
      value: serving({ audience: resourceUrl, resourceUrl }),
      others: [delegating({ ...agent, scopes: ['openid', 'tools'] })],
      findings:
        'spec.oidcConfigRef.scopes: add "tools" of a delegate client of MCPExternalAuthConfig "auth", or remove it there: the operator refuses a scope that is not advertised',
    },
    'another audience': {
      value: serving({ audience: resourceUrl, resourceUrl }),
      others: [delegating({ ...agent, audiences: ['https://jira.example.com'] })],
      findings:
        'spec.oidcConfigRef.resourceUrl: is the only audience here; the operator refuses "https://jira.example.com" of a delegate client of MCPExternalAuthConfig "auth": write the same there',
    },
    'a slash too many, and an assertion for the workload': {
      value: serving({ audience: resourceUrl, resourceUrl }),
      others: [asserting(`${resourceUrl}/`, resourceUrl)],
      findings: [
        'spec.oidcConfigRef.resourceUrl: is the only resource here; releases refuse "https://mcp.example.com/" of an assertion policy of MCPExternalAuthConfig "auth": write the same there',
        'spec.oidcConfigRef.resourceUrl: is an accepted audience of assertions in MCPExternalAuthConfig "auth", which releases refuse; name the token endpoint or the issuer there',
      ],
    },
  },
})
