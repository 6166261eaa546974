import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { stringify } from 'yaml'
import { ROOT } from '../e2e/cluster.ts'
import { type Resource, textOf } from '../e2e/resources.ts'

/** A git repository of manifests, served over HTTP. */
export interface Repository {
  readonly url: string
  /** Commits these folders as the whole content and returns the id of the commit. */
  readonly commit: (folders: Readonly<Record<string, readonly Resource[]>>) => string
  /** Copies a folder of this project to the same path in the next commit. */
  readonly copy: (path: string) => void
  readonly close: () => void
}

/** Creates a repository in a folder and serves it with `git http-backend` on 127.0.0.1. */
export async function serveRepository(folder: string): Promise<Repository> {
  const tree = join(folder, 'tree')
  mkdirSync(tree)
  const author = ['-c', 'user.name=a', '-c', 'user.email=a@example.com']
  const where = [`--git-dir=${folder}/fleet.git`, `--work-tree=${tree}`]
  const git = (...args: readonly string[]) =>
    execFileSync('git', [...author, ...where, ...args], { cwd: tree, encoding: 'utf8' }).trim()
  execFileSync('git', ['init', '--quiet', '--bare', '--initial-branch=main', join(folder, 'fleet.git')])
  const server = createServer((request, response) => void answer(folder, request, response))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/fleet.git`,
    commit: (folders) => {
      for (const [name, resources] of Object.entries(folders)) {
        rmSync(join(tree, name), { recursive: true, force: true })
        mkdirSync(join(tree, name))
        for (const [i, resource] of resources.entries())
          writeFileSync(join(tree, name, fileOf(i, resource)), stringify(resource))
      }
      git('add', '--all')
      git('commit', '--quiet', '--allow-empty', '--message', 'change')
      return git('rev-parse', 'HEAD')
    },
    copy: (path) => cpSync(ROOT + path, join(tree, path), { recursive: true }),
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

/** The file name begins with a number, so that the files keep the order of the resources. */
const fileOf = (i: number, resource: Resource) =>
  `${String(i).padStart(2, '0')}-${textOf(resource).replace('/', '-').toLowerCase()}.yaml`

/** Answers one request by CGI (RFC 3875). */
async function answer(folder: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, search } = new URL(request.url ?? '', 'http://localhost')
  const { headers, method } = request
  const git = spawn('git', ['http-backend'], {
    env: {
      PATH: process.env.PATH,
      GIT_PROJECT_ROOT: folder,
      GIT_HTTP_EXPORT_ALL: '1',
      PATH_INFO: pathname,
      QUERY_STRING: search.slice(1),
      REQUEST_METHOD: method,
      CONTENT_TYPE: headers['content-type'],
      HTTP_CONTENT_ENCODING: headers['content-encoding'],
      HTTP_GIT_PROTOCOL: headers['git-protocol']?.toString(),
    },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  request.pipe(git.stdin)
  const all = await buffer(git.stdout)
  const end = all.indexOf('\r\n\r\n')
  for (const line of all.subarray(0, end).toString().split('\r\n')) {
    const [name = '', value = ''] = line.split(': ', 2)
    if (name === 'Status') response.statusCode = Number.parseInt(value)
    else response.setHeader(name, value)
  }
  response.end(all.subarray(end + 4))
}
