/**
 * Clients that do what no API server does, a process of its own. Arguments: the port, which of `BAD_CLIENTS`, the seed.
 * They go on until the parent sends a message; the answer is how many connections they had.
 */
import { connect as connectTcp, type Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import { randomNumbers } from './calls.ts'

/** How many connections of a kind are open at a time, and how many are opened a second at most. */
interface Crowd {
  readonly atATime: number
  readonly aSecond: number
  /** Uses one connection until it is closed. */
  readonly use: (port: number, random: () => number) => Promise<void>
}

const closed = (socket: Socket) => new Promise<void>((resolve) => socket.once('close', () => resolve()))

function plain(port: number, localAddress: string): Socket {
  return connectTcp({ host: '127.0.0.1', port, localAddress })
    .on('error', () => undefined)
    .resume()
}

/** Resolves when the handshake is over; undefined where the server closes before. */
function secured(socket: Socket): Promise<Socket | undefined> {
  const secure = connectTls({ socket, rejectUnauthorized: false })
  secure.on('error', () => undefined).resume()
  return new Promise((resolve) => {
    secure.once('secureConnect', () => resolve(secure))
    secure.once('close', () => resolve(undefined))
  })
}

const HEAD = 'POST /validate HTTP/1.1\r\nhost: vmcp-admission.vmcp.svc\r\ncontent-type: application/json\r\n'
/** Milliseconds after which a client that waits for nothing goes away. */
const PATIENCE = 3_000

/** Sends a text a piece a second. */
async function dribble(socket: Socket, text: string): Promise<void> {
  for (const piece of text) {
    if (socket.destroyed) return
    socket.write(piece)
    await setTimeout(1_000)
  }
  socket.destroy()
}

const upTo = (random: () => number, end: number) => 1 + Math.floor(random() * end)
const randomBytes = (random: () => number, length: number) =>
  Buffer.from(Array.from({ length }, () => Math.floor(random() * 256)))
/** The first bytes of a record with a ClientHello of TLS 1.2. */
const HELLO = Buffer.from([22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3])
/** Headers that no server should read to their end, or that say two things. */
const HEADS: readonly string[] = [
  `${HEAD}${'x-a: 1\r\n'.repeat(5_000)}\r\n`,
  `${HEAD}x-long: ${'a'.repeat(200_000)}\r\n\r\n`,
  `POST /${'v'.repeat(100_000)} HTTP/1.1\r\nhost: a\r\n\r\n`,
  `${HEAD}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
  `${HEAD}transfer-encoding: chunked\r\n\r\n2;${'e'.repeat(50_000)}\r\n{}\r\n0\r\n\r\n`,
  `${HEAD}transfer-encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFFF\r\n`,
  `${HEAD}content-length: 9999999999\r\n\r\n`,
  `${HEAD}content-length: -1\r\n\r\n`,
  `${HEAD}expect: 100-continue\r\ncontent-length: 7000000\r\n\r\n`,
  `${HEAD}upgrade: websocket\r\nconnection: upgrade\r\n\r\n`,
  'GET /validate HTTP/1.1\r\nhost: a\r\n\r\n'.repeat(2_000),
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'CONNECT a:1 HTTP/1.1\r\n\r\n',
  '\r\n'.repeat(10_000),
]

const BAD_CLIENTS: Readonly<Record<string, Crowd>> = {
  'slow clients': {
    atATime: 200,
    aSecond: 100,
    use: async (port, random) => {
      const socket = await secured(plain(port, '127.0.0.3'))
      if (socket === undefined) return
      const body = `${HEAD}content-length: 100000\r\n\r\n`
      // Half of them are slow from the first letter, the others once their head is there.
      if (random() < 0.5) socket.write(body)
      await dribble(socket, random() < 0.5 ? HEAD : ' '.repeat(1_000))
    },
  },
  'half-open sockets': {
    atATime: 1_000,
    aSecond: 300,
    use: async (port, random) => {
      const kind = random()
      const tcp = plain(port, '127.0.0.4')
      const socket = kind < 0.6 ? tcp : await secured(tcp)
      if (socket === undefined) return
      if (kind > 0.9) {
        // Half a body, and the client is gone without a word.
        socket.write(`${HEAD}content-length: 5000\r\n\r\n{"apiVersion":`)
        await setTimeout(PATIENCE * random())
        tcp.resetAndDestroy()
      }
      if (!socket.destroyed) await closed(socket)
    },
  },
  'TLS garbage': {
    atATime: 50,
    aSecond: 100,
    use: async (port, random) => {
      const socket = plain(port, '127.0.0.5')
      const bytes = randomBytes(random, upTo(random, 4_096))
      const kind = random()
      if (kind < 0.4) socket.write(bytes)
      else if (kind < 0.8) socket.write(Buffer.concat([HELLO, bytes]))
      else socket.write(HEAD)
      await Promise.race([closed(socket), setTimeout(PATIENCE)])
      socket.destroy()
    },
  },
  'header floods': {
    atATime: 50,
    aSecond: 50,
    use: async (port, random) => {
      const socket = await secured(plain(port, '127.0.0.6'))
      if (socket === undefined) return
      socket.write(HEADS[Math.floor(random() * HEADS.length)] ?? HEAD)
      await Promise.race([closed(socket), setTimeout(PATIENCE)])
      socket.destroy()
    },
  },
}

const [port = '', name = '', seed = ''] = process.argv.slice(2)
const crowd = BAD_CLIENTS[name]
if (crowd === undefined) throw new Error(`no clients called ${name}`)
const random = randomNumbers(Number(seed))
let opened = 0
let open = 0
process.on('disconnect', () => process.exit())
process.on('message', () => process.send?.(opened, () => process.exit()))
const start = performance.now()
for (;;) {
  await setTimeout(1_000 / crowd.aSecond)
  const due = ((performance.now() - start) * crowd.aSecond) / 1_000
  while (open < crowd.atATime && opened < due) {
    open += 1
    opened += 1
    void crowd.use(Number(port), random).finally(() => (open -= 1))
  }
}
