import { kindNamed } from '../kinds/index.ts'
import type { Kind } from '../kinds/kind.ts'
import { deepEqual, type Finding, isBeingDeleted, isObject, type ObjectName } from '../rule/index.ts'
import type { Contents } from '../shape/index.ts'

/** A request to store or delete an object: from the API server, from an audit log, or from the apply of a file. */
export interface Submission {
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT'
  readonly group: string
  readonly kind: string
  readonly namespace: string
  /** Empty when the API server will make a name from `generateName`. */
  readonly name: string
  readonly subResource: string
  /** Whether the API server will not store the object. */
  readonly dryRun: boolean
  /** The name of the user who sends the request; empty for submissions that no API server sent. */
  readonly user: string
  /** The object as submitted; may have any JSON type. */
  readonly object: unknown
  /** The stored object on UPDATE and DELETE. */
  readonly oldObject: unknown
  /** Facts about the JSON text of the object: they make searches in the object unnecessary. */
  readonly contents?: Contents
}

/** An object to apply. */
interface Applied {
  readonly namespace: string
  readonly group: string
  readonly object: unknown
  /** The stored object; absent when the apply creates the object. */
  readonly oldObject?: unknown
}

/** The request that an apply would send: an update when there is a stored object, otherwise a creation. */
export const submissionOf = (
  { kind, name }: ObjectName,
  { namespace, group, object, oldObject }: Applied,
): Submission => ({
  operation: oldObject === undefined ? 'CREATE' : 'UPDATE',
  group,
  kind,
  namespace,
  name,
  subResource: '',
  dryRun: false,
  user: '',
  object,
  oldObject,
})

/** The kind of a submission; undefined when its API group is not the group `ours`, or when its kind is not known. */
export const kindOfSubmission = ({ group, kind }: Submission, ours: string): Kind | undefined =>
  group === ours ? kindNamed.get(kind) : undefined

/**
 * Whether a submission is admitted without a review (decision 8): a metadata-only change must never block a finalizer
 * or a storage migration, and nothing must hold up an object that is being deleted.
 */
export function passesFreely({ operation, subResource, object, oldObject }: Submission): boolean {
  if (operation === 'CONNECT' || subResource !== '') return true
  if (operation === 'DELETE') return false
  if (!isObject(object)) return false
  if (isBeingDeleted(object)) return true
  return operation === 'UPDATE' && isObject(oldObject) && deepEqual(object.spec, oldObject.spec)
}

/** Errors when the object is not of the API group and kind in the request, as in a crafted AdmissionReview. */
export function disagreement({ group, kind, object }: Submission): Finding[] {
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
