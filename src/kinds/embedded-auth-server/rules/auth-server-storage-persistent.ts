import { advice, defineRule, says } from '../../../rule/index.ts'
import { storageType } from '../effective.ts'
import { server, withRedis, without } from '../examples.ts'
import { EmbeddedAuthServer } from '../schema.ts'

export const authServerStoragePersistent = defineRule({
  id: 'auth-server-storage-persistent',
  on: EmbeddedAuthServer,
  severity: 'advice',
  summary: 'Upstream tokens are stored in Redis, not in memory.',
  why: 'What is in memory is lost at a restart, and every user must log in again. So are the clients that `dcrConfig` registers at upstream providers, which keep the old ones.',
  failure: {
    symptom:
      'after each restart all users log in again; with `dcrConfig` each start leaves one more client at the upstream provider',
    reportedBy: 'nobody',
    consequence: 'degrades',
  },
  sources: [
    says('2.4.3', 'storage defaults to memory.'),
    says('5.3', 'Upstream tokens in memory are lost at a restart; for production use redis with Sentinel.'),
    'decision 21',
  ],
  *check(server, { path }) {
    if (storageType(server) === 'memory') {
      yield advice(path.storage.type, "tokens in memory are lost at a restart; use 'redis' in production")
    }
  },
  examples: {
    Redis: { value: server },
    'Redis at an address': {
      value: withRedis({
        addr: 'redis.example.com:6379',
        aclUserConfig: { passwordSecretRef: { name: 'redis', key: 'password' } },
        tls: {},
      }),
    },
    memory: {
      value: { ...server, storage: { type: 'memory' } },
      findings: "storage.type: tokens in memory are lost at a restart; use 'redis' in production",
    },
    'memory by default': {
      value: without(server, 'storage'),
      findings: "storage.type: tokens in memory are lost at a restart; use 'redis' in production",
    },
    'memory, and a client that is registered dynamically': {
      value: {
        ...without(server, 'storage'),
        upstreamProviders: [
          {
            name: 'okta',
            type: 'oidc',
            oidcConfig: { issuerUrl: 'https://example.okta.com', dcrConfig: {} },
          },
        ],
      },
      findings: "storage.type: tokens in memory are lost at a restart; use 'redis' in production",
    },
  },
})
