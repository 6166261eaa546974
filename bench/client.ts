import { once } from 'node:events'
import { connect } from 'node:tls'

/** A request as the API server sends it. */
export function requestOf(path: string, body: string): Buffer {
  const head = [
    `POST ${path}?timeout=5s HTTP/1.1`,
    'host: vmcp-admission.vmcp.svc',
    'user-agent: kube-apiserver-admission',
    'accept: application/json, */*',
    'accept-encoding: gzip',
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
  ]
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`)
}

/** One connection: sends a request and answers with the body of the response. */
export type Ask = (request: Buffer) => Promise<string>

/** Opens a keep-alive connection. Written on a socket, so that the client takes little of the two cores. Other answers throw. */
export async function openConnection(port: number, answers = /^HTTP\/1.1 200/): Promise<Ask> {
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] })
  let received = ''
  let answered: ((body: string) => void) | undefined
  socket.setEncoding('latin1').setNoDelay(true)
  socket.on('data', (text: string) => {
    received += text
    const end = received.indexOf('\r\n\r\n')
    if (end < 0) return
    const length = Number(/content-length: (\d+)/i.exec(received)?.[1])
    if (received.length < end + 4 + length) return
    if (!answers.test(received)) throw new Error(`not a verdict: ${received}`)
    const body = received.slice(end + 4)
    received = ''
    answered?.(body)
  })
  // Servers close their connections when they are stopped, after the last answer.
  socket.on('close', () => (answered = undefined)).on('error', () => undefined)
  await once(socket, 'secureConnect')
  return (request) =>
    new Promise((resolve) => {
      answered = resolve
      socket.write(request)
    })
}

/** Milliseconds that one request takes. */
export async function timed(ask: Ask, request: Buffer): Promise<number> {
  const start = performance.now()
  await ask(request)
  return performance.now() - start
}

/** Values in turn, from the first one again after the last. */
export function* inTurn<T>(values: readonly T[]): Generator<T, never> {
  for (;;) yield* values
}
