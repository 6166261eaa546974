import { parseArgs } from 'node:util'
import { errorMessage, nearest } from '../rule/index.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** A setting that can be given as a flag or as an environment variable. */
export interface Flag<T> {
  /** The description of the flag in `--help`; `argument` names the value. A flag without `argument` is a switch. */
  readonly help: string
  readonly argument?: string
  /** The value when the flag is given without one; to give another value, it must follow a `=`. */
  readonly alone?: string
  /** Whether the flag may be given several times; in the environment, `;` separates the values. */
  readonly repeated?: boolean
  readonly fallback: T
  /** Parses one value; `before` is the result of earlier values. Throws an Error that says what to write instead. */
  readonly read: (text: string, before: T) => T
}

export type Values<F> = { readonly [K in keyof F]: F[K] extends Flag<infer T> ? T : never }

/** Thrown for an invalid flag or variable. The message is one line for the user; the process exits with code 2. */
export class UsageError extends Error {}

/** Reads flags, then the environment (`--probe-port` is `VMCP_PROBE_PORT`), then the fallbacks. Throws UsageError. */
export function readFlags<F extends object>(
  table: F,
  args: readonly string[],
  environment: Environment,
): { values: Values<F>; positionals: string[] } {
  const flags = table as unknown as Record<string, Flag<unknown>>
  const given = parse(flags, args)
  const values = Object.entries(flags).map(([name, flag]) => {
    const variable = variableOf(name)
    const written = given.values[name]
    const source = written === undefined ? variable : `--${name}`
    const texts = written ?? fromEnvironment(flag, environment[variable])
    return [name, texts.reduce<unknown>((before, text) => readOne(flag, text, before, source), flag.fallback)]
  })
  return { values: Object.fromEntries(values) as Values<F>, positionals: given.positionals }
}

function variableOf(name: string): string {
  return `VMCP_${name.toUpperCase().replaceAll('-', '_')}`
}

function parse(flags: Record<string, Flag<unknown>>, args: readonly string[]) {
  const options = Object.fromEntries(
    Object.entries(flags).map(([name, { argument }]) => [
      name,
      { type: argument === undefined ? ('boolean' as const) : ('string' as const), multiple: true },
    ]),
  )
  const alone = (arg: string) => {
    const value = arg.startsWith('--') ? flags[arg.slice(2)]?.alone : undefined
    return value === undefined ? arg : `${arg}=${value}`
  }
  try {
    const { values, positionals } = parseArgs({
      args: args.map(alone),
      options,
      allowPositionals: true,
      strict: true,
    })
    const texts = Object.entries(values).map(([name, list]) => [name, [list].flat().map(String)])
    return { values: Object.fromEntries(texts) as Record<string, string[] | undefined>, positionals }
  } catch (error) {
    throw new UsageError(problemWith(error as NodeJS.ErrnoException, flags))
  }
}

function fromEnvironment({ repeated }: Flag<unknown>, text: string | undefined): string[] {
  if (text === undefined || text === '') return []
  return repeated ? text.split(';').filter((part) => part !== '') : [text]
}

function readOne({ read }: Flag<unknown>, text: string, before: unknown, source: string): unknown {
  try {
    return read(text, before)
  } catch (error) {
    throw new UsageError(`${source}: ${errorMessage(error)}`)
  }
}

/** The user's message for an error of Node's `parseArgs`. */
function problemWith({ code, message }: NodeJS.ErrnoException, flags: Record<string, Flag<unknown>>): string {
  const [given = '', name = ''] = /--?([\w-]+)/.exec(message) ?? []
  if (code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION') {
    const known = Object.keys(flags)
    const near = name.length === 1 ? known.find((flag) => flag.startsWith(name)) : nearest(name, known)
    return `there is no flag ${given}${near === undefined ? '' : `; did you mean '--${near}'`}`
  }
  const argument = flags[name]?.argument
  return argument === undefined ? `${given} takes no value` : `${given} needs a value: ${given} ${argument}`
}

/** The description of a flag in `--help`. */
export interface FlagText {
  /** The flag with its argument, such as `--mode MODE`. */
  readonly usage: string
  readonly help: string
  /** The default as text; empty when there is none. */
  readonly fallback: string
  /** The environment variable, and the separator of several values. */
  readonly variable: string
}

export function flagTexts(table: object): FlagText[] {
  return Object.entries(table as Record<string, Flag<unknown>>).map(([name, flag]) => {
    const { argument, alone, help, fallback, repeated } = flag
    const value = argument === undefined ? '' : alone === undefined ? ` ${argument}` : `[=${argument}]`
    return {
      usage: `--${name}${value}`,
      help,
      fallback: ['string', 'number'].includes(typeof fallback) ? String(fallback) : '',
      variable: `${variableOf(name)}${repeated ? ', separated by ;' : ''}`,
    }
  })
}

/** The most characters of the column of flags; the description of a wider flag begins further to the right. */
const WIDEST = 36

/** The lines of `--help` for a table of flags. */
export function helpLines(table: object): string[] {
  const texts = flagTexts(table)
  const width = Math.min(WIDEST, Math.max(...texts.map(({ usage }) => usage.length)))
  return texts.map(
    ({ usage, help, fallback, variable }) =>
      `  ${usage.padEnd(width)}  ${help}${fallback === '' ? '' : ` (default ${fallback})`} [${variable}]`,
  )
}

export const text = (help: string, argument: string, fallback: string): Flag<string> => ({
  help,
  argument,
  fallback,
  read: (value) => value,
})

export const toggle = (help: string): Flag<boolean> => ({
  help,
  fallback: false,
  read: (value) => {
    if (value !== 'true' && value !== 'false') throw new Error(`'${value}' is not true or false`)
    return value === 'true'
  },
})

export const choice = <T extends string, F extends T | undefined = T>(
  help: string,
  choices: readonly T[],
  fallback: F,
): Flag<T | F> => ({
  help,
  argument: choices.join('|'),
  fallback,
  read: (value) => {
    const chosen = choices.find((each) => each === value)
    if (chosen === undefined) throw new Error(`'${value}' is not one of ${choices.join(', ')}`)
    return chosen
  },
})

/** A flag whose value is names of namespaces, separated by commas. */
export const namespaceNames = (help: string): Flag<readonly string[]> => ({
  help,
  argument: 'NAMES',
  fallback: [],
  read: (written) => {
    const names = written.split(',').map((name) => name.trim())
    const wrong = names.find((name) => !isNamespaceName(name))
    if (wrong !== undefined) throw new Error(`'${wrong}' is not the name of a namespace`)
    return [...new Set(names)]
  },
})

export const isNamespaceName = (text: string): boolean => /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(text)

export const port = (help: string, fallback: number): Flag<number> => ({
  help,
  argument: 'PORT',
  fallback,
  read: (value) => {
    if (!/^\d{1,5}$/.test(value) || Number(value) > 65_535)
      throw new Error(`'${value}' is not a port from 0 to 65535`)
    return Number(value)
  },
})
