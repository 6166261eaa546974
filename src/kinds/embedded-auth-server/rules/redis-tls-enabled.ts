import { advice, defineRule, isAbsent, says } from '../../../rule/index.ts'
import { redis, server, withRedis, without } from '../examples.ts'
import { EmbeddedAuthServer } from '../schema.ts'

const plaintext = without(redis, 'tls', 'sentinelTls')

export const redisTlsEnabled = defineRule({
  id: 'redis-tls-enabled',
  on: EmbeddedAuthServer,
  severity: 'advice',
  summary: 'Redis and Sentinel are reached over TLS, each by its own setting.',
  why: 'Upstream tokens and the Redis password go over the network in plaintext.',
  sources: [
    says(
      '2.4.3',
      'tls and sentinelTls: presence enables TLS, without it plaintext; neither stands in for the other.',
    ),
    'decision 21',
  ],
  *check({ storage }, { path }) {
    const redis = storage?.redis
    if (storage?.type !== 'redis' || redis === undefined) return
    if (isAbsent(redis, 'tls')) {
      yield advice(
        path.storage.redis.tls,
        'is absent, so Redis is reached in plaintext; an empty object turns TLS on',
      )
    }
    if (!isAbsent(redis, 'sentinelConfig') && isAbsent(redis, 'sentinelTls')) {
      yield advice(
        path.storage.redis.sentinelTls,
        'is absent, so Sentinel is reached in plaintext; an empty object turns TLS on',
      )
    }
  },
  examples: {
    'TLS with the system root certificates': { value: withRedis(redis) },
    'Redis settings that are not used': { value: { ...server, storage: { redis: plaintext } } },
    plaintext: {
      value: withRedis(plaintext),
      findings: [
        'storage.redis.tls: is absent, so Redis is reached in plaintext; an empty object turns TLS on',
        'storage.redis.sentinelTls: is absent, so Sentinel is reached in plaintext; an empty object turns TLS on',
      ],
    },
    'TLS towards Redis does not cover Sentinel': {
      value: withRedis({ ...plaintext, tls: {} }),
      findings:
        'storage.redis.sentinelTls: is absent, so Sentinel is reached in plaintext; an empty object turns TLS on',
    },
  },
})
