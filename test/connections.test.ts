import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import t from 'tap'
import { boundConnections } from '../src/server/connections.ts'

/** The milliseconds within which a socket must connect or close, even on a busy machine. */
const SOON = 20_000
const closed = (socket: Socket) => once(socket, 'close', { signal: AbortSignal.timeout(SOON) })

t.test('the client with most connections loses its oldest idle one, and no client is refused', async (t) => {
  const server = createServer((socket) => void socket.on('error', () => undefined).resume())
  const busy = new Set<number>()
  boundConnections(server, (_address, port) => busy.has(port), 4)
  await once(server.listen(0, '0.0.0.0'), 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const open = async (localAddress: string): Promise<Socket> => {
    const socket = connect({ port, host: '127.0.0.1', localAddress })
    t.teardown(() => socket.destroy())
    socket.on('error', () => undefined)
    const signal = AbortSignal.timeout(SOON)
    await Promise.all([once(server, 'connection', { signal }), once(socket, 'connect', { signal })])
    return socket
  }
  const apiServer = await open('127.0.0.2')
  const first = await open('127.0.0.3')
  busy.add(first.localPort ?? 0)
  const second = await open('127.0.0.3')
  const third = await open('127.0.0.3')
  const gone = closed(second)
  await open('127.0.0.3')
  await gone
  const goneToo = closed(third)
  await open('127.0.0.4')
  await goneToo
  for (const kept of [apiServer, first]) t.notOk(kept.destroyed)
})
