import { defineRule, isAbsent, must, required } from '../../../rule/index.ts'
import { server } from '../examples.ts'
import { EmbeddedAuthServer } from '../schema.ts'

export const storageRedisConfigured = defineRule({
  id: 'storage-redis-configured',
  on: EmbeddedAuthServer,
  severity: 'error',
  summary: 'Storage of type `redis` has `redis`.',
  why: 'The server does not know where its Redis is, and the workload is never deployed.',
  sources: [must('2.4.3', 'redis is required when the storage type is redis.')],
  *check({ storage }, { path }) {
    if (storage?.type === 'redis' && isAbsent(storage, 'redis')) {
      yield required(path.storage.redis, "must be set when `type` is 'redis'")
    }
  },
  policy: {
    expression: `
      self.?storage.?type.orValue('') != 'redis' || self.storage.?redis.orValue(null) != null`,
  },
  examples: {
    'Redis, with settings': { value: server },
    'memory needs none': { value: { ...server, storage: { type: 'memory' } } },
    'Redis, without settings': {
      value: { ...server, storage: { type: 'redis' } },
      findings: "storage.redis: Required value: must be set when `type` is 'redis'",
    },
  },
})
