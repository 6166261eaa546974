import manifest from '../../package.json' with { type: 'json' }
import { type Environment, UsageError } from '../configuration/flags.ts'
import { nearest } from '../rule/index.ts'
import { COMMANDS, GROUPS } from './commands.ts'
import type { Command } from './define-command.ts'
import { helpOf, overview } from './output/help.ts'
import { EXIT } from './output/report.ts'
import { visibleLines } from './output/visible.ts'
import { PROGRAM } from './program-name.ts'

const HELP: ReadonlySet<string | undefined> = new Set(['help', '--help', '-h'])

/** Runs the command that the arguments name and returns the exit code. Never throws. */
export function run(args: readonly string[], environment: Environment): Promise<number> {
  const [name = ''] = args
  const help = COMMANDS.has(name) ? `${name} --help` : '--help'
  return reporting(() => runCommand(args, environment), `${PROGRAM} ${help}`)
}

/**
 * Runs a program and returns its exit code. Never throws: on wrong usage prints the error and how to get help; prints
 * an internal error with its stack.
 */
export async function reporting(program: () => Promise<number>, help: string): Promise<number> {
  try {
    return await program()
  } catch (error) {
    if (!(error instanceof UsageError)) {
      process.stderr.write(
        `${visibleLines(`vmcp-admission: ${error instanceof Error ? error.stack : String(error)}`)}\n`,
      )
      return EXIT.unread
    }
    process.stderr.write(
      `${visibleLines(`vmcp-admission: ${error.message}`)}\n${help} shows how it is used\n`,
    )
    return EXIT.usage
  }
}

async function runCommand([name, ...args]: readonly string[], environment: Environment): Promise<number> {
  if (name === '--version') {
    process.stdout.write(`${manifest.version}\n`)
    return EXIT.clean
  }
  if (!HELP.has(name) && !args.some((arg) => arg === '--help' || arg === '-h'))
    return name === undefined ? await suggest() : commandNamed(name).run(args, environment)
  const about = HELP.has(name) ? args[0] : name
  process.stdout.write(about === undefined ? overview(GROUPS) : helpOf(commandNamed(about)))
  return EXIT.clean
}

/** Throws a UsageError that lists all commands, and suggests `check .` if the working directory has manifests. */
async function suggest(): Promise<never> {
  const { holdsManifests } = await import('./input/manifests.ts')
  const here = (await holdsManifests('.')) ? `; \`${PROGRAM} check .\` judges the manifests here` : ''
  throw new UsageError(`name a command: ${listed('or')}${here}`)
}

/** Names that other programs use for a command like `check`. */
const CALLED_CHECK: ReadonlySet<string> = new Set(['lint', 'validate', 'verify'])

function commandNamed(name: string): Command {
  const command = COMMANDS.get(name)
  if (command !== undefined) return command
  const near = CALLED_CHECK.has(name) ? 'check' : nearest(name, COMMANDS.keys())
  const advice = near === undefined ? `the commands are ${listed('and')}` : `did you mean '${near}'`
  throw new UsageError(`'${name}' is not a command; ${advice}`)
}

/** The names of the commands as a list in a sentence: `a, b or c`. */
function listed(word: 'and' | 'or'): string {
  const names = GROUPS.flatMap(([, commands]) => commands.map(({ name }) => name))
  return `${names.slice(0, -1).join(', ')} ${word} ${names.at(-1) ?? ''}`
}
