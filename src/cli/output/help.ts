import { helpLines } from '../../configuration/flags.ts'
import type { Command } from '../define-command.ts'
import { PROGRAM } from '../program-name.ts'

/** The text of `--help` without a command. */
export function overview(
  groups: readonly (readonly [title: string, commands: readonly Command[]])[],
): string {
  const grouped = groups.map(([title, commands]) => ({
    title,
    rows: commands.flatMap((command) => formsOf(command.name, command)),
  }))
  const width = widest(grouped.flatMap(({ rows }) => rows))
  return text([
    `Usage: ${PROGRAM} COMMAND`,
    '',
    'Checks the authentication resources of vMCP as the admission webhook does, in files and in clusters.',
    '',
    ...grouped.flatMap(({ title, rows }) => [`${title}:`, ...columns(rows, width), '']),
    `${PROGRAM} COMMAND --help prints the flags and exit codes of a command, and an example; --version prints the version.`,
  ])
}

/** The text of `--help` for one command. */
export function helpOf(command: Command, call = `${PROGRAM} ${command.name}`): string {
  const flags = helpLines(command.flags)
  const forms = formsOf(call, command)
  const exits = exitCodesOf(command).map(([code, why]) => `${code} ${why}`)
  return text([
    'Usage:',
    ...columns(forms, widest(forms)),
    ...(flags.length === 0 ? [] : ['', 'Flags, each with its environment variable:', ...flags]),
    '',
    `Exit codes: ${exits.join(', ')}.`,
    ...command.examples.map((example) => `Example: ${call} ${example}`),
  ])
}

/** The exit codes in order, including that for wrong usage, which all commands share. */
export const exitCodesOf = ({ exitCodes }: Command): (readonly [code: string, why: string])[] =>
  Object.entries({ ...exitCodes, 2: 'wrong usage' })

type Row = readonly [left: string, right: string]

/** The usage of a command: each form of its arguments, with what it does. */
export const formsOf = (call: string, { arguments: forms, summary }: Command): Row[] =>
  forms.map(([form, does = summary]) => [`${call} ${form}`.trimEnd(), does])

const widest = (rows: readonly Row[]): number => Math.max(...rows.map(([left]) => left.length))

const columns = (rows: readonly Row[], width: number): string[] =>
  rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`)

const text = (lines: readonly string[]): string => `${lines.join('\n')}\n`
