import { referencesOf } from '../kinds/between/references.ts'
import { kindNamed } from '../kinds/index.ts'
import { judging, passesFreely, type Situation, type Submission } from '../review/index.ts'
import { isLeftOut } from '../review/ignored.ts'
import { shape } from '../review/shape.ts'
import type { Finding } from '../review/finding.ts'
import type { Verdict } from '../review/judge.ts'
import { severityAt, type Settings } from '../review/settings.ts'
import { nameKey, type ObjectName } from '../rule/cluster.ts'
import type { Steps } from '../rule/steps.ts'

const ID = 'others-known'

/** A verdict by the cache, and the objects that the cache does not keep, or not whole, and that it may depend on. */
export interface Judged {
  readonly verdict: Verdict
  readonly lacking: readonly ObjectName[]
}

/**
 * Judges a submission, and notes what it may depend on that the cache lacks: the objects of which rules asked and only facts
 * are kept, and, where objects of the namespace are left out, those that the submitted one refers to. Usually none.
 */
export function* judgingByCache(submission: Submission, engine: Situation): Steps<Judged> {
  const { state } = engine
  const { namespace, name } = submission
  if (state === undefined || state.knowsWholeNamespace(namespace))
    return { verdict: yield* judging(submission, engine), lacking: [] }
  const lacking = new Map<string, ObjectName>()
  const note = (other: ObjectName) => {
    if (other.kind !== submission.kind || other.name !== name) lacking.set(nameKey(other), other)
  }
  const verdict = yield* judging(submission, { ...engine, cluster: state.in(namespace, note) })
  for (const to of leftOut(submission, engine)) note(to)
  return { verdict, lacking: [...lacking.values()] }
}

/** Where objects of the namespace are left out: those that the submitted one refers to and that are not in the cache. */
function leftOut(submission: Submission, { state, group, settings }: Situation): readonly ObjectName[] {
  const { namespace, kind: name, object, operation } = submission
  const kind = submission.group === group ? kindNamed.get(name) : undefined
  if (state?.lacksObjectsIn(namespace) !== true || kind === undefined) return []
  if (operation === 'DELETE' || isUnjudged(submission, settings)) return []
  const { resource } = shape(kind, object)
  const references = resource === undefined ? [] : referencesOf(name, resource)
  return references.map(({ to }) => to).filter((to) => state.get(to.kind, namespace, to.name) === undefined)
}

/** The verdict, with a warning when objects of the namespace were neither cached nor read. */
export function withDoubt(
  verdict: Verdict,
  { submission, engine, read }: Doubtful,
  lacking: readonly ObjectName[],
): Verdict {
  const { state, settings } = engine
  const { namespace } = submission
  const missed = lacking.find((name) => !read.has(name))
  const lacks = state?.lacksObjectsIn(namespace) === true
  if (isUnjudged(submission, settings) || (missed === undefined && !lacks)) return verdict
  const severity = severityAt(settings, { id: ID, at: [], namespace }, 'warning')
  if (severity === 'off') return verdict
  const what =
    missed === undefined
      ? 'not all of the namespace fits into --cache-memory'
      : `${nameKey(missed)} was not read`
  const detail = `${what}: contradictions with it may be missed; 'vmcp-admission audit' finds them`
  const doubt: Finding = {
    id: ID,
    severity: 'warning',
    prefix: 'not confirmed: ',
    error: { type: 'advice', at: [], detail },
  }
  return { ...verdict, warnings: [doubt, ...verdict.warnings] }
}

const isUnjudged = (submission: Submission, settings: Settings): boolean =>
  passesFreely(submission) || isLeftOut(settings, submission.namespace)

interface Doubtful {
  readonly submission: Submission
  readonly engine: Situation
  /** What has just been read from the API server. */
  readonly read: { has(name: ObjectName): boolean }
}
