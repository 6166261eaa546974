import { judgeSubmission, submissionOf } from '../../review/index.ts'
import { kindOf, nameOf, type Reading, subjectOf } from '../../review/given-objects.ts'
import { judge, type Verdict } from '../../review/judge.ts'
import { notJudged } from '../../review/not-judged.ts'
import { compareReleases, type Release } from '../../release/release.ts'
import type { NewerField } from '../../review/unknown-fields.ts'
import type { SeveritySetting } from '../../review/settings.ts'
import type { ClusterState } from '../../review/cluster-state.ts'
import { type Cluster, nameKey } from '../../rule/cluster.ts'
import { jsonKey, pathText, type Segment, valueAt } from '../../rule/path.ts'
import { isObject, type Resource } from '../../rule/resource.ts'
import { nameOfPlaceholder } from '../input/fill.ts'
import type { ReadDocument } from '../input/load.ts'
import type { Progress } from '../output/progress.ts'
import { addVerdict, NO_PLACES, type Place, type Report, type Subject } from '../output/report.ts'

export interface Judging extends Reading {
  readonly severities: readonly SeveritySetting[]
  readonly progress?: Progress
  /** The schemas of the API server, where they are known. */
  readonly release?: Release | undefined
}

/** The other objects beside which documents are judged. */
export interface Beside {
  /** After the documents are applied. */
  readonly state: ClusterState
  /** Before the documents are applied. */
  readonly stored?: {
    readonly state: ClusterState
    get(subject: Subject): unknown
  }
  /** The place of a part of another object: its key, in its file if it is in one. */
  placeOf(object: Subject, at: readonly Segment[]): Place
}

/**
 * Adds the findings of one document to the report; documents of other groups are only counted. An error that the stored
 * object already has is a warning (decision 8).
 */
export function judgeDocument(
  file: string,
  document: ReadDocument,
  judging: Judging,
  { state, stored, placeOf }: Beside,
  report: Report,
): void {
  const { value } = document
  const kind = kindOf(value, judging)
  for (const note of document.notes) report.notes.push({ file, ...note })
  if (kind === undefined) {
    report.others += 1
    reportNotJudged(file, document, judging, report)
    return
  }
  const subject = subjectOf(kind.kind, value as Resource, judging)
  report.judged.push({ file, ...subject })
  const self = { kind: kind.kind, name: nameOf(value as Resource) }
  const old = stored?.get({ ...subject, name: self.name })
  const { strict, severities, group, release } = judging
  const submission = submissionOf(self, {
    namespace: subject.namespace,
    group,
    object: value,
    oldObject: old,
  })
  const outcome = judgeSubmission(submission, {
    group,
    settings: { mode: 'enforce', severities },
    phase: 'before deployment',
    strict,
    release,
    state,
    stateNow: stored?.state,
  })
  const placeIn = (at: readonly Segment[], target: 'key' | 'value') => ({
    file,
    ...document.locate(at.map(jsonKey), target),
  })
  addVerdict(report, outcome, subject, {
    of: ({ id, error }) => placeIn(error.at, id === 'unknown-field' ? 'key' : targetIn(value, error.at)),
    part: placeIn,
    end: (object, at) =>
      nameKey(object) === nameKey(self)
        ? placeIn(at, targetIn(value, at))
        : placeOf({ ...object, namespace: subject.namespace }, at),
  })
  if (!namesNamespace(value) && namesOtherNamespace(outcome, state.in(subject.namespace))) {
    const message = `names no namespace, and is judged in '${subject.namespace}'; --namespace NAME says which`
    report.notes.push({ file, ...document.locate(['metadata', 'namespace'], 'key'), message })
  }
  noteNewerFields(outcome.newerFields, { file, document, report })
  for (const { at, text } of outcome.placeholders) {
    const name = nameOfPlaceholder(text)
    const advice = name === undefined ? '' : `; to judge it: --set ${name}=VALUE`
    const message = `${pathText(at)}: not judged, because ${onOneLine(text)} is filled in later${advice}`
    report.notes.push({ file, ...document.locate(at.map(jsonKey), 'value'), message })
  }
}

/** The place of a map or a list is its key, not its first member on the next line. */
export const targetIn = (value: unknown, at: readonly Segment[]): 'key' | 'value' =>
  typeof valueAt(value, at) === 'object' ? 'key' : 'value'

/** Says once for a document which release it needs, at the first of the fields that came latest. */
function noteNewerFields(
  newer: readonly NewerField[],
  { file, document, report }: { file: string; document: ReadDocument; report: Report },
): void {
  const [latest] = newer.toSorted((a, b) => compareReleases(b.since, a.since))
  if (latest === undefined) return
  const names = [...new Set(newer.map(({ at }) => String(jsonKey(at.at(-1) ?? ''))))]
  const message = `${listed(names)}: of operator release ${latest.since} and later; --release VERSION judges by what yours accepts`
  report.notes.push({ file, ...document.locate(latest.at.map(jsonKey), 'key'), message })
}

/** Most names that one note lists. */
const MOST_NAMES = 4

function listed(names: readonly string[]): string {
  const more = names.length - MOST_NAMES
  return more <= 0 ? names.join(', ') : `${names.slice(0, MOST_NAMES).join(', ')} and ${more} more`
}

const namesNamespace = (value: unknown): boolean =>
  isObject(value) && isObject(value.metadata) && Boolean(value.metadata.namespace)

/** Whether a finding names a missing object that another namespace has. */
function namesOtherNamespace({ errors, warnings }: Verdict, cluster: Cluster): boolean {
  const named = [...errors, ...warnings].flatMap(({ error }) => error.dependsOn ?? [])
  return named.some(
    ({ kind, name }) => cluster.get(kind, name) === undefined && cluster.elsewhere(kind, name).length > 0,
  )
}

function reportNotJudged(file: string, document: ReadDocument, judging: Judging, report: Report): void {
  const found = notJudged(document.value, judging)
  if (found === undefined) return
  const { at, detail, finding, resource } = found
  const place = { file, ...document.locate(at, 'value') }
  if (finding === undefined) {
    report.notes.push({ ...place, message: `not checked: ${detail}` })
    return
  }
  const { kind } = resource
  const subject = subjectOf(typeof kind === 'string' ? kind : 'resource', resource, judging)
  const settings = { mode: 'enforce', severities: judging.severities } as const
  const verdict = judge(
    { findings: [finding], value: () => document.value },
    { namespace: subject.namespace, settings },
  )
  const part = (where: readonly Segment[], target: 'key' | 'value') => ({
    file,
    ...document.locate(where.map(jsonKey), target),
  })
  addVerdict(report, verdict, subject, { ...NO_PLACES, of: () => place, part })
}

/** Shortens a template, which can be long and span lines. */
function onOneLine(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ')
  return line.length <= 60 ? line : `${line.slice(0, 60)}…`
}
