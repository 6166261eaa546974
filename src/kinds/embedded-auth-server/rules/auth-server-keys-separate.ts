import { advice, defineRule, says } from '../../../rule/index.ts'
import { server } from '../examples.ts'
import { EmbeddedAuthServer } from '../schema.ts'

export const authServerKeysSeparate = defineRule({
  id: 'auth-server-keys-separate',
  on: EmbeddedAuthServer,
  severity: 'warning',
  summary: 'A signing key is not used as HMAC secret as well.',
  why: 'A signing key is a private key in PEM, an HMAC secret is random bytes: with random bytes the server does not start, and with a private key whoever learns one of both learns both, and they cannot be rotated apart.',
  failure: {
    symptom:
      'the pod ends at start: `failed to decode PEM block from signing key`, or signing key and HMAC secret can only be rotated together',
    reportedBy: 'start-up',
    consequence: 'does not start',
  },
  sources: [
    says(
      '2.4.3',
      'signingKeySecretRefs hold signing keys, hmacSecretRefs secrets of at least 32 random bytes.',
    ),
  ],
  *check({ signingKeySecretRefs, hmacSecretRefs }, { path }) {
    if (signingKeySecretRefs === undefined || hmacSecretRefs === undefined) return
    // A text that identifies a Secret reference; neither the name nor the key in the reference can contain the slash.
    const keyOf = (ref: (typeof hmacSecretRefs)[number]) => ref && `${ref.name ?? ''}/${ref.key ?? ''}`
    const signing = new Map<string | undefined, number>()
    for (let i = 0; i < signingKeySecretRefs.length; i++) signing.set(keyOf(signingKeySecretRefs[i]), i)
    for (let i = 0; i < hmacSecretRefs.length; i++) {
      const ref = hmacSecretRefs[i]
      const same = ref?.name && ref.key ? signing.get(keyOf(ref)) : undefined
      if (same !== undefined)
        yield advice(
          path.hmacSecretRefs.at(i),
          `is also the key of signingKeySecretRefs[${same}]; name another key, of at least 32 random bytes: the server does not start with those as signing key, and neither key can be rotated alone`,
        )
    }
  },
  examples: {
    'a key each': { value: server },
    'two keys of one Secret, and one key of two Secrets': {
      value: {
        ...server,
        signingKeySecretRefs: [
          { name: 'auth', key: 'signing.pem' },
          { name: 'old', key: 'hmac' },
        ],
        hmacSecretRefs: [{ name: 'auth', key: 'hmac' }],
      },
    },
    'one key for both': {
      value: {
        ...server,
        signingKeySecretRefs: [{ name: 'auth', key: 'key' }],
        hmacSecretRefs: [
          { name: 'auth', key: 'hmac' },
          { name: 'auth', key: 'key' },
        ],
      },
      findings:
        'hmacSecretRefs[1]: is also the key of signingKeySecretRefs[0]; name another key, of at least 32 random bytes: the server does not start with those as signing key, and neither key can be rotated alone',
    },
  },
})
