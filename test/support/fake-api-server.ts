import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'

/** A request that the fake received. */
export interface Asked {
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingMessage['headers']
  /** The client's port; requests with equal ports used the same connection. */
  readonly port: number | undefined
}

export type Answer = (response: ServerResponse) => void

/** The answers for one plural, in order; the last answer repeats. */
export interface Script {
  readonly lists: Answer[]
  readonly watches: Answer[]
}

/**
 * An API server that gives scripted answers for one plural; all other lists are empty, and their watches have no
 * events.
 */
export interface FakeApiServer {
  readonly url: string
  /** The path of a kubeconfig for this server. */
  readonly kubeconfig: string
  readonly folder: string
  /** The requests for the plural, oldest first. */
  readonly asked: Asked[]
  readonly connections: () => Promise<number>
}

export async function fakeApiServer(
  t: Test,
  plural: string,
  script: Partial<Script>,
): Promise<FakeApiServer> {
  const asked: Asked[] = []
  const lists = [...(script.lists ?? [page([])])]
  const watches = [...(script.watches ?? [quiet])]
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://fake')
    const each = {
      path: pathname,
      query: searchParams,
      headers: request.headers,
      port: request.socket.remotePort,
    }
    const isWatch = searchParams.has('watch')
    if (!pathname.includes(plural)) {
      ;(isWatch ? quiet : page([]))(response)
      return
    }
    asked.push(each)
    const answers = isWatch ? watches : lists
    const answer = answers.length > 1 ? answers.shift() : answers[0]
    answer?.(response)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-fake-'))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
    rmSync(folder, { recursive: true })
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const kubeconfig = join(folder, 'config')
  writeFileSync(kubeconfig, JSON.stringify(kubeconfigOf(url, { token: 'hush' })))
  const connections = () =>
    new Promise<number>((resolve, reject) => {
      server.getConnections((error, count) => (error ? reject(error) : resolve(count)))
    })
  return { url, kubeconfig, folder, asked, connections }
}

/** The content of a kubeconfig with one context. */
export function kubeconfigOf(
  server: string,
  user: object,
  cluster: object = { 'insecure-skip-tls-verify': true },
) {
  return {
    clusters: [{ name: 'fake', cluster: { server, ...cluster } }],
    users: [{ name: 'tester', user }],
    contexts: [{ name: 'test', context: { cluster: 'fake', user: 'tester' } }],
    'current-context': 'test',
  }
}

/** One page of a list; `next` is its continue token, empty on the last page. */
export const page =
  (items: readonly object[], { version = '1', next = '' } = {}): Answer =>
  (response) =>
    json(200, { kind: 'List', metadata: { resourceVersion: version, continue: next }, items })(response)

export const json = (status: number, body: unknown) => (response: ServerResponse) =>
  void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))

/** An error answer with a Kubernetes Status. */
export const refusal = (code: number, message: string): Answer =>
  json(code, { kind: 'Status', code, message })

/** Accepts a watch and then sends nothing. */
export const silence: Answer = (response) => response.writeHead(200).flushHeaders()

/** Never answers: it does not even send the response headers. */
export const nothing: Answer = () => undefined

/** A watch that sends these events and ends normally after `end` milliseconds. */
export const events =
  (sent: readonly (object | string)[], end = 250): Answer =>
  (response) => {
    silence(response)
    response.write(
      sent.map((each) => (typeof each === 'string' ? each : `${JSON.stringify(each)}\n`)).join(''),
    )
    setTimeout(() => response.end(), end).unref()
  }

/** A watch that ends without an event. */
export const quiet: Answer = events([])

/** Gives the answer, and adds the method, URL, content type and body of the request to `requests`. */
export const heard =
  (requests: string[], answer: Answer): Answer =>
  (response) => {
    const { method, url, headers } = response.req
    let body = ''
    response.req.on('data', (part: Buffer) => (body += part.toString()))
    response.req.on('end', () => {
      requests.push(`${method} ${url} ${headers['content-type'] ?? '-'} ${body}`)
      answer(response)
    })
  }
