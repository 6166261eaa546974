import { DEFAULT_API_GROUP, kindNamed } from '../../src/kinds/index.ts'
import { configMapFacts } from '../../src/relations/config-maps.ts'
import { isPolicyKind, policyFacts } from '../../src/relations/policy-kinds.ts'
import { secretFacts } from '../../src/relations/secrets.ts'
import { ClusterState } from '../../src/state/cluster-state.ts'

/** A cluster state that holds these objects and knows that no others exist. */
export function stateOf(objects: readonly unknown[]): ClusterState {
  const state = new ClusterState({ group: DEFAULT_API_GROUP, knows: () => true })
  for (const object of objects) {
    const { kind: named, metadata } = object as {
      readonly kind: string
      readonly metadata: { readonly name: string; readonly namespace?: string }
    }
    const kind = kindNamed.get(named)
    if (kind === undefined)
      state.putFacts(
        { kind: named, name: metadata.name },
        metadata.namespace ?? '',
        (isPolicyKind(named) ? policyFacts : named === 'Secret' ? secretFacts : configMapFacts)(
          object as Record<string, unknown>,
        ),
      )
    else state.put(kind, object)
  }
  return state
}
