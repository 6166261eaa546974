import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

interface Step {
  readonly id?: string
  readonly env?: Readonly<Record<string, string>>
  readonly run?: string
}

interface Action {
  readonly inputs: Readonly<Record<string, { readonly default: string }>>
  readonly runs: { readonly steps: readonly Step[] }
}

/** The values of a GitHub Actions runner that action.yml uses. */
export interface Runner {
  readonly os: 'Linux' | 'macOS' | 'Windows'
  readonly arch: 'X64' | 'ARM64'
  /** The base URL for downloads of releases, in place of https://github.com. */
  readonly server: string
  readonly repository: string
  readonly temp: string
  readonly workspace: string
  readonly path: string
}

export interface Ran {
  readonly status: number
  readonly said: string
  readonly outputs: Readonly<Record<string, string>>
}

/** Runs the scripts of the steps in action.yml in their order, as a runner does, until one fails. */
export async function runAction(runner: Runner, given: Readonly<Record<string, string>>): Promise<Ran> {
  const { inputs, runs } = parse(readFileSync(`${ROOT}action.yml`, 'utf8')) as Action
  const values: Record<string, string> = {
    'github.action_repository || github.repository': runner.repository,
  }
  for (const [name, input] of Object.entries(inputs)) values[`inputs.${name}`] = given[name] ?? input.default
  const evaluated = (text: string) =>
    text.replaceAll(/\$\{\{ (.*?) \}\}/g, (_, expression: string) => {
      const value = values[expression]
      if (value === undefined) throw new Error(`the test cannot evaluate ${expression}`)
      return value
    })

  mkdirSync(runner.temp, { recursive: true })
  const files = { GITHUB_PATH: join(runner.temp, 'path'), GITHUB_OUTPUT: join(runner.temp, 'output') }
  for (const file of Object.values(files)) writeFileSync(file, '')
  let said = ''
  let status = 0
  for (const { run, env = {} } of runs.steps) {
    if (run === undefined || status !== 0) continue
    const script = join(runner.temp, 'script.sh')
    writeFileSync(script, run)
    const added = readFileSync(files.GITHUB_PATH, 'utf8').trim().split('\n').toReversed()
    const ended = await bash(script, runner.workspace, {
      ...files,
      ...Object.fromEntries(Object.entries(env).map(([name, value]) => [name, evaluated(value)])),
      PATH: [...added, runner.path].join(delimiter),
      HOME: runner.temp,
      RUNNER_OS: runner.os,
      RUNNER_ARCH: runner.arch,
      RUNNER_TEMP: runner.temp,
      GITHUB_SERVER_URL: runner.server,
      GITHUB_ACTION_PATH: ROOT,
    })
    said += ended.said
    status = ended.status
  }
  const outputs = readFileSync(files.GITHUB_OUTPUT, 'utf8').matchAll(/^(.+?)=(.*)$/gm)
  return {
    status,
    said,
    outputs: Object.fromEntries([...outputs].map(([, name = '', value = '']) => [name, value])),
  }
}

/** Runs a script as the runner does for a step with `shell: bash`. */
function bash(
  script: string,
  cwd: string,
  env: Record<string, string>,
): Promise<{ status: number; said: string }> {
  return new Promise((resolve) => {
    const args = ['--noprofile', '--norc', '-eo', 'pipefail', script]
    const child = execFile('bash', args, { cwd, env }, (_, stdout, stderr) =>
      resolve({ status: child.exitCode ?? 1, said: stdout + stderr }),
    )
  })
}
