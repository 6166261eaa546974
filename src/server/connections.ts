import type { Server as HttpServer } from 'node:http'
import type { Server, Socket } from 'node:net'

/**
 * The most connections at the same time; an idle connection takes about 60 KB (measured). An API server opens a
 * connection for each review that it waits for, and keeps at most 25 idle connections.
 */
const MOST_CONNECTIONS = 500

/**
 * Limits the connections of a server, but accepts new connections: above the limit, the client (an IP address) with the
 * most connections loses its oldest connection that is not busy. `isBusy`: a review on the connection is unanswered.
 */
export function boundConnections(
  server: Server,
  isBusy: (address: string, port: number) => boolean,
  most = MOST_CONNECTIONS,
): void {
  const clients = new Map<string, Set<Socket>>()
  let count = 0
  const makeRoom = () => {
    const heaviest = [...clients.values()].reduce((one, other) => (other.size > one.size ? other : one))
    for (const socket of heaviest) {
      if (isBusy(socket.remoteAddress ?? '', socket.remotePort ?? 0)) continue
      socket.destroy()
      return
    }
  }
  server.on('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? ''
    const sockets = clients.get(address) ?? new Set<Socket>()
    clients.set(address, sockets.add(socket))
    count += 1
    socket.once('close', () => {
      sockets.delete(socket)
      if (sockets.size === 0) clients.delete(address)
      count -= 1
    })
    if (count > most) makeRoom()
  })
}

/**
 * Returns a function that closes the connections that never carried a request. When a server closes, Node itself ends
 * the other connections, but waits for the unused ones until the client ends them, or until `headersTimeout`.
 */
export function unusedConnections(server: HttpServer): () => void {
  const unused = new Map<string, Socket>()
  const keyOf = ({ remoteAddress, remotePort }: Socket) => `${remoteAddress} ${remotePort}`
  server.on('connection', (socket: Socket) => {
    const key = keyOf(socket)
    unused.set(key, socket)
    socket.once('close', () => unused.delete(key))
  })
  server.on('request', ({ socket }) => unused.delete(keyOf(socket)))
  return () => {
    for (const socket of unused.values()) socket.destroy()
  }
}
