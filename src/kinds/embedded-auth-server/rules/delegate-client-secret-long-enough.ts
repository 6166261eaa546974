import { defineRule, dependingOn, end, invalid, relatedTo, shortQuote } from '../../../rule/index.ts'
import { bytesAt, NAME } from '../../../relations/index.ts'
import { agent, granting, server } from '../examples.ts'
import { delegateClients } from '../inbound-grants.ts'
import { EmbeddedAuthServer } from '../schema.ts'

const LEAST_BYTES = 32
const secretOf = (text: string) =>
  ({ kind: 'Secret', metadata: { name: 'agent' }, stringData: { 'client-secret': text } }) as never

export const delegateClientSecretLongEnough = defineRule({
  id: 'delegate-client-secret-long-enough',
  on: EmbeddedAuthServer,
  needs: ['delegateClients', 'inboundGrants'],
  reads: ['Secret'],
  severity: 'warning',
  summary: 'The secret of a delegate client has at least 32 bytes (only where Secrets may be looked at).',
  why: 'The authorization server does not start.',
  failure: {
    symptom: 'the log says "delegate_clients: … resolved client secret must be at least 32 characters"',
    reportedBy: 'start-up',
    consequence: 'does not start',
    releases: 'from 0.45 on',
  },
  sources: ['decision 3', 'decision 22'],
  *check(server, { path, cluster }) {
    for (const { value, place } of delegateClients(server, path)) {
      const { name, key } = value.clientSecretRef ?? {}
      if (name === undefined || key === undefined) continue
      const bytes = bytesAt(cluster, name, key)
      if (bytes === undefined || bytes >= LEAST_BYTES) continue
      const named = { kind: 'Secret', name }
      const detail = `is under ${LEAST_BYTES} bytes in Secret ${shortQuote(name)}: the server does not start; use 'openssl rand -hex 32'`
      yield relatedTo(dependingOn(invalid(place().clientSecretRef.key, key, detail), named), [
        end(named, NAME, 'holds too little'),
      ])
    }
  },
  examples: {
    '32 bytes': { value: { ...server, delegateClients: [agent] }, others: [secretOf('x'.repeat(32))] },
    'a Secret that cannot be looked at': { value: { ...server, delegateClients: [agent] } },
    '31 bytes': {
      value: { ...server, delegateClients: [agent] },
      others: [secretOf('x'.repeat(31))],
      findings:
        'delegateClients[0].clientSecretRef.key: Invalid value: "client-secret": is under 32 bytes in Secret "agent": the server does not start; use \'openssl rand -hex 32\'',
    },
    '31 bytes, in inboundGrants': {
      value: granting({ tokenExchange: { delegateClients: [agent] } }),
      others: [secretOf('x'.repeat(31))],
      findings:
        'inboundGrants.tokenExchange.delegateClients[0].clientSecretRef.key: Invalid value: "client-secret": is under 32 bytes in Secret "agent": the server does not start; use \'openssl rand -hex 32\'',
    },
  },
})
