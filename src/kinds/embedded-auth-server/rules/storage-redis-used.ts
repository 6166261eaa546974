import { advice, defineRule, isAbsent, must } from '../../../rule/index.ts'
import { storageType } from '../effective.ts'
import { redis, server } from '../examples.ts'
import { EmbeddedAuthServer } from '../schema.ts'

export const storageRedisUsed = defineRule({
  id: 'storage-redis-used',
  on: EmbeddedAuthServer,
  severity: 'warning',
  summary: 'Redis settings are there only when the storage type is `redis`.',
  why: 'With any other type they are ignored without a word, and the tokens stay in memory.',
  sources: [must('2.4.3', 'redis is required when the storage type is redis.'), 'decision 14'],
  *check(server, { path }) {
    const { storage } = server
    if (storage && !isAbsent(storage, 'redis') && storageType(server) === 'memory') {
      yield advice(path.storage.redis, "is ignored; set `type` to 'redis' to use it")
    }
  },
  examples: {
    'settings that are used': { value: server },
    'settings beside memory': {
      value: { ...server, storage: { type: 'memory', redis } },
      findings: "storage.redis: is ignored; set `type` to 'redis' to use it",
    },
    'settings without a type, which is memory by default': {
      value: { ...server, storage: { redis } },
      findings: "storage.redis: is ignored; set `type` to 'redis' to use it",
    },
  },
})
