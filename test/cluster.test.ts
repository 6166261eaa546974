import { deepStrictEqual } from 'node:assert/strict'
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { rootCertificates } from 'node:tls'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { clusterSecret, SecretConflict } from '../src/certificates/secret-store.ts'
import {
  ClusterConnection,
  fromKubeconfig,
  fromServiceAccount,
  type Informers,
  type InformerStatus,
  type Sink,
} from '../src/cluster/index.ts'
import { lines } from '../src/cluster/lines.ts'
import { list } from '../src/cluster/list-watch.ts'
import { ServerClock } from '../src/cluster/server-clock.ts'
import { pauseAfter, type Times } from '../src/cluster/times.ts'
import { KINDS } from '../src/kinds/index.ts'
import { mcpGroup } from '../src/kinds/mcp-group/index.ts'
import { waitFor } from './e2e/wait-for.ts'
import {
  type Answer,
  events,
  type FakeApiServer,
  fakeApiServer,
  heard,
  json,
  kubeconfigOf,
  nothing,
  page,
  quiet,
  refusal,
  type Script,
  silence,
} from './support/fake-api-server.ts'

/** Short times where tests wait for them; long times where only a slow machine would reach them. */
const SHORT: Times = {
  watch: 2_000,
  silence: 60_000,
  brief: 0,
  relist: 60_000,
  answer: 10_000,
  idle: 10_000,
  pause: 5,
  longestPause: 50,
  longestRefusedPause: 50,
  refusal: 60_000,
}

const group = (name: string, version: string, description = '') => ({
  metadata: { name, namespace: 'default', resourceVersion: version },
  spec: { description },
})
const event = (type: string, object: object) => ({ type, object })
const added = (name: string, version: string) => event('ADDED', group(name, version))
const expired = event('ERROR', { kind: 'Status', code: 410, message: 'too old resource version: 1 (9)' })

/** Records the calls for MCPGroups, and the objects that the cache would hold after them. */
class Recorder implements Sink {
  readonly calls: string[] = []
  readonly shown = new Map<string, string>()
  leavesOut = false

  replace(kind: { kind: string }) {
    const before = new Set(this.shown.keys())
    const tell = (call: string) => kind === mcpGroup && this.calls.push(call)
    tell('replace')
    return {
      add: (resources: readonly unknown[]) => {
        tell(`add ${resources.length}`)
        for (const resource of resources) before.delete(this.#show(resource))
      },
      commit: () => {
        tell('commit')
        if (kind === mcpGroup) for (const name of before) this.shown.delete(name)
      },
    }
  }

  put(_kind: unknown, resource: unknown) {
    this.calls.push(`put ${this.#show(resource)}`)
  }

  remove(_kind: unknown, resource: unknown) {
    const { name } = (resource as ReturnType<typeof group>).metadata
    this.calls.push(`remove ${name}`)
    this.shown.delete(name)
  }

  recheck({ kind }: { kind: string }) {
    if (kind === 'MCPGroup') this.calls.push('recheck')
  }

  lacks() {
    return this.leavesOut
  }

  #show(resource: unknown): string {
    const { metadata, spec } = resource as ReturnType<typeof group>
    this.shown.set(metadata.name, spec.description)
    return metadata.name
  }
}

interface Followed {
  readonly server: FakeApiServer
  readonly sink: Recorder
  readonly informers: Informers
  readonly connection: ClusterConnection
  readonly log: string[]
  /** The status of the informer for MCPGroups. */
  readonly status: () => InformerStatus
}

async function follow(
  t: Test,
  script: Partial<Script>,
  times: Partial<Times> = {},
  namespaces?: readonly string[],
): Promise<Followed> {
  const server = await fakeApiServer(t, mcpGroup.plural, script)
  const access = await fromKubeconfig(server.kubeconfig)
  const connection = new ClusterConnection(access, { times: { ...SHORT, ...times } })
  t.teardown(() => connection.close())
  const log: string[] = []
  const write = (fields: object, message: string) =>
    'kind' in fields && fields.kind === 'MCPGroup' && log.push(`${message} ${JSON.stringify(fields)}`)
  const sink = new Recorder()
  const informers = connection.startInformers(sink, { namespaces, logger: { info: write, warn: write } })
  const status = () => {
    const found = informers.statuses().find(({ kind }) => kind === 'MCPGroup')
    if (found === undefined) throw new Error('MCPGroup is not followed')
    return found
  }
  return { server, sink, informers, connection, log, status }
}

const until = (what: string, condition: () => unknown) => waitFor(condition, { seconds: 10, what })
const shows =
  ({ sink }: Followed, ...names: string[]) =>
  () =>
    JSON.stringify([...sink.shown.keys()].toSorted()) === JSON.stringify(names)
const queries = ({ server }: Followed, isWatch: boolean) =>
  server.asked.filter(({ query }) => query.has('watch') === isWatch).map(({ query }) => query)

t.test('a list comes page by page', async (t) => {
  const followed = await follow(t, {
    lists: [
      page([group('a', '1'), group('b', '2')], { version: '7', next: 'x&y=' }),
      page([group('c', '3')], { version: '8', next: 'z' }),
      page([], { version: '9' }),
    ],
  })
  await followed.informers.synced
  t.strictSame(followed.sink.calls, ['replace', 'add 1', 'add 1', 'add 1', 'add 0', 'commit'])
  t.strictSame(
    queries(followed, false).map((query) => Object.fromEntries(query)),
    [{ limit: '500' }, { limit: '500', continue: 'x&y=' }, { limit: '500', continue: 'z' }],
  )
  await until('the watch', () => queries(followed, true).length > 0)
  t.match(Object.fromEntries(queries(followed, true)[0] ?? []), {
    watch: '1',
    allowWatchBookmarks: 'true',
    resourceVersion: '7',
    timeoutSeconds: '2',
  })
  t.equal(followed.server.asked[0]?.headers.authorization, 'Bearer hush')
})

t.test('between two resources that took long to deliver the event loop has its turn', async (t) => {
  const groups = Array.from({ length: 45 }, (_, i) => group(`many-${i}`, String(i)))
  let clock = 0
  let turns = 0
  let isDone = false
  const count = () => {
    turns += 1
    if (!isDone) setImmediate(count)
  }
  const read = {
    textUpTo: () => Promise.resolve(JSON.stringify({ metadata: { resourceVersion: '1' }, items: groups })),
  }
  t.intercept(performance, 'now', { value: () => clock })
  const delivered: number[] = []
  const deliver = (resources: readonly unknown[]) => {
    if (delivered.length === 0) setImmediate(count)
    delivered.push(turns)
    clock += 5 * resources.length
  }
  await list(read as never, '/groups', new AbortController().signal, deliver)
  isDone = true
  t.equal(delivered.length, 45)
  t.ok(new Set(delivered).size >= 22, `two in a turn: ${delivered.join()}`)
})

t.test('a list that expires in the middle starts over', async (t) => {
  const followed = await follow(t, {
    lists: [page([group('a', '1')], { next: 'x' }), refusal(410, 'expired'), page([group('b', '2')])],
  })
  await followed.informers.synced
  t.strictSame(followed.sink.calls, ['replace', 'add 1', 'replace', 'add 1', 'commit'])
  t.equal(followed.status().failures, 1)
  t.notMatch(followed.log.join(), /failing/)
})

t.test('events change what is shown, and the next watch goes on from the last one', async (t) => {
  const followed = await follow(t, {
    lists: [page([group('a', '1'), group('b', '2')], { version: '5' })],
    watches: [
      events([
        event('ADDED', group('c', '6', 'Zürich 🌍')),
        '\n',
        event('MODIFIED', group('a', '7', 'changed')),
        event('DELETED', group('b', '8')),
        event('BOOKMARK', { kind: 'MCPGroup', metadata: { resourceVersion: '20' } }),
      ]),
      events([added('d', '21')]),
      quiet,
    ],
  })
  await until('d', shows(followed, 'a', 'c', 'd'))
  t.strictSame(followed.sink.calls, [
    'replace',
    'add 1',
    'add 1',
    'commit',
    'put c',
    'put a',
    'remove b',
    'put d',
  ])
  t.strictSame(Object.fromEntries(followed.sink.shown), { a: 'changed', c: 'Zürich 🌍', d: '' })
  await until('the third watch', () => queries(followed, true).length > 2)
  t.strictSame(
    queries(followed, true).map((query) => query.get('resourceVersion')),
    ['5', '20', '21'],
  )
  t.equal(queries(followed, false).length, 1)
  t.match(followed.status(), { state: 'watching', synced: true, failures: 0, reason: undefined })
  t.equal(new Set(followed.server.asked.map(({ port }) => port)).size, 1, 'all on one connection')
})

t.test('a stream may be cut anywhere', async (t) => {
  const text = fc.string({ unit: 'binary', maxLength: 20 }).map((each) => each.replaceAll('\n', ' '))
  await fc.assert(
    fc.asyncProperty(fc.array(text), fc.array(fc.nat(7)), async (written, cuts) => {
      const whole = Buffer.from(written.map((line) => `${line}\n`).join(''))
      const parts: Buffer[] = []
      for (let at = 0, cut = 0; at < whole.length; cut++) {
        const length = (cuts[cut] ?? 2) + 1
        parts.push(whole.subarray(at, at + length))
        at += length
      }
      const read = await allOf(lines(toAsync(parts)))
      deepStrictEqual(
        read,
        written.map((line) => Buffer.from(line).toString()),
      )
    }),
    { numRuns: 200 },
  )
  await t.rejects(allOf(lines(toAsync([Buffer.alloc(6), Buffer.alloc(6)]), 10)), /more than 10 bytes/)
})

async function allOf<T>(source: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const each of source) all.push(each)
  return all
}

async function* toAsync<T>(parts: readonly T[]): AsyncGenerator<T> {
  yield* parts
}

t.test('what goes wrong with a watch, and whether a list must come first', { jobs: 4 }, async (t) => {
  const rows: {
    title: string
    broken: Answer
    lists?: true
    reason?: RegExp
    times?: Partial<Times>
  }[] = [
    { title: 'expired', broken: events([expired]), lists: true },
    { title: 'expired at the start', broken: refusal(410, 'too old'), lists: true },
    { title: 'not allowed', broken: refusal(403, 'cannot watch'), lists: true, reason: /403 cannot watch/ },
    {
      title: 'an error event',
      broken: events([event('ERROR', { kind: 'Status', code: 500, message: 'etcd is gone' })]),
      reason: /500 etcd is gone/,
    },
    { title: 'no JSON', broken: events(['{"type":"ADDED","object":{"secret\n']), reason: /is not JSON/ },
    { title: 'no event', broken: events(['[]\n']), reason: /not an event/ },
    { title: 'an unknown type', broken: events([event('RENAMED', group('x', '3'))]), reason: /not an event/ },
    { title: 'a resource without a version', broken: events([event('ADDED', {})]), reason: /not an event/ },
    { title: 'the end at once', broken: events([], 0), reason: /ended at once/, times: { brief: 200 } },
    {
      title: 'a connection that is reset',
      broken: (response) => {
        silence(response)
        setTimeout(() => response.destroy(), 50)
      },
      reason: /closed in the middle/,
    },
    { title: 'no answer', broken: nothing, reason: /no answer within 0\.5 s/, times: { answer: 500 } },
    {
      title: 'an answer of something else',
      broken: (response) => void response.writeHead(502).end('<secret>'),
      reason: /502 Bad Gateway/,
    },
    { title: 'too many requests', broken: refusal(429, 'slow down'), reason: /429 slow down/ },
  ]
  await Promise.all(
    rows.map(({ title, broken, lists = false, reason, times }) =>
      t.test(title, { buffered: true }, async (t) => {
        const script = {
          lists: [page([group('a', '1')], { version: '20' }), page([group('b', '2')], { version: '30' })],
          watches: [broken, events([added('c', '31')])],
        }
        const followed = await follow(t, script, times)
        await until('the event', shows(followed, lists ? 'b' : 'a', 'c'))
        if (times === undefined) t.match(followed.status(), { failures: 1, lists: lists ? 2 : 1 })
        t.equal(queries(followed, true)[1]?.get('resourceVersion'), lists ? '30' : '20')
        const log = followed.log.join('\n')
        if (reason === undefined) t.notMatch(log, /failing/)
        else t.match(log, reason)
        t.notMatch(log, /secret|hush/)
      }),
    ),
  )
})

t.test('a watch that fails twice in a row is begun anew with a list', async (t) => {
  const followed = await follow(
    t,
    {
      lists: [page([group('a', '1')], { version: '20' }), page([group('b', '2')], { version: '30' })],
      watches: [events(['[]\n'], 0), events(['[]\n'], 0), quiet],
    },
    { brief: 60_000 },
  )
  await until('the list', shows(followed, 'b'))
  await until('the third watch', () => queries(followed, true).length > 2)
  t.strictSame(
    queries(followed, true)
      .map((query) => query.get('resourceVersion'))
      .slice(0, 3),
    ['20', '20', '30'],
  )
})

t.test('a watch that goes silent is opened again where it ended, and that is not a failure', async (t) => {
  const bookmark = event('BOOKMARK', { metadata: { resourceVersion: '25' } })
  const half: Answer = (response) => {
    silence(response)
    response.write(`${JSON.stringify(bookmark)}\n`)
  }
  const script = { lists: [page([group('a', '1')], { version: '20' })], watches: [half, silence] }
  const followed = await follow(t, script, { silence: 200 })
  await until('four watches', () => queries(followed, true).length >= 4)
  t.strictSame(
    queries(followed, true)
      .map((query) => query.get('resourceVersion'))
      .slice(0, 4),
    ['20', '25', '25', '25'],
  )
  t.match(followed.status(), { state: 'watching', lists: 1, failures: 0 })
  t.ok(followed.status().age < 1, 'each watch that is accepted confirms the cache')
  t.equal(followed.log.length, 1, followed.log.join())
})

t.test('a list that fails is asked for again, and logged once', { jobs: 4 }, async (t) => {
  const broken: [string, Answer, RegExp, Partial<Times>?][] = [
    ['500', refusal(500, 'etcd is gone'), /500 etcd is gone/],
    ['no answer', nothing, /no answer within/, { answer: 500 }],
    ['no end', (response) => void response.writeHead(200).write('{"items":['), /broke off/, { idle: 500 }],
    ['no JSON', (response) => void response.end('<html>secret'), /is not JSON/],
    ['no list', json(200, { items: 'secret' }), /is not a list/],
    ['too many requests', (response) => void response.writeHead(429, { 'retry-after': '1' }).end(), /429/],
  ]
  await Promise.all(
    broken.map(([title, answer, reason, times]) =>
      t.test(title, { buffered: true }, async (t) => {
        const followed = await follow(t, { lists: [answer, answer, answer, page([group('a', '1')])] }, times)
        await until('the list', shows(followed, 'a'))
        await until('the watch', () => followed.status().state === 'watching')
        t.equal(followed.informers.isSynced(), true)
        t.match(followed.log[0], /^failing /)
        t.match(followed.log[0], reason)
        t.match(followed.log[1], /^watching /)
        t.notMatch(followed.log.join(), /secret/)
        if (times !== undefined) return
        t.equal(followed.log.length, 2)
        t.equal(followed.status().failures, 3)
      }),
    ),
  )
})

t.test('a kind that is absent or forbidden is synced, empty, and picked up when that changes', async (t) => {
  const rows = [
    [404, 'absent', []],
    [403, 'forbidden', ['recheck']],
    [401, 'forbidden', ['recheck']],
  ] as const
  for (const [status, state, reconsidered] of rows) {
    const answer = refusal(status, 'because')
    const followed = await follow(t, { lists: [answer, answer, answer, page([group('a', '1')])] })
    await followed.informers.synced
    t.strictSame(followed.sink.calls, ['replace', 'commit', ...reconsidered])
    t.equal(followed.informers.knows('MCPGroup', 'default'), status === 404)
    t.match(followed.status(), { state, synced: true, reason: `${status} because`, failures: 0 })
    await until('the kind', shows(followed, 'a'))
    await until('the watch', () => followed.status().state === 'watching')
    t.strictSame(followed.sink.calls.slice(-1 - reconsidered.length), ['commit', ...reconsidered])
    t.ok(followed.informers.knows('MCPGroup', 'default'))
    t.equal(followed.log.length, 2, followed.log.join())
  }
})

t.test(
  'a kind that may not be read stays unknown until it is listed, whatever else goes wrong',
  async (t) => {
    const failure = refusal(500, 'not now')
    const forbidden = refusal(403, 'no')
    const lists = [forbidden, failure, failure, page([group('a', '1')])]
    const followed = await follow(t, { lists }, { pause: 100, longestPause: 400 })
    let known: boolean | undefined
    await until('the failure', () => {
      known = followed.informers.knows('MCPGroup', 'default')
      return followed.status().state === 'failing'
    })
    t.equal(known, false)
    await until('the kind', shows(followed, 'a'))
    await until('the list', () => followed.informers.knows('MCPGroup', 'default'))
  },
)

t.test('a kind that was there is believed to be absent only after a while', async (t) => {
  const gone = refusal(404, 'gone')
  const there = page([group('a', '1')])
  const watches = [events([expired])]
  const briefly = await follow(t, { lists: [there, gone, gone, there], watches: [...watches, quiet] })
  await until('the list after', () => briefly.sink.calls.length === 6)
  t.equal(queries(briefly, false).length, 4)
  t.strictSame(briefly.sink.calls, ['replace', 'add 1', 'commit', 'replace', 'add 1', 'commit'])
  const forever = await follow(t, { lists: [there, gone], watches }, { refusal: 100 })
  await until('its absence', () => forever.status().state === 'absent')
  t.strictSame([...forever.sink.shown], [])
})

t.test('the age of a kind grows while nothing comes, and falls with the next watch', async (t) => {
  const { status } = await follow(
    t,
    { lists: [page([group('a', '1')])], watches: [silence, quiet] },
    { silence: 1_000 },
  )
  await until('an age in silence', () => status().age > 0.5)
  const oldest = status().age
  await until('a younger one', () => status().age < oldest / 2)
})

t.test('a kind of which objects are left out is listed again after a while', async (t) => {
  const followed = await follow(
    t,
    { lists: [page([group('a', '1')]), page([group('b', '2')])], watches: [quiet] },
    { relist: 300 },
  )
  await until('watches', () => queries(followed, true).length > 3)
  t.equal(queries(followed, false).length, 1, 'not while everything is kept')
  followed.sink.leavesOut = true
  await until('the second list', shows(followed, 'b'))
  t.match(followed.status(), { failures: 0 })
  t.equal(followed.log.length, 1)
})

t.test('with namespaces only these are asked for', async (t) => {
  const followed = await follow(t, {}, {}, ['one', 'two'])
  await followed.informers.synced
  const base = `/apis/toolhive.stacklok.dev/v1beta1/namespaces`
  t.strictSame(
    [...new Set(followed.server.asked.map(({ path }) => path))].toSorted(),
    ['one', 'two'].map((namespace) => `${base}/${namespace}/mcpgroups`),
  )
  t.equal(followed.informers.statuses().length, 2 * KINDS.length)
  t.strictSame(
    followed.informers
      .statuses()
      .map(({ namespace }) => namespace)
      .slice(0, 2),
    ['one', 'two'],
  )
})

t.test('stop ends it', async (t) => {
  const followed = await follow(t, {
    watches: [
      (response) => {
        silence(response)
        const timer = setInterval(() => response.write(`${JSON.stringify(added('a', '2'))}\n`), 1)
        response.on('close', () => clearInterval(timer))
      },
    ],
  })
  await until('an event', shows(followed, 'a'))
  followed.informers.stop()
  const { length } = followed.sink.calls
  const asked = followed.server.asked.length
  await sleep(200)
  t.equal(followed.sink.calls.length, length)
  t.equal(followed.server.asked.length, asked)
  followed.connection.close()
  await until('the connections to close', async () => (await followed.server.connections()) === 0)
})

t.test('an API server out of reach is not synced', async (t) => {
  const { folder } = await fakeApiServer(t, 'nobody', {})
  const file = join(folder, 'elsewhere')
  writeFileSync(file, JSON.stringify(kubeconfigOf('http://127.0.0.1:9', {})))
  const connection = new ClusterConnection(await fromKubeconfig(file), { times: SHORT })
  t.teardown(() => connection.close())
  const log = { info: () => undefined, warn: () => undefined }
  const informers = connection.startInformers(new Recorder(), { logger: log })
  await until('failures', () => informers.statuses().every(({ failures }) => failures > 2))
  t.equal(informers.isSynced(), false)
  t.match(informers.statuses()[0], { state: 'failing', reason: /ECONNREFUSED/ })
})

t.test('one resource is read as it is now', async (t) => {
  const script: Answer[] = [
    json(200, group('a', '1')),
    refusal(404, 'not found'),
    refusal(403, 'no'),
    json(200, []),
    nothing,
    (response) => void response.socket?.destroy(),
    json(200, group('b', '2')),
  ]
  const server = await fakeApiServer(t, 'mcpgroups', { lists: script })
  const connection = new ClusterConnection(await fromKubeconfig(server.kubeconfig), { times: SHORT })
  t.teardown(() => connection.close())
  const read = (name = 'a', signal = AbortSignal.timeout(5_000)) =>
    connection.read(mcpGroup, 'default', name, signal)
  t.strictSame(await read(), group('a', '1'))
  t.equal(await read(), undefined)
  await t.rejects(read(), { message: '403 no', status: 403 })
  await t.rejects(read(), /is not an object/)
  await t.rejects(read('a', AbortSignal.timeout(50)), /timeout/)
  await t.rejects(read(), /hang up/)
  t.strictSame(await read('b'), group('b', '2'))
  t.equal(server.asked.at(-1)?.path, '/apis/toolhive.stacklok.dev/v1beta1/namespaces/default/mcpgroups/b')
  const { length } = server.asked
  for (const name of ['', '.', '..', 'a/b', 'a?b', 'A']) t.equal(await read(name), undefined)
  t.equal(server.asked.length, length, 'names that cannot be are not asked for')
  t.equal(server.asked[0]?.query.size, 0)
  t.equal(server.asked[0]?.port, server.asked[3]?.port, 'the connection is kept')
  connection.close()
  await t.rejects(read())
})

t.test('all of a kind is read once', async (t) => {
  const [a, b] = [group('a', '1'), group('b', '2')]
  const expired = refusal(410, 'expired')
  const first = page([a], { next: 'x' })
  const rows: [title: string, lists: Answer[], expected: object | undefined | RegExp][] = [
    ['pages', [first, page([b])], [a, b]],
    ['a list that expires', [first, expired, page([b])], [b]],
    ['a list that expires twice', [first, expired, first, expired], /410 expired/],
    ['a kind that is not there', [refusal(404, 'not found')], undefined],
    ['a kind that is forbidden', [refusal(403, 'no')], /403 no/],
    ['no list', [json(200, { items: 'secret' })], /is not a list/],
    ['no answer', [nothing], /no answer within 0\.5 s/],
  ]
  await Promise.all(
    rows.map(async ([title, lists, expected]) => {
      const server = await fakeApiServer(t, 'mcpgroups', { lists })
      const access = await fromKubeconfig(server.kubeconfig)
      const connection = new ClusterConnection(access, { times: { ...SHORT, answer: 500 } })
      t.teardown(() => connection.close())
      const listed = connection.list(mcpGroup, 'one', new AbortController().signal)
      if (expected instanceof RegExp) await t.rejects(listed, expected, title)
      else t.strictSame(await listed, expected, title)
      t.match(server.asked[0]?.path, /\/namespaces\/one\/mcpgroups$/)
    }),
  )
})

t.test('a Secret is created and updated on conditions', async (t) => {
  const requests: string[] = []
  const value = Buffer.from('k'.repeat(60)).toString('base64')
  const script = [
    json(201, { kind: 'Secret', data: { 'a.key': 'aHVzaA==' } }),
    refusal(409, 'secrets "ca" already exists'),
    json(200, { metadata: { resourceVersion: '8' }, data: { 'a.key': 'aHVzaA==', other: '', number: 1 } }),
    json(200, {}),
    refusal(409, 'the object has been modified'),
    refusal(404, 'secrets "ca" not found'),
    refusal(403, 'secrets "ca" is forbidden'),
    refusal(422, `denied: ${value}`),
    json(202, {}),
    nothing,
    refusal(404, 'secrets "ca" not found'),
    json(200, { metadata: {} }),
  ]
  const server = await fakeApiServer(t, 'secrets', { lists: script.map((answer) => heard(requests, answer)) })
  const connection = new ClusterConnection(await fromKubeconfig(server.kubeconfig), {
    times: SHORT,
  })
  t.teardown(() => connection.close())
  const storeUntil = (signal: AbortSignal) => clusterSecret(connection, 'system', 'ca', signal)
  const never = new AbortController().signal
  const store = storeUntil(never)
  const conflict = new SecretConflict('409 conflict')
  await store.create({ 'a.key': 'hush' })
  await t.rejects(store.create({ 'a.key': 'hush' }), conflict)
  t.strictSame(await store.read(), {
    data: { 'a.key': 'hush', other: '', number: Buffer.from('1', 'base64').toString() },
    resourceVersion: '8',
  })
  const update = (signal = never) => storeUntil(signal).update({ 'a.key': 'hush', b: '' }, '8')
  await update()
  await t.rejects(update(), conflict)
  await t.rejects(update(), conflict, 'it is gone')
  await t.rejects(update(), { message: '403 secrets "ca" is forbidden', status: 403 })
  await t.rejects(update(), { message: '422 Unprocessable Entity' }, 'no message repeats a value')
  await t.rejects(update(), /^202 Accepted/)
  await t.rejects(update(AbortSignal.timeout(50)), /timeout/)
  t.equal(await store.read(), undefined)
  await t.rejects(store.read(), /is no Secret/)
  const path = '/api/v1/namespaces/system/secrets'
  t.strictSame(requests.slice(0, 4), [
    `POST ${path} application/json {"apiVersion":"v1","kind":"Secret","metadata":{"name":"ca","namespace":"system"},"data":{"a.key":"aHVzaA=="}}`,
    requests[0],
    `GET ${path}/ca - `,
    `PATCH ${path}/ca application/merge-patch+json {"metadata":{"resourceVersion":"8"},"data":{"a.key":"aHVzaA==","b":""}}`,
  ])
  connection.close()
  await t.rejects(update())
})

t.test(
  'what the leader and the reports ask of an API server, and what they make of the answers',
  async (t) => {
    const place = '/apis/coordination.k8s.io/v1/namespaces/system/leases'
    const webhooks = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations'
    const probes = '/apis/tools.example.com/v1beta1/namespaces/system/mcpexternalauthconfigs?dryRun=All'
    const probe = `POST ${probes} application/json {"apiVersion":"tools.example.com/v1beta1","kind":"MCPExternalAuthConfig","metadata":{"name":"vmcp-admission-probe","labels":{"a":"b"},"annotations":{"probe":"n"}},"spec":{"type":"unauthenticated"}}`
    const configuration = { kind: 'ValidatingWebhookConfiguration', webhooks: [] }
    const apply = `PATCH ${webhooks}/vmcp-admission?fieldManager=vmcp-admission&force=true application/apply-patch+yaml ${JSON.stringify(configuration)}`
    const renewed = '2026-11-26T12:00:00.000Z'
    const lease = { holder: 'me', renewed, seconds: 15, transitions: 2 }
    const spec = {
      holderIdentity: 'me',
      renewTime: '2026-11-26T12:00:00.000000Z',
      leaseDurationSeconds: 15,
      leaseTransitions: 2,
    }
    const report = { apiVersion: 'openreports.io/v1alpha1', plural: 'reports' }
    const reports = `/apis/openreports.io/v1alpha1/namespaces/team/reports`
    const labelled = String(new URLSearchParams({ labelSelector: 'app.kubernetes.io/managed-by=keeper' }))
    const html: Answer = (response) => void response.writeHead(502).end('<html>bad gateway</html>')
    type Call = (connection: ClusterConnection) => Promise<unknown>
    const of = (connection: ClusterConnection) => connection.registrations('system')
    const listed =
      (namespace?: string): Call =>
      async (connection) => {
        const names: unknown[] = []
        const served = await connection
          .reports('keeper')
          .list(report, namespace, (each) => names.push(each.name))
        return [served, ...names]
      }
    const probed: Call = (connection) => of(connection).tryProbe('probe', 'n', { a: 'b' })
    const applied =
      (displacing?: object): Call =>
      (connection) =>
        of(connection).applyConfiguration(configuration, displacing as Record<string, unknown>)
    const created: Call = (connection) => of(connection).lease('vmcp-admission').create(lease)
    const updated: Call = (connection) =>
      of(connection)
        .lease('vmcp-admission')
        .update({ ...lease, resourceVersion: '7' })
    const readLease: Call = (connection) => of(connection).lease('vmcp-admission').read()
    const owner: Call = (connection) => of(connection).readOwner('a b')
    const createdLease = `POST ${place} application/json ${JSON.stringify({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'vmcp-admission' }, spec })}`
    const updatedLease = `PATCH ${place}/vmcp-admission application/merge-patch+json ${JSON.stringify({ metadata: { resourceVersion: '7' }, spec })}`
    const ownerRead = 'GET /apis/rbac.authorization.k8s.io/v1/clusterroles/a%20b - '
    const leaseRead = `GET ${place}/vmcp-admission - `
    const removed: Call = (connection) => connection.reports('keeper').remove(report, 'team', 'a')
    const deleted: Call = (connection) =>
      of(connection).deleteConfiguration('ValidatingWebhookConfiguration', 'vmcp-admission')
    const stored = {
      metadata: {
        resourceVersion: '9',
        managedFields: [{ time: '2026-11-26T11:00:00Z' }, { time: renewed }, 3],
      },
      spec: { ...spec, leaseDurationSeconds: 'soon', leaseTransitions: null },
    }
    /**
     * A title, the answers of the API server, the call, the expected requests, and the result; a RegExp matches the
     * message of the thrown error.
     */
    const rows: [string, Answer[], Call, string[], unknown][] = [
      ['a probe that nothing refuses', [json(201, {})], probed, [probe], undefined],
      [
        'a probe that is refused',
        [refusal(400, 'the webhook answers n')],
        probed,
        [probe],
        '400 the webhook answers n',
      ],
      ['a proxy in between', [html], probed, [probe], '502 Bad Gateway'],
      ['a configuration', [json(200, {})], applied(), [apply], undefined],
      [
        'a configuration in place of fields of others',
        [json(200, {}), json(200, {})],
        applied({ webhooks: null }),
        [
          `PATCH ${webhooks}/vmcp-admission?fieldManager=vmcp-admission application/merge-patch+json {"webhooks":null}`,
          apply,
        ],
        undefined,
      ],
      ['a configuration that may not be written', [refusal(403, 'no')], applied(), [apply], /^403 no$/],
      [
        'a deletion',
        [json(200, {})],
        deleted,
        [`DELETE ${webhooks}/vmcp-admission application/json {}`],
        true,
      ],
      [
        'a second deletion',
        [refusal(404, 'gone')],
        deleted,
        [`DELETE ${webhooks}/vmcp-admission application/json {}`],
        false,
      ],
      ['an owner', [json(200, { metadata: { uid: 'u' } })], owner, [ownerRead], 'u'],
      ['an owner without uid', [json(200, { metadata: {} })], owner, [ownerRead], undefined],
      ['no owner', [refusal(404, 'no')], owner, [ownerRead], undefined],
      ['a Lease', [json(201, {})], created, [createdLease], true],
      ['a Lease that is there', [refusal(409, 'exists')], created, [createdLease], false],
      [
        'no namespace',
        [refusal(404, 'no namespace')],
        created,
        [createdLease],
        /^there is no namespace system for the Lease: kubectl create namespace system, /,
      ],
      ['no right', [refusal(403, 'no')], created, [createdLease], /^403 no$/],
      ['a renewal', [json(200, {})], updated, [updatedLease], true],
      ['a late renewal', [refusal(409, 'modified')], updated, [updatedLease], false],
      ['no Lease', [refusal(404, 'no')], readLease, [leaseRead], undefined],
      [
        'a stored Lease with fields of other types',
        [json(200, stored)],
        readLease,
        [leaseRead],
        { holder: 'me', renewed, seconds: 15, transitions: 0, resourceVersion: '9', written: renewed },
      ],
      [
        'an empty Lease',
        [json(200, {})],
        readLease,
        [leaseRead],
        { holder: '', renewed: '', seconds: 15, transitions: 0, resourceVersion: '', written: '' },
      ],
      [
        'reports of a namespace',
        [page([{ name: 'a' }, { name: 'b' }])],
        listed('team'),
        [`GET ${reports}?limit=500&${labelled} - `],
        [true, 'a', 'b'],
      ],
      [
        'reports of all namespaces',
        [page([])],
        listed(),
        [`GET /apis/openreports.io/v1alpha1/reports?limit=500&${labelled} - `],
        [true],
      ],
      [
        'no API of reports',
        [refusal(404, 'no')],
        listed('team'),
        [`GET ${reports}?limit=500&${labelled} - `],
        [false],
      ],
      [
        'reports from an API server that fails',
        [refusal(500, 'etcd is away')],
        listed('team'),
        [`GET ${reports}?limit=500&${labelled} - `],
        /^500 etcd is away$/,
      ],
      [
        'a report',
        [json(201, {})],
        (connection) => connection.reports('keeper').apply(report, 'team', 'a', { kind: 'Report' }),
        [`PATCH ${reports}/a?fieldManager=keeper&force=true application/apply-patch+yaml {"kind":"Report"}`],
        undefined,
      ],
      ['the end of a report', [json(200, {})], removed, [`DELETE ${reports}/a application/json {}`], true],
      [
        'the end of no report',
        [refusal(404, 'no')],
        removed,
        [`DELETE ${reports}/a application/json {}`],
        false,
      ],
    ]
    for (const [title, answers, call, requests, result] of rows) {
      const seen: string[] = []
      const server = await fakeApiServer(t, '/apis/', { lists: answers.map((answer) => heard(seen, answer)) })
      const connection = new ClusterConnection(await fromKubeconfig(server.kubeconfig), {
        times: SHORT,
        group: 'tools.example.com',
      })
      if (result instanceof RegExp) await t.rejects(call(connection), { message: result }, title)
      else t.strictSame(await call(connection), result, title)
      t.strictSame(seen, requests, `${title}: requests`)
      connection.close()
    }
  },
)

t.test('a kubeconfig that is wrong is one line that names it', async (t) => {
  const { folder } = await fakeApiServer(t, 'nobody', {})
  const file = join(folder, 'wrong')
  const good = kubeconfigOf('https://example.com', { token: 'hush' }, {})
  const rows: [unknown, string][] = [
    ['token: hush\n\tclusters: [', 'no YAML at line 2, column 1'],
    ['hush', 'must be a map with clusters, contexts and users'],
    [{ ...good, 'current-context': undefined }, 'current-context is not set'],
    [{ ...good, contexts: [] }, "there is no context 'test' (current-context)"],
    [{ ...good, clusters: [] }, "there is no cluster 'fake' (context 'test')"],
    [{ ...good, users: undefined }, "there is no user 'tester' (context 'test')"],
    [{ ...good, clusters: [{ name: 'fake' }] }, 'clusters[0].cluster is missing'],
    [kubeconfigOf('example.com', {}), "the server of cluster 'fake' is no URL that begins with https://"],
    [
      kubeconfigOf('https://me:hush@example.com', {}),
      "the server of cluster 'fake' has credentials in its URL",
    ],
    [
      kubeconfigOf('http://example.com', {}, {}),
      "the server of cluster 'fake' is http; that needs insecure-skip-tls-verify: true",
    ],
    [
      kubeconfigOf('https://example.com', {}, { 'certificate-authority-data': 'aHVzaA==' }),
      "certificate-authority of cluster 'fake' is no PEM",
    ],
    [
      kubeconfigOf('https://example.com', {}, { 'certificate-authority': 'ca.crt' }),
      `${folder}/ca.crt: no such file`,
    ],
    [
      kubeconfigOf('https://example.com', { 'client-key-data': 'aHVzaA==' }),
      "client-certificate and client-key of user 'tester' are not a certificate and its key in PEM",
    ],
  ]
  for (const [content, problem] of rows) {
    writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
    await t.rejects(fromKubeconfig(file), { message: `kubeconfig ${file}: ${problem}` }, problem)
  }
  rmSync(file)
  await t.rejects(fromKubeconfig(file), { message: `kubeconfig ${file}: no such file` })
})

t.test('credentials', async (t) => {
  const script = [refusal(401, 'who are you'), json(200, group('a', '1'))]
  const server = await fakeApiServer(t, 'mcpgroups', { lists: script })
  const { folder, url } = server
  const read = async (user: object, times: Partial<Times> = {}) => {
    const file = join(folder, 'config')
    writeFileSync(file, JSON.stringify(kubeconfigOf(url, user)))
    const connection = new ClusterConnection(await fromKubeconfig(file), { times: { ...SHORT, ...times } })
    t.teardown(() => connection.close())
    await connection.read(mcpGroup, 'default', 'a', AbortSignal.timeout(5_000))
    return server.asked.at(-1)?.headers
  }
  const plugin = (name: string, text: string) => {
    writeFileSync(join(folder, name), `#!/bin/sh\n${text}\n`)
    chmodSync(join(folder, name), 0o700)
    return { exec: { apiVersion: 'client.authentication.k8s.io/v1', command: `./${name}` } }
  }
  const credential = { kind: 'ExecCredential', status: { token: 'from a plugin' } }
  writeFileSync(join(folder, 'token'), 'from a file')

  await t.rejects(read({ token: 'hush' }), /401 who are you/)
  t.equal((await read({ tokenFile: 'token' }))?.authorization, 'Bearer from a file')
  t.match(await read({ username: 'me', password: 'hush' }), { authorization: /^Basic / })
  t.match(await read({ token: 'x', as: 'other' }), { 'impersonate-user': 'other' })
  t.equal(
    (await read(plugin('good', `echo '${JSON.stringify(credential)}'`)))?.authorization,
    'Bearer from a plugin',
  )
  for (const [name, text] of [
    ['fails', 'echo hush >&2; exit 1'],
    ['babbles', 'echo hush'],
  ] as const) {
    const message = `no credentials from the exec plugin '${join(folder, name)}'; run it by hand to see why`
    await t.rejects(read(plugin(name, text)), { message })
  }
  const gone = plugin('gone', '')
  rmSync(join(folder, 'gone'))
  const message = `no credentials from the exec plugin '${join(folder, 'gone')}': ${join(folder, 'gone')}: no such file`
  await t.rejects(read(gone), { message })
  await t.rejects(read(plugin('hangs', 'exec sleep 2'), { answer: 500 }), /no answer within/)
})

t.test('refused credentials are read again, after a while and for the same server only', async (t) => {
  const { folder } = await fakeApiServer(t, 'nobody', {})
  const file = join(folder, 'config')
  const write = (server: string, token: string) =>
    writeFileSync(file, JSON.stringify(kubeconfigOf(`https://${server}`, { token })))
  write('one.example', 'old')
  const access = await fromKubeconfig(file)
  const token = async () => (await access.credentials()).headers
  const start = performance.now()
  t.teardown(() => Reflect.deleteProperty(performance, 'now'))
  write('one.example', 'new')
  access.renew()
  t.strictSame(await token(), { Authorization: 'Bearer old' })
  performance.now = () => start + 11_000
  access.renew()
  t.strictSame(await token(), { Authorization: 'Bearer new' })
  performance.now = () => start + 22_000
  write('two.example', 'other')
  access.renew()
  await t.rejects(token(), /another server than https:\/\/one\.example/)
  write('one.example', 'newest')
  t.strictSame(await token(), { Authorization: 'Bearer newest' })
})

t.test('the service account of a pod', async (t) => {
  const server = await fakeApiServer(t, 'mcpgroups', { lists: [json(200, group('a', '1'))] })
  const folder = join(server.folder, 'var/run/secrets/kubernetes.io/serviceaccount')
  const set = (values: Readonly<Record<string, string | undefined>>) => {
    for (const [name, value] of Object.entries(values)) {
      if (value === undefined) Reflect.deleteProperty(process.env, name)
      else process.env[name] = value
    }
  }
  const { KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT } = process.env
  t.teardown(() => set({ KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT }))
  const problem = (text: string) => ({ message: `in-cluster service account: ${text}` })
  set({ KUBERNETES_SERVICE_HOST: undefined, KUBERNETES_SERVICE_PORT: '443' })
  await t.rejects(fromServiceAccount(), problem('KUBERNETES_SERVICE_HOST is not set; we are not in a pod'))
  set({ KUBERNETES_SERVICE_HOST: 'fd00::1' })
  await t.rejects(fromServiceAccount(server.folder), problem(`${folder}/token: no such file`))
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'token'), 'first\n')
  await t.rejects(fromServiceAccount(server.folder), problem(`${folder}/ca.crt: no such file`))
  writeFileSync(join(folder, 'ca.crt'), readFileSync(join(server.folder, 'config')))
  await t.rejects(
    fromServiceAccount(server.folder),
    problem("certificate-authority of cluster 'inCluster' is no PEM"),
  )
  writeFileSync(join(folder, 'ca.crt'), rootCertificates[0] ?? '')
  const access = await fromServiceAccount(server.folder)
  t.equal(access.server.href, 'https://[fd00::1]/')
  t.equal(access.namespace, undefined)
  writeFileSync(join(folder, 'namespace'), 'tools')
  t.equal((await fromServiceAccount(server.folder)).namespace, 'tools')
  t.strictSame((await access.credentials()).headers, { Authorization: 'Bearer first' })
})

t.test('a kept connection that the server has closed is replaced without a word', async (t) => {
  const closing: Answer = (response) => {
    json(200, group('a', '1'))(response)
    const { socket } = response
    response.on('finish', () => setImmediate(() => socket?.resetAndDestroy()))
  }
  const server = await fakeApiServer(t, 'mcpgroups', { lists: [closing] })
  const connection = new ClusterConnection(await fromKubeconfig(server.kubeconfig), { times: SHORT })
  t.teardown(() => connection.close())
  for (let time = 0; time < 50; time++) {
    t.ok(await connection.read(mcpGroup, 'default', 'a', AbortSignal.timeout(10_000)))
  }
})

t.test('pauses double up to the longest, and not all ask at once', async (t) => {
  const rows = [
    [1, 500],
    [2, 1_000],
    [3, 2_000],
    [5, 8_000],
    [6, 15_000],
    [2_000, 15_000],
  ] as const
  for (const [failures, whole] of rows) {
    const pauses = Array.from({ length: 200 }, () => pauseAfter(failures, 500, 15_000))
    t.ok(
      pauses.every((pause) => pause >= 0.75 * whole && pause <= whole),
      `${failures}: from three quarters of ${whole} to all of it`,
    )
    t.ok(new Set(pauses).size > 100, `${failures}: they differ`)
  }
})

t.test('the clock beside that of the API server', async (t) => {
  const NOON = Date.parse('2026-06-01T12:00:00Z')
  const header = 'Mon, 01 Jun 2026 12:00:00 GMT'
  const day = 86_400_000
  // By the monotonic clock, the request was sent at 1,000 ms and answered at 1,200 ms.
  const rows: [wall: number, monotonic: number, offset: number, title: string][] = [
    [NOON, 1_200, 0, 'the same'],
    [NOON + 1_200, 1_200, 0, 'a second is not told apart, nor the time on the way'],
    [NOON + 1_201, 1_200, 1, 'ahead at least'],
    [NOON - 1, 1_200, -1, 'behind at least'],
    [NOON + 400 * day, 1_200, 400 * day - 1_200, '400 days ahead'],
    [NOON - 400 * day, 1_200, -400 * day, '400 days behind'],
    [NOON + day, 1_200 + day, 0, 'a day later, with no answer in between'],
    [NOON + day, 1_200, day - 1_200, 'a jump since the answer'],
    [NOON - day, 1_200 + day, -2 * day, 'a jump back'],
  ]
  const clock = new ServerClock()
  t.equal(clock.offset(NOON, 0), undefined, 'nothing was answered')
  clock.note(undefined, 0, 0)
  clock.note('yesterday', 0, 0)
  t.equal(clock.offset(NOON, 0), undefined)
  clock.note(header, 1_000, 1_200)
  clock.note('', 2_000, 2_000)
  for (const [wall, monotonic, offset, title] of rows) t.equal(clock.offset(wall, monotonic), offset, title)

  for (const [status, seen] of [
    [200, true],
    [404, true],
    [403, true],
    [502, false],
  ] as const) {
    const ahead = new Date(Date.now() - 3 * 3_600_000).toUTCString()
    const answer: Answer = (response) => {
      response.setHeader('date', ahead)
      json(status, { kind: 'Status', code: status, metadata: { name: 'a' } })(response)
    }
    const fake = await fakeApiServer(t, mcpGroup.plural, { lists: [answer] })
    const connection = new ClusterConnection(await fromKubeconfig(fake.kubeconfig))
    t.teardown(() => connection.close())
    t.equal(connection.clockOffset(), undefined)
    await connection.read(mcpGroup, 'default', 'a', new AbortController().signal).catch(() => undefined)
    const offset = connection.clockOffset()
    t.equal(
      offset === undefined ? undefined : Math.round(offset / 3_600_000),
      seen ? 3 : undefined,
      `${status}`,
    )
  }
})
