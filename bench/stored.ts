import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { gateway, inline } from '../src/relations/examples.ts'
import { json, kubeconfigOf, page, silence } from '../test/support/fake-api-server.ts'
import { resourceOf, reviewOf } from '../test/support/review.ts'
import { callsDuring } from './attackers.ts'
import { openConnection, requestOf, timed } from './client.ts'
import { median, milliseconds, table } from './figures.ts'
import { folder, ready, type Server, startServer } from './servers.ts'

const REVIEWS = 40
/** Milliseconds during which writers send dry runs. */
const LENGTH = 10_000
const WRITERS = 6

/** Gateways of the group `tools` in the namespace `default`, each with so many backends of its own, or 90 bytes for each. */
export const gateways = (count: number, backends: number) =>
  Array.from({ length: count }, (_, i) => {
    const configs = Array.from({ length: backends }, (_, j) => [`backend-${i}-${j}`, `config-${i}-${j}`])
    const { kind, spec } = gateway('', {
      outgoingAuth: inline(Object.fromEntries(configs) as Record<string, string>),
    })
    return resourceOf(kind, spec, { name: `gateway-${i}`, resourceVersion: String(i + 1) })
  })

interface Stored {
  readonly kubeconfig: string
  readonly reads: () => number
  readonly stop: () => void
}

/** An API server that stores these VirtualMCPServers and nothing else. */
export async function apiServerWith(objects: readonly Record<string, unknown>[]): Promise<Stored> {
  const texts = objects.map((object) => JSON.stringify(object))
  let reads = 0
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://fake')
    const [, name] = /\/virtualmcpservers(?:\/gateway-(\d+))?$/.exec(pathname) ?? []
    if (searchParams.has('watch')) silence(response)
    else if (name !== undefined) {
      reads += 1
      const text = texts[Number(name)]
      if (text === undefined) json(404, {})(response)
      else response.writeHead(200, { 'content-type': 'application/json' }).end(text)
    } else if (pathname.endsWith('/virtualmcpservers')) {
      const from = Number(searchParams.get('continue') ?? 0)
      const to = from + Number(searchParams.get('limit'))
      const metadata = { resourceVersion: '1000', continue: to < texts.length ? String(to) : '' }
      const items = texts.slice(from, to).join()
      response.end(`{"kind":"List","metadata":${JSON.stringify(metadata)},"items":[${items}]}`)
    } else page([])(response)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const kubeconfig = join(folder, 'stored')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  writeFileSync(kubeconfig, JSON.stringify(kubeconfigOf(url, { token: 'hush' })))
  return {
    kubeconfig,
    reads: () => reads,
    stop: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

const workload = (group: string) =>
  resourceOf('MCPServer', { groupRef: { name: group }, image: 'ghcr.io/example/server:1.2.3' })
/** A review of about 500 bytes in the namespace of the large gateways. */
const small = (group: string, request: object = {}) =>
  requestOf('/validate', JSON.stringify(reviewOf(workload(group), { name: 'example', ...request })))

/** What large stored objects cost: reviews beside them, reviews elsewhere, and the start. */
export async function stored(): Promise<string> {
  const rows = [
    ...(await beside('of another group', small('others'))),
    ...(await beside('of their group', small('tools'))),
    ...(await writers()),
    ...(await start()),
  ]
  return table(['', 'p50 or time', 'slowest', 'CPU', 'reads'], rows)
}

async function beside(title: string, request: Buffer): Promise<string[][]> {
  const api = await apiServerWith(gateways(45, 7_500))
  const server = await ready(await startServer('vmcp-admission', ['--kubeconfig', api.kubeconfig]))
  await settled(server)
  const ask = await openConnection(server.port)
  const taken: number[] = []
  const [cpu, reads] = [server.cpu(), api.reads()]
  for (let i = 0; i < REVIEWS; i++) {
    taken.push(await timed(ask, request))
    await setTimeout(20)
  }
  const each = (server.cpu() - cpu) / REVIEWS
  const row = [
    `a review of 500 bytes ${title}, 45 gateways of 685 KB in its namespace`,
    milliseconds(median(taken)),
    milliseconds(Math.max(...taken)),
    `${milliseconds(each)} each`,
    `${api.reads() - reads} for ${REVIEWS}`,
  ]
  await server.stop()
  api.stop()
  return [row]
}

async function writers(): Promise<string[][]> {
  const api = await apiServerWith(gateways(25, 7_500))
  const server = await ready(await startServer('vmcp-admission', ['--kubeconfig', api.kubeconfig]))
  await settled(server)
  const request = small('tools', { dryRun: true })
  const end = performance.now() + LENGTH
  const [cpu, reads] = [server.cpu(), api.reads()]
  const writing = Promise.all(
    Array.from({ length: WRITERS }, async () => {
      const ask = await openConnection(server.port)
      while (performance.now() < end) await ask(request)
    }),
  )
  const taken = await callsDuring(server, writing)
  const row = [
    `a neighbour's review while six writers send dry runs beside 25 gateways of 685 KB`,
    milliseconds(median(taken)),
    milliseconds(Math.max(...taken)),
    `${(((server.cpu() - cpu) / LENGTH) * 100).toFixed(0)} %`,
    String(api.reads() - reads),
  ]
  await server.stop()
  api.stop()
  return [row]
}

async function start(): Promise<string[][]> {
  const rows: string[][] = []
  for (const [title, count] of [
    ['without', 0],
    ['with 45 gateways of 1.4 MB', 45],
  ] as const) {
    const api = await apiServerWith(gateways(count, 15_300))
    const begun = performance.now()
    const server = await startServer('vmcp-admission', ['--kubeconfig', api.kubeconfig])
    let longest = 0
    for (let isReady = false; !isReady;) {
      const asked = performance.now()
      isReady = await server.isReady()
      longest = Math.max(longest, performance.now() - asked)
      await setTimeout(5)
    }
    const after = performance.now() - begun
    const background = callsDuring(server, settled(server))
    const taken = await background
    rows.push([
      `ready after the start ${title}; slowest: the probes until then, reviews while the background works`,
      milliseconds(after),
      `${milliseconds(longest)}, ${milliseconds(Math.max(...taken))}`,
      `${milliseconds(server.cpu())} in all`,
      String(api.reads()),
    ])
    await server.stop()
    api.stop()
  }
  return rows
}

/** Waits until the server has done what it does in the background: less than a tenth of a second of CPU in two seconds. */
async function settled(server: Server): Promise<void> {
  for (let last = -Infinity; ;) {
    await setTimeout(2_000)
    const now = server.cpu()
    if (now - last < 100) return
    last = now
  }
}
