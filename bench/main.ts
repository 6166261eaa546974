import { spawn } from 'node:child_process'
import { openSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { localPair } from '../src/certificates/local.ts'
import { authServerReview, roleMappingsReview } from './bodies.ts'

/**
 * Requests per second of /validate and /mutate on one core over TLS keep-alive, beside a bare node:https server and one
 * of Fastify that answers the same constant, in the same run and in short turns; the ratio within each round is what
 * counts, because machines drift. Each server is started several times, because no two processes are equally fast.
 */
const STARTS = Number(process.env.STARTS ?? 3)
const ROUNDS = Number(process.env.ROUNDS ?? 40)
const MILLISECONDS = Number(process.env.MILLISECONDS ?? 200)
/** Until what is hot is compiled. */
const WARM_UP = Number(process.env.WARM_UP ?? 6_000)
const CONNECTIONS = 16

interface Running {
  readonly port: string
  readonly stop: () => void
}

const script = (path: string) => fileURLToPath(new URL(path, import.meta.url))

/** Starts a server whose log goes to a file, as a container's does: reading it here would cost the same cores. */
async function start(name: string, args: readonly string[]): Promise<Running> {
  const path = join(folder, `${name}.log`)
  const log = openSync(path, 'w')
  const child = spawn(process.execPath, args, { stdio: ['ignore', log, 'ignore'] })
  for (;;) {
    const line = readFileSync(path, 'utf8')
      .split('\n')
      .find((each) => each.includes('"listening"'))
    if (line !== undefined)
      return { port: new URL((JSON.parse(line) as { url: string }).url).port, stop: () => child.kill() }
    if (child.exitCode !== null) throw new Error(`${name} did not start`)
    await setTimeout(50)
  }
}

/** Answers per second of each server, round by round. */
async function load(servers: readonly Running[], path: string, body: string): Promise<number[][]> {
  const numbers = [CONNECTIONS, WARM_UP, ROUNDS, MILLISECONDS].map(String)
  const args = [script('load.ts'), path, ...numbers, ...servers.map(({ port }) => port)]
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  child.stdin.end(body)
  const turns = await text(child.stdout)
  if (turns === '') throw new Error(`no figures for ${path}`)
  return JSON.parse(turns) as number[][]
}

const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN

const folder = await mkdtemp(join(tmpdir(), 'vmcp-admission-bench-'))
await localPair(folder, ['127.0.0.1'])
const flags = ['--port', '0', '--probe-port', '0', '--cert-dir', folder]
const commands = {
  bare: [script('bare-server.ts'), folder],
  fastify: [script('fastify-server.ts'), folder],
  ours: [script('../src/server/main.ts'), ...flags],
}
const rows = Object.entries({
  'authorization server': authServerReview(),
  '155 role mappings': roleMappingsReview(),
}).flatMap(([name, body]) =>
  ['/validate', '/mutate'].map((path) => ({ name, body, path, turns: [] as number[][] })),
)

try {
  for (let i = 0; i < STARTS; i++) {
    process.stderr.write(`start ${i + 1} of ${STARTS}\n`)
    const servers: Running[] = []
    try {
      for (const [name, args] of Object.entries(commands)) servers.push(await start(name, args))
      for (const { path, body, turns } of rows) turns.push(...(await load(servers, path, body)))
    } finally {
      for (const server of servers) server.stop()
    }
  }
} finally {
  await rm(folder, { recursive: true })
}

process.stdout.write(
  '| review | path | bare node:https | Fastify alone | vmcp-admission | ratio of Fastify | ratio of vmcp-admission |\n|---|---|---|---|---|---|---|\n',
)
for (const { name, body, path, turns } of rows) {
  const rate = (i: number) => `${median(turns.map((turn) => turn[i] ?? NaN)).toFixed(0)}/s`
  const ratio = (i: number) =>
    median(turns.map(([reference = NaN, ...others]) => (others[i] ?? NaN) / reference)).toFixed(2)
  const size = `${(body.length / 1024).toFixed(1)} KB`
  const row = [`${name}, ${size}`, path, rate(0), rate(1), rate(2), ratio(0), ratio(1)]
  process.stdout.write(`| ${row.join(' | ')} |\n`)
}
