import { visitTargets } from '../relations/index.ts'
import {
  answering,
  type Cluster,
  compareNames,
  nameKey,
  type ObjectName,
  type Resource,
} from '../rule/index.ts'

/** The cluster with one object replaced or added, such as the judged one; removed where `resource` is undefined. */
export function overlay(cluster: Cluster, self: ObjectName, resource: Resource | undefined): Cluster {
  const isSelf = (kind: string, name: string) => name === self.name && kind === self.kind
  /** The keys of the objects to which the resource refers; computed when a rule asks for referrers. */
  let refers: ReadonlySet<string> | undefined
  return answering(cluster, {
    get: (kind, name) => (isSelf(kind, name) ? resource : cluster.get(kind, name)),
    referrers: (kind, name, among) => {
      const names = cluster.referrers(kind, name, among)
      if (among?.includes(self.kind) === false) return names
      refers ??= resource === undefined ? new Set<string>() : targetsOf(self.kind, resource)
      const place = placeOf(names, self)
      const isListed = names[place] !== undefined && compareNames(names[place], self) === 0
      if (refers.has(nameKey({ kind, name })) === isListed) return names
      return isListed ? names.toSpliced(place, 1) : names.toSpliced(place, 0, self)
    },
  })
}

/** The objects of which a resource is a referrer, as keys. */
function targetsOf(kind: string, resource: Resource): Set<string> {
  const keys = new Set<string>()
  visitTargets(kind, resource, (kind, name) => keys.add(nameKey({ kind, name })))
  return keys
}

/** The index of a name in a sorted list of names, or the index at which to insert it. */
function placeOf(names: readonly ObjectName[], name: ObjectName): number {
  let [from, to] = [0, names.length]
  while (from < to) {
    const middle = (from + to) >> 1
    const there = names[middle]
    if (there !== undefined && compareNames(there, name) < 0) from = middle + 1
    else to = middle
  }
  return from
}
