import { choice, type Flag, readFlags, text, toggle, UsageError } from '../configuration/flags.ts'
import { JUDGING_FLAGS } from '../configuration/judging.ts'
import { readDocuments } from './documents.ts'
import { worldOf } from './given-world.ts'
import { judgeDocument, type Judging } from './judge-document.ts'
import { printHuman, printJson, type Report } from './report.ts'

const values: Flag<ReadonlyMap<string, string>> = {
  help: 'fill in a placeholder before judging; may be repeated',
  argument: 'NAME=VALUE',
  repeated: true,
  fallback: new Map(),
  read: (written, before) => {
    const equals = written.indexOf('=')
    if (equals < 1) throw new Error(`'${written}' is not NAME=VALUE`)
    return new Map([...before, [written.slice(0, equals), written.slice(equals + 1)]])
  },
}

export const CHECK_FLAGS = {
  output: choice('how to print', ['human', 'json'], 'human'),
  namespace: text('namespace of documents that name none', 'NAME', 'default'),
  strict: toggle('unknown fields are errors, and placeholders are judged as they stand'),
  set: values,
  env: toggle('fill in placeholders from the environment'),
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
  const filled = new Map([...(flags.env ? environmentValues(environment) : []), ...flags.set])
  const report = await examine(positionals, filled, judging)
  for (const { file, line, column, message } of report.unread) {
    process.stderr.write(`${file}${line === 0 ? '' : `:${line}:${column}`}: cannot read: ${message}\n`)
  }
  process.stdout.write(flags.output === 'json' ? printJson(report) : printHuman(report))
  return report.unread.length > 0 ? 3 : report.findings.some(({ severity }) => severity === 'error') ? 1 : 0
}

function environmentValues(environment: Readonly<Record<string, string | undefined>>): [string, string][] {
  return Object.entries(environment).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))
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
