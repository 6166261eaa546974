import { defineRule, must } from '../../../rule/index.ts'
import { server } from '../examples.ts'
import { secretOf, tooShort } from '../hmac-secrets.ts'
import { EmbeddedAuthServer } from '../schema.ts'

const hmac = (text: string) => secretOf({ 'hmac-secret': text, 'signing-key': 'k' })

export const hmacSecretLongEnough = defineRule({
  id: 'hmac-secret-long-enough',
  on: EmbeddedAuthServer,
  reads: ['Secret'],
  severity: 'error',
  summary: 'The current HMAC secret has at least 32 bytes (only where Secrets may be looked at).',
  why: 'The authorization server does not start.',
  sources: [
    must('2.4.3', 'The current HMAC secret has at least 32 random bytes.'),
    must('8', 'HMAC current secret: at least 32 bytes.'),
    'decision 22',
  ],
  *check({ hmacSecretRefs }, { path, cluster }) {
    const error = tooShort(hmacSecretRefs?.[0], path.hmacSecretRefs.at(0), cluster, "use 'openssl rand 32'")
    if (error !== undefined) yield error
  },
  examples: {
    '32 bytes': { value: server, others: [hmac('x'.repeat(32))] },
    'a Secret that cannot be looked at': { value: server },
    '31 bytes': {
      value: server,
      others: [hmac('x'.repeat(31))],
      findings:
        'hmacSecretRefs[0].key: Invalid value: "hmac-secret": this key of the Secret "auth-server" holds fewer than 32 bytes, so the server does not start; use \'openssl rand 32\'',
    },
  },
})
