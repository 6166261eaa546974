import { isPolicyKind } from '../../relations/index.ts'
import {
  type Environment,
  isNamespaceName,
  toggle,
  UsageError,
  type Values,
} from '../../configuration/flags.ts'
import { CONFIGURATION_FLAG, IGNORES_FLAG, JUDGING_FLAGS } from '../../configuration/judging.ts'
import { defineCommand, type Invocation, OF_FINDINGS, type CommandResult, print } from '../define-command.ts'
import { CHECK_SECRETS, CLUSTER_FLAGS, needCluster } from '../input/cluster-flags.ts'
import { coversAll } from '../input/configuration.ts'
import { addNotJudged, Exemptions } from './exemptions.ts'
import { readDocuments } from '../input/documents.ts'
import type { Documents } from '../input/texts.ts'
import { kindOf, namespaceOf } from '../../documents/index.ts'
import { readOverlay, type Overlay } from '../input/overlay.ts'
import type { Judging } from './judge-document.ts'
import { type Checked, judgeAlone, judgeDocuments } from './judge-documents.ts'
import { dryRun } from './server-dry-run.ts'
import { openWorld } from '../input/world.ts'
import { missingKindNotes, unreadDefinitionNotes } from '../output/missing-crds.ts'
import { judgedBy, RELEASE_FLAGS } from '../input/release.ts'
import { READING_FLAGS, printEmpty, printUnread, readOptions } from '../input/reading.ts'
import { progressOn } from '../output/progress.ts'
import { CHECK_REPORT_FLAGS, type FormatName, reportText } from '../output/formats.ts'
import { counted, exitCode } from '../output/report.ts'

export const CHECK_FLAGS = {
  ...CHECK_REPORT_FLAGS,
  strict: toggle(
    'unknown fields are errors, and placeholders are judged as they stand; --profile strict includes it',
  ),
  ...READING_FLAGS,
  ...CONFIGURATION_FLAG,
  ...IGNORES_FLAG,
  ...JUDGING_FLAGS,
  ...CLUSTER_FLAGS,
  ...CHECK_SECRETS,
  ...RELEASE_FLAGS,
  'server-dry-run': toggle(
    'ask the API server too what it refuses: by a dry run of each resource, which stores nothing',
  ),
}

export const check = defineCommand({
  name: 'check',
  summary: 'judge the resources in these files',
  arguments: [
    ['[flags] FILE|DIRECTORY|- ...'],
    ['--cluster FILE|DIRECTORY|- ...', 'judge them as if applied onto a cluster'],
  ],
  flags: CHECK_FLAGS,
  examples: ['deploy/'],
  exitCodes: OF_FINDINGS,
  run: async (invocation) => print(await checkFiles(invocation), invocation.flags.output),
})

export async function checkFiles({
  flags,
  names: positionals,
  args,
  environment,
}: Invocation<typeof CHECK_FLAGS>): Promise<CommandResult<FormatName | undefined>> {
  if (positionals.length === 0)
    throw new UsageError('name the files or folders to check, or - for standard input')
  needCluster(flags.cluster, args, ['kubeconfig', 'check-secrets', 'server-dry-run'])
  const world = await openWorld(flags, positionals)
  const exemptions = new Exemptions(world.configuration, world.now)
  const progress = progressOn(process.stderr, flags.quiet)
  progress.tell(() => 'reading files')
  const documents = await readDocuments(positionals, readOptions(flags, environment))
  documents.unread.push(...printEmpty([documents]))
  const judging = { ...world, exemptions, progress }
  const { report, scope, release } = flags.cluster
    ? await readAndJudge(documents, judging, flags, environment)
    : judgeAlone(documents, judging)
  // An unused exemption may be for an object that was not judged, so such exemptions are reported only after a whole
  // run.
  const isAllJudged = report.unread.length === 0 && report.notJudged.length === 0
  const isWhole = coversAll(world.configuration, positionals) && flags.exclude.length === 0 && isAllJudged
  report.notes.push(...exemptions.notes(isWhole ? 'files' : 'some files'))
  addNotJudged(report, exemptions.notJudged, flags['fail-on-not-judged'])
  progress.end()
  printUnread(report.unread)
  const text = reportText(
    report,
    { ...flags, profile: world.profile },
    { scope, judgedBy: judgedBy(release), strict: world.strict, names: positionals, read: documents },
    environment,
  )
  return { code: exitCode(report), text }
}

/**
 * Reads the cluster and judges the documents together with its objects; with --server-dry-run the API server judges
 * them too.
 */
async function readAndJudge(
  documents: Documents,
  given: Judging,
  flags: Values<typeof CHECK_FLAGS>,
  environment: Environment,
): Promise<Checked> {
  const overlay = await readOverlay(documents, given, flags, environment)
  const checked = judgeBesideCluster(overlay, documents, given)
  const { reading, get } = overlay
  const run = { documents: documents.documents, judging: { ...given, ...reading }, get }
  if (flags['server-dry-run'])
    await dryRun({ ...run, kubeconfig: flags.kubeconfig, environment }, checked.report)
  return checked
}

/** Judges the documents together with each other and with the objects of the cluster. */
function judgeBesideCluster(
  { live, installed, unread, reading, before, after, get }: Overlay,
  documents: Documents,
  given: Judging,
): Checked {
  const judging = { ...given, ...reading, release: installed ?? given.release }
  const report = judgeDocuments(documents, judging, { state: after, stored: { state: before, get } })
  report.unread.unshift(...unread)
  const kinds = new Set(documents.documents.map(({ document }) => kindOf(document.value, judging)?.kind))
  report.notes.push(
    ...missingKindNotes(
      live.absent.filter(({ kind }) => isPolicyKind(kind) || kinds.has(kind)),
      judging.group,
    ),
    ...unreadDefinitionNotes(live, judging.release),
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
    release: judging.release,
    scope: server === '' ? scope : `${scope}, beside ${counted(objects.length, 'resource')} of ${server}`,
  }
}
