import { advice, defineRule, says } from '../../../rule/index.ts'
import { redis, withRedis } from '../examples.ts'
import { EmbeddedAuthServer } from '../schema.ts'

export const redisTlsVerified = defineRule({
  id: 'redis-tls-verified',
  on: EmbeddedAuthServer,
  severity: 'advice',
  summary: 'The certificates of Redis and Sentinel are verified.',
  why: 'Without verification anyone on the path can pose as Redis and read upstream tokens.',
  sources: [says('2.4.3', 'insecureSkipVerify skips certificate verification.'), 'decision 21'],
  *check({ storage }, { path }) {
    for (const field of ['tls', 'sentinelTls'] as const) {
      if (storage?.redis?.[field]?.insecureSkipVerify === true) {
        yield advice(
          path.storage.redis[field].insecureSkipVerify,
          'any certificate is accepted; use `caCertSecretRef`',
        )
      }
    }
  },
  examples: {
    'a certificate authority of your own': {
      value: withRedis({ ...redis, tls: { caCertSecretRef: { name: 'redis-ca', key: 'ca.crt' } } }),
    },
    'verification off': {
      value: withRedis({
        ...redis,
        tls: { insecureSkipVerify: true },
        sentinelTls: { insecureSkipVerify: true },
      }),
      findings: [
        'storage.redis.tls.insecureSkipVerify: any certificate is accepted; use `caCertSecretRef`',
        'storage.redis.sentinelTls.insecureSkipVerify: any certificate is accepted; use `caCertSecretRef`',
      ],
    },
  },
})
