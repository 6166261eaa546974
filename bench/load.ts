import { once } from 'node:events'
import { connect, type TLSSocket } from 'node:tls'

/**
 * Sends the same request over keep-alive connections as fast as it is answered, to one server after the other and round
 * after round, and prints the answers per second of each turn. Arguments: path, connections, milliseconds to warm up,
 * rounds, milliseconds of a turn, ports; the body on standard input.
 */
const [path = '', ...numbers] = process.argv.slice(2)
const [connections = 0, warmUp = 0, rounds = 0, milliseconds = 0, ...ports] = numbers.map(Number)
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

type Ask = () => Promise<void>

async function open(port: number): Promise<Ask> {
  const socket: TLSSocket = connect({
    host: '127.0.0.1',
    port,
    rejectUnauthorized: false,
    ALPNProtocols: ['http/1.1'],
  })
  let received = ''
  let answered: (() => void) | undefined
  socket.setEncoding('latin1')
  socket.setNoDelay(true)
  socket.on('data', (text: string) => {
    received += text
    const end = received.indexOf('\r\n\r\n')
    if (end < 0) return
    const length = Number(/content-length: (\d+)/i.exec(received)?.[1])
    if (received.length < end + 4 + length) return
    if (!received.startsWith('HTTP/1.1 200') || !received.includes('"allowed":true'))
      throw new Error(`a wrong answer from ${path}: ${received}`)
    received = ''
    answered?.()
  })
  socket.once('close', () => {
    throw new Error(`port ${port} closed a connection`)
  })
  await once(socket, 'secureConnect')
  return () =>
    new Promise((resolve) => {
      answered = resolve
      socket.write(request)
    })
}

/** Answers per second; the turn ends when the last one is there. */
async function turn(asking: readonly Ask[], milliseconds: number): Promise<number> {
  let answers = 0
  const start = performance.now()
  const askAgain = async (ask: Ask) => {
    while (performance.now() < start + milliseconds) {
      await ask()
      answers += 1
    }
  }
  await Promise.all(asking.map(askAgain))
  return (answers / (performance.now() - start)) * 1_000
}

const servers: Ask[][] = []
for (const port of ports)
  servers.push(await Promise.all(Array.from({ length: connections }, () => open(port))))
for (const server of servers) await turn(server, warmUp)
const turns: number[][] = []
for (let round = 0; round < rounds; round++) {
  const rates: number[] = []
  for (const server of servers) rates.push(await turn(server, milliseconds))
  turns.push(rates)
}
process.stdout.write(JSON.stringify(turns))
process.exit(0)
