import { referencesOf } from '../kinds/between/references.ts'
import { answering, type Cluster, compareNames, nameKey, type ObjectName } from '../rule/cluster.ts'
import type { Resource } from '../rule/resource.ts'

/** The cluster with one object in place of the stored one of its name: rules see the judged object among the others. */
export function overlay(cluster: Cluster, self: ObjectName, resource: Resource): Cluster {
  const isSelf = (kind: string, name: string) => name === self.name && kind === self.kind
  /** The keys of the objects to which the stored and the new object refer; computed when a rule asks for referrers. */
  let both: { readonly before: ReadonlySet<string>; readonly after: ReadonlySet<string> } | undefined
  const targets = () => {
    const stored = cluster.get(self.kind, self.name)
    both ??= {
      before: stored === undefined ? new Set() : targetsOf(self.kind, stored),
      after: targetsOf(self.kind, resource),
    }
    return both
  }
  return answering(cluster, {
    get: (kind, name) => (isSelf(kind, name) ? resource : cluster.get(kind, name)),
    referrers: (kind, name, among) => {
      const names = cluster.referrers(kind, name, among)
      if (among?.includes(self.kind) === false) return names
      const target = nameKey({ kind, name })
      const { before, after } = targets()
      if (before.has(target) === after.has(target)) return names
      return after.has(target)
        ? [...names, self].sort(compareNames)
        : names.filter((by) => !isSelf(by.kind, by.name))
    },
  })
}

/** The objects that a resource refers to, as keys. */
const targetsOf = (kind: string, resource: Resource): Set<string> =>
  new Set(referencesOf(kind, resource).map(({ to }) => nameKey(to)))
