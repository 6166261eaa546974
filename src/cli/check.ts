import { choice, readFlags, toggle, UsageError } from '../configuration/flags.ts'
import { JUDGING_FLAGS } from '../configuration/judging.ts'
import { readDocuments } from './documents.ts'
import { worldOf } from './given-world.ts'
import { judgeDocument, type Judging } from './judge-document.ts'
import { READING_FLAGS, tellUnread, valuesFor } from './reading.ts'
import { printHuman, printJson, type Report } from './report.ts'

export const CHECK_FLAGS = {
  output: choice('how to print', ['human', 'json'], 'human'),
  strict: toggle('unknown fields are errors, and placeholders are judged as they stand'),
  ...READING_FLAGS,
  ...JUDGING_FLAGS,
}

/** Judges files; returns the exit code. Throws UsageError. */
export async function check(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Promise<number> {
  const { values: flags, positionals } = readFlags(CHECK_FLAGS, args, environment)
  if (positionals.length === 0)
    throw new UsageError('name the files or folders to check, or - for standard input')
  const judging: Judging = {
    group: flags['api-group'],
    namespace: flags.namespace,
    strict: flags.strict,
    severities: flags.severity,
  }
  const report = await examine(positionals, valuesFor(flags, environment), judging)
  tellUnread(report.unread)
  process.stdout.write(flags.output === 'json' ? printJson(report) : printHuman(report))
  return report.unread.length > 0 ? 3 : report.findings.some(({ severity }) => severity === 'error') ? 1 : 0
}

async function examine(
  names: readonly string[],
  filled: ReadonlyMap<string, string>,
  judging: Judging,
): Promise<Report> {
  const { documents, files, unread } = await readDocuments(names, filled)
  const world = worldOf(
    documents.map(({ document }) => document.value),
    judging,
  )
  const report: Report = { files, resources: 0, others: 0, findings: [], notes: [], unread }
  for (const { file, document } of documents) judgeDocument(file, document, judging, world, report)
  return report
}
