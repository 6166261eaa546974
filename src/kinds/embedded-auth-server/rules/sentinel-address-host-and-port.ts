import { advice, defineRule, says } from '../../../rule/index.ts'
import { redis, withRedis } from '../examples.ts'
import { EmbeddedAuthServer } from '../schema.ts'

const { aclUserConfig } = redis
const withoutSentinel = { aclUserConfig, tls: {} }
const NO_PORT = "must be host:port, such as 'redis.cache.svc:6379', or the server does not start"

export const sentinelAddressHostAndPort = defineRule({
  id: 'sentinel-address-host-and-port',
  on: EmbeddedAuthServer,
  severity: 'warning',
  summary:
    'A Sentinel address, and `addr` of a Redis without Sentinel, is a host and a port from 1 to 65535.',
  why: 'An address without such a port cannot be dialled, so the master is not found there; with such an `addr` the server does not start.',
  sources: [says('2.4.3', 'sentinelAddrs is a list of host:port.')],
  *check({ storage }, { path }) {
    const { addr } = storage?.redis ?? {}
    if (addr && !isDialled(addr) && !isLocal(addr)) yield advice(path.storage.redis.addr, NO_PORT)
    const addresses = storage?.redis?.sentinelConfig?.sentinelAddrs ?? []
    for (const [i, address] of addresses.entries()) {
      if (address === undefined || isDialled(address)) continue
      yield advice(
        path.storage.redis.sentinelConfig.sentinelAddrs.at(i),
        "must be host:port, such as 'sentinel-0:26379', or the Redis master is not found through it",
      )
    }
  },
  examples: {
    'a Redis': { value: withRedis({ ...withoutSentinel, addr: 'redis.cache.svc:6379' }) },
    'a name and an address': {
      value: withRedis({
        ...redis,
        sentinelConfig: {
          masterName: 'main',
          sentinelAddrs: ['sentinel-0.redis:26379', '[2001:db8::1]:26379'],
        },
      }),
    },
    'no port': {
      value: withRedis({ ...redis, sentinelConfig: { masterName: 'main', sentinelAddrs: ['sentinel-0'] } }),
      findings:
        "storage.redis.sentinelConfig.sentinelAddrs[0]: must be host:port, such as 'sentinel-0:26379', or the Redis master is not found through it",
    },
    ...Object.fromEntries(
      ['redis.cache.svc', 'redis://redis.cache.svc:6379'].map((addr) => [
        `a Redis at ${addr}`,
        { value: withRedis({ ...withoutSentinel, addr }), findings: `storage.redis.addr: ${NO_PORT}` },
      ]),
    ),
    ...Object.fromEntries(
      ([0, 65_536, 99_999] as const).map((port) => [
        `port ${port}`,
        {
          value: withRedis({
            ...redis,
            sentinelConfig: { masterName: 'main', sentinelAddrs: ['sentinel-0:65535', `sentinel-1:${port}`] },
          }),
          findings:
            "storage.redis.sentinelConfig.sentinelAddrs[1]: must be host:port, such as 'sentinel-0:26379', or the Redis master is not found through it",
        },
      ]),
    ),
  },
})

const HOST_AND_PORT = /^(?:[^\s:[\]]+|\[[0-9A-Fa-f:.]+(?:%[^\s\]]+)?\]):(\d{1,5})$/

function isDialled(address: string): boolean {
  const port = Number(HOST_AND_PORT.exec(address)?.[1])
  return port >= 1 && port <= 65_535
}

/** Whether the address is a Unix socket, or a port of the same host: both can be dialled. */
const isLocal = (address: string) => /^(?:\/|:\d+$)/.test(address)
