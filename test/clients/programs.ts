import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { ApiServer } from '../e2e/api-server.ts'
import { called, kubectl, register } from '../e2e/cluster.ts'
import { findBinaries } from '../e2e/find-binaries.ts'
import { waitFor } from '../e2e/wait-for.ts'
import { freePort } from '../support/free-port.ts'
import { type RunningServer, startServer } from '../support/server.ts'
import type { Webhook } from './stories.ts'

/** The folder that `build.sh clients` creates; undefined, after a failed assertion, when a program is missing. */
export function findClients(root: Test, ...programs: readonly string[]): string | undefined {
  const folder = process.env.CLIENTS ?? ''
  const binaries = findBinaries()
  if ('missing' in binaries) root.fail(binaries.missing)
  else if (!existsSync(join(folder, 'crds')))
    root.fail('no Flux and no Argo CD; get them with export CLIENTS=$(test/e2e/binaries/build.sh clients)')
  else {
    const missing = programs.filter((program) => spawnSync(program, ['--version']).error !== undefined)
    if (missing.length === 0) return folder
    root.fail(`not on the PATH: ${missing.join(', ')}`)
  }
  return undefined
}

/** Installs the clients' CRDs whose file names match the pattern. */
export async function installCrdsOf(api: ApiServer, clients: string, pattern: RegExp): Promise<void> {
  const files = readdirSync(join(clients, 'crds')).filter((name) => pattern.test(name))
  const args = files.flatMap((name) => ['-f', join(clients, 'crds', name)])
  await kubectl(api, ['apply', '--server-side', ...args])
  // `kubectl wait` fails for a CRD that has no condition yet.
  const established = () => kubectl(api, ['wait', '--for=condition=Established', ...args])
  await waitFor(established, { seconds: 60, what: 'the CRDs to be served' })
}

/** A temporary folder, deleted at the end of the test. */
export function folderFor(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-clients-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Starts a program that is stopped at the end of the test; returns a function that reads its output so far. */
export function startProgram(
  t: Test,
  folder: string,
  name: string,
  program: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): () => string {
  const file = join(folder, `${name}.log`)
  const log = openSync(file, 'a')
  const child = spawn(program, args, {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: folder, TMPDIR: folder, ...environment },
    stdio: ['ignore', log, log],
  })
  closeSync(log)
  const output = () => readFileSync(file, 'utf8')
  let isWanted = true
  child.once('error', (error) => t.fail(`${name}: ${error.message}`))
  const ended = once(child, 'close').then(() => {
    if (isWanted) t.fail(`${name} ended: ${output().slice(-2_000)}`)
  })
  t.teardown(async () => {
    isWanted = false
    child.kill('SIGKILL')
    await ended.catch(() => undefined)
  })
  return output
}

/** Registers a webhook whose address stays the same when it restarts. */
export async function armedWebhook(t: Test, api: ApiServer, defaults: string): Promise<Webhook> {
  const [folder, port] = [folderFor(t), await freePort()]
  const flags = ['--kubeconfig', api.kubeconfig, '--defaults', defaults, '--port', String(port)]
  let server: RunningServer | undefined
  const start = async () => {
    server = await startServer(flags, folder)
    await register(api, server)
    await called(api, server)
  }
  const stop = async () => {
    await server?.stop('SIGKILL')
  }
  t.teardown(stop)
  await start()
  return { start, stop }
}
