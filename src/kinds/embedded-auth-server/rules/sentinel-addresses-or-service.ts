import { defineRule, forbidden, isAbsent, must } from '../../../rule/index.ts'
import { redis, sentinel, withRedis } from '../examples.ts'
import { EmbeddedAuthServer } from '../schema.ts'

export const sentinelAddressesOrService = defineRule({
  id: 'sentinel-addresses-or-service',
  on: EmbeddedAuthServer,
  severity: 'error',
  summary: 'Sentinel is found by addresses or by a Service, not by both.',
  why: 'The two are mutually exclusive; the Service would be ignored without a word.',
  sources: [
    must('2.4.3', 'sentinelAddrs and sentinelService are mutually exclusive.'),
    must('7', 'sentinelConfig sets both sentinelAddrs and sentinelService.'),
    'decision 17',
  ],
  *check({ storage }, { path }) {
    const sentinel = storage?.redis?.sentinelConfig
    if (sentinel && !isAbsent(sentinel, 'sentinelAddrs') && !isAbsent(sentinel, 'sentinelService')) {
      yield forbidden(
        path.storage.redis.sentinelConfig.sentinelService,
        'may not be specified when `sentinelAddrs` is set; keep one of the two',
      )
    }
  },
  policy: {
    expression: `
      self.?storage.?redis.?sentinelConfig.?sentinelAddrs.orValue(null) == null ||
      self.storage.redis.sentinelConfig.?sentinelService.orValue(null) == null`,
  },
  examples: {
    addresses: { value: withRedis(redis) },
    'a Service': {
      value: withRedis({
        ...redis,
        sentinelConfig: { masterName: 'vmcp', sentinelService: { name: 'sentinel' } },
      }),
    },
    both: {
      value: withRedis({
        ...redis,
        sentinelConfig: { ...sentinel, sentinelService: { name: 'sentinel' } },
      }),
      findings:
        'storage.redis.sentinelConfig.sentinelService: Forbidden: may not be specified when `sentinelAddrs` is set; keep one of the two',
    },
    'an empty list is set too': {
      value: withRedis({
        ...redis,
        sentinelConfig: { masterName: 'vmcp', sentinelAddrs: [], sentinelService: { name: 'sentinel' } },
      }),
      findings:
        'storage.redis.sentinelConfig.sentinelService: Forbidden: may not be specified when `sentinelAddrs` is set; keep one of the two',
    },
  },
})
