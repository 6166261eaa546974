import type { Cluster, ObjectName } from '../../rule/cluster.ts'
import type { Resource } from '../../rule/resource.ts'
import { CONFIG } from './aspects.ts'
import { reachersOf } from './reach.ts'
import { isReferredTo, referencesOf } from './references.ts'

const GATEWAY = 'VirtualMCPServer'

/**
 * Whom a change may concern, told without a look at them: an object, and which of those around it. `gateways` are the
 * VirtualMCPServers that front or reach it; `all` are those who refer to it as well; `reached` are these, and whoever
 * shares a configuration with a member of the group.
 */
export interface Concern {
  readonly to: ObjectName
  readonly whom: 'gateways' | 'all' | 'reached'
}

/**
 * What the change of an object concerns, beside the object itself: asked of it as it was and as it is, and told apart by
 * what each rule reads.
 */
export function concernsOf(self: ObjectName, resource: Resource | undefined): Concern[] {
  const references = resource === undefined ? [] : referencesOf(self.kind, resource)
  // A VirtualMCPServer decides for its backends, and for who shares a configuration with it. A workload changes what its
  // group reaches, and who uses its configurations.
  return [
    ...(isReferredTo(self.kind) ? [{ to: self, whom: 'all' } as const] : []),
    ...references.map(({ to }): Concern => {
      const isFronted = self.kind === GATEWAY && to.kind === 'MCPGroup'
      return { to, whom: isFronted ? 'reached' : 'gateways' }
    }),
  ]
}

/** The objects of which rules may say something else, as they are around it now. */
export function* concernedBy({ to, whom }: Concern, cluster: Cluster): Iterable<ObjectName> {
  yield to
  if (to.kind === 'MCPExternalAuthConfig') yield* reachers(to.name, cluster)
  if (whom !== 'gateways') yield* cluster.referrers(to.kind, to.name)
  else if (to.kind === 'MCPGroup') yield* cluster.referrers(to.kind, to.name, [GATEWAY])
  if (whom !== 'reached') return
  for (const [own] of cluster.apart(to.kind, to.name, 'config')) {
    if (!own.startsWith(CONFIG)) continue
    const config = own.slice(CONFIG.length)
    yield { kind: 'MCPExternalAuthConfig', name: config }
    yield* reachers(config, cluster)
  }
}

const reachers = (config: string, cluster: Cluster): ObjectName[] =>
  reachersOf(config, cluster).map(({ name }) => name)
