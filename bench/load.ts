import { connect, type TLSSocket } from 'node:tls'

/**
 * Sends the same request over keep-alive connections as fast as it is answered, for a time, and prints the answers per
 * second. Arguments: port, path, connections, milliseconds; the body on standard input.
 */
const [port = '', path = '', connections = '', milliseconds = ''] = process.argv.slice(2)
const body = await new Response(process.stdin as unknown as ReadableStream).text()
const head = [
  `POST ${path}?timeout=5s HTTP/1.1`,
  'host: vmcp-admission.vmcp.svc',
  'user-agent: kube-apiserver-admission',
  'accept: application/json, */*',
  'accept-encoding: gzip',
  'content-type: application/json',
  `content-length: ${Buffer.byteLength(body)}`,
]
const request = Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`)
let answers = 0
let wrong = 0

function open(): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connect({
      host: '127.0.0.1',
      port: Number(port),
      rejectUnauthorized: false,
      ALPNProtocols: ['http/1.1'],
    })
    let received = ''
    socket.setEncoding('latin1')
    socket.setNoDelay(true)
    socket.on('data', (text: string) => {
      received += text
      const end = received.indexOf('\r\n\r\n')
      if (end < 0) return
      const length = Number(/content-length: (\d+)/i.exec(received)?.[1])
      if (received.length < end + 4 + length) return
      if (!received.startsWith('HTTP/1.1 200') || !received.includes('"allowed":true')) wrong += 1
      received = ''
      answers += 1
      socket.write(request)
    })
    socket.once('secureConnect', () => resolve(socket))
    socket.once('error', reject)
  })
}

const sockets = await Promise.all(Array.from({ length: Number(connections) }, open))
const start = performance.now()
for (const socket of sockets) socket.write(request)
setTimeout(() => {
  const seconds = (performance.now() - start) / 1000
  process.stdout.write(`${JSON.stringify({ perSecond: answers / seconds, wrong })}\n`)
  process.exit(0)
}, Number(milliseconds))
