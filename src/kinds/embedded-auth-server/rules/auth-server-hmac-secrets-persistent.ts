import { advice, defineRule, isAbsent, says } from '../../../rule/index.ts'
import { server, without } from '../examples.ts'
import { EmbeddedAuthServer } from '../schema.ts'

export const authServerHmacSecretsPersistent = defineRule({
  id: 'auth-server-hmac-secrets-persistent',
  on: EmbeddedAuthServer,
  severity: 'advice',
  summary: 'The authorization server has its HMAC secret in a Secret.',
  why: 'A secret made at start is lost at a restart: authorization codes and refresh tokens can no longer be decoded.',
  sources: [
    says('2.4.3', 'Without HMAC secrets an ephemeral one is generated (development only).'),
    says(
      '5.3',
      'Persistent keys and secrets are required for production; ephemeral ones end all sessions at a restart.',
    ),
    says('7', 'Without persistent keys a restart invalidates tokens, codes and refresh tokens.'),
    'decision 21',
  ],
  *check(server, { path }) {
    if (isAbsent(server, 'hmacSecretRefs') || server.hmacSecretRefs?.length === 0) {
      yield advice(path.hmacSecretRefs, 'without an HMAC secret every restart voids all refresh tokens')
    }
  },
  examples: {
    'a secret': { value: server },
    'no secrets': {
      value: without(server, 'hmacSecretRefs'),
      findings: 'hmacSecretRefs: without an HMAC secret every restart voids all refresh tokens',
    },
    'an empty list of secrets': {
      value: { ...server, hmacSecretRefs: [] },
      findings: 'hmacSecretRefs: without an HMAC secret every restart voids all refresh tokens',
    },
  },
})
