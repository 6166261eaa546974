import type { Static } from 'typebox'
import { advice, defineRule, end, nameText, pathTo, relatedTo, shortQuote } from '../../rule/index.ts'
import { agent } from '../../kinds/embedded-auth-server/examples.ts'
import { delegateClients, spiffeClients } from '../../kinds/embedded-auth-server/inbound-grants.ts'
import { type EmbeddedAuthServer, MCPRemoteProxy, MCPServer } from '../../kinds/schemas.ts'
import { authServer, issuingBeside, serving } from '../index.ts'

const SERVER = pathTo<Static<typeof EmbeddedAuthServer>>(['spec', 'embeddedAuthServer'])
const resourceUrl = 'https://mcp.example.com'
const delegating = (...clients: (typeof agent)[]) => ({
  kind: 'MCPExternalAuthConfig',
  metadata: { name: 'auth' },
  spec: {
    type: 'embeddedAuthServer',
    embeddedAuthServer: { ...authServer('okta'), ...(clients.length > 0 && { delegateClients: clients }) },
  },
})

export const workloadDelegateClientServed = defineRule({
  id: 'workload-delegate-client-served',
  on: [MCPServer, MCPRemoteProxy],
  reads: ['MCPExternalAuthConfig'],
  severity: 'warning',
  summary:
    'The delegate clients of the authorization server that a workload names ask for its `resourceUrl` and for scopes that it advertises.',
  why: 'Tokens are issued for this workload alone and with these scopes only: the operator refuses the configuration for the workload.',
  failure: {
    symptom:
      'the workload is not reconciled: a scope of "delegate_clients" is not in the supported scopes, or an audience "is not in allowed_audiences"',
    reportedBy: 'operator',
    consequence: 'does not start',
    releases: 'from 0.43 on',
    threads: [],
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
    }
  },
  examples: {
    valid: [
      {
        title: 'a client of this workload',
        value: serving({ audience: resourceUrl, resourceUrl }),
        others: [delegating(agent)],
      },
      { title: 'no clients', value: serving({}), others: [delegating()] },
    ],
    invalid: [
      {
        title: 'a scope that is not advertised',
        value: serving({ audience: resourceUrl, resourceUrl }),
        others: [delegating({ ...agent, scopes: ['openid', 'tools'] })],
        findings: [
          'spec.oidcConfigRef.scopes: add "tools" of a delegate client of MCPExternalAuthConfig "auth", or remove it there: the operator refuses a scope that is not advertised',
        ],
      },
      {
        title: 'another audience',
        value: serving({ audience: resourceUrl, resourceUrl }),
        others: [delegating({ ...agent, audiences: ['https://jira.example.com'] })],
        findings: [
          'spec.oidcConfigRef.resourceUrl: is the only audience here; the operator refuses "https://jira.example.com" of a delegate client of MCPExternalAuthConfig "auth": write the same there',
        ],
      },
    ],
  },
})
