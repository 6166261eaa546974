import { defineRule, outage } from '../../../rule/index.ts'
import { server } from '../examples.ts'
import { secretOf, tooShort } from '../hmac-secrets.ts'
import { EmbeddedAuthServer } from '../schema.ts'

const REMEDY = 'remove it'
const rotated = {
  ...server,
  hmacSecretRefs: ['hmac-secret', 'hmac-old'].map((key) => ({ name: 'auth-server', key })),
}
const hmac = (old: string) => secretOf({ 'hmac-secret': 'x'.repeat(32), 'hmac-old': old, 'signing-key': 'k' })

export const rotatedHmacSecretLongEnough = defineRule({
  id: 'rotated-hmac-secret-long-enough',
  on: EmbeddedAuthServer,
  needs: ['hmacSecretRefs'],
  reads: ['Secret'],
  severity: 'warning',
  summary: 'Each older HMAC secret has at least 32 bytes too (only where Secrets may be looked at).',
  why: 'The authorization server does not start. The specification says it of the current secret only, the first one.',
  failure: {
    symptom: 'the pod ends at start with "rotated HMAC secret [0] must be at least 32 bytes"',
    reportedBy: 'start-up',
    consequence: 'does not start',
  },
  sources: ['decision 3', 'decision 22'],
  *check({ hmacSecretRefs = [] }, { path, cluster }) {
    for (let i = 1; i < hmacSecretRefs.length; i++) {
      const error = tooShort(hmacSecretRefs[i], path.hmacSecretRefs.at(i), cluster, REMEDY)
      if (error !== undefined) yield outage(error)
    }
  },
  examples: {
    '32 bytes': { value: rotated, others: [hmac('y'.repeat(32))] },
    'a Secret that cannot be looked at': { value: rotated },
    '31 bytes': {
      value: rotated,
      others: [hmac('y'.repeat(31))],
      findings: `hmacSecretRefs[1].key: Invalid value: "hmac-old": this key of the Secret "auth-server" holds fewer than 32 bytes, so the server does not start; ${REMEDY}`,
    },
  },
})
