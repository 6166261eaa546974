import { choice } from '../../configuration/flags.ts'
import { printJson } from './json.ts'
import { printLines } from './line.ts'
import type { Format, Printing, Report } from './report.ts'

const FORMATS = { human: printLines, line: printLines, json: printJson } satisfies Record<string, Format>

export const OUTPUT = choice(
  'format of the output: human on a terminal by default, elsewhere line, which is one line for each finding',
  Object.keys(FORMATS) as (keyof typeof FORMATS)[],
  undefined,
)

/** Prints the report in the format; without one, for people on a terminal and in lines elsewhere. */
export function printReport(
  report: Report,
  output: keyof typeof FORMATS | undefined,
  printing: Printing,
): void {
  const format = FORMATS[output ?? (process.stdout.isTTY ? 'human' : 'line')]
  process.stdout.write(format(report, printing))
}
