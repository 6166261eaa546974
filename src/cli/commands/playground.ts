import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { port, text, UsageError } from '../../configuration/flags.ts'
import { errorMessage } from '../../rule/index.ts'
import { defineCommand } from '../define-command.ts'
import { EXIT } from '../output/report.ts'
import { readPage } from '../program-files.ts'

export const playground = defineCommand({
  name: 'playground',
  summary: 'serve a page to judge manifests in a browser, on this machine alone',
  arguments: [['[--port PORT]'], ['--write DIR', 'write this page into a folder, to publish it']],
  flags: {
    port: port('the port to listen on, on this machine alone; 0 is a free one', 0),
    write: text('write the page into this folder, to publish it, in place of serving it', 'DIR', ''),
  },
  examples: ['--port 8080'],
  exitCodes: { 0: 'ended with Ctrl+C, or written', 3: 'cannot listen, or cannot write' },
  run: ({ flags, names }) => {
    if (names.length > 0) throw new UsageError('playground takes no files: open them in the page')
    const page = readPage('playground')
    return flags.write === '' ? serve(page, flags.port) : write(page, flags.write)
  },
})

function write(page: string, folder: string): number {
  const file = join(folder, 'index.html')
  try {
    mkdirSync(folder, { recursive: true })
    writeFileSync(file, page)
  } catch (error) {
    process.stderr.write(`vmcp-admission: cannot write ${file}: ${errorMessage(error)}\n`)
    return EXIT.unread
  }
  process.stdout.write(`${file}\n`)
  return EXIT.clean
}

const HOST = '127.0.0.1'

const HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': "frame-ancestors 'none'",
}

function serve(page: string, wanted: number): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer(({ method, url, headers }, response) => {
      const { port: own } = server.address() as AddressInfo
      // Refuses other Host headers: by DNS rebinding, any web page can reach this server under the page's host name.
      const isOurs = [`${HOST}:${own}`, `localhost:${own}`].includes(headers.host ?? '')
      if (!isOurs || (url !== '/' && !url?.startsWith('/?'))) response.writeHead(404).end()
      else if (method !== 'GET' && method !== 'HEAD') response.writeHead(405, { Allow: 'GET, HEAD' }).end()
      else response.writeHead(200, HEADERS).end(method === 'HEAD' ? undefined : page)
    })
    server.on('error', (error) => {
      process.stderr.write(`vmcp-admission: cannot listen on ${HOST}:${wanted}: ${error.message}\n`)
      resolve(EXIT.unread)
    })
    server.listen(wanted, HOST, () => {
      const { port: own } = server.address() as AddressInfo
      process.stdout.write(`http://${HOST}:${own}/\n`)
      process.stderr.write('Nothing leaves the page. Ctrl+C ends it.\n')
    })
    const end = () => {
      server.close()
      server.closeAllConnections()
      resolve(EXIT.clean)
    }
    process.once('SIGINT', end)
    process.once('SIGTERM', end)
  })
}
