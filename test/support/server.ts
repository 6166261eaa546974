import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { COMPILE_CACHE } from './compile-cache.ts'
import { programFile } from './programs.ts'

/** A server process on free ports, with its certificates in a folder of its own. */
export interface RunningServer {
  /** Empty for a server that only holds the Lease, and answers no reviews. */
  readonly url: string
  readonly probeUrl: string
  /** The CA in the folder, in PEM; empty when the certificates come from elsewhere. */
  readonly ca: string
  readonly folder: string
  readonly pid: number | undefined
  /** The log so far, a JSON object a line. */
  readonly log: () => string
  /** The output on stderr so far, such as errors at the start. */
  readonly talk: () => string
  /** Stops reading the output of the process, as `head` does. */
  readonly leave: () => void
  readonly ready: () => Promise<void>
  /** Sends the signal and resolves to the exit code; `log` is complete by then. */
  readonly stop: (signal?: NodeJS.Signals) => Promise<number | null>
}

export async function startServer(
  flags: readonly string[] = [],
  certificates?: string,
  environment: Readonly<Record<string, string>> = {},
  main?: string,
): Promise<RunningServer> {
  const folder = certificates ?? (await mkdtemp(join(tmpdir(), 'vmcp-admission-')))
  const args = [
    main ?? programFile('server'),
    '--port',
    '0',
    '--probe-port',
    '0',
    '--cert-dir',
    folder,
    ...flags,
  ]
  const child = spawn(process.execPath, args, {
    env: { ...process.env, ...COMPILE_CACHE, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output = { log: '', talk: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output.log += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output.talk += text))
  const { url = '', probeUrl } = await listening(child, output)
  return {
    url,
    probeUrl,
    ca: await readFile(join(folder, 'ca.crt'), 'utf8').catch(() => ''),
    folder,
    pid: child.pid,
    log: () => output.log,
    talk: () => output.talk,
    leave: () => {
      child.stdout.destroy()
      child.stderr.destroy()
    },
    ready: () => waitUntilReady(probeUrl),
    stop: async (signal = 'SIGTERM') => {
      const running = child.exitCode === null && child.signalCode === null
      const ended = running ? once(child, 'close') : Promise.resolve()
      child.kill(signal)
      await ended
      if (certificates === undefined) await rm(folder, { recursive: true, force: true })
      return child.exitCode
    },
  }
}

/** Milliseconds that a server may take to start: other tests may keep the machine busy. */
const STARTS_WITHIN_MS = 60_000

/** Resolves when /readyz answers with success. */
export async function waitUntilReady(probeUrl: string): Promise<void> {
  const signal = AbortSignal.timeout(STARTS_WITHIN_MS)
  while (!(await fetch(`${probeUrl}/readyz`, { signal })).ok)
    await new Promise((resolve) => setTimeout(resolve, 20))
}

async function listening(child: ChildProcess, output: { log: string; talk: string }) {
  for (let waited = 0; waited < STARTS_WITHIN_MS && child.exitCode === null; waited += 20) {
    const line = output.log.split('\n').find((each) => each.includes('"msg":"listening"'))
    if (line !== undefined) return JSON.parse(line) as { url?: string; probeUrl: string }
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  child.kill('SIGKILL')
  throw new Error(`the server did not start: ${output.talk}${output.log}`)
}
