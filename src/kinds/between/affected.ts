import { type Cluster, nameKey, type ObjectName } from '../../rule/cluster.ts'
import type { Resource } from '../../rule/resource.ts'
import { type Gateway, getWorkload, groupOf, membersOf, type Workload } from './neighbours.ts'
import { configsReached, reachersOf } from './reach.ts'
import { referencesOf } from './references.ts'

const GATEWAY = 'VirtualMCPServer'

/**
 * The objects of which rules may say something else once this one has changed: asked before and after the change, and
 * told apart by what each rule reads. The object itself is one of them.
 */
export function affectedBy(self: ObjectName, cluster: Cluster): Iterable<ObjectName> {
  const found = new Map<string, ObjectName>()
  const add = (names: Iterable<ObjectName>) => {
    for (const name of names) found.set(nameKey(name), name)
  }
  add([self])
  add(cluster.referrers(self.kind, self.name))
  const resource = cluster.get(self.kind, self.name)
  if (self.kind === 'MCPExternalAuthConfig') add(reachers(self.name, cluster))
  else if (resource !== undefined && self.kind === GATEWAY) add(ofGateway(resource as Gateway, cluster))
  else if (resource !== undefined) add(ofWorkload(self.kind, resource, cluster))
  return found.values()
}

/** A VirtualMCPServer decides for its backends, and for who shares a configuration with it. */
function* ofGateway(gateway: Gateway, cluster: Cluster): Iterable<ObjectName> {
  const group = groupOf(gateway)
  for (const member of group === undefined ? [] : membersOf(cluster, group)) {
    yield member
    const workload = getWorkload(cluster, member)
    if (workload !== undefined) yield* referencesOf(member.kind, workload).map(({ to }) => to)
  }
  yield* referencesOf(GATEWAY, gateway).map(({ to }) => to)
  for (const { config } of configsReached(gateway, cluster)) {
    yield { kind: 'MCPExternalAuthConfig', name: config }
    yield* reachers(config, cluster)
  }
}

/** A workload changes what its group reaches, and who uses its configurations. */
function* ofWorkload(kind: string, resource: Resource, cluster: Cluster): Iterable<ObjectName> {
  for (const { to } of referencesOf(kind, resource)) {
    yield to
    if (to.kind === 'MCPExternalAuthConfig') yield* reachers(to.name, cluster)
  }
  const group = groupOf(resource as Workload)
  if (group !== undefined) yield* cluster.referrers('MCPGroup', group, [GATEWAY])
}

const reachers = (config: string, cluster: Cluster): ObjectName[] =>
  reachersOf(config, cluster).map(({ name }) => ({ kind: GATEWAY, name }))
