import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import root, { type Test } from 'tap'
import {
  ClusterConnection,
  type Informers,
  fromKubeconfig,
  type Sink,
  type Times,
} from '../../src/cluster/index.ts'
import { API_VERSION, DEFAULT_API_GROUP, KINDS } from '../../src/kinds/index.ts'
import { mcpGroup } from '../../src/kinds/mcp-group/index.ts'
import { kubeconfigOf } from '../support/fake-api-server.ts'
import type { ApiServer } from './api-server.ts'
import { installCrds, pathOf } from './cluster.ts'
import { withApiServer } from './suite.ts'
import { waitFor } from './wait-for.ts'

/** The descriptions of the objects of a kind, by name. */
type Shown = ReadonlyMap<string, string>

/** The informers of a connection, and the MCPGroups that they have passed on. */
interface Cache {
  readonly connection: ClusterConnection
  readonly informers: Informers
  readonly groups: Shown
  /** The numbers of objects in the slices in which pages of a list are passed on. */
  readonly slices: readonly number[]
}

await withApiServer(root, async (t, api) => {
  const proxy = await silentProxy(t, new URL(api.url))
  const direct = await open(t, api.kubeconfig)
  // Less than the time between two bookmarks, so that every watch is renewed again and again.
  const proxied = await open(t, proxiedKubeconfig(api, proxy.port), { silence: 3_000 })

  await t.test('absent kinds are synced, and picked up when their CRDs come', async (t) => {
    for (const { informers } of [direct, proxied]) {
      await informers.synced
      t.strictSame([...new Set(informers.statuses().map(({ state }) => state))], ['absent'])
    }
    await installCrds(api, 'crds')
    for (const { informers } of [direct, proxied]) {
      await soon('every kind to be watched', () =>
        informers.statuses().every(({ state }) => state === 'watching'),
      )
      t.equal(informers.statuses().length, KINDS.length)
    }
  })

  await t.test('what is created, changed and deleted shows', async (t) => {
    await create(api, 'changed', 'first')
    await create(api, 'deleted')
    await soon('both', () => direct.groups.get('changed') === 'first' && direct.groups.has('deleted'))
    const path = `${pathOf(mcpGroup)}/changed`
    await api.request('PATCH', path, { spec: { description: 'Zürich 🌍' } }, 'application/merge-patch+json')
    await api.request('DELETE', `${pathOf(mcpGroup)}/deleted`)
    for (const { groups } of [direct, proxied]) {
      await soon('the change', () => groups.get('changed') === 'Zürich 🌍')
      await soon('the deletion', () => !groups.has('deleted'))
    }
    const stored = await direct.connection.read(mcpGroup, 'default', 'changed', AbortSignal.timeout(5_000))
    t.match(stored, { kind: 'MCPGroup', metadata: { name: 'changed' } })
    t.equal(
      await direct.connection.read(mcpGroup, 'default', 'deleted', AbortSignal.timeout(5_000)),
      undefined,
    )
  })

  await t.test('Secrets and namespaces are read', async (t) => {
    const { connection } = direct
    const signal = AbortSignal.timeout(5_000)
    await api.request('POST', '/api/v1/namespaces/default/secrets', {
      metadata: { name: 'key' },
      stringData: { current: 'value' },
    })
    t.match(await connection.readSecret('default', 'key', signal), { data: { current: btoa('value') } })
    t.equal(await connection.readSecret('default', 'other', signal), undefined)
    t.match(await connection.readNamespace('default', signal), { metadata: { name: 'default' } })
    t.equal(await connection.readNamespace('other', signal), undefined)
  })

  await t.test('connections that fall silent are given up, and nothing is listed again', async (t) => {
    const lists = () => proxied.informers.statuses().map((status) => status.lists)
    const before = lists()
    proxy.silence()
    await create(api, 'unheard')
    await soon('what happened in silence', () => proxied.groups.has('unheard'))
    t.equal(proxied.informers.isSynced(), true)
    await create(api, 'heard')
    await soon('what happened after', () => proxied.groups.has('heard'))
    t.strictSame(lists(), before)
    t.ok(proxied.informers.statuses().every(({ age }) => age < 5))
  })

  await t.test('changes are followed after a restart', async () => {
    await api.restart()
    await create(api, 'restarted')
    for (const { groups } of [direct, proxied]) await soon('what was created', () => groups.has('restarted'))
  })

  await t.test('many resources come in pages', async (t) => {
    const names = Array.from({ length: 501 }, (_, index) => `many-${index}`)
    for (let at = 0; at < names.length; at += 50) {
      await Promise.all(names.slice(at, at + 50).map((name) => create(api, name)))
    }
    const { groups, slices } = await open(t, api.kubeconfig)
    await soon('all', () => names.every((name) => groups.has(name)))
    t.ok(slices.length > 25)
    t.ok(slices.every((length) => length <= 20))
  })

  await t.test('a user without rights sees nothing, and why', async (t) => {
    const { informers } = await open(t, proxiedKubeconfig(api, proxy.port, { as: 'nobody' }))
    await informers.synced
    for (const { state, reason } of informers.statuses()) {
      t.equal(state, 'forbidden')
      t.match(reason, /^403 .* is forbidden: User "nobody" cannot list resource/)
    }
  })
})

async function soon(what: string, condition: () => boolean): Promise<void> {
  await waitFor(condition, { seconds: 30, what })
}

async function create(api: ApiServer, name: string, description = ''): Promise<void> {
  const { status } = await api.request('POST', pathOf(mcpGroup), {
    apiVersion: `${DEFAULT_API_GROUP}/${API_VERSION}`,
    kind: mcpGroup.kind,
    metadata: { name },
    spec: { description },
  })
  if (status !== 201) throw new Error(`${name} was answered with ${status}`)
}

async function open(t: Test, kubeconfig: string, times: Partial<Times> = {}): Promise<Cache> {
  const connection = new ClusterConnection(await fromKubeconfig(kubeconfig), { times })
  t.teardown(() => connection.close())
  const groups = new Map<string, string>()
  const slices: number[] = []
  const show = (resource: unknown) => {
    const { kind, metadata, spec } = resource as Resource
    if (kind === mcpGroup.kind) groups.set(metadata.name, spec.description)
    return metadata.name
  }
  const sink: Sink = {
    replace: ({ kind }) => {
      const old = new Set(kind === mcpGroup.kind ? groups.keys() : [])
      return {
        add(resources) {
          if (kind === mcpGroup.kind) slices.push(resources.length)
          for (const resource of resources) old.delete(show(resource))
        },
        commit: () => old.forEach((name) => groups.delete(name)),
      }
    },
    put: (_kind, resource) => void show(resource),
    remove: (_kind, resource) => void groups.delete((resource as Resource).metadata.name),
    recheck: () => undefined,
    lacks: () => false,
  }
  const logger = { info: () => undefined, warn: () => undefined }
  return { connection, informers: connection.startInformers(sink, { logger }), groups, slices }
}

interface Resource {
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly spec: { readonly description: string }
}

/** A kubeconfig, in the folder of the API server's, that leads through the proxy. */
function proxiedKubeconfig(api: ApiServer, port: number, user: object = {}): string {
  const file = join(api.kubeconfig, '..', `proxied-${Object.keys(user).join('-')}`)
  const cluster = { 'certificate-authority-data': btoa(api.ca) }
  writeFileSync(
    file,
    JSON.stringify(kubeconfigOf(`https://127.0.0.1:${port}`, { token: api.token, ...user }, cluster)),
  )
  return file
}

/** A TCP proxy that can stop forwarding on its connections without closing them; new connections work. */
async function silentProxy(t: Test, { hostname, port }: URL) {
  const pairs = new Set<readonly [Socket, Socket]>()
  const server = createServer((client) => {
    const target = connect(Number(port), hostname)
    pairs.add([client, target])
    client.pipe(target).pipe(client)
    const close = () => {
      client.destroy()
      target.destroy()
    }
    for (const socket of [client, target]) socket.on('error', close).on('close', close)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => {
    server.close()
    for (const socket of [...pairs].flat()) socket.destroy()
  })
  return {
    port: (server.address() as AddressInfo).port,
    silence() {
      for (const socket of [...pairs].flat()) socket.unpipe().removeAllListeners('data').pause()
    },
  }
}
