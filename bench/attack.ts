/** Sends requests of one kind to a server, as many as it answers, on several connections; a process of its own. */

import { Agent, request } from 'node:https'
import { ATTACKS } from './attacks.ts'

const [port = '', name = '', milliseconds = '', from = '127.0.0.2'] = process.argv.slice(2)
const CONNECTIONS = 4
/** Requests of one run, however fast they are answered. */
const MOST_REQUESTS = 20_000

const body = ATTACKS[name]
if (body === undefined) throw new Error(`no attack ${name}`)
const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
const end = performance.now() + Number(milliseconds)
const statuses = new Map<number, number>()
let sent = 0

const post = (payload: string) =>
  new Promise<number>((resolve) => {
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(payload) }
    const options = {
      agent,
      headers,
      method: 'POST',
      host: '127.0.0.1',
      port,
      path: '/validate?timeout=10s',
      localAddress: from,
      rejectUnauthorized: false,
    }
    const each = request(options, (answer) =>
      answer.resume().on('end', () => resolve(answer.statusCode ?? 0)),
    )
    each.on('error', () => resolve(0)).end(payload)
  })

await Promise.all(
  Array.from({ length: CONNECTIONS }, async () => {
    while (performance.now() < end && sent < MOST_REQUESTS) {
      const status = await post(body(sent++))
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
  }),
)
process.stdout.write(JSON.stringify(Object.fromEntries(statuses)))
process.exit()
