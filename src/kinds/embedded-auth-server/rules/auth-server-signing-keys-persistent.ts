import { advice, defineRule, isAbsent, says } from '../../../rule/index.ts'
import { server, without } from '../examples.ts'
import { EmbeddedAuthServer } from '../schema.ts'

export const authServerSigningKeysPersistent = defineRule({
  id: 'auth-server-signing-keys-persistent',
  on: EmbeddedAuthServer,
  severity: 'advice',
  summary: 'The authorization server has a signing key in a Secret.',
  why: 'A key made at start is lost at a restart: issued tokens can no longer be verified and every user must log in again.',
  sources: [
    says('2.4.3', 'Without signing keys an ephemeral one is generated (development only).'),
    says(
      '5.3',
      'Persistent keys and secrets are required for production; ephemeral ones end all sessions at a restart.',
    ),
    says('7', 'Without persistent keys a restart invalidates tokens, codes and refresh tokens.'),
    'decision 21',
  ],
  *check(server, { path }) {
    if (isAbsent(server, 'signingKeySecretRefs') || server.signingKeySecretRefs?.length === 0) {
      yield advice(path.signingKeySecretRefs, 'without a signing key every restart voids all issued tokens')
    }
  },
  examples: {
    'a key': { value: server },
    'no keys': {
      value: without(server, 'signingKeySecretRefs'),
      findings: 'signingKeySecretRefs: without a signing key every restart voids all issued tokens',
    },
    'an empty list of keys': {
      value: { ...server, signingKeySecretRefs: [] },
      findings: 'signingKeySecretRefs: without a signing key every restart voids all issued tokens',
    },
  },
})
