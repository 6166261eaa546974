import { referencesOf } from '../kinds/between/references.ts'
import { kindNamed } from '../kinds/index.ts'
import { passesFreely, type Situation, type Submission } from '../review/index.ts'
import { isLeftOut } from '../review/ignored.ts'
import { shape } from '../review/shape.ts'
import type { Finding } from '../review/finding.ts'
import type { Verdict } from '../review/judge.ts'
import { severityAt, type Settings } from '../review/settings.ts'
import { nameKey, type ObjectName } from '../rule/cluster.ts'

const ID = 'others-known'

/**
 * The objects that the cache does not keep, or not whole, and that a verdict may depend on: large ones of the namespace,
 * and, where objects of it are left out, those that the submitted one refers to. Usually none.
 */
export function uncachedBeside(
  submission: Submission,
  { state, group, settings }: Situation,
): readonly ObjectName[] {
  const { namespace, kind: name, object } = submission
  const kind = submission.group === group ? kindNamed.get(name) : undefined
  if (state === undefined || kind === undefined || isUnjudged(submission, settings)) return []
  const isSelf = (other: ObjectName) => other.kind === name && other.name === submission.name
  const found = [...state.partialIn(namespace)]
  if (state.lacksObjectsIn(namespace) && submission.operation !== 'DELETE') {
    const { resource } = shape(kind, object)
    for (const { to } of resource === undefined ? [] : referencesOf(name, resource)) {
      if (state.get(to.kind, namespace, to.name) === undefined) found.push(to)
    }
  }
  return found.filter((other) => !isSelf(other))
}

/** The verdict, with a warning when objects of the namespace were neither cached nor read. */
export function withDoubt(
  verdict: Verdict,
  { submission, engine, read }: Doubtful,
  uncached: readonly ObjectName[],
): Verdict {
  const { state, settings } = engine
  const { namespace } = submission
  const missed = uncached.find((name) => !read.has(name))
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
