import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { API_VERSION, DEFAULT_API_GROUP, kindNamed, KINDS } from '../src/kinds/index.ts'
import { json, kubeconfigOf, page, silence } from '../test/support/fake-api-server.ts'
import { resourceOf } from '../test/support/review.ts'
import { type Ask, openConnection } from './client.ts'
import { crowd, NAMESPACES, objects, parsed } from './cluster.ts'
import { median, table } from './figures.ts'
import { freshRequests, manifests, mixedReviews, roleMappingReviews, smallReviews } from './reviews.ts'
import { buildsGoWebhook, folder, ready, type Server, startServer } from './servers.ts'

const CONNECTIONS = 16
/** Of each server in turn, so that what else the machine does hits all of them. */
const ROUNDS = 12
/** Requests of a turn, by path and by bodies: a tenth of a second and more. */
const TURN = { small: 2_000, mixed: 2_000, large: 400 } as const
/** Requests until what is hot is compiled, in turns. */
const WARM_UP = 6

/** The most that a request may take of the CPU, in times of what it takes of the bare server. */
const MOST = {
  '/validate': { small: 2, mixed: 2.2, large: 5 },
  '/mutate': { small: 1.5, mixed: 1.5, large: 3 },
} as const
const BODIES = { small: smallReviews, mixed: mixedReviews, large: roleMappingReviews } as const
type Size = keyof typeof BODIES
type Path = keyof typeof MOST

interface Measured {
  readonly path: Path
  readonly size: Size
  readonly bodies: readonly string[]
  /** Microseconds of CPU of each round: of the bare server, of each of ours, and of the webhook in Go where it was asked. */
  readonly turns: readonly (readonly number[])[]
}

/** Measures the bare server, ours with each set of options of Node, and the others, in turn. */
async function measured(
  bare: Server,
  ours: readonly Server[],
  inGo: readonly Server[],
  [warmUp, rounds]: readonly [number, number],
): Promise<Measured[]> {
  const servers = [bare, ...ours, ...inGo]
  const asks = await Promise.all(
    servers.map(({ port }) => Promise.all(Array.from({ length: CONNECTIONS }, () => openConnection(port)))),
  )
  const all: Measured[] = []
  for (const path of ['/validate', '/mutate'] as const) {
    for (const size of ['small', 'mixed', 'large'] as const) {
      const bodies = BODIES[size]()
      const requests = servers.map(() => freshRequests(path, bodies))
      const turns: number[][] = []
      for (let round = -warmUp; round < rounds; round++) {
        const taken: number[] = []
        // The webhook in Go only validates.
        for (const [i, server] of servers.entries())
          if (path === '/validate' || !inGo.includes(server))
            taken.push(await turn(server, asks[i] ?? [], requests[i], TURN[size]))
        if (round >= 0) turns.push(taken)
      }
      all.push({ path, size, bodies, turns })
    }
  }
  return all
}

/**
 * CPU time of a request, of the whole process, of the bare server and of ours as the image runs it: with an API server, the
 * CRDs of the newest release, and 12,000 objects in the cache. `settings` are options of Node in the place of the image's.
 */
export async function cpu(settings: readonly string[] = []): Promise<string> {
  const api = await apiServer()
  const bare = await ready(await startServer('bare node:https'))
  const inGo = buildsGoWebhook() ? [await listening(await startServer('Go webhook'))] : []
  const ours: Server[] = []
  for (const options of settings.length === 0 ? [undefined] : settings)
    ours.push(await ready(await startServer('vmcp-admission', ['--kubeconfig', api.kubeconfig], options)))
  const rest = ours.map((server) => server.memory('VmRSS'))
  const all = await measured(bare, ours, inGo, [WARM_UP, ROUNDS])
  const memory = ours.map(
    (server, i) =>
      `${settings[i] ?? "the image's options"}: ${rest[i]?.toFixed(0)} MB at rest, ${server.memory('VmRSS').toFixed(0)} MB after`,
  )
  for (const { stop } of [bare, ...ours, ...inGo]) await stop()
  api.stop()
  const head = [
    'path',
    'bodies',
    'bare',
    ...ours.flatMap((_, i) => [settings[i] ?? 'vmcp-admission', 'of bare']),
    'goal',
    'in Go',
    'of Go',
  ]
  const rows = all.map((each) => rowOf(each, ours.length))
  return `${table(head, rows)}\n\nMicroseconds of CPU a request, medians of ${ROUNDS} rounds; every body has hosts, claims and matchers that none before it had. ${api.count} objects in the cache. ${memory.join('; ')}.`
}

/** Rounds of the gate, which a noisy machine passes too: warm-up, and those that count. */
const GATE: readonly [number, number] = [4, 8]
/** How many times what was recorded a request may take. */
const MORE = 1.3
const RECORDED = new URL('recorded-ratios.json', import.meta.url)

/** How often the gate measures before it fails: what else the machine does only adds. */
const TRIES = 3

/** Whether a request still takes as many times the CPU of the bare server as was recorded: throws where it is over 1.3 times that. */
export async function gate(isRecording: boolean): Promise<string> {
  const recorded = JSON.parse(readFileSync(RECORDED, 'utf8')) as Readonly<Record<string, number>>
  const limitOf = (name: string) => MORE * (recorded[name] ?? 0)
  const api = await apiServer()
  const best = new Map<string, number>()
  for (let left = TRIES; left > 0; left--) {
    const bare = await ready(await startServer('bare node:https'))
    const server = await ready(await startServer('vmcp-admission', ['--kubeconfig', api.kubeconfig]))
    for (const { path, size, turns } of await measured(bare, [server], [], GATE)) {
      const ratio = Math.round((least(turns, 1) / least(turns, 0)) * 100) / 100
      best.set(`${path} ${size}`, Math.min(ratio, best.get(`${path} ${size}`) ?? Infinity))
    }
    for (const { stop } of [bare, server]) await stop()
    if (isRecording || [...best].every(([name, ratio]) => ratio <= limitOf(name))) break
  }
  api.stop()
  if (isRecording) writeFileSync(RECORDED, `${JSON.stringify(Object.fromEntries(best), undefined, 2)}\n`)
  const dearer = isRecording ? [] : [...best].filter(([name, ratio]) => !(ratio <= limitOf(name)))
  const text = Array.from(
    best,
    ([name, ratio]) => `${name}: ${ratio} × bare, ${recorded[name]} recorded`,
  ).join('\n')
  if (dearer.length > 0)
    throw new Error(
      `${text}\nover ${MORE} times what was recorded: ${dearer.map(([name]) => name).join(', ')}`,
    )
  return text
}

/** The least of all rounds: what else the machine does only adds to it. */
const least = (turns: Measured['turns'], i: number) => Math.min(...turns.map((taken) => taken[i] ?? Infinity))

/** The median over the rounds of how many times the CPU of the bare server a server takes. */
const ofBare = (turns: Measured['turns'], i: number) =>
  median(turns.map((taken) => (taken[i] ?? NaN) / (taken[0] ?? NaN)))

/** The webhook in Go says that it listens a moment before it does. */
export async function listening(server: Server): Promise<Server> {
  for (;;) {
    try {
      await openConnection(server.port)
      return server
    } catch {
      await setTimeout(50)
    }
  }
}

function rowOf({ path, size, bodies, turns }: Measured, ours: number): string[] {
  const bytes = bodies.reduce((sum, body) => sum + body.length, 0) / bodies.length
  const of = (i: number) => median(turns.map((taken) => taken[i] ?? NaN))
  const columns = Array.from({ length: ours }, (_, i) => [
    of(i + 1).toFixed(0),
    ofBare(turns, i + 1).toFixed(2),
  ])
  const inGo = of(ours + 1)
  return [
    path,
    `${size}: ${(bytes / 1_024).toFixed(1)} KB, ${bodies.length} shapes`,
    of(0).toFixed(0),
    ...columns.flat(),
    String(MOST[path][size]),
    ...(Number.isNaN(inGo) ? ['', ''] : [inGo.toFixed(0), (of(1) / inGo).toFixed(2)]),
  ]
}

/** Microseconds of CPU time of each of so many requests. */
async function turn(
  server: Server,
  asks: readonly Ask[],
  requests: Iterator<Buffer, never> | undefined,
  count: number,
): Promise<number> {
  if (requests === undefined) throw new Error('no requests')
  let left = count
  const before = server.cpu()
  await Promise.all(
    asks.map(async (ask) => {
      while (left-- > 0) await ask(requests.next().value)
    }),
  )
  return ((server.cpu() - before) * 1e3) / count
}

interface ApiServer {
  readonly kubeconfig: string
  readonly count: number
  readonly stop: () => void
}

/** An API server with the CRDs of a release, the objects of a large cluster, and in `default` those of the examples. */
async function apiServer(): Promise<ApiServer> {
  const lists = new Map<string, object[]>(KINDS.map(({ plural }) => [plural, []]))
  let count = 0
  const add = (kind: string, object: object) =>
    lists.get(kindNamed.get(kind)?.plural ?? '')?.push(object) && count++
  for (let i = 0; i < NAMESPACES; i++) {
    const namespace = `namespace-${i}`
    for (const other of [...objects(namespace), ...(i === 0 ? crowd() : [])])
      add(other.kind, parsed(other, namespace, count + 1))
  }
  for (const { kind, metadata, spec } of manifests('.', 0))
    add(
      kind,
      resourceOf(kind, spec, { ...metadata, resourceVersion: String(count + 1), uid: `uid-${count}` }),
    )
  const { schemas } = JSON.parse(readFileSync(new URL('../releases/0.63.json', import.meta.url), 'utf8')) as {
    schemas: Readonly<Record<string, object>>
  }
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://fake')
    const last = pathname.slice(pathname.lastIndexOf('/') + 1)
    const items = lists.get(last)
    if (searchParams.has('watch')) silence(response)
    else if (pathname.includes('/customresourcedefinitions/')) {
      const kind = KINDS.find(({ plural }) => last === `${plural}.${DEFAULT_API_GROUP}`)?.kind ?? ''
      json(200, definitionOf(kind, schemas[kind] ?? {}))(response)
    } else if (items === undefined) {
      const named = lists.get(pathname.split('/').at(-2) ?? '')?.find((each) => nameOf(each) === last)
      if (named === undefined && pathname.split('/').length > 6) json(404, {})(response)
      else if (named === undefined) page([])(response)
      else json(200, named)(response)
    } else {
      const from = Number(searchParams.get('continue') ?? 0)
      const to = from + Number(searchParams.get('limit') ?? items.length)
      page(items.slice(from, to), { version: '100000', next: to < items.length ? String(to) : '' })(response)
    }
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const kubeconfig = join(folder, 'large-cluster')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  writeFileSync(kubeconfig, JSON.stringify(kubeconfigOf(url, { token: 'hush' })))
  return {
    kubeconfig,
    count,
    stop: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

const nameOf = (object: object) => (object as { metadata: { name: string } }).metadata.name

const definitionOf = (kind: string, openAPIV3Schema: object) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: kind, resourceVersion: '1' },
  spec: {
    group: DEFAULT_API_GROUP,
    names: { kind },
    versions: [{ name: API_VERSION, served: true, schema: { openAPIV3Schema } }],
  },
})
