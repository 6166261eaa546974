import { defineRule, duplicate, invalid, isLoopback, parseUrl } from '../../../rule/index.ts'
import { agent, granting, server } from '../examples.ts'
import { delegateClients } from '../inbound-grants.ts'
import { EmbeddedAuthServer } from '../schema.ts'

const TAKEN = 'give each client its own, or the operator refuses the configuration'

export const delegateClientIdAccepted = defineRule({
  id: 'delegate-client-id-accepted',
  on: EmbeddedAuthServer,
  needs: ['delegateClients', 'inboundGrants'],
  severity: 'warning',
  summary: 'Delegate clients have identifiers of their own that are not URLs.',
  why: 'The operator refuses the configuration. An https URL is the identifier of a client metadata document.',
  failure: {
    symptom:
      'the workload or AuthServerConfigValidated says "delegate_clients: duplicate client_id" or "looks like a CIMD client metadata URL"',
    reportedBy: 'operator',
    consequence: 'does not start',
    releases: 'from 0.43 on; URLs from 0.48 on',
  },
  sources: ['decision 3'],
  *check(server, { path }) {
    const seen = new Set<string>()
    for (const { value, place } of delegateClients(server, path)) {
      const { clientId } = value
      if (!clientId) continue
      if (seen.has(clientId)) yield duplicate(place().clientId, clientId, TAKEN)
      if (namesDocument(clientId))
        yield invalid(
          place().clientId,
          clientId,
          'a URL names a client metadata document: the operator refuses it (from 0.48 on); use a plain name',
        )
      seen.add(clientId)
    }
  },
  examples: {
    'two clients': {
      value: { ...server, delegateClients: [agent, { ...agent, clientId: 'api://agents/2' }] },
    },
    'one client for each scope': {
      value: { ...server, delegateClients: [agent, { ...agent, scopes: ['profile'] }] },
      findings:
        'delegateClients[1].clientId: Duplicate value: "agent": give each client its own, or the operator refuses the configuration',
    },
    'a URL, twice': {
      value: {
        ...server,
        delegateClients: [
          { ...agent, clientId: 'https://agent.example.com' },
          { ...agent, clientId: 'https://agent.example.com' },
        ],
      },
      findings: [
        'delegateClients[0].clientId: Invalid value: "https://agent.example.com": a URL names a client metadata document: the operator refuses it (from 0.48 on); use a plain name',
        'delegateClients[1].clientId: Duplicate value: "https://agent.example.com": give each client its own, or the operator refuses the configuration',
        'delegateClients[1].clientId: Invalid value: "https://agent.example.com": a URL names a client metadata document: the operator refuses it (from 0.48 on); use a plain name',
      ],
    },
    'a URL in inboundGrants': {
      value: granting({
        tokenExchange: { delegateClients: [{ ...agent, clientId: 'https://agent.example.com' }] },
      }),
      findings:
        'inboundGrants.tokenExchange.delegateClients[0].clientId: Invalid value: "https://agent.example.com": a URL names a client metadata document: the operator refuses it (from 0.48 on); use a plain name',
    },
  },
})

function namesDocument(clientId: string): boolean {
  if (clientId.startsWith('https://')) return true
  return clientId.startsWith('http://') && isLoopback(parseUrl(clientId)?.host ?? '')
}
