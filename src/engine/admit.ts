import { referencesOf } from '../relations/index.ts'
import type { Kind } from '../kinds/kind.ts'
import { type Cluster, type Finding, isObject, nameKey, type ObjectName, type Steps } from '../rule/index.ts'
import type { Surroundings } from './rules.ts'
import { findingsIn, findingsOnDelete } from './findings.ts'
import { isLeftOut } from './ignored.ts'
import type { Confirmed } from './decide.ts'
import { yielding } from './yielding.ts'
import { severityAt } from './settings.ts'
import { shape } from '../shape/index.ts'
import { ADMITTED, around, type ObjectJudgement, judgement, readable } from './judgement.ts'
import { disagreement, kindOfSubmission, passesFreely, type Submission } from './submission.ts'
import type { Prepared } from './world.ts'

/** With a request body of at least this many characters, the judgement yields to other requests after each rule. */
const LARGE = 64 * 1024

/** The verdict on a write, judged with cached objects, and a method to judge it with objects from the API server. */
export interface Admission extends ObjectJudgement {
  /**
   * The other objects to read from the API server, because the verdict depends on them and they may have changed, or
   * because the cache lacks some of their fields; usually none. Objects that errors depend on come first.
   */
  readonly unconfirmed: readonly ObjectName[]
  /**
   * Judges the write again with the objects in `read`. Adds a warning when the cache lacks objects of the namespace,
   * or when an object that the cache lacks, or has only in part, is not in `read`.
   */
  with(read: Confirmed): Steps<Admission>
}

/** Judges a write that the API server asks about. */
export const admitting = (prepared: Prepared, submission: Submission): Steps<Admission> =>
  judgedWith(prepared, submission, undefined)

function* judgedWith(
  prepared: Prepared,
  submission: Submission,
  read: Confirmed | undefined,
): Steps<Admission> {
  const { world, state, version } = prepared
  const { namespace } = submission
  if (passesFreely(submission) || isLeftOut(world.settings, namespace)) return CERTAIN
  const kind = kindOfSubmission(submission, world.group)
  const isWhole = state === undefined || state.knowsWholeNamespace(namespace)
  const lacking = new Map<string, ObjectName>()
  const cluster = isWhole
    ? state?.in(namespace, version)
    : state.in(namespace, version, noting(lacking, submission))
  const verdict =
    kind === undefined
      ? { ...ADMITTED, warnings: [registrationTooWide(submission)] }
      : yield* judgedBeside(kind, cluster, { prepared, submission, read })
  if (!isWhole) for (const to of leftOut(prepared, submission, kind)) lacking.set(nameKey(to), to)
  const unconfirmed = unconfirmedOf(verdict, lacking, read)
  const missed = isWhole ? undefined : [...lacking.values()].find((name) => read?.has(name) !== true)
  const admission = {
    unconfirmed,
    with: (next: Confirmed): Steps<Admission> =>
      unconfirmed.length > 0
        ? judgedWith(prepared, submission, next)
        : certainly({ ...doubted(prepared, submission, verdict, undefined), ...admission }),
  }
  return { ...(read === undefined ? verdict : doubted(prepared, submission, verdict, missed)), ...admission }
}

/**
 * Returns a callback that receives each object that is cached without some of its fields, and adds it to the map
 * `lacking` unless it is the submitted object.
 */
const noting =
  (lacking: Map<string, ObjectName>, { kind, name }: Submission) =>
  (other: ObjectName): void => {
    if (other.kind !== kind || other.name !== name) lacking.set(nameKey(other), other)
  }

/** Admits a write that is not judged: without findings, and certain, because no other object has to be read. */
const CERTAIN: Admission = {
  ...ADMITTED,
  unconfirmed: [],
  with: () => certainly(CERTAIN),
}

/** Wraps a finished admission in `Steps` (work that can pause); these steps never pause. */
function* certainly(admission: Admission): Steps<Admission> {
  return admission
}

interface Asked {
  readonly prepared: Prepared
  readonly submission: Submission
  readonly read: Confirmed | undefined
}

function* judgedBeside(kind: Kind, cluster: Cluster | undefined, asked: Asked): Steps<ObjectJudgement> {
  const { prepared, submission, read } = asked
  const { operation, object, oldObject, namespace, name, dryRun, contents } = submission
  const beside: Surroundings = {
    ...around(prepared, { kind, namespace, name }, cluster && read ? read.with(cluster) : cluster),
    isLarge: (contents?.text?.length ?? 0) >= LARGE,
  }
  const old = operation === 'UPDATE' && isObject(oldObject) ? oldObject : undefined
  const verdict = yield* judgement(prepared, {
    ...{ kind, namespace, name, ignores: [], dryRun, confirmed: read },
    object: operation === 'DELETE' ? oldObject : object,
    find: (budget) =>
      operation === 'DELETE'
        ? findingsOnDelete(kind, oldObject, { ...beside, budget })
        : findingsOnWrite(kind, asked, { ...beside, budget, old: readable(kind, old, contents) }),
    replaced: old && {
      object: old,
      find: (budget) => findingsBefore(kind, old, { ...beside, budget }, prepared),
    },
  })
  return operation === 'UPDATE' ? withoutAdvice(verdict) : verdict
}

function* findingsOnWrite(
  kind: Kind,
  { prepared, submission }: Asked,
  within: Surroundings,
): Steps<readonly Finding[]> {
  const { object, contents } = submission
  const findings = yield* findingsIn(kind, object, within, contents)
  const release = prepared.installed
  return [...disagreement(submission), ...yielding(findings, { kind, value: object, release })]
}

/** The findings in the stored object that an update replaces. */
function* findingsBefore(
  kind: Kind,
  old: unknown,
  within: Surroundings,
  { installed: release }: Prepared,
): Steps<readonly Finding[]> {
  return yielding(yield* findingsIn(kind, old, within), { kind, value: old, release })
}

/** Removes the advice about an update: the webhook gives advice only when an object is created. */
const withoutAdvice = (verdict: ObjectJudgement): ObjectJudgement => ({
  ...verdict,
  warnings: verdict.warnings.filter(({ severity }) => severity !== 'advice'),
})

/** The objects that the submitted object refers to and that are not cached, perhaps because the cache is full. */
function leftOut(
  { state }: Prepared,
  { namespace, name, object, operation }: Submission,
  kind: Kind | undefined,
): readonly ObjectName[] {
  if (state?.lacksObjectsIn(namespace) !== true || kind === undefined || operation === 'DELETE') return []
  const { resource } = shape(kind, object)
  const references = resource === undefined ? [] : referencesOf(kind.kind, resource)
  return references
    .map(({ to }) => to)
    .filter(
      (to) =>
        (to.kind !== kind.kind || to.name !== name) && state.get(to.kind, namespace, to.name) === undefined,
    )
}

/**
 * The objects to read before the verdict is certain: those on which errors depend, those on which warnings depend,
 * those that other findings would look at (`looksAt`), and those in `lacking` (not cached, or only in part). Without
 * repeats, and without objects that were just read.
 */
function unconfirmedOf(
  { errors, warnings, looksAt }: ObjectJudgement,
  lacking: ReadonlyMap<string, ObjectName>,
  read: Confirmed | undefined,
): readonly ObjectName[] {
  const found = new Map<string, ObjectName>()
  const add = (name: ObjectName) => {
    if (read?.has(name) !== true) found.set(nameKey(name), name)
  }
  for (const { error } of errors) error.dependsOn?.forEach(add)
  for (const { error } of warnings) error.dependsOn?.forEach(add)
  looksAt.forEach(add)
  for (const name of lacking.values()) add(name)
  return [...found.values()]
}

const OTHERS_KNOWN = 'others-known'

/**
 * Adds a warning to the verdict when the cache lacks objects of the namespace, or when an object that is not cached,
 * or only in part, was not read either (`missed`).
 */
function doubted(
  { state, world: { settings } }: Prepared,
  { namespace }: Submission,
  verdict: ObjectJudgement,
  missed: ObjectName | undefined,
): ObjectJudgement {
  if (missed === undefined && state?.lacksObjectsIn(namespace) !== true) return verdict
  const severity = severityAt(settings, { id: OTHERS_KNOWN, at: [], namespace }, 'warning')
  if (severity === 'off') return verdict
  const what =
    missed === undefined
      ? 'not all of the namespace fits into --cache-memory'
      : `${nameKey(missed)} was not read`
  const detail = `${what}: contradictions with other objects may be missed; 'vmcp-admission audit' finds them`
  const doubt: Finding = {
    id: OTHERS_KNOWN,
    severity: 'warning',
    prefix: 'not confirmed: ',
    error: { type: 'advice', at: [], detail },
  }
  return { ...verdict, warnings: [doubt, ...verdict.warnings] }
}

function registrationTooWide({ group, kind }: Submission): Finding {
  const detail = `this webhook does not know ${kind || 'this kind'} of the group '${group}' and admits it unjudged; register the webhook for the seven kinds only`
  return {
    id: 'registration-covers-known-kinds',
    severity: 'warning',
    error: { type: 'advice', at: [], detail },
  }
}
