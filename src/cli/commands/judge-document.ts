import {
  type Ignore,
  type Ignored,
  isAlwaysFound,
  type Judge,
  type NewerField,
  problemWithIgnore,
  refusal,
  type Settings,
  type Verdict,
  type World,
} from '../../engine/index.ts'
import { kindOf, nameOf, notJudged, type DocumentReading, subjectOf } from '../../documents/index.ts'
import type { Release } from '../../release/index.ts'
import {
  atOnce,
  compareReleases,
  isObject,
  jsonKey,
  nameKey,
  pathText,
  type Resource,
  type Segment,
  type Steps,
  valueAt,
} from '../../rule/index.ts'
import { nameOfPlaceholder } from '../input/fill.ts'
import { type IgnoreComment, MOST_IDS } from '../input/ignore-comments.ts'
import type { ReadDocument } from '../input/load.ts'
import type { Exemptions } from './exemptions.ts'
import type { Progress } from '../output/progress.ts'
import { addVerdict, NO_PLACES, type FilePlace, type Report, type GivenSubject } from '../output/report.ts'

export interface Judging extends DocumentReading {
  readonly settings: Settings
  /** Records which exemptions of the configuration have an effect. */
  readonly exemptions?: Exemptions
  readonly progress?: Progress
  /** The operator release by whose CRD schemas documents are judged; undefined when it is not known. */
  readonly release?: Release | undefined
}

/** The state of the other objects, which may affect the findings of a document. */
export interface Beside {
  /** Judges the document among the objects as they are after an apply of all documents. */
  readonly judge: Judge
  /** The objects as they are stored before the apply. */
  readonly stored?: {
    readonly state: World['state']
    get(subject: GivenSubject): unknown
  }
  /** The file and line of a value in another object; `IN_CLUSTER` for an object that is not in a file. */
  placeOf(object: GivenSubject, at: readonly Segment[]): FilePlace
}

/**
 * Adds the findings of one document to the report; documents of other API groups are only counted. An error that the
 * stored object already has becomes a warning (decision 8).
 */
export function judgeDocument(
  file: string,
  document: ReadDocument,
  given: Judging,
  beside: Beside,
  report: Report,
): void {
  atOnce(judgingDocument(file, document, given, beside, report))
}

/**
 * Adds the findings of one document to the report in steps, so that other requests can be answered between two steps.
 */
export function* judgingDocument(
  file: string,
  document: ReadDocument,
  given: Judging,
  { judge, stored, placeOf }: Beside,
  report: Report,
): Steps<undefined> {
  const { value } = document
  const kind = kindOf(value, given)
  for (const note of document.notes) report.notes.push({ file, ...note })
  const { settings } = given
  const comments = commentsOf(document)
  if (kind === undefined) {
    report.others += 1
    const weighed = reportNotJudged(file, document, { judging: given, judge }, report, comments)
    if (weighed === 'left out') return undefined
    const { ignored = [], refusedIgnores: refused = [] } = weighed ?? {}
    noteComments(file, { comments, ignored, refused, settings }, report)
    return undefined
  }
  const subject = subjectOf(kind.kind, value as Resource, given)
  if (judge.leavesOut(subject.namespace)) {
    given.exemptions?.leftOut(subject, { file, line: document.line })
    return undefined
  }
  report.judged.push({ file, ...subject })
  const self = { kind: kind.kind, name: nameOf(value as Resource) }
  const old = stored?.get({ ...subject, name: self.name })
  const outcome = yield* judge.inSteps.file({
    kind,
    namespace: subject.namespace,
    name: self.name,
    object: value,
    stored: stored === undefined || old === undefined ? 'nothing' : { object: old, state: stored.state },
    ignores: comments.flatMap(({ ignore }) => ignore ?? []),
    strict: given.strict,
    placeholders: given.placeholders,
  })
  const placeIn = (at: readonly Segment[], target: 'key' | 'value') => ({
    file,
    ...document.locate(at.map(jsonKey), target),
  })
  given.exemptions?.judged(subject, outcome.ignored)
  noteComments(
    file,
    { comments, ignored: outcome.ignored, refused: outcome.refusedIgnores, settings },
    report,
  )
  addVerdict(report, outcome, subject, {
    of: ({ id, error }) => placeIn(error.at, id === 'unknown-field' ? 'key' : targetIn(value, error.at)),
    part: placeIn,
    end: (object, at) =>
      nameKey(object) === nameKey(self)
        ? placeIn(at, targetIn(value, at))
        : placeOf({ ...object, namespace: subject.namespace }, at),
  })
  if (!namesNamespace(value) && namesOtherNamespace(outcome, judge, subject.namespace)) {
    const message = `names no namespace, and is judged in '${subject.namespace}'; --namespace NAME says which`
    report.notes.push({ file, ...document.locate(['metadata', 'namespace'], 'key'), message })
  }
  noteNewerFields(outcome.newerFields, { file, document, report })
  for (const { at, text } of outcome.placeholders) {
    const name = nameOfPlaceholder(text)
    const advice = name === undefined ? '' : `; to judge it: --set ${name}=VALUE`
    const message = `${pathText(at)}: not judged, because ${onOneLine(text)} is filled in later${advice}`
    const placeholder = { text: onOneLine(text), name }
    report.notes.push({ file, ...document.locate(at.map(jsonKey), 'value'), message, placeholder })
  }
  return undefined
}

/**
 * Whether a finding about the value at a path marks the value or its key. Of a map or list the key is marked, because
 * the text of a map or list begins with its first member, usually on another line.
 */
export const targetIn = (value: unknown, at: readonly Segment[]): 'key' | 'value' =>
  typeof valueAt(value, at) === 'object' ? 'key' : 'value'

/**
 * Adds one note about the operator release that a document needs, because it has fields that older releases lack. The
 * note is at the newest of these fields, and also names the others.
 */
function noteNewerFields(
  newer: readonly NewerField[],
  { file, document, report }: { file: string; document: ReadDocument; report: Report },
): void {
  let [latest] = newer
  if (latest === undefined) return
  const sinceOf = new Map<string, string>()
  for (const field of newer) {
    if (compareReleases(field.since, latest.since) > 0) latest = field
    const name = String(jsonKey(field.at.at(-1) ?? ''))
    const known = sinceOf.get(name)
    if (known === undefined || compareReleases(field.since, known) > 0) sinceOf.set(name, field.since)
  }
  const { since: newest } = latest
  const named = Array.from(sinceOf)
    .toSorted(([, a], [, b]) => compareReleases(b, a))
    .map(([name, since]) => (since === newest ? name : `${name} (${since})`))
  const message = `${listed(named)}: of operator release ${latest.since} and later; --release VERSION judges by what yours accepts`
  report.notes.push({ file, ...document.locate(latest.at.map(jsonKey), 'key'), message })
}

/** The most fields that the note about new fields names. */
const MOST_NAMES = 4

function listed(names: readonly string[]): string {
  const more = names.length - MOST_NAMES
  return more <= 0 ? names.join(', ') : `${names.slice(0, MOST_NAMES).join(', ')} and ${more} more`
}

const namesNamespace = (value: unknown): boolean =>
  isObject(value) && isObject(value.metadata) && Boolean(value.metadata.namespace)

/** Whether a finding refers to an object that does not exist in the document's namespace, but in another namespace. */
function namesOtherNamespace({ errors, warnings }: Verdict, { world }: Judge, namespace: string): boolean {
  if (world.state === 'no cluster') return false
  const cluster = world.state.in(namespace)
  const named = [...errors, ...warnings].flatMap(({ error }) => error.dependsOn ?? [])
  return named.some(
    ({ kind, name }) => cluster.get(kind, name) === undefined && cluster.elsewhere(kind, name).length > 0,
  )
}

/** An ignore comment in a manifest; when the comment is not valid, `problem` says why and `ignore` is absent. */
interface Comment {
  readonly comment: IgnoreComment
  readonly ignore?: Ignore
  readonly problem?: string
}

/**
 * The ignore comments of a document. A comment above a key or an item covers everything inside it; a comment at the top
 * covers the whole document.
 */
export const commentsOf = (document: ReadDocument): readonly Comment[] =>
  (document.ignores ?? []).map((comment): Comment => {
    const { id, reason, target, left = 0 } = comment
    const problem =
      left > 0
        ? `it names ${left} more ids than the ${MOST_IDS} that are read: write a comment for each field`
        : problemWithIgnore(id, reason, '# vmcp-admission: ignore[ID] reason')
    if (problem !== undefined) return { comment, problem }
    const isThere = (at: readonly Segment[]) => document.locate(at.map(jsonKey), 'key').line === target
    const covers = (at: readonly Segment[]) =>
      target === document.line || at.some((_, i) => isThere(at.slice(0, i + 1)))
    return { comment, ignore: { id, reason, written: 'comment', covers } }
  })

/** Adds notes about ignore comments that have no effect to the report. */
function noteComments(
  file: string,
  given: {
    readonly comments: readonly Comment[]
    readonly ignored: readonly Ignored[]
    readonly refused: readonly Ignore[]
    readonly settings: Settings
  },
  report: Report,
): void {
  const used = new Set<unknown>(given.ignored.map(({ by }) => by))
  const refused = new Set(given.refused)
  for (const { comment, ignore, problem } of given.comments) {
    const why =
      ignore === undefined
        ? problem
        : refused.has(ignore)
          ? refusal(ignore, given.settings)
          : used.has(ignore) || !isAlwaysFound(ignore.id, 'files')
            ? undefined
            : `'${ignore.id}' is not found here: remove the comment that ignores it`
    if (why !== undefined)
      report.notes.push({ file, line: comment.line, column: comment.column, message: why })
  }
}

/** Reports why a document is not judged; returns the verdict when that is a finding, unless its namespace is left out. */
function reportNotJudged(
  file: string,
  document: ReadDocument,
  { judging, judge }: { readonly judging: Judging; readonly judge: Judge },
  report: Report,
  comments: readonly Comment[],
): Verdict | 'left out' | undefined {
  const found = notJudged(document.value, judging)
  if (found === undefined) return undefined
  const { at, detail, finding, resource } = found
  const place = { file, ...document.locate(at, 'value') }
  if (finding === undefined) {
    report.notes.push({ ...place, message: `not checked: ${detail}` })
    return undefined
  }
  const { kind } = resource
  const subject = subjectOf(typeof kind === 'string' ? kind : 'resource', resource, judging)
  if (judge.leavesOut(subject.namespace)) {
    judging.exemptions?.leftOut(subject, { file, line: document.line })
    return 'left out'
  }
  const ignores = comments.flatMap(({ ignore }) => ignore ?? [])
  const verdict = judge.weigh([finding], { ...subject, object: document.value, ignores })
  judging.exemptions?.judged(subject, verdict.ignored)
  const part = (where: readonly Segment[], target: 'key' | 'value') => ({
    file,
    ...document.locate(where.map(jsonKey), target),
  })
  addVerdict(report, verdict, subject, { ...NO_PLACES, of: () => place, part })
  return verdict
}

/** Puts a placeholder's text on one line and shortens it, because a template may be long and have several lines. */
function onOneLine(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ')
  return line.length <= 60 ? line : `${line.slice(0, 60)}…`
}
