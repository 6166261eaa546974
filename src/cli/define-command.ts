import { type Environment, readFlags, type Values } from '../configuration/flags.ts'

/** The description of a command, from which `--help`, the completion, docs/flags.md and the manual page are made. */
interface Description {
  readonly name: string
  readonly summary: string
  /** The forms of the command's arguments, each with a description; the summary describes a form that has none. */
  readonly arguments: readonly (readonly [form: string, does?: string])[]
  /** Words that the command accepts as an argument instead of a file; shells complete them. */
  readonly words?: readonly string[]
  /** Example calls of the command: the arguments, without the command itself. */
  readonly examples: readonly [string, ...string[]]
  /** The meaning of each exit code; 2 is wrong usage for every command. */
  readonly exitCodes: Readonly<Record<number, string>>
}

export interface Invocation<F> {
  readonly flags: Values<F>
  /** The arguments that are not flags. */
  readonly names: readonly string[]
  /** All arguments as given, flags too: some flags have no effect when only the environment sets them. */
  readonly args: readonly string[]
  readonly environment: Environment
}

export interface Command extends Description {
  readonly flags: object
  /** Runs the command and returns the exit code. Throws UsageError. */
  readonly run: (args: readonly string[], environment: Environment) => Promise<number>
}

/** The result of a command: its exit code, and its output in each format that it has. */
export interface CommandResult<Output> {
  readonly code: number
  /** Returns the output in the given format. Throws UsageError for a format that this result does not have. */
  readonly text: (output: Output) => string | Promise<string>
}

/** Prints the result of a command in the given format, and returns its exit code. */
export async function print<Output>({ code, text }: CommandResult<Output>, output: Output): Promise<number> {
  process.stdout.write(await text(output))
  return code
}

/** Makes a command from its description. A command without flags gets every argument as a name, even `--x`. */
export const defineCommand = <F extends object>(
  literal: Description & {
    readonly flags: F
    /** Runs the command and returns the exit code. Throws UsageError. */
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

/** The meaning of exit code 3 of a command, as its help prints it. */
export const UNREAD = 'something could not be read'
/** The meanings of the exit codes of a command that prints findings. */
export const OF_FINDINGS = { 0: 'no error', 1: 'at least one error', 3: UNREAD }
