import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))

export interface Run {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs the CLI in a folder; settings and clusters of whoever runs the tests do not count. */
export async function runCli(
  args: readonly string[],
  { cwd, input = '', environment = {} }: RunOptions,
): Promise<Run> {
  const child = spawn(process.execPath, [MAIN, ...args], {
    cwd,
    env: {
      PATH: process.env.PATH,
      HOME: cwd,
      NODE_COMPILE_CACHE: join(cwd, '.compile-cache'),
      ...environment,
    },
  })
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve))
  child.stdin.on('error', () => undefined).end(input)
  const [stdout, stderr, status] = await Promise.all([text(child.stdout), text(child.stderr), ended])
  return { status, stdout, stderr }
}

interface RunOptions {
  readonly cwd: string
  readonly input?: string
  readonly environment?: Readonly<Record<string, string>>
}

/** What a command printed, run in this process: one at a time, without standard input. */
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
