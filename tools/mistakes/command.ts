import {
  choice,
  type Environment,
  type Flag,
  text,
  toggle,
  UsageError,
} from '../../src/configuration/flags.ts'
import { CONFIGURATION_FLAG, JUDGING_FLAGS } from '../../src/configuration/judging.ts'
import { coverageOf } from './run.ts'
import { countsOf } from './summary.ts'
import { leftOutIn } from '../../src/cli/commands/exemptions.ts'
import { defineCommand, type Invocation, UNREAD } from '../../src/cli/define-command.ts'
import { openWorld } from '../../src/cli/input/world.ts'
import { readDocuments } from '../../src/cli/input/documents.ts'
import {
  printEmpty,
  printUnread,
  READING_FLAGS,
  readOptions,
  unlessJudged,
} from '../../src/cli/input/reading.ts'
import { newestRelease, RELEASE_FLAGS } from '../../src/cli/input/release.ts'
import { coverageHtml, coverageJson, coverageMarkdown, type CoverageReport, coverageText } from './report.ts'
import { helpOf } from '../../src/cli/output/help.ts'
import { progressOn } from '../../src/cli/output/progress.ts'
import { reporting } from '../../src/cli/run.ts'
import { pageOf } from '../../src/generate/pages.ts'
import { counted, EXIT } from '../../src/cli/output/report.ts'

const count = (help: string, argument: string, fallback: number, most: number): Flag<number> => ({
  help,
  argument,
  fallback,
  read: (value) => {
    if (!/^\d{1,9}$/.test(value) || Number(value) > most)
      throw new Error(`'${value}' is not a number from 0 to ${most}`)
    return Number(value)
  },
})

const MOST = 999_999_999

const FLAGS = {
  limit: count('make at most so many mistakes, spread over all; 0 for every one', 'NUMBER', 1000, MOST),
  seed: count('choose another sample where there are more than --limit', 'NUMBER', 1, MOST),
  'every-field': toggle('make mistakes in fields that do not bear on authentication too, such as images'),
  'at-least': count(
    'exit with 1 when check and the webhook catch less than this percentage of the decidable mistakes',
    'PERCENT',
    0,
    100,
  ),
  by: choice('the rows of the table, with human and markdown', ['class', 'field'], 'class'),
  output: choice('format of the output', ['human', 'markdown', 'json', 'html'], 'human'),
  quiet: toggle('print no progress'),
  ...READING_FLAGS,
  ...CONFIGURATION_FLAG,
  ...JUDGING_FLAGS,
  release: text(
    "release of the operator whose CRDs the mistakes meet, such as 0.63; by default the newest that is known; 'none': check judges by the specification alone",
    'VERSION',
    '',
  ),
  crds: RELEASE_FLAGS.crds,
}

const mistakes = defineCommand({
  name: 'mistakes',
  summary: 'make mistakes in these files, and print who would catch them',
  arguments: [['[flags] FILE|DIRECTORY ...']],
  flags: FLAGS,
  examples: ['deploy/'],
  exitCodes: { 0: 'done', 1: 'fewer are caught than --at-least asks for', 3: UNREAD },
  run: gradeMistakes,
})

async function gradeMistakes({
  flags,
  names: positionals,
  environment,
}: Invocation<typeof FLAGS>): Promise<number> {
  if (positionals.length === 0) throw new UsageError('name the files or folders with the manifests')
  const world = await openWorld({ ...flags, strict: false }, positionals)
  const { group } = world
  const installed = world.release ?? newestRelease()
  const judging = { ...world, release: flags.release === 'none' ? undefined : installed, installed }
  const progress = progressOn(process.stderr, flags.quiet)
  progress.tell(() => 'reading files')
  const documents = await readDocuments(positionals, readOptions(flags, environment))
  const leftOut = leftOutIn(documents, judging, world.settings, world.configuration)
  const unread = [
    ...documents.unread,
    ...unlessJudged([...documents.notJudged, ...leftOut], flags),
    ...printEmpty([documents]),
  ]
  const given = documents.documents.map(({ file, document }) => ({ file, value: document.value }))
  const found = coverageOf(given, judging, { ...flags, everyField: flags['every-field'] }, (done, of) => {
    progress.tell(() => `making mistake ${done + 1} of ${of}`)
  })
  progress.end()
  printUnread(unread)
  const scope = counted(documents.files.length, 'file')
  if (found.objects === 0) {
    // Without a mistake every share would be reached.
    process.stderr.write(`no resource of ${group} is in ${scope}: ${WHAT_TO_GIVE}\n`)
    return EXIT.unread
  }
  process.stdout.write(
    await PRINT[flags.output]({ ...found, scope, release: installed.name, by: flags.by, unread }),
  )
  if (unread.length > 0) return EXIT.unread
  const { caught, decidable } = countsOf(found.made)
  return caught * 100 < flags['at-least'] * decidable ? EXIT.findings : EXIT.clean
}

const WHAT_TO_GIVE =
  'name the files or folders with your VirtualMCPServers, MCPServers and the configurations that they refer to'

const PRINT = {
  human: coverageText,
  markdown: coverageMarkdown,
  json: coverageJson,
  html: async (report) => coverageHtml(report, (await pageOf('tools/mistakes/page')).html),
} as const satisfies Record<string, (report: CoverageReport) => string | Promise<string>>

/** The program: `npm run mistakes`; returns the exit code. Never throws. */
export const measureMistakes = (args: readonly string[], environment: Environment): Promise<number> =>
  reporting(async () => {
    if (!args.includes('--help')) return mistakes.run(args, environment)
    process.stdout.write(helpOf(mistakes, CALL))
    return EXIT.clean
  }, `${CALL} --help`)

const CALL = 'npm run mistakes --'
