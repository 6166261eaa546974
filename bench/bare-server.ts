import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { answer, KEEP_ALIVE, pairIn } from './constant.ts'

/** The reference: parses the body and answers a constant. Arguments: the folder with tls.crt and tls.key. */
const server = createServer(pairIn(process.argv[2] ?? ''), (request, response) => {
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
server.keepAliveTimeout = KEEP_ALIVE
server.listen(0, '127.0.0.1', () => {
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  process.stdout.write(`${JSON.stringify({ msg: 'listening', url })}\n`)
})
