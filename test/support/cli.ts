import { AsyncLocalStorage } from 'node:async_hooks'
import { spawn } from 'node:child_process'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'
import { run } from '../../src/cli/run.ts'
import { COMPILE_CACHE } from './compile-cache.ts'
import { problemWithOutput } from './output-schemas.ts'
import { programFile } from './programs.ts'

export interface Run {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

interface RunOptions {
  readonly cwd: string
  readonly input?: string | Buffer
  readonly environment?: Readonly<Record<string, string>>
  /** The function that runs in place of the CLI. */
  readonly program?: typeof run
}

const environmentIn = ({ cwd, environment }: RunOptions) => ({
  PATH: process.env.PATH,
  HOME: cwd,
  ...environment,
})

/** Runs the CLI in a process of its own. `runCli` takes a tenth of the time; use this where a test needs a process. */
export async function spawnCli(args: readonly string[], options: RunOptions): Promise<Run> {
  const { cwd, input = '' } = options
  const child = spawn(process.execPath, [programFile('cli'), ...args], {
    cwd,
    env: { ...COMPILE_CACHE, ...environmentIn(options) },
  })
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve))
  child.stdin.on('error', () => undefined).end(input)
  const [stdout, stderr, status] = await Promise.all([text(child.stdout), text(child.stderr), ended])
  return { status, stdout, stderr }
}

/** The input and output of the CLI run in progress; other output of this process is not captured. */
const streams = new AsyncLocalStorage<{ input: Readable; stdout: string; stderr: string }>()
let last: Promise<unknown> = Promise.resolve()

function divert(): void {
  for (const name of ['stdout', 'stderr'] as const) {
    const stream = process[name]
    const write = stream.write.bind(stream) as (...args: unknown[]) => boolean
    stream.write = (...args: unknown[]) => {
      const own = streams.getStore()
      if (own === undefined) return write(...args)
      own[name] += String(args[0])
      return true
    }
  }
  const { stdin } = process
  Object.defineProperty(process, 'stdin', { get: () => streams.getStore()?.input ?? stdin })
}
divert()

/**
 * Runs the CLI in this process with a working folder; runs wait for each other. The user's HOME and environment are
 * hidden. JSON output must match its schema.
 */
export function runCli(args: readonly string[], options: RunOptions): Promise<Run> {
  const running = last.then(async () => {
    const { cwd, input = '', program = run } = options
    const before = { cwd: process.cwd(), home: process.env.HOME }
    process.chdir(cwd)
    process.env.HOME = cwd
    const own = { input: Readable.from([Buffer.from(input)]), stdout: '', stderr: '' }
    try {
      const status = await streams.run(own, () => program(args, environmentIn(options)))
      const problem = program === run ? problemWithOutput(args, own.stdout) : undefined
      if (problem !== undefined) throw new Error(problem)
      return { status, stdout: own.stdout, stderr: own.stderr }
    } finally {
      process.chdir(before.cwd)
      if (before.home === undefined) delete process.env.HOME
      else process.env.HOME = before.home
    }
  })
  last = running.catch(() => undefined)
  return running
}

/** Runs a command in this process and returns what it prints. One at a time; the command has no standard input. */
export async function runHere(
  t: Test,
  command: (args: string[], environment: Record<string, string>) => Promise<number>,
  args: readonly string[],
): Promise<Run> {
  const out = t.capture(process.stdout, 'write', () => true)
  const err = t.capture(process.stderr, 'write', () => true)
  const texts = (captured: { args: readonly unknown[] }[]) => captured.map((each) => each.args[0]).join('')
  try {
    const status = await command([...args], {})
    return { status, stdout: texts(out()), stderr: texts(err()) }
  } finally {
    out.restore()
    err.restore()
  }
}
