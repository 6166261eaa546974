import { choice, isNamespaceName, readFlags, toggle, UsageError } from '../configuration/flags.ts'
import { JUDGING_FLAGS } from '../configuration/judging.ts'
import { CHECK_SECRETS, CLUSTER_FLAGS, needCluster } from './cluster-flags.ts'
import { type Documents, readDocuments } from './documents.ts'
import { kindOf, worldOf } from './given-world.ts'
import { joinCluster, type Joined, namespaceOf } from './joined.ts'
import { type Beside, judgeDocument, type Judging } from './judge-document.ts'
import { absences } from './absences.ts'
import { READING_FLAGS, tellUnread, valuesFor } from './reading.ts'
import { counted, exitCode, IN_CLUSTER, printHuman, printJson, type Report } from './report.ts'

export const CHECK_FLAGS = {
  output: choice('how to print', ['human', 'json'], 'human'),
  strict: toggle('unknown fields are errors, and placeholders are judged as they stand'),
  ...READING_FLAGS,
  ...JUDGING_FLAGS,
  ...CLUSTER_FLAGS,
  ...CHECK_SECRETS,
}

/** Judges files; returns the exit code. Throws UsageError. */
export async function check(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Promise<number> {
  const { values: flags, positionals } = readFlags(CHECK_FLAGS, args, environment)
  if (positionals.length === 0)
    throw new UsageError('name the files or folders to check, or - for standard input')
  needCluster(flags.cluster, args, ['kubeconfig', 'check-secrets'])
  const { namespace, strict, severity: severities, kubeconfig, 'check-secrets': secrets } = flags
  const judging = { group: flags['api-group'], namespace, strict, severities }
  const documents = await readDocuments(positionals, valuesFor(flags, environment))
  const { report, scope } = flags.cluster
    ? onto(await joinCluster(documents, { ...judging, kubeconfig, secrets }, environment), documents, judging)
    : alone(documents, { ...judging, namespace: namespace || 'default' })
  tellUnread(report.unread)
  process.stdout.write(flags.output === 'json' ? printJson(report) : printHuman(report, scope))
  return exitCode(report)
}

interface Checked {
  readonly report: Report
  /** In what the resources are. */
  readonly scope: string
}

/** All files are one world. */
function alone(documents: Documents, judging: Judging): Checked {
  const world = worldOf(
    documents.documents.map(({ document }) => document.value),
    judging,
  )
  return { report: examine(documents, judging, { world }), scope: counted(documents.files.length, 'file') }
}

/** The files and the cluster are one world. */
function onto({ live, reading, before, after, get }: Joined, documents: Documents, given: Judging): Checked {
  const judging = { ...given, ...reading }
  const report = examine(documents, judging, { world: after, stored: { world: before, get } })
  report.unread.unshift(...live.unread.map((message) => ({ ...IN_CLUSTER, message })))
  const kinds = new Set(documents.documents.map(({ document }) => kindOf(document.value, judging)))
  report.notes.push(
    ...absences(
      live.absent.filter((kind) => kinds.has(kind)),
      judging.group,
    ),
  )
  for (const { file, document } of documents.documents) {
    const namespace = namespaceOf(document.value, reading)
    if (kindOf(document.value, judging) === undefined || isNamespaceName(namespace)) continue
    const message = `not judged beside the cluster, because '${namespace}' is not the name of a namespace`
    report.notes.push({ file, ...document.locate(['metadata', 'namespace'], 'value'), message })
  }
  const scope = counted(documents.files.length, 'file')
  const { server, objects } = live
  return {
    report,
    scope: server === '' ? scope : `${scope}, beside ${counted(objects.length, 'resource')} of ${server}`,
  }
}

function examine(documents: Documents, judging: Judging, beside: Beside): Report {
  const { files, unread } = documents
  const report: Report = { files, resources: 0, others: 0, findings: [], notes: [], unread }
  for (const { file, document } of documents.documents) judgeDocument(file, document, judging, beside, report)
  return report
}
