import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { kubeconfigOf } from '../support/fake-api-server.ts'
import type { ApiServer } from './api-server.ts'

/**
 * What the proxy forwards: everything; everything except lists and watches, which hang; everything except reads of one
 * object, which get 503; or everything, but reads of one object too late.
 */
export type Forwarding = 'all' | 'no watches' | 'no reads' | 'slow reads'

export interface WatchProxy {
  readonly kubeconfig: string
  forward(what: Forwarding): void
}

/** Milliseconds: longer than the webhook's timeout. */
const SLOW = 30_000

/** Starts a proxy in front of the API server that can delay or refuse requests. */
export async function startWatchProxy(
  t: { readonly teardown: (end: () => void) => void },
  api: ApiServer,
): Promise<WatchProxy> {
  let forwarding: Forwarding = 'all'
  const held = new Set<ServerResponse>()
  const server = createServer((asked, answer) => {
    const { searchParams } = new URL(asked.url ?? '', api.url)
    const isListOrWatch = searchParams.has('watch') || searchParams.has('limit')
    const isForwarded = () => !isListOrWatch || forwarding !== 'no watches'
    if (isListOrWatch) held.add(answer.once('close', () => held.delete(answer)))
    if (!isForwarded()) return
    if (!isListOrWatch && forwarding === 'no reads') answer.writeHead(503).end()
    else if (!isListOrWatch && forwarding === 'slow reads') setTimeout(() => answer.destroy(), SLOW).unref()
    else forwardRequest(api, asked, answer, isForwarded)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const kubeconfig = join(api.kubeconfig, '..', 'watch-proxy')
  const { port } = server.address() as AddressInfo
  writeFileSync(kubeconfig, JSON.stringify(kubeconfigOf(`http://127.0.0.1:${port}`, { token: api.token })))
  return {
    kubeconfig,
    forward(what) {
      if (forwarding === 'no watches' && what !== 'no watches') held.forEach((answer) => answer.destroy())
      forwarding = what
    },
  }
}

function forwardRequest(
  api: ApiServer,
  asked: IncomingMessage,
  answer: ServerResponse,
  isForwarded: () => boolean,
): void {
  const sent = request(new URL(asked.url ?? '', api.url), {
    ca: api.ca,
    method: asked.method,
    headers: asked.headers,
    agent: false,
  })
  sent.on('response', (found) => {
    answer.writeHead(found.statusCode ?? 502, found.headers).flushHeaders()
    found.on('data', (part) => isForwarded() && answer.write(part))
    found.on('end', () => isForwarded() && answer.end())
    found.on('error', () => answer.destroy())
  })
  sent.on('error', () => answer.destroy())
  answer.on('close', () => sent.destroy())
  asked.pipe(sent)
}
