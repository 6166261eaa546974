import type { Submission } from '../engine/index.ts'
import type { LiveReads } from './live.ts'

/** Who deletes on behalf of something that is gone already. */
const CLEANERS = new Set([
  'system:serviceaccount:kube-system:namespace-controller',
  'system:serviceaccount:kube-system:generic-garbage-collector',
])

/** Whether a deletion may be refused at all: never while its namespace or its owner goes (decision 11). */
export async function mayBlock(
  { user, namespace }: Submission,
  live: Pick<LiveReads, 'isTerminating'>,
  milliseconds: number,
): Promise<boolean> {
  return !CLEANERS.has(user) && !(await live.isTerminating(namespace, milliseconds))
}
