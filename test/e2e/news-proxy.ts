import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Test } from 'tap'
import { kubeconfigOf } from '../support/fake-api-server.ts'
import type { ApiServer } from './api-server.ts'

/** What the proxy passes on: everything; no lists and watches, which hang; no reads of one object; or those too late. */
export type Passing = 'all' | 'no news' | 'no reads' | 'slow reads'

export interface NewsProxy {
  readonly kubeconfig: string
  passes(what: Passing): void
}

const SLOW = 30_000

/** A way to the API server on which news can be held back, or single objects not be read. */
export async function newsProxy(t: Test, api: ApiServer): Promise<NewsProxy> {
  let passing: Passing = 'all'
  const held = new Set<ServerResponse>()
  const server = createServer((asked, answer) => {
    const { searchParams } = new URL(asked.url ?? '', api.url)
    const isNews = searchParams.has('watch') || searchParams.has('limit')
    const hears = () => !isNews || passing !== 'no news'
    if (isNews) held.add(answer.once('close', () => held.delete(answer)))
    if (!hears()) return
    if (!isNews && passing === 'no reads') answer.writeHead(503).end()
    else if (!isNews && passing === 'slow reads') setTimeout(() => answer.destroy(), SLOW).unref()
    else forward(api, asked, answer, hears)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const kubeconfig = join(api.kubeconfig, '..', 'news-proxy')
  const { port } = server.address() as AddressInfo
  writeFileSync(kubeconfig, JSON.stringify(kubeconfigOf(`http://127.0.0.1:${port}`, { token: api.token })))
  return {
    kubeconfig,
    passes(what) {
      if (passing === 'no news' && what !== 'no news') held.forEach((answer) => answer.destroy())
      passing = what
    },
  }
}

function forward(api: ApiServer, asked: IncomingMessage, answer: ServerResponse, hears: () => boolean): void {
  const sent = request(new URL(asked.url ?? '', api.url), {
    ca: api.ca,
    method: asked.method,
    headers: asked.headers,
    agent: false,
  })
  sent.on('response', (found) => {
    answer.writeHead(found.statusCode ?? 502, found.headers).flushHeaders()
    found.on('data', (part) => hears() && answer.write(part))
    found.on('end', () => hears() && answer.end())
    found.on('error', () => answer.destroy())
  })
  sent.on('error', () => answer.destroy())
  answer.on('close', () => sent.destroy())
  asked.pipe(sent)
}
