import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import fastify, { type FastifyInstance } from 'fastify'

/**
 * What Node and the framework cost alone: parses the body and answers a constant, on a bare `node:https` server or with
 * Fastify. Arguments: `bare` or `fastify`, and the folder with tls.crt and tls.key.
 */
/** Milliseconds for which a connection may be idle while other servers are asked. */
const KEEP_ALIVE = 95_000
const [library, folder = ''] = process.argv.slice(2)
const options = {
  cert: readFileSync(`${folder}/tls.crt`),
  key: readFileSync(`${folder}/tls.key`),
  keepAliveTimeout: KEEP_ALIVE,
  headersTimeout: KEEP_ALIVE,
}
const answer = JSON.stringify({
  apiVersion: 'admission.k8s.io/v1',
  kind: 'AdmissionReview',
  response: { uid: '705ab4f5-6393-11e8-b7cc-42010a800002', allowed: true },
})

function bareServer() {
  return createServer(options, (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      JSON.parse(Buffer.concat(chunks).toString())
      response.writeHead(200, {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(answer),
      })
      response.end(answer)
    })
  })
}

async function fastifyServer() {
  const app = fastify({ https: options, keepAliveTimeout: KEEP_ALIVE }) as unknown as FastifyInstance
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, body, done) => {
    done(null, JSON.parse(body as string))
  })
  app.post('/*', (_request, reply) => reply.type('application/json').send(answer))
  await app.ready()
  return app.server
}

const server = library === 'fastify' ? await fastifyServer() : bareServer()
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  process.stdout.write(`${JSON.stringify({ msg: 'listening', url: `https://127.0.0.1:${port}` })}\n`)
})
