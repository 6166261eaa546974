import type { LiveCluster } from './live/index.ts'
import { ClusterState } from '../../state/index.ts'
import { IN_CLUSTER, type Unread } from '../output/report.ts'
import { kindsNotKnown, putAll, type DocumentReading } from '../../documents/index.ts'

/** The kinds and namespaces of the cluster that could not be read. */
export const unreadOf = ({ unread }: Pick<LiveCluster, 'unread'>): Unread[] =>
  unread.map((message) => ({ ...IN_CLUSTER, message }))

/** The state of the cluster when it was read. */
export function stateOfCluster(live: LiveCluster, group: string): ClusterState {
  return liveState(live, new ClusterState({ group, knows: live.knows }))
}

/** The state of the cluster as it would be after an apply of the documents. */
export function stateOfBoth(
  live: LiveCluster,
  values: readonly unknown[],
  reading: DocumentReading,
): ClusterState {
  const where = (namespace: string) => `in namespace '${namespace}' or the given files`
  const hidden = kindsNotKnown(values, reading)
  const knows = (kind: string, namespace: string) => live.knows(kind, namespace) && !hidden(kind, namespace)
  const state = liveState(live, new ClusterState({ group: reading.group, knows, where }))
  putAll(state, values, reading)
  return state
}

function liveState({ objects, secrets }: LiveCluster, state: ClusterState): ClusterState {
  for (const { kind, value } of objects) state.put(kind, value)
  for (const { kind, namespace, name, facts } of secrets) state.putFacts({ kind, name }, namespace, facts)
  return state
}
