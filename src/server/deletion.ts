import type { Submission } from '../engine/index.ts'
import type { LiveReads } from './live.ts'

/** The users as which Kubernetes deletes the dependants of a deleted object or namespace. */
const CLEANERS = new Set([
  'system:serviceaccount:kube-system:namespace-controller',
  'system:serviceaccount:kube-system:generic-garbage-collector',
])

/**
 * Whether a deletion may be denied: never while the object's namespace or owner is being deleted (decision 11).
 * Undefined when it is not known whether the namespace is being deleted.
 */
export async function mayBlock(
  { user, namespace }: Submission,
  live: Pick<LiveReads, 'isTerminating'>,
  milliseconds: number,
): Promise<boolean | undefined> {
  if (CLEANERS.has(user)) return false
  const isTerminating = await live.isTerminating(namespace, milliseconds)
  return isTerminating === undefined ? undefined : !isTerminating
}
