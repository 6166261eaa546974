#!/usr/bin/env node
import manifest from '../../package.json' with { type: 'json' }
import { UsageError } from '../configuration/flags.ts'
import { nearest } from '../rule/nearest.ts'
import { type Command, COMMANDS, helpOf, listed, overview } from './commands.ts'
import { EXIT } from './report.ts'

const HELP: ReadonlySet<string | undefined> = new Set(['help', '--help', '-h'])

async function main([name, ...args]: readonly string[]): Promise<number> {
  if (name === '--version') {
    process.stdout.write(`${manifest.version}\n`)
    return EXIT.clean
  }
  if (!HELP.has(name) && !args.some((arg) => arg === '--help' || arg === '-h'))
    return commandNamed(name).run(args, process.env)
  const about = HELP.has(name) ? args[0] : name
  process.stdout.write(about === undefined ? overview() : helpOf(about, commandNamed(about)))
  return EXIT.clean
}

function commandNamed(name: string | undefined): Command {
  if (name === undefined) throw new UsageError(`name a command: ${listed('or')}`)
  const command = COMMANDS.get(name)
  if (command !== undefined) return command
  const near = nearest(name, COMMANDS.keys())
  const advice = near === undefined ? `the commands are ${listed('and')}` : `did you mean '${near}'`
  throw new UsageError(`'${name}' is not a command; ${advice}`)
}

/** One line for the person; the stack only when the fault is ours. Returns the exit code. */
function failed(error: unknown): number {
  if (error instanceof UsageError) {
    const [, , name = ''] = process.argv
    const help = COMMANDS.has(name) ? `${name} --help` : '--help'
    process.stderr.write(`vmcp-admission: ${error.message}\nvmcp-admission ${help} shows how it is used\n`)
    return EXIT.usage
  }
  process.stderr.write(`vmcp-admission: ${error instanceof Error ? error.stack : String(error)}\n`)
  return EXIT.unread
}

// Whoever reads the output may stop early, as `head` does; a disk may be full.
process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
  if (code === 'EPIPE') return
  process.stderr.write(`vmcp-admission: cannot write the output: ${message}\n`)
  process.exit(EXIT.unread)
})

process.exitCode = await main(process.argv.slice(2)).catch(failed)

// A plugin for credentials that hangs must not keep us once all is written.
process.stdout.write('', () => setTimeout(() => process.exit(), 100).unref())
