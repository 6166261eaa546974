import { kindOf, namespaceOf, stateOf } from '../../documents/index.ts'
import type { ClusterState } from '../../state/index.ts'
import { judgeIn } from '../judge-in.ts'
import { submissionOf } from '../../engine/index.ts'
import { jsonKey, metadataOf, pathText, valueAt } from '../../rule/index.ts'
import type { Judging } from '../commands/judge-document.ts'
import { judgeAlone } from '../commands/judge-documents.ts'
import { documentsOf } from '../input/texts.ts'
import type { Located, ReportedFinding } from '../output/report.ts'
import { type PlacedEdit, withEdits } from './text-edits.ts'

/** A change of the text of a file, with the reason for it. */
export interface FileChange {
  readonly file: string
  readonly edit: PlacedEdit
  readonly title: string
  /** The id of the finding that the change fixes; empty when the change adds a default. */
  readonly id: string
}

interface Fixed {
  readonly texts: ReadonlyMap<string, string>
  readonly changes: readonly FileChange[]
  /** The findings whose fix cannot be written into the text of their file. */
  readonly left: readonly Located[]
}

/** The most rounds of `fixAll`: a renamed field is judged only in the round after its fix, and may need another fix. */
const MOST_ROUNDS = 5

/**
 * Applies the fixes of findings to the texts in at most `MOST_ROUNDS` rounds, until no finding has a fix. `namespace` is
 * the one that the user has named for documents that name none; empty when there is none.
 */
export function fixAll(
  given: ReadonlyMap<string, string>,
  judging: Judging,
  { addDefaults, namespace }: { readonly addDefaults: boolean; readonly namespace: string },
): Fixed {
  const texts = new Map(given)
  let changes: FileChange[] = []
  let left: Located[] = []
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const wanted = changesIn(texts, judging)
    const isDone = wanted.length === 0
    const more = isDone && addDefaults ? defaultsIn(texts, judging, { namespace }) : wanted
    const applied = apply(texts, more)
    changes = [...changes, ...applied.done]
    left = applied.left
    if (applied.done.length === 0) {
      if (isDone || !addDefaults) break
      const { done, left: lacking } = apply(texts, defaultsIn(texts, judging, { namespace }))
      changes = [...changes, ...done]
      left = [...left, ...lacking]
      break
    }
  }
  return { texts, changes, left }
}

interface Applied {
  readonly done: FileChange[]
  readonly left: Located[]
}

/** Applies the fixes of findings to `texts` (by file name), which it changes. */
export const applyFixes = (texts: Map<string, string>, findings: readonly ReportedFinding[]): Applied =>
  apply(texts, changesOf(findings))

/** Returns the texts with the defaults and providers that /mutate would write if all objects were in one cluster. */
export function withDefaults(
  given: ReadonlyMap<string, string>,
  judging: Judging,
): ReadonlyMap<string, string> {
  const texts = new Map(given)
  const values = documentsOf(given).documents.map(({ document }) => document.value)
  apply(texts, defaultsIn(texts, judging, { namespace: judging.namespace, state: stateOf(values, judging) }))
  return texts
}

function apply(texts: Map<string, string>, changes: readonly FileChange[]): Applied {
  const edits = new Map<string, ReturnType<typeof withEdits>>()
  for (const [file, own] of Map.groupBy(changes, ({ file }) => file)) {
    const after = withEdits(
      texts.get(file) ?? '',
      own.map(({ edit }) => edit),
    )
    texts.set(file, after.text)
    edits.set(file, after)
  }
  const ordered = changes
    .toSorted((a, b) => b.edit.line - a.edit.line || b.edit.column - a.edit.column)
    .toReversed()
  const isDone = ({ file, edit }: FileChange) => edits.get(file)?.done.has(edit) === true
  return {
    done: ordered.filter(isDone),
    left: ordered
      .filter((each) => !isDone(each))
      .map((each) => notFixed(each, edits.get(each.file)?.isCut === true)),
  }
}

function notFixed({ file, edit, title }: FileChange, isCut: boolean): Located {
  const reason = isCut
    ? 'too many fixes of this file do not fit: mend some by hand, and run the command again'
    : 'an alias or a merge shares the text, it spans lines, or a key would be there twice'
  const message = `${pathText(edit.at)}: not fixed (${title}): ${reason}`
  return { file, line: edit.line, column: edit.column, message }
}

const changesIn = (texts: ReadonlyMap<string, string>, judging: Judging): FileChange[] =>
  changesOf(judgeAlone(documentsOf(texts), judging).report.findings)

/** The changes that fix these findings; at most one for each place of a file. */
function changesOf(findings: readonly ReportedFinding[]): FileChange[] {
  const found = new Map<string, FileChange>()
  for (const { file, fix: mend, id } of findings)
    for (const edit of mend?.edits ?? []) {
      const key = `${file ?? ''}:${edit.line}:${edit.column}`
      if (file !== null && !found.has(key)) found.set(key, { file, edit, title: mend?.title ?? '', id })
    }
  return [...found.values()]
}

/**
 * Changes that add the documented defaults which the objects lack, as /mutate writes them. A default that is the
 * namespace of an object is left out where nobody has named that namespace.
 */
function defaultsIn(
  texts: ReadonlyMap<string, string>,
  judging: Judging,
  { namespace, state }: { readonly namespace: string; readonly state?: ClusterState },
): FileChange[] {
  const { group } = judging
  const judge = judgeIn(judging, state ?? 'no cluster')
  return documentsOf(texts).documents.flatMap(({ file, document }) => {
    const { value } = document
    const kind = kindOf(value, judging)
    if (kind === undefined || judge.leavesOut(namespaceOf(value, judging))) return []
    const { name } = metadataOf(value)
    const self = { kind: kind.kind, name: typeof name === 'string' ? name : '' }
    const submission = submissionOf(self, {
      namespace: namespaceOf(value, { ...judging, namespace }),
      group,
      object: value,
    })
    return judge.complete(submission).flatMap(({ at, value: written }): FileChange[] => {
      if (written === undefined) return []
      const isThere = valueAt(value, at) !== undefined
      const place = document.locate((isThere ? at : at.slice(0, -1)).map(jsonKey), 'value')
      const edit = { op: isThere ? ('set' as const) : ('add' as const), at, value: written, ...place }
      return [{ file, edit, title: `write the default, ${JSON.stringify(written)}`, id: '' }]
    })
  })
}
