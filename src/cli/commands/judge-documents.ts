import type { ClusterState } from '../../state/index.ts'
import { isObject, jsonKey, metadataOf, objectKey } from '../../rule/index.ts'
import type { Documents } from '../input/texts.ts'
import type { FileDocument } from '../input/load.ts'
import { kindOf, namespaceOf, stateOf } from '../../documents/index.ts'
import { type Beside, judgeDocument, type Judging, targetIn } from './judge-document.ts'
import { judgeIn } from '../judge-in.ts'
import { type Release, unevaluatedRules } from '../../release/index.ts'
import { counted, IN_CLUSTER, type Located, openReport, type Report } from '../output/report.ts'

export interface Checked {
  readonly report: Report
  /** Describes the number of files for the last line of the output, such as `in 3 files`. */
  readonly scope: string
  readonly release: Release | undefined
}

/** Judges the documents of all files as if there were no other objects. */
export function judgeAlone(documents: Documents, judging: Judging): Checked {
  const state = stateOf(
    documents.documents.map(({ document }) => document.value),
    judging,
  )
  return {
    report: judgeDocuments(documents, judging, { state }),
    scope: counted(documents.files.length, 'file'),
    release: judging.release,
  }
}

/** Judges the documents; rules look up the other objects in `state`. */
export function judgeDocuments(
  documents: Documents,
  judging: Judging,
  { state, stored }: { readonly state: ClusterState } & Pick<Beside, 'stored'>,
): Report {
  const { files, notJudged, unread } = documents
  const report = openReport({ files, notJudged: [...notJudged], unread })
  const judge = judgeIn(judging, state)
  const placed = { judge, ...(stored && { stored }), placeOf: placesIn(documents, judging) }
  const count = documents.documents.length
  for (const [i, { file, document }] of documents.documents.entries()) {
    judging.progress?.tell(() => `judging ${i + 1} of ${counted(count, 'document')}`)
    judgeDocument(file, document, judging, placed, report)
  }
  for (const note of [
    ...repetitionNotes(
      documents,
      (value) => resourceKey(value, judging, state),
      'who refers to it is judged beside the last one',
    ),
    ...rulesNotEvaluated(documents, judging, stored !== undefined),
  ])
    report.notes.push(note)
  return report
}

/** Returns a function that finds a field of an object in the documents; for repeated objects, in the last copy. */
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

/** The most CEL rules that a note names. */
const MOST_PLACES = 5

/** A note that only the API server evaluates some CEL rules of CRDs, so it may refuse resources that pass here. */
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

/** A note at each resource that a later document contains too; `keyOf` is undefined for a document without a note. */
export function repetitionNotes(
  { documents }: Documents,
  keyOf: (value: unknown) => string | undefined,
  consequence: string,
): Located[] {
  const keyed = documents.flatMap((each) => {
    const key = keyOf(each.document.value)
    return key === undefined ? [] : [[key, each] as const]
  })
  const last = new Map(keyed)
  return keyed.flatMap(([key, each]) => {
    const { file, document } = each
    const next = last.get(key)
    if (next === undefined || next === each) return []
    const { line } = next.document.locate(NAME, 'value')
    const message = `comes again in ${next.file}:${line}; ${consequence}`
    return [{ file, ...document.locate(NAME, 'value'), message }]
  })
}

const NAME = ['metadata', 'name']

/** The key of a resource; undefined when it has no name or no referrers, and for documents of other kinds. */
function resourceKey(value: unknown, judging: Judging, state: ClusterState): string | undefined {
  const kind = kindOf(value, judging)?.kind
  const { name } = metadataOf(value)
  if (kind === undefined || typeof name !== 'string') return undefined
  const namespace = namespaceOf(value, judging)
  return state.in(namespace).referrers(kind, name).length === 0
    ? undefined
    : objectKey({ kind, namespace, name })
}
