import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { Agent, request } from 'node:https'
import { mkdtemp, rm } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { setTimeout } from 'node:timers/promises'
import { pino } from 'pino'
import t from 'tap'
import { localPair } from '../src/certificates/local.ts'
import {
  authServer,
  backend,
  gateway,
  group,
  headerConfig,
  inline,
  otherOf,
} from '../src/relations/examples.ts'
import { DEFAULT_API_GROUP, kindNamed } from '../src/kinds/index.ts'
import { CurrentFindings } from '../src/server/current-findings.ts'
import { type MemoryBudget, ClusterState } from '../src/state/cluster-state.ts'
import type { Other } from '../src/rule/rule.ts'
import { buildWebhook } from '../src/server/app.ts'
import { Bodies, type HeldBody, RefusedBody } from '../src/server/bodies.ts'
import { parseBody } from '../src/server/json.ts'
import { createMetrics } from '../src/server/metrics.ts'
import { ClusterCache } from '../src/server/cluster-cache.ts'
import { chartMemory, containerEnvironment } from './support/container.ts'
import {
  type Answer as FakeAnswer,
  events,
  fakeApiServer,
  json as answerJson,
  page,
} from './support/fake-api-server.ts'
import { memoryLimit } from './support/memory-limit.ts'
import { judgeOf, resourceOf, reviewOf, submissionOf } from './support/review.ts'
import { startServer } from './support/server.ts'
import { ROWS } from './support/worst-cases/rows.ts'

const MB = 2 ** 20
const json = { 'content-type': 'application/json' }

/** A request whose body the test sends; if `length` is undefined, in chunks. */
function sending(bodies: Bodies, client: string, length?: number) {
  const stream = new PassThrough()
  const headers = length === undefined ? {} : { 'content-length': String(length) }
  const message = Object.assign(stream, { headers, socket: { remoteAddress: client } })
  const outcome: { status?: number; body?: HeldBody } = {}
  bodies.receive(message as unknown as IncomingMessage, (error, body) => {
    if (error instanceof RefusedBody) outcome.status = error.statusCode
    else if (body !== undefined) outcome.body = body
  })
  return { stream, outcome }
}

t.test('bodies that are too many give way, those of the client that holds most first', async (t) => {
  const bodies = new Bodies(32 * MB)
  const attackers = Array.from({ length: 40 }, () => sending(bodies, 'attacker', 2 * MB))
  const refused = () => attackers.filter(({ outcome }) => outcome.status === 503).length
  t.strictSame([bodies.bytes, refused()], [32 * MB, 24], 'of one client those that come later')
  const server = sending(bodies, 'api-server', 3_000_000)
  t.equal(server.outcome.status, undefined, 'another client has room')
  t.equal(refused(), 26)
  server.stream.end(Buffer.alloc(3_000_000, 'x'))
  await setTimeout()
  t.equal(server.outcome.body?.state, 'waiting')
  t.ok(bodies.bytes <= 32 * MB)
  const chunked = sending(bodies, 'api-server')
  t.equal(chunked.outcome.status, undefined)
  for (let i = 0; i < 8; i++) chunked.stream.write(Buffer.alloc(MB, 'x'))
  await setTimeout()
  t.equal(chunked.outcome.status, 413, 'what comes in chunks is counted as it comes')
  t.ok(bodies.bytes <= 32 * MB)
})

t.test('a client that is alone has room for what is small, and beside what is slow', async (t) => {
  let clock = 0
  const bodies = new Bodies(32 * MB, () => clock)
  const large = Array.from({ length: 16 }, () => sending(bodies, 'node', 2 * MB))
  t.equal(sending(bodies, 'node', 4_000).outcome.status, undefined, 'small')
  t.equal(sending(bodies, 'node', 2 * MB).outcome.status, 503, 'as large as the others')
  clock = 1_000
  t.equal(sending(bodies, 'node', 2 * MB).outcome.status, undefined, 'a second later')
  clock = 10_000
  bodies.dropSlow()
  t.strictSame(new Set(large.map(({ outcome }) => outcome.status)), new Set([503, 408]), 'after ten seconds')
  t.ok(bodies.bytes <= 2 * MB + 4_000)
})

t.test('few large bodies are judged at a time, and small ones beside them', async (t) => {
  const bodies = new Bodies(64 * MB)
  const whole = async (length: number) => {
    const { stream, outcome } = sending(bodies, 'api-server', length)
    stream.end(Buffer.alloc(length, 'x'))
    await setTimeout()
    if (outcome.body === undefined) throw new Error('refused')
    return outcome.body
  }
  const [first, second, third] = [await whole(6 * MB), await whole(5 * MB), await whole(4 * MB)]
  t.equal(bodies.turn(first), undefined)
  const order: string[] = []
  const turns = [second, third].map(async (held) => {
    await bodies.turn(held)
    order.push(String(held.bytes / MB))
  })
  const small = await whole(5_000)
  t.equal(bodies.turn(small), undefined, 'a small one does not wait')
  bodies.end(first)
  await setTimeout()
  t.strictSame(order, ['4'], 'the smallest is next')
  bodies.end(third)
  await Promise.all(turns)
  t.strictSame(order, ['4', '5'])
  t.equal(bodies.bytesOf(second).length, 5 * MB)
  for (const held of [second, small]) bodies.end(held)
  t.equal(bodies.bytes, 0)
})

t.test('what no API server can store is refused before it is parsed', async (t) => {
  const review = (object: string, oldObject = 'null') =>
    Buffer.from(`{"request":{"uid":"x","object":${object},"oldObject":${oldObject},"y":[1,"\\"]"]}}`)
  const deep = '['.repeat(900) + ']'.repeat(900)
  const lists = (count: number) => `[${Array<string>(count).fill(deep).join()}]`
  const keys = (count: number) => `{${Array.from({ length: count }, (_, i) => `"k${i}":1`).join()}}`
  const text = (bytes: number) => `{"x":"${'x'.repeat(bytes)}"}`
  const [bytes, values] = [
    /^the object has over 3145728 bytes/,
    /^the object has over 175000 keys and values/,
  ]
  const rows: readonly (readonly [title: string, body: Buffer, refusal: RegExp | undefined])[] = [
    ['lists in lists', review(lists(200)), values],
    ['half as many', review(lists(150)), undefined],
    ['160,000 keys', review(keys(160_000)), /^the body has over 350000|^the object has over 175000/],
    ['80,000 keys before and after', review(keys(80_000), keys(80_000)), undefined],
    ['more before', review('{}', keys(90_000)), values],
    ['640,000 keys in many objects', Buffer.from(`{"a":${keys(640_000)}}`), /^the body has over 350000/],
    ['a text of 3 MB', review(text(3_100_000)), undefined],
    ['a text of 3 MiB', review(text(3_200_000)), bytes],
    ['as long before and after', review(text(3_100_000), text(3_100_000)), undefined],
    ['the last member', Buffer.from(`{"request":{"object":${text(3_200_000)}}}`), bytes],
  ]
  for (const [title, body, refusal] of rows) {
    if (refusal === undefined) t.doesNotThrow(() => parseBody(body), title)
    else t.throws(() => parseBody(body), { message: refusal }, title)
  }
})

t.test('an update of 15,000 upstream providers is judged', async (t) => {
  const gatewayOf = (client: string) => {
    const upstreamProviders = Array.from({ length: 15_000 }, (_, i) => ({
      name: `p${i}`,
      type: 'oidc',
      oidcConfig: { issuerUrl: `https://i${i}.example.com`, clientId: `${client}${i}` },
    }))
    const server = { ...authServer('a'), upstreamProviders }
    const { kind, spec } = gateway('', { authServerConfig: server as never })
    return resourceOf(kind, spec)
  }
  const review = reviewOf(gatewayOf('a'), { operation: 'UPDATE', oldObject: gatewayOf('b') })
  t.doesNotThrow(() => parseBody(Buffer.from(JSON.stringify(review))))
})

t.test('who has no client certificate is refused before any of the body is read', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'vmcp-memory-'))
  t.teardown(() => rm(folder, { recursive: true }))
  const pair = await localPair(folder, ['127.0.0.1'])
  const bodies = new Bodies(32 * MB)
  const app = buildWebhook(
    {
      judge: () => judgeOf(),
      logger: pino({ level: 'silent' }),
      metrics: createMetrics(),
      mostInFlight: 1,
      bodies,
      isStopping: () => false,
    },
    pair,
    { tls: {}, gate: () => 'a client certificate is required', changedAt: () => -Infinity },
  )
  await app.listen({ host: '127.0.0.1', port: 0 })
  t.teardown(() => app.close())
  const { port } = app.server.address() as AddressInfo
  const sent = request(`https://127.0.0.1:${port}/validate`, {
    method: 'POST',
    ca: pair.ca,
    headers: { ...json, 'content-length': 2 * MB },
  })
  sent.on('error', () => undefined).flushHeaders()
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  t.strictSame([answer.statusCode, bodies.bytes], [403, 0])
  sent.destroy()
})

const put = (current: CurrentFindings, { kind, metadata, spec }: Other, namespace: string, version = '1') => {
  const known = kindNamed.get(kind)
  if (known === undefined) throw new Error(kind)
  current.put(known, resourceOf(kind, spec, { ...metadata, namespace, resourceVersion: version }))
}
const viewOf = (budget: MemoryBudget) => {
  const state = new ClusterState({ group: DEFAULT_API_GROUP, knows: () => true }, budget)
  return { state, current: new CurrentFindings(state, () => judgeOf()) }
}

t.test(
  'a full cache leaves out objects of the largest namespace, and says of which nothing is known',
  async (t) => {
    const { state, current } = viewOf({ all: 200_000, object: Infinity })
    const log: string[] = []
    const view = new ClusterCache(state, current, {
      warn: (_: object, text: string) => log.push(text),
      info: (_: object, text: string) => log.push(text),
    } as never)
    const server = kindNamed.get('MCPServer')
    if (server === undefined) throw new Error('MCPServer')
    const workload = (i: number) => {
      const { kind, metadata, spec } = backend(`server-${i}`, `config-${i}`)
      return resourceOf(kind, spec, { ...metadata, namespace: 'crowded', resourceVersion: '1' })
    }
    const all = Array.from({ length: 1_000 }, (_, i) => workload(i))
    const first = view.replace(server, undefined)
    first.add(all)
    first.commit()
    t.ok(state.sizes.bytes <= 202_000 && state.sizes.bytes > 150_000)
    t.ok([...state.all('MCPServer')].length < 1_000)
    t.notOk(state.in('crowded').knows('MCPServer'))
    put(current, group(), 'quiet')
    put(current, headerConfig('key'), 'quiet')
    t.ok(state.get('MCPExternalAuthConfig', 'quiet', 'key'), 'a small namespace is kept whole')
    t.ok(state.in('quiet').knows('MCPExternalAuthConfig'))
    t.ok(state.sizes.bytes <= 202_000)
    current.startRound()
    while (current.work(1_000));
    t.ok(current.count <= 3 * [...state.all('MCPServer')].length, 'what is not kept has no findings')
    // In the second list, some objects find no room until the list is complete and the cache has dropped the objects it
    // lacks.
    for (let i = 0; i < 2; i++) {
      const next = view.replace(server, undefined)
      next.add(all.slice(0, 50))
      next.commit()
    }
    t.ok(state.in('crowded').knows('MCPServer'), 'when there is room again, all is known again')
    t.strictSame(log, [
      'the cache is full (--cache-memory): objects are left out',
      'the cache has room for all objects again',
    ])
    for (const { namespace, name } of [...state.all('MCPServer')]) current.remove(server, namespace, name)
    for (const kind of ['MCPGroup', 'MCPExternalAuthConfig'])
      for (const { namespace, name } of [...state.all(kind)])
        current.remove(kindNamed.get(kind) as never, namespace, name)
    t.equal(state.sizes.bytes, 0, 'what goes is counted as what came')
  },
)

t.test('what rules do not read of an object is counted with the rest', (t) => {
  const { state, current } = viewOf({ all: Infinity, object: 50_000 })
  const nulls = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`a${i}`, null]))
  const server = (name: string, given: object): Other =>
    otherOf('MCPServer', name, { image: 'jira', ...given })
  const rows: readonly (readonly [title: string, spec: object, least: number, partial: number])[] = [
    ['many nulls', { podTemplateSpec: nulls(1_000) }, 40_000, 0],
    ['too many to keep', { podTemplateSpec: nulls(2_000) }, 0, 1],
    ['a long text of a wrong type', { groupRef: 'x'.repeat(40_000) }, 40_000, 0],
    [
      'lists that are copied because an item has a null',
      { podTemplateSpec: { items: Array.from({ length: 150 }, () => ({ a: null, b: 1 })) } },
      // Each item is kept twice: with both fields, and without the null.
      150 * (56 + 2 * 32 + 56 + 32),
      0,
    ],
  ]
  let before = 0
  for (const [i, [title, spec, least, partial]] of rows.entries()) {
    put(current, server(`server-${i}`, spec), 'default')
    const { bytes, partial: kept } = state.sizes
    t.ok(bytes - before > least, `${title}: ${bytes - before} bytes`)
    t.equal(kept, partial + rows.slice(0, i).filter((row) => row[3] > 0).length, title)
    before = bytes
  }
  t.end()
})

t.test('of an object that nests as deep as an API server takes, the rest is read', (t) => {
  const { state, current } = viewOf({ all: Infinity, object: Infinity })
  let podTemplateSpec = {}
  for (let level = 0; level < 9_990; level++) podTemplateSpec = { a: podTemplateSpec }
  const deep: Other = otherOf('MCPServer', 'deep', {
    image: 'jira',
    groupRef: { name: 'tools' },
    podTemplateSpec,
  })
  put(current, deep, 'default')
  t.strictSame(state.in('default').referrers('MCPGroup', 'tools'), [{ kind: 'MCPServer', name: 'deep' }])
  current.startRound()
  while (current.work(10));
  t.strictSame(
    [...current.findings()].map(({ id }) => id),
    ['reference-found'],
  )
  t.end()
})

t.test('a large object is judged in the background, once it was read, each version', (t) => {
  const { state, current } = viewOf({ all: Infinity, object: 4_096 })
  const backends = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`backend-${i}`, 'key']))
  const large = gateway('large', { outgoingAuth: inline(backends), incomingAuth: { type: 'oidc' } as never })
  const kind = kindNamed.get('VirtualMCPServer')
  if (kind === undefined) throw new Error('VirtualMCPServer')
  const whole = {
    ...resourceOf(large.kind, large.spec),
    metadata: { ...large.metadata, namespace: 'crowded' },
  }
  const name = { kind: 'VirtualMCPServer', namespace: 'crowded', name: 'large' }
  put(current, large, 'crowded')
  t.equal(state.sizes.partial, 1)
  t.equal(current.count, 0, 'it is not judged where it comes')
  t.strictSame([current.nextUnread(), current.nextUnread()], [name, undefined])
  current.readAgain(name)
  t.strictSame(current.nextUnread(), name, 'again where it could not be read')
  current.judgeWhole(kind, whole)
  const { count } = current
  t.ok(count > 0)
  put(current, large, 'crowded')
  t.equal(current.nextUnread(), undefined, 'the same version')
  put(current, large, 'crowded', '2')
  t.strictSame(
    [current.count, current.nextUnread()],
    [count, name],
    'another one: what was found stands until then',
  )
  put(current, large, 'crowded', 'next')
  current.judgeWhole(kind, whole)
  t.strictSame(current.nextUnread(), name, 'the next version came while this one was read')
  current.recheck('other')
  t.equal(current.nextUnread(), undefined)
  current.recheck(undefined)
  t.strictSame(current.nextUnread(), name, 'the settings have changed')
  put(current, gateway('large'), 'crowded', '3')
  t.equal(current.nextUnread(), undefined, 'it is small now')
  put(current, large, 'crowded', '4')
  current.remove(kind, 'crowded', 'large')
  current.judgeWhole(kind, whole)
  t.strictSame([current.nextUnread(), current.count], [undefined, 0], 'it is gone')
  t.end()
})

/** The memory limit of the chart's container in megabytes. */
const LIMIT = chartMemory()

/** VirtualMCPServers of 685 KB, each with 7,500 entries in `backends`, and without an audience. */
const stored = (count: number) =>
  Array.from({ length: count }, (_, i) => {
    const configs = Array.from({ length: 7_500 }, (_, j) => [`backend-${i}-${j}`, `config-${i}-${j}`])
    const { kind, spec } = gateway('', {
      outgoingAuth: inline(Object.fromEntries(configs) as Record<string, string>),
      incomingAuth: { type: 'oidc', oidcConfigRef: { name: 'corporate' } },
    })
    return resourceOf(kind, spec, { name: `gateway-${i}`, resourceVersion: String(i + 1) })
  })

/** Answers a list in pages of `limit` objects, and a read of one object by the number at the end of its name. */
const pages =
  (items: readonly object[]): FakeAnswer =>
  (response) => {
    const { pathname, searchParams } = new URL(response.req.url ?? '', 'http://fake')
    const [, number] = /-(\d+)$/.exec(pathname) ?? []
    if (number !== undefined) {
      answerJson(200, items[Number(number)])(response)
      return
    }
    const from = Number(searchParams.get('continue') ?? 0)
    const to = from + Number(searchParams.get('limit'))
    page(items.slice(from, to), { next: to < items.length ? String(to) : '' })(response)
  }

t.test(
  'under the limit of the chart it serves, whatever is stored or sent',
  { skip: process.platform !== 'linux' },
  async (t) => {
    const gateways = stored(50)
    t.ok(JSON.stringify(gateways[0]).length > 685_000)
    const api = await fakeApiServer(t, 'virtualmcpservers', { lists: [pages(gateways)] })
    const folder = await mkdtemp(join(tmpdir(), 'vmcp-memory-'))
    const limit = memoryLimit(LIMIT)
    t.teardown(() => limit?.remove())
    t.comment(limit === undefined ? 'no cgroup: the peak is measured' : `in a cgroup of ${LIMIT} MB`)
    const begin = () => startServer(['--kubeconfig', api.kubeconfig], folder, containerEnvironment())
    const server = await (limit === undefined ? begin() : limit.enter(begin))
    t.teardown(async () => {
      await server.stop('SIGKILL')
      await rm(folder, { recursive: true })
    })
    /**
     * The peak memory in megabytes without file pages, which the kernel frees before it kills a process. The figure is
     * too high when the kernel has already freed some, as on a busy machine; with a cgroup, the test relies on the
     * kernel instead.
     */
    const peak = () => {
      const status = readFileSync(`/proc/${server.pid}/status`, 'utf8')
      const [all = NaN, ofFiles = NaN] = ['VmHWM', 'RssFile'].map((field) =>
        Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1]),
      )
      return (all - ofFiles) / 1_024
    }
    const agent = new Agent({ ca: server.ca, keepAlive: true })
    t.teardown(() => agent.destroy())
    const start = (length: number, localAddress = '127.0.0.1') =>
      request(`${server.url}/validate`, {
        method: 'POST',
        agent,
        localAddress,
        headers: { ...json, 'content-length': length },
      })
    const post = (payload: Buffer, from?: string) =>
      new Promise<number>((resolve) => {
        const sent = start(payload.length, from)
        sent
          .on('response', (answer) => resolve(answer.resume().statusCode ?? 0))
          .on('error', () => resolve(0))
        sent.end(payload)
      })
    const own = Buffer.from(JSON.stringify(reviewOf(resourceOf('MCPGroup', {}), { namespace: 'quiet' })))
    /**
     * The status of an ordinary review; sent again when the machine was so busy that the server timed out waiting for
     * the body.
     */
    const review = async (again = 5): Promise<number> => {
      const started = performance.now()
      const status = await post(own)
      const isLate = (status === 408 || status === 503) && performance.now() - started > 5_000
      return isLate && again > 0 ? review(again - 1) : status
    }
    const isServed = async (title: string) => {
      for (let i = 0; i < 3; i++) t.equal(await review(), 200, `${title}: an ordinary review`)
      const measured = `${title}: ${peak().toFixed(0)} MB`
      if (limit === undefined) t.ok(peak() < LIMIT, measured)
      else t.notOk(limit.killed(), `${measured}, not killed`)
    }
    /** Whether all probes were answered during the test. */
    let [isAlive, isOver] = [true, false]
    const probing = (async () => {
      while (!isOver) {
        isAlive &&= await fetch(`${server.probeUrl}/livez`, { signal: AbortSignal.timeout(30_000) }).then(
          ({ ok }) => ok,
          () => false,
        )
        await setTimeout(100)
      }
    })()
    const isReady = async () => (await fetch(`${server.probeUrl}/readyz`)).ok
    while (!(await isReady())) await setTimeout(50)
    const readMetrics = async () => (await fetch(`${server.probeUrl}/metrics`)).text()
    const metrics = await readMetrics()
    t.match(metrics, /^vmcp_admission_cluster_cache_partial_objects 50$/m)
    await isServed('50 gateways of 685 KB')

    const filled = (spec: object) => Buffer.from(JSON.stringify(reviewOf(resourceOf('MCPServer', spec))))
    const fillings = [
      filled({ x: Array<object>(460_000).fill({}), y: 'y'.repeat(5_500_000) }),
      filled({ x: Array<object>(2_200_000).fill({}) }),
      filled({ x: 'é'.repeat(3_300_000) }),
    ]
    for (const payload of fillings) t.ok(payload.length > 6_500_000)
    const all = Array.from({ length: 9 }, (_, i) => post(fillings[i % 3] ?? own, '127.0.0.2'))
    await isServed('9 bodies of 6.9 MB')
    await Promise.all(all)

    const half = Array.from({ length: 300 }, () => {
      const sent = start(2_000_000, '127.0.0.2').on('error', () => undefined)
      sent.write(Buffer.alloc(1_900_000, '{'))
      return sent
    })
    await Promise.all(half.map((sent) => once(sent, 'socket')))
    await isServed('300 half bodies of 2 MB')
    for (const sent of half) sent.destroy()

    const named = async () => {
      const found = await readMetrics()
      return gateways.filter((_, i) =>
        found.includes(`kind="VirtualMCPServer",namespace="default",name="gateway-${i}"`),
      )
    }
    while ((await named()).length < gateways.length) await setTimeout(200)
    await isServed('the current findings name each of them')
    isOver = true
    await probing
    t.ok(isAlive, '/livez answers throughout')
    t.equal(await server.stop(), 0)
  },
)

t.test(
  'under that limit it becomes ready beside the worst matchers, and names them, listed or watched',
  { skip: process.platform !== 'linux' },
  async (t) => {
    const worst = ROWS.flatMap(({ at, size }) => {
      const { object, oldObject } = at(size)
      const isSmall = JSON.stringify(object).length < 200_000
      return object.kind === 'MCPExternalAuthConfig' && oldObject === undefined && isSmall ? [object] : []
    })
    const configs = Array.from({ length: 50 }, (_, i) => ({
      ...worst[i % worst.length],
      metadata: { name: `worst-${i}`, namespace: 'default', resourceVersion: String(i + 1) },
    }))
    const expected = configs.filter((object) => {
      const submission = submissionOf('MCPExternalAuthConfig', object)
      const { warnings } = judgeOf().admit(submission)
      return warnings.some(({ id }) => id === 'decided-within-budget')
    })
    t.ok(expected.length > 20, `${expected.length} are not decided`)
    const added = configs.slice(25).map((object) => ({ type: 'ADDED', object }))
    const api = await fakeApiServer(t, 'mcpexternalauthconfigs', {
      lists: [page(configs.slice(0, 25))],
      watches: [events(added, 600_000)],
    })
    const folder = await mkdtemp(join(tmpdir(), 'vmcp-memory-'))
    const limit = memoryLimit(LIMIT)
    t.teardown(() => limit?.remove())
    const begin = () => startServer(['--kubeconfig', api.kubeconfig], folder, containerEnvironment())
    const server = await (limit === undefined ? begin() : limit.enter(begin))
    t.teardown(async () => {
      await server.stop('SIGKILL')
      await rm(folder, { recursive: true })
    })
    const asked = async (path: string) => fetch(`${server.probeUrl}${path}`)
    while (!(await asked('/readyz')).ok) await setTimeout(50)
    const undecided = async () => {
      const metrics = await (await asked('/metrics')).text()
      return new Set(metrics.match(/name="worst-\d+",id="decided-within-budget"/g))
    }
    for (let named = 0; named < expected.length; named = (await undecided()).size) {
      await setTimeout(200)
      if (!(await asked('/livez')).ok) t.fail('not alive')
    }
    if (limit !== undefined) t.notOk(limit.killed())
    t.equal(await server.stop(), 0)
  },
)
