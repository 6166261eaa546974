import { choice, type Environment, toggle } from '../../configuration/flags.ts'
import type { Plan } from '../../access/effective-authentication.ts'
import type { Profile } from '../../engine/index.ts'
import type { Documents } from '../input/texts.ts'
import { type SourceText, withoutSecrets } from './excerpt.ts'
import type { Format, Report } from './report.ts'
import { terminalOf } from './terminal.ts'

/** Formats are imported on demand, because two need a library. */
const FORMATS = {
  human: async () => (await import('./human.ts')).printHuman,
  line: async () => (await import('./line.ts')).printLines,
  json: async () => (await import('./json.ts')).printJson,
  sarif: async () => (await import('./sarif.ts')).printSarif,
  github: async () => (await import('./github.ts')).printGitHub,
  gitlab: async () => (await import('./gitlab.ts')).printGitLab,
  junit: async () => (await import('./junit.ts')).printJUnit,
  html: async () => (await import('./html.ts')).printHtml,
  policyreport: async () => (await import('./policy-report.ts')).printPolicyReport,
  openreports: async () => (await import('./policy-report.ts')).printOpenReports,
} satisfies Record<string, () => Promise<Format>>

export type FormatName = keyof typeof FORMATS

/** The flags of a command that reports findings in these formats. */
const reportFlags = <Name extends FormatName>(names: readonly Name[]) => ({
  output: choice(
    'format of the output: human on a terminal by default, elsewhere line, which is one line for each finding',
    names,
    undefined,
  ),
  'show-ignored': toggle('list the findings that exemptions and ignores take out, each with its reason'),
  advice: toggle('show advice too, which is otherwise only counted; --profile strict shows it'),
  quiet: toggle('print findings only: no notes, no counts, no progress'),
})

/** The formats for findings in files. */
export const CHECK_REPORT_FLAGS = reportFlags([
  'human',
  'line',
  'json',
  'sarif',
  'github',
  'gitlab',
  'junit',
  'openreports',
])

/** The formats for findings in a cluster. */
export const AUDIT_REPORT_FLAGS = reportFlags([
  'human',
  'line',
  'json',
  'html',
  'sarif',
  'junit',
  'policyreport',
  'openreports',
])

/** The values of the flags that determine what a report contains. */
interface ChosenFlags {
  readonly advice: boolean
  readonly quiet: boolean
  readonly 'show-ignored': boolean
  readonly profile: Profile
  readonly 'api-group': string
}

interface ReportFacts {
  readonly scope: string
  readonly judgedBy?: string
  /** Whether the run is strict because of the flag `--strict`; the profile `strict` makes it strict too. */
  readonly strict?: boolean
  readonly names?: readonly string[]
  /** What was read from files. */
  readonly read?: Pick<Documents, 'texts' | 'documents' | 'unread'>
  /** Computes the effective authentication, for formats that print it. */
  readonly plans?: () => readonly Plan[]
}

/** Prints the report in the chosen format; by default for people on a terminal, else with one line for each finding. */
export async function printReport(
  report: Report,
  flags: ChosenFlags & { readonly output: FormatName | undefined },
  facts: ReportFacts,
  environment: Environment,
): Promise<void> {
  process.stdout.write(await reportText(report, flags, facts, environment)(flags.output))
}

/** Returns a function that writes the report in a format; undefined stands for the default format. */
export const reportText =
  (
    report: Report,
    { advice, quiet, profile, 'show-ignored': showIgnored, 'api-group': group }: ChosenFlags,
    { scope, judgedBy, strict = false, names = [], read, plans = () => [] }: ReportFacts,
    environment: Environment,
  ) =>
  async (output: FormatName | undefined): Promise<string> => {
    const { stdout } = process
    const format = await FORMATS[output ?? (stdout.isTTY ? 'human' : 'line')]()
    const documents = Map.groupBy(read?.documents ?? [], ({ file }) => file)
    const unread = Map.groupBy(read?.unread ?? [], ({ file }) => file)
    const sources = new Map<string, SourceText>()
    const source = (file: string) => {
      const text = read?.texts.get(file)
      if (text === undefined) return undefined
      const found =
        sources.get(file) ?? withoutSecrets(text, documents.get(file) ?? [], unread.get(file) ?? [])
      sources.set(file, found)
      return found
    }
    return format(report, {
      scope,
      judgedBy,
      group,
      names,
      quiet,
      showIgnored,
      advice: advice || strict || profile === 'strict',
      terminal: terminalOf(stdout, environment),
      source,
      plans,
    })
  }
