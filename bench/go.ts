import { execFileSync, spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

/** A Go program that answers each line of its standard input with a line. */
export interface GoProgram {
  /** Its folder, from the top of the repository. */
  readonly folder: string
  /** The package in the module; the one in its folder unless given. */
  readonly pkg?: string
  /** A go.mod of another name. */
  readonly modfile?: string
  readonly args?: readonly string[]
}

const ROOT = new URL('../', import.meta.url)
const folderOf = ({ folder }: GoProgram) => fileURLToPath(new URL(folder, ROOT))
const flagsOf = ({ modfile }: GoProgram) => (modfile === undefined ? [] : ['-modfile', modfile])
const ENVIRONMENT = { ...process.env, GOTOOLCHAIN: 'auto' }

/** The answers of the program, in the order of the lines. Needs Go; rejects without it. */
export async function goAnswers(program: GoProgram, lines: readonly string[]): Promise<string[]> {
  if (lines.length === 0) return []
  const child = spawn('go', ['run', ...flagsOf(program), program.pkg ?? '.', ...(program.args ?? [])], {
    cwd: folderOf(program),
    env: ENVIRONMENT,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  // Where it ends early, too few answers tell it.
  child.stdin.on('error', () => undefined)
  const ended = new Promise<void>((resolve, reject) => child.on('error', reject).on('exit', () => resolve()))
  child.stdin.end(`${lines.join('\n')}\n`)
  const [output] = await Promise.all([text(child.stdout), ended])
  const answers = output.trimEnd().split('\n')
  if (answers.length !== lines.length)
    throw new Error(`${program.folder} gave ${answers.length} answers to ${lines.length} lines`)
  return answers
}

/** The version of a module in the build list of the program, such as `v0.33.2`. */
export const moduleVersion = (program: GoProgram, module: string): string =>
  execFileSync('go', ['list', ...flagsOf(program), '-m', '-f', '{{.Version}}', module], {
    cwd: folderOf(program),
    env: ENVIRONMENT,
    encoding: 'utf8',
  }).trim()

/** The version of Go that builds the program, such as `go1.26.8`. */
export const goVersion = (program: GoProgram): string =>
  execFileSync('go', ['env', 'GOVERSION'], {
    cwd: folderOf(program),
    env: ENVIRONMENT,
    encoding: 'utf8',
  }).trim()
