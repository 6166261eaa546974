import type { ClusterState } from '../../review/cluster-state.ts'
import { jsonKey } from '../../rule/path.ts'
import { isObject, metadataOf } from '../../rule/resource.ts'
import type { FileDocument } from '../input/load.ts'
import { isPolicyKind } from '../../kinds/between/policy-kinds.ts'
import { objectKey } from '../../rule/cluster.ts'
import { isNamespaceName, readFlags, toggle, UsageError } from '../../configuration/flags.ts'
import { chosenSeverities, JUDGING_FLAGS } from '../../configuration/judging.ts'
import { CHECK_SECRETS, CLUSTER_FLAGS, needCluster } from '../input/cluster-flags.ts'
import { type Documents, readDocuments } from '../input/documents.ts'
import { kindOf, namespaceOf, stateOf } from '../../review/given-objects.ts'
import { readOverlay, type Overlay } from '../input/overlay.ts'
import { type Beside, judgeDocument, type Judging, targetIn } from './judge-document.ts'
import { dryRun } from './server-dry-run.ts'
import { missingKindNotes } from '../output/missing-crds.ts'
import { unevaluatedRules } from '../../release/refused.ts'
import { asksCluster, installedRelease, readRelease, RELEASE_FLAGS } from '../input/release.ts'
import { READING_FLAGS, printEmpty, printUnread, readOptions } from '../input/reading.ts'
import { progressOn } from '../output/progress.ts'
import { CHECK_REPORT_FLAGS, printReport } from '../output/formats.ts'
import { counted, exitCode, IN_CLUSTER, type Located, type Report } from '../output/report.ts'

export const CHECK_FLAGS = {
  ...CHECK_REPORT_FLAGS,
  strict: toggle(
    'unknown fields are errors, and placeholders are judged as they stand; --profile strict includes it',
  ),
  ...READING_FLAGS,
  ...JUDGING_FLAGS,
  ...CLUSTER_FLAGS,
  ...CHECK_SECRETS,
  ...RELEASE_FLAGS,
  'server-dry-run': toggle(
    'ask the API server too what it refuses: by a dry run of each resource, which stores nothing',
  ),
}

/** Judges files; returns the exit code. Throws UsageError. */
export async function check(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Promise<number> {
  const { values: flags, positionals } = readFlags(CHECK_FLAGS, args, environment)
  if (positionals.length === 0)
    throw new UsageError('name the files or folders to check, or - for standard input')
  needCluster(flags.cluster, args, ['kubeconfig', 'check-secrets', 'server-dry-run'])
  const { namespace, kubeconfig, 'check-secrets': secrets } = flags
  const strict = flags.strict || flags.profile === 'strict'
  const severities = chosenSeverities(flags)
  const group = flags['api-group']
  const release = await readRelease(flags, group)
  const judging = { group, namespace, strict, severities, release }
  const asked = { ...judging, kubeconfig, secrets, definitions: asksCluster(flags) }
  const progress = progressOn(process.stderr, flags.quiet)
  progress.tell(() => 'reading files')
  const documents = await readDocuments(positionals, readOptions(flags, environment))
  documents.unread.push(...printEmpty([documents]))
  const { report, scope } = flags.cluster
    ? await readAndJudge(
        documents,
        { ...asked, asksServer: flags['server-dry-run'] },
        { ...judging, progress },
        environment,
      )
    : judgeAlone(documents, { ...judging, namespace: namespace || 'default', progress })
  progress.end()
  printUnread(report.unread)
  await printReport(report, flags, { scope, strict, names: positionals, texts: documents.texts }, environment)
  return exitCode(report)
}

interface Checked {
  readonly report: Report
  /** Where the resources are, for the last line: `in 3 files`. */
  readonly scope: string
}

/** Judges the documents of all files beside each other. */
export function judgeAlone(documents: Documents, judging: Judging): Checked {
  const state = stateOf(
    documents.documents.map(({ document }) => document.value),
    judging,
  )
  return {
    report: judgeDocuments(documents, judging, { state }),
    scope: counted(documents.files.length, 'file'),
  }
}

/** Reads the cluster, judges the documents beside it, and asks the API server too where that is wanted. */
async function readAndJudge(
  documents: Documents,
  { asksServer, ...asked }: Parameters<typeof readOverlay>[1] & { readonly asksServer: boolean },
  given: Judging,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Checked> {
  const overlay = await readOverlay(documents, asked, environment)
  const checked = judgeBesideCluster(overlay, documents, given)
  const { reading, get } = overlay
  const run = { documents: documents.documents, judging: { ...given, ...reading }, get }
  if (asksServer) await dryRun({ ...run, kubeconfig: asked.kubeconfig, environment }, checked.report)
  return checked
}

/** Judges the documents beside each other and the objects of the cluster. */
function judgeBesideCluster(
  { live, reading, before, after, get }: Overlay,
  documents: Documents,
  given: Judging,
): Checked {
  const release = given.release ?? installedRelease(live.definitions, given.group)
  const judging = { ...given, ...reading, release }
  const report = judgeDocuments(documents, judging, { state: after, stored: { state: before, get } })
  report.unread.unshift(...live.unread.map((message) => ({ ...IN_CLUSTER, message })))
  const kinds = new Set(documents.documents.map(({ document }) => kindOf(document.value, judging)?.kind))
  report.notes.push(
    ...missingKindNotes(
      live.absent.filter(({ kind }) => isPolicyKind(kind) || kinds.has(kind)),
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

function judgeDocuments(documents: Documents, judging: Judging, beside: Omit<Beside, 'placeOf'>): Report {
  const { files, patches, unread } = documents
  const report: Report = { files, judged: [], others: 0, findings: [], notes: [...patches], unread }
  const placed = { ...beside, placeOf: placesIn(documents, judging) }
  const count = documents.documents.length
  for (const [i, { file, document }] of documents.documents.entries()) {
    judging.progress?.tell(() => `judging ${i + 1} of ${counted(count, 'document')}`)
    judgeDocument(file, document, judging, placed, report)
  }
  report.notes.push(
    ...noteRepetitions(documents, judging, beside.state),
    ...rulesNotEvaluated(documents, judging, beside.stored !== undefined),
  )
  return report
}

/** Finds places in the documents by the name of their object; of two with one name the last counts. */
function placesIn({ documents }: Documents, judging: Judging): Beside['placeOf'] {
  const named = new Map<string, FileDocument>()
  for (const each of documents) {
    const { value } = each.document
    const { name } = metadataOf(value)
    if (!isObject(value) || typeof value.kind !== 'string' || typeof name !== 'string') continue
    named.set(objectKey({ kind: value.kind, namespace: namespaceOf(value, judging), name }), each)
  }
  return (object, at) => {
    const { file, document } = named.get(objectKey(object)) ?? {}
    if (file === undefined || document === undefined) return IN_CLUSTER
    return { file, ...document.locate(at.map(jsonKey), targetIn(document.value, at)) }
  }
}

/** Most places of rules that are listed. */
const MOST_PLACES = 5

/** A note on the rules of the release's CRDs that are not evaluated here: only the API server knows what they refuse. */
function rulesNotEvaluated({ documents }: Documents, judging: Judging, besideStored: boolean): Located[] {
  const { release } = judging
  if (release === undefined) return []
  const kinds = new Set(documents.flatMap(({ document }) => kindOf(document.value, judging)?.kind ?? []))
  const places = [...kinds].flatMap((kind) =>
    [...unevaluatedRules(release.schemas.get(kind) ?? {}, besideStored)].map((at) => `${kind} ${at}`.trim()),
  )
  if (places.length === 0) return []
  const named = [...new Set(places)]
  const more = named.length > MOST_PLACES ? ` and ${named.length - MOST_PLACES} more` : ''
  const count = counted(places.length, 'CEL rule')
  const message = `${count} of ${release.name} cannot be evaluated here, so the API server may refuse what passes: ${named.slice(0, MOST_PLACES).join(', ')}${more}`
  return [{ ...IN_CLUSTER, message }]
}

/** Notes on resources that are given twice and are referred to: the last one counts for their referrers. */
function noteRepetitions({ documents }: Documents, judging: Judging, state: ClusterState): Located[] {
  const keyed = documents.flatMap((each) => {
    const key = resourceKey(each.document.value, judging, state)
    return key === undefined ? [] : [[key, each] as const]
  })
  const last = new Map(keyed)
  return keyed.flatMap(([key, each]) => {
    const { file, document } = each
    const next = last.get(key)
    if (next === undefined || next === each) return []
    const { line } = next.document.locate(NAME, 'value')
    const message = `comes again in ${next.file}:${line}; who refers to it is judged beside the last one`
    return [{ file, ...document.locate(NAME, 'value'), message }]
  })
}

const NAME = ['metadata', 'name']

/** Undefined for another kind of document, one without a name, and one without referrers. */
function resourceKey(value: unknown, judging: Judging, state: ClusterState): string | undefined {
  const kind = kindOf(value, judging)?.kind
  const { name } = metadataOf(value)
  if (kind === undefined || typeof name !== 'string') return undefined
  const namespace = namespaceOf(value, judging)
  return state.in(namespace).referrers(kind, name).length === 0
    ? undefined
    : objectKey({ kind, namespace, name })
}
