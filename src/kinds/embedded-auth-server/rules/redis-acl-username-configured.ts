import { defineRule, isAbsent, must, required } from '../../../rule/index.ts'
import { redis, withRedis, without } from '../examples.ts'
import { mayStandIn } from '../effective.ts'
import { EmbeddedAuthServer } from '../schema.ts'

const aclUserConfig = without(redis.aclUserConfig ?? {}, 'usernameSecretRef')

export const redisAclUsernameConfigured = defineRule({
  id: 'redis-acl-username-configured',
  on: EmbeddedAuthServer,
  constraint: 'required',
  // Source: toolhive v0.63.0, pkg/authserver/runner, convertRedisACLConfig.
  instead: "logs in as the Redis user 'default'",
  severity: 'error',
  summary: 'The Redis ACL user has a name, unless a Redis without Sentinel takes a password alone.',
  why: 'The server logs in to Redis as that user; without a name the login fails and no session can be stored.',
  sources: [
    must('2.4.3', 'aclUserConfig holds usernameSecretRef and passwordSecretRef, both required.'),
    'decision 3',
  ],
  *check({ storage }, { path }) {
    const { redis } = storage ?? {}
    const user = redis?.aclUserConfig
    if (!user || !isAbsent(user, 'usernameSecretRef') || mayStandIn(redis, 'addr')) return
    yield required(
      path.storage.redis.aclUserConfig.usernameSecretRef,
      'must be the Secret with the user name; only a Redis with `addr` takes a password alone',
    )
  },
  policy: { needsWebhook: 'releases accept it, and the webhook warns' },
  examples: {
    'a user with name and password': { value: withRedis(redis) },
    'a password alone, without Sentinel (newer releases)': {
      value: withRedis({
        ...without(redis, 'sentinelConfig'),
        aclUserConfig,
        addr: 'redis.example.com:6379',
      }),
    },
    'no name': {
      value: withRedis({ ...redis, aclUserConfig }),
      findings:
        'storage.redis.aclUserConfig.usernameSecretRef: Required value: must be the Secret with the user name; only a Redis with `addr` takes a password alone',
    },
  },
})
