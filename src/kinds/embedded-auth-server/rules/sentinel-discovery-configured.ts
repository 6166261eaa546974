import { advice, defineRule, isAbsent, must } from '../../../rule/index.ts'
import { redis, withRedis } from '../examples.ts'
import { EmbeddedAuthServer } from '../schema.ts'

export const sentinelDiscoveryConfigured = defineRule({
  id: 'sentinel-discovery-configured',
  on: EmbeddedAuthServer,
  severity: 'warning',
  summary: 'Sentinel can be found: by addresses or by a Service.',
  why: 'With neither the server does not know whom to ask for the Redis master, and the workload is never deployed.',
  sources: [must('2.4.3', 'sentinelAddrs and sentinelService are mutually exclusive.'), 'decision 14'],
  *check({ storage }, { path }) {
    const sentinel = storage?.redis?.sentinelConfig
    const hasAddresses =
      sentinel && !isAbsent(sentinel, 'sentinelAddrs') && sentinel.sentinelAddrs?.length !== 0
    if (sentinel && !hasAddresses && isAbsent(sentinel, 'sentinelService')) {
      yield advice(
        path.storage.redis.sentinelConfig,
        'set `sentinelAddrs` or `sentinelService`: with neither the workload is never deployed',
      )
    }
  },
  examples: {
    addresses: { value: withRedis(redis) },
    'a Service': {
      value: withRedis({
        ...redis,
        sentinelConfig: { masterName: 'vmcp', sentinelService: { name: 'sentinel' } },
      }),
    },
    neither: {
      value: withRedis({ ...redis, sentinelConfig: { masterName: 'vmcp' } }),
      findings:
        'storage.redis.sentinelConfig: set `sentinelAddrs` or `sentinelService`: with neither the workload is never deployed',
    },
    'an empty list of addresses': {
      value: withRedis({ ...redis, sentinelConfig: { masterName: 'vmcp', sentinelAddrs: [] } }),
      findings:
        'storage.redis.sentinelConfig: set `sentinelAddrs` or `sentinelService`: with neither the workload is never deployed',
    },
  },
})
