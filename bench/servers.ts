import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { closeSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { localPair } from '../src/certificates/local.ts'
import { containerEnvironment } from '../test/support/container.ts'

const script = (path: string) => fileURLToPath(new URL(path, import.meta.url))

/** The folder of certificates, logs and the bundle of this run; removed at the end. */
export const folder = await mkdtemp(join(tmpdir(), 'vmcp-admission-bench-'))
await localPair(folder, ['127.0.0.1'])
// Without a package.json Node would have to guess that these are ES modules.
execFileSync('cp', [script('../package.json'), folder])
execFileSync(process.execPath, [script('../src/generate/bundle.ts'), join(folder, 'dist')], {
  stdio: 'inherit',
})

/** The bundle's files, as the image runs them, with the options of the image. */
export const bundled = (file: 'server/main.js' | 'cli/main.js') => join(folder, 'dist', file)
export const bundleEnvironment = (options?: string) => ({
  ...process.env,
  ...containerEnvironment(),
  ...(options !== undefined && { NODE_OPTIONS: options }),
})

export const NAMES = ['bare node:https', 'Fastify alone', 'vmcp-admission'] as const
export type Name = (typeof NAMES)[number] | 'Go webhook'

const goWebhook = join(folder, 'go-webhook')

/** Builds the webhook in Go; false where there is no Go. The first time takes minutes. */
export function buildsGoWebhook(): boolean {
  const options = {
    cwd: script('go-webhook'),
    env: { ...process.env, GOTOOLCHAIN: 'auto' },
    stdio: 'inherit',
  } as const
  const { error, status } = spawnSync('go', ['build', '-o', goWebhook, '.'], options)
  if (error === undefined && status !== 0) throw new Error('the webhook in Go was not built')
  return error === undefined
}

export interface Server {
  readonly port: number
  readonly pid: number
  /** Of /readyz and /metrics; undefined of the reference servers, which have neither. */
  readonly probeUrl: string | undefined
  /** Milliseconds from the start of the process until it said that it listens. */
  readonly listening: number
  readonly isReady: () => Promise<boolean>
  /** Milliseconds of CPU time of all its threads. */
  readonly cpu: () => number
  /** Megabytes of memory, as /proc/PID/status names them. */
  readonly memory: (field: 'VmRSS' | 'VmHWM' | 'RssAnon') => number
  /** From now on VmHWM is the peak from here. */
  readonly forgetPeak: () => void
  /** Whether the process has not ended. */
  readonly isRunning: () => boolean
  /** Resolves with the exit code; null where a signal has ended the process. */
  readonly stop: () => Promise<number | null>
}

/** Where a server runs, unless as any process does. */
export interface Surroundings {
  /** The file of its log. */
  readonly log?: string
  /** Starts it, such as in a cgroup. */
  readonly enter?: (<T>(start: () => T) => T) | undefined
}

/** Each process that runs, and when it has ended. */
const running = new Map<ChildProcess, Promise<void>>()

/** Starts a server whose log goes to a file, as a container's does: reading it here would cost the same cores. */
export async function startServer(
  name: Name,
  flags: readonly string[] = [],
  options?: string,
  { log = join(folder, `${name.replace(/\W/g, '-')}.log`), enter = (start) => start() }: Surroundings = {},
): Promise<Server> {
  const begun = performance.now()
  const reference = script('reference-server.ts')
  const [program, ...args] = {
    'vmcp-admission': [
      ...[process.execPath, bundled('server/main.js'), '--port', '0', '--probe-port', '0'],
      ...['--cert-dir', folder, ...flags],
    ],
    'Fastify alone': [process.execPath, reference, 'fastify', folder],
    'bare node:https': [process.execPath, reference, 'bare', folder],
    'Go webhook': [goWebhook, folder],
  }[name] as [string, ...string[]]
  writeFileSync(log, '')
  // To append, so that the log can be emptied while the server writes it.
  const output = openSync(log, 'a')
  const child = enter(() =>
    spawn(program, args, {
      stdio: ['ignore', output, 'ignore'],
      env: name === 'vmcp-admission' ? bundleEnvironment(options) : process.env,
    }),
  )
  closeSync(output)
  const ended = new Promise<void>((resolve) => child.on('exit', () => resolve()))
  running.set(child, ended)
  for (;;) {
    const line = readFileSync(log, 'utf8')
      .split('\n')
      .find((each) => each.includes('"listening"'))
    if (line !== undefined) {
      const { url, probeUrl } = JSON.parse(line) as { url: string; probeUrl?: string }
      return {
        port: Number(new URL(url).port),
        pid: child.pid ?? 0,
        probeUrl,
        listening: performance.now() - begun,
        isReady: async () => probeUrl === undefined || (await fetch(`${probeUrl}/readyz`)).ok,
        cpu: () => cpuOf(child),
        memory: (field) => memoryOf(child, field),
        forgetPeak: () => writeFileSync(`/proc/${child.pid}/clear_refs`, '5'),
        isRunning: () => child.exitCode === null && child.signalCode === null,
        stop: async () => {
          child.kill()
          await ended
          running.delete(child)
          return child.exitCode
        },
      }
    }
    if (child.exitCode !== null) throw new Error(`${name} did not start: ${readFileSync(log, 'utf8')}`)
    await setTimeout(2)
  }
}

/** Starts all three, each ready. */
export async function startAll(): Promise<Map<(typeof NAMES)[number], Server>> {
  const servers = new Map<(typeof NAMES)[number], Server>()
  for (const name of NAMES) servers.set(name, await ready(await startServer(name)))
  return servers
}

export async function ready(server: Server): Promise<Server> {
  while (!(await server.isReady())) await setTimeout(5)
  return server
}

/** Ends every process that is left, and removes the folder. */
export async function cleanUp(): Promise<void> {
  for (const child of running.keys()) child.kill('SIGKILL')
  await Promise.all(running.values())
  await rm(folder, { recursive: true, force: true })
}

function cpuOf({ pid }: ChildProcess): number {
  const tasks = `/proc/${pid}/task`
  const nanoseconds = readdirSync(tasks).map((task) =>
    Number(readFileSync(`${tasks}/${task}/schedstat`, 'utf8').split(' ')[0]),
  )
  return nanoseconds.reduce((sum, each) => sum + each, 0) / 1e6
}

function memoryOf({ pid }: ChildProcess, field: string): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1]) / 1_024
}
