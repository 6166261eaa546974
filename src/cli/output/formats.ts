import { choice, toggle } from '../../configuration/flags.ts'
import type { Profile } from '../../review/profiles.ts'
import { printHuman } from './human.ts'
import { printJson } from './json.ts'
import { printLines } from './line.ts'
import type { Format, Report } from './report.ts'
import { terminalOf } from './terminal.ts'

const FORMATS = { human: printHuman, line: printLines, json: printJson } satisfies Record<string, Format>

/** The flags of the commands that report findings. */
export const REPORT_FLAGS = {
  output: choice(
    'format of the output: human on a terminal by default, elsewhere line, which is one line for each finding',
    Object.keys(FORMATS) as (keyof typeof FORMATS)[],
    undefined,
  ),
  advice: toggle('show advice too, which is otherwise only counted; --profile strict shows it'),
  quiet: toggle('print findings only: no notes, no counts, no progress'),
}

/** The flags as they were given. */
interface Chosen {
  readonly output: keyof typeof FORMATS | undefined
  readonly advice: boolean
  readonly quiet: boolean
  readonly profile: Profile
}

interface Told {
  readonly scope: string
  /** Whether the run is strict, beside the profile. */
  readonly strict?: boolean
  readonly names?: readonly string[]
  /** The texts of the files that were read, by name. */
  readonly texts?: ReadonlyMap<string, string>
}

/** Prints the report in the format; without one, for people on a terminal and in lines elsewhere. */
export function printReport(
  report: Report,
  { output, advice, quiet, profile }: Chosen,
  { scope, strict = false, names = [], texts }: Told,
  environment: Readonly<Record<string, string | undefined>>,
): void {
  const { stdout } = process
  const format = FORMATS[output ?? (stdout.isTTY ? 'human' : 'line')]
  const sources = new Map<string, readonly string[]>()
  const source = (file: string) => {
    const known =
      sources.get(file) ??
      texts
        ?.get(file)
        ?.replace(/^\ufeff/, '')
        .split('\n')
    if (known !== undefined) sources.set(file, known)
    return known
  }
  stdout.write(
    format(report, {
      scope,
      names,
      quiet,
      advice: advice || strict || profile === 'strict',
      terminal: terminalOf(stdout, environment),
      source,
    }),
  )
}
