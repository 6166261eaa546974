import { type Environment, readFlags, type Values } from '../configuration/flags.ts'

/** A command in data: `--help`, the completion, docs/flags.md and the manual page come from it. */
interface Description {
  readonly name: string
  readonly summary: string
  /** The forms of its arguments, and what each does; the summary where that is left out. */
  readonly arguments: readonly (readonly [form: string, does?: string])[]
  /** The words that may stand as an argument, beside files: a shell completes them. */
  readonly words?: readonly string[]
  /** The arguments of each example. */
  readonly examples: readonly [string, ...string[]]
  /** The meaning of each exit code; 2 is wrong usage for every command. */
  readonly exitCodes: Readonly<Record<number, string>>
}

/** A command as it was called. */
export interface Invocation<F> {
  readonly flags: Values<F>
  /** The arguments that are no flags. */
  readonly names: readonly string[]
  /** All arguments as they were written: some flags count only where they are not from the environment. */
  readonly args: readonly string[]
  readonly environment: Environment
}

export interface Command extends Description {
  readonly flags: object
  /** Returns the exit code. Throws UsageError. */
  readonly run: (args: readonly string[], environment: Environment) => Promise<number>
}

/** What a command found, in each format that it has. */
export interface CommandResult<Output> {
  readonly code: number
  /** Throws UsageError for a format that this result does not have. */
  readonly text: (output: Output) => string | Promise<string>
}

/** Prints an outcome in one format, and returns the exit code. */
export async function print<Output>({ code, text }: CommandResult<Output>, output: Output): Promise<number> {
  process.stdout.write(await text(output))
  return code
}

/** The command that a literal describes. One without flags takes every argument as a name. */
export const defineCommand = <F extends object>(
  literal: Description & {
    readonly flags: F
    /** Returns the exit code. Throws UsageError. */
    run(invocation: Invocation<F>): number | Promise<number>
  },
): Command => ({
  ...literal,
  run: async (args, environment) => {
    const takesFlags = Object.keys(literal.flags).length > 0
    const { values, positionals } = readFlags(literal.flags, takesFlags ? args : [], environment)
    return literal.run({ flags: values, names: takesFlags ? positionals : args, args, environment })
  },
})

/** Why the exit code is 3. */
export const UNREAD = 'something could not be read'
/** The exit codes of a command that prints findings. */
export const OF_FINDINGS = { 0: 'no error', 1: 'at least one error', 3: UNREAD }
