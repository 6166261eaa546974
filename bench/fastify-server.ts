import type { AddressInfo } from 'node:net'
import fastify from 'fastify'
import { answer, KEEP_ALIVE, pairIn } from './constant.ts'

/** What the framework alone costs: the bare server again, with Fastify. Arguments: the folder with tls.crt and tls.key. */
const app = fastify({ https: pairIn(process.argv[2] ?? ''), keepAliveTimeout: KEEP_ALIVE })
app.removeAllContentTypeParsers()
app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, body, done) => {
  done(null, JSON.parse(body as string))
})
app.post('/*', (_request, reply) => reply.type('application/json').send(answer))
await app.listen({ port: 0, host: '127.0.0.1' })
const url = `https://127.0.0.1:${(app.server.address() as AddressInfo).port}`
process.stdout.write(`${JSON.stringify({ msg: 'listening', url })}\n`)
