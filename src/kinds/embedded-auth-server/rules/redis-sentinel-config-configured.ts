import { defineRule, isAbsent, must, required } from '../../../rule/index.ts'
import { redis, withRedis, without } from '../examples.ts'
import { mayStandIn } from '../effective.ts'
import { EmbeddedAuthServer } from '../schema.ts'

const unfindable = without(redis, 'sentinelConfig')

export const redisSentinelConfigConfigured = defineRule({
  id: 'redis-sentinel-config-configured',
  on: EmbeddedAuthServer,
  constraint: 'required',
  severity: 'error',
  summary: 'Redis storage has `sentinelConfig`, unless it has the `addr` of newer releases.',
  why: 'The server finds the Redis master through Sentinel; without it no session can be stored.',
  sources: [must('2.4.3', 'sentinelConfig is required.'), 'decision 3'],
  *check({ storage }, { path }) {
    const redis = storage?.redis
    if (redis && isAbsent(redis, 'sentinelConfig') && !mayStandIn(redis, 'addr')) {
      yield required(path.storage.redis.sentinelConfig, 'must be set to find the Redis master')
    }
  },
  policy: {
    expression: `
      self.?storage.?redis.orValue(null) == null ||
      self.storage.redis.?sentinelConfig.orValue(null) != null ||
      !(self.storage.redis.?addr.orValue(null) in [dyn(null), dyn('')])`,
  },
  examples: {
    'through Sentinel': { value: withRedis(redis) },
    'a Redis without Sentinel (newer releases)': {
      value: withRedis({ ...unfindable, addr: 'redis.example.com:6379' }),
    },
    'no way to find the master': {
      value: withRedis(unfindable),
      findings: 'storage.redis.sentinelConfig: Required value: must be set to find the Redis master',
    },
  },
})
