import { defineRule, dependingOn, end, invalid, relatedTo, shortQuote } from '../../../rule/index.ts'
import { bytesAt, NAME } from '../../../relations/index.ts'
import { server } from '../examples.ts'
import { EmbeddedAuthServer } from '../schema.ts'

const LEAST_BYTES = 32
const hmac = (text: string) =>
  ({
    kind: 'Secret',
    metadata: { name: 'auth-server' },
    stringData: { 'hmac-secret': text, 'signing-key': 'k' },
  }) as never

export const hmacSecretLongEnough = defineRule({
  id: 'hmac-secret-long-enough',
  on: EmbeddedAuthServer,
  reads: ['Secret'],
  severity: 'error',
  summary: 'The current HMAC secret has at least 32 bytes (only where Secrets may be looked at).',
  why: 'The authorization server does not start.',
  sources: [
    { section: '2.4.3', must: 'The current HMAC secret has at least 32 random bytes.' },
    { section: '8', must: 'HMAC current secret: at least 32 bytes.' },
    'decision 22',
  ],
  *check({ hmacSecretRefs }, { path, cluster }) {
    const { name, key } = hmacSecretRefs?.[0] ?? {}
    if (name === undefined || key === undefined) return
    const bytes = bytesAt(cluster, name, key)
    if (bytes === undefined || bytes >= LEAST_BYTES) return
    const detail = `this key of the Secret ${shortQuote(name)} holds fewer than ${LEAST_BYTES} bytes, so the server does not start; use 'openssl rand 32'`
    const named = { kind: 'Secret', name }
    yield relatedTo(dependingOn(invalid(path.hmacSecretRefs.at(0).key, key, detail), named), [
      end(named, NAME, 'holds too little'),
    ])
  },
  examples: {
    valid: [
      { title: '32 bytes', value: server, others: [hmac('x'.repeat(32))] },
      { title: 'a Secret that cannot be looked at', value: server },
    ],
    invalid: [
      {
        title: '31 bytes',
        value: server,
        others: [hmac('x'.repeat(31))],
        findings: [
          'hmacSecretRefs[0].key: Invalid value: "hmac-secret": this key of the Secret "auth-server" holds fewer than 32 bytes, so the server does not start; use \'openssl rand 32\'',
        ],
      },
    ],
  },
})
