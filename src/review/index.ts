import { kindNamed } from '../kinds/index.ts'
import type { Kind } from '../kinds/kind.ts'
import { type Cluster, emptyCluster } from '../rule/cluster.ts'
import { isObject } from '../rule/resource.ts'
import { check } from './check.ts'
import { deepEqual } from './deep-equal.ts'
import { type DefaultAdded, defaultsFor } from './defaults.ts'
import type { Finding } from './finding.ts'
import { ADMITTED, judge, type Verdict } from './judge.ts'
import { type Placeholder, placeholdersIn, unresolved } from './placeholder.ts'
import type { Settings } from './settings.ts'
import { ANYTHING, type Contents, shape } from './shape.ts'

/** One request to store an object, whoever it comes from: the API server, a file, a test. */
export interface Submission {
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT'
  readonly group: string
  readonly kind: string
  readonly namespace: string
  readonly subResource: string
  /** The object as submitted; may have any JSON type. */
  readonly object: unknown
  /** The stored object on UPDATE. */
  readonly oldObject: unknown
  /** What is known of the object without looking into it again. */
  readonly contents?: Contents
}

/** What the engine depends on beside the submission. */
export interface Engine {
  readonly group: string
  readonly settings: Settings
  readonly cluster: Cluster
}

/** Judges a submission: pure, synchronous, never throws on any JSON. */
export function validate(submission: Submission, engine: Engine): Verdict {
  if (passesFreely(submission)) return ADMITTED
  const kind = kindOf(submission, engine)
  if (kind === undefined) return { ...ADMITTED, warnings: [registrationTooWide(submission)] }
  const { object, oldObject, namespace } = submission
  const findings = disagreement(submission).concat(
    findingsIn(kind, object, engine.cluster, submission.contents),
  )
  return judge({ findings, value: object }, namespace, engine.settings, () =>
    submission.operation === 'UPDATE' && isObject(oldObject)
      ? { findings: findingsIn(kind, oldObject, engine.cluster), value: oldObject }
      : undefined,
  )
}

/** The defaults to add to the submitted object (decisions 23 to 26); none when it must not be touched. */
export function mutate(submission: Submission, engine: Engine): readonly DefaultAdded[] {
  if (passesFreely(submission)) return []
  const kind = kindOf(submission, engine)
  if (kind === undefined || !isObject(submission.object)) return []
  if (disagreement(submission).length > 0) return []
  if (shape(kind, submission.object, submission.contents).mistyped) return []
  return defaultsFor(kind, submission.object, submission.namespace)
}

/** Everything found in one object on its own; severities are those of the rules. */
export function findingsIn(
  kind: Kind,
  value: unknown,
  cluster: Cluster = emptyCluster,
  contents: Contents = ANYTHING,
): readonly Finding[] {
  const { findings, resource } = shape(kind, value, contents)
  if (resource === undefined) return findings
  const all = check(kind, resource, cluster, findings)
  return contents.placeholders ? [...all, ...placeholdersIn(kind, resource).map(unresolved)] : all
}

/**
 * As `findingsIn`, before deployment: a value with a placeholder in it is not judged, and nothing that rests on it is
 * reported; the placeholders are returned instead (decision 28).
 */
export function findingsBeforeDeployment(
  kind: Kind,
  value: unknown,
  cluster: Cluster = emptyCluster,
): { readonly findings: readonly Finding[]; readonly placeholders: readonly Placeholder[] } {
  const placeholders = isObject(value) ? placeholdersIn(kind, value) : []
  const places = placeholders.map(({ at }) => at)
  const { findings, resource } = shape(kind, value, ANYTHING, places)
  return { findings: resource ? check(kind, resource, cluster, findings) : findings, placeholders }
}

function kindOf({ group, kind }: Submission, engine: Engine): Kind | undefined {
  return group === engine.group ? kindNamed.get(kind) : undefined
}

/**
 * What is admitted unjudged: a metadata-only update must never wedge a finalizer or a storage migration, and what is
 * being deleted only needs to go (decision 8).
 */
function passesFreely({ operation, subResource, object, oldObject }: Submission): boolean {
  if (operation === 'DELETE' || operation === 'CONNECT' || subResource !== '') return true
  if (!isObject(object)) return false
  if (isObject(object.metadata) && typeof object.metadata.deletionTimestamp === 'string') return true
  return operation === 'UPDATE' && isObject(oldObject) && deepEqual(object.spec, oldObject.spec)
}

/** A crafted review can name one kind and hold another; the registered one decides, and the object must agree. */
function disagreement({ group, kind, object }: Submission): Finding[] {
  if (!isObject(object)) return []
  const { apiVersion, kind: given } = object
  const findings: Finding[] = []
  const disagree = (field: string, value: string, detail: string) =>
    findings.push({
      id: 'request-kind-agrees',
      severity: 'error',
      error: { type: 'invalid', at: [field], value, detail },
    })
  if (typeof given === 'string' && given !== kind)
    disagree('kind', given, `must be '${kind}' as the request says`)
  if (typeof apiVersion === 'string' && !apiVersion.startsWith(`${group}/`)) {
    disagree('apiVersion', apiVersion, `must be of the group '${group}' as the request says`)
  }
  return findings
}

function registrationTooWide({ group, kind }: Submission): Finding {
  const detail = `this webhook does not know ${kind || 'this kind'} of the group '${group}'; its registration is too wide`
  return {
    id: 'registration-covers-known-kinds',
    severity: 'warning',
    error: { type: 'advice', at: [], detail },
  }
}
