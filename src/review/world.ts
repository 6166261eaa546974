import { projected } from '../kinds/between/projections.ts'
import { referencesOf } from '../kinds/between/references.ts'
import type { SecretFacts } from '../kinds/between/secrets.ts'
import type { Kind } from '../kinds/kind.ts'
import { type Cluster, nameKey, type ObjectName } from '../rule/cluster.ts'
import type { Segment } from '../rule/path.ts'
import type { Resource } from '../rule/resource.ts'
import { ANYTHING, shape } from './shape.ts'

/** Where a view has its objects from. */
export interface Extent {
  readonly group: string
  /** Whether every object of the kind in the namespace is known. */
  knows(kind: string, namespace: string): boolean
  /** Where the objects of a namespace were looked for, as in `in the given files`; by default the namespace. */
  where?(namespace: string): string
}

interface Stored {
  readonly name: ObjectName
  readonly resource: Resource
  readonly version: string
}

/** A near name is looked for among this many. */
const MOST_NAMES = 2_000

/**
 * The other objects, each reduced to what rules read of it, and indexed for every question that a rule asks: no answer
 * looks at objects that are not in it.
 */
export class World {
  readonly #extent: Extent
  /** Objects by kind, namespace and name. */
  readonly #objects = new Map<string, Map<string, Map<string, Stored>>>()
  /** Who refers to an object, whether or not it exists; by namespace, then by kind and name. */
  readonly #referrers = new Map<string, Map<string, Referrers>>()
  /** The namespaces that have an object of a kind and name, where it is not one alone. */
  readonly #namespaces = new Map<string, string | Set<string>>()

  constructor(extent: Extent) {
    this.#extent = extent
  }

  get group(): string {
    return this.#extent.group
  }

  /**
   * Takes an object in place of the one of its name, without the parts of a wrong JSON type and those at the places
   * that are not known yet. An object that has no name is left out: nothing can refer to it.
   */
  put(kind: Kind, object: unknown, fallback = '', unknown: readonly (readonly Segment[])[] = []): void {
    const { resource } = shape(kind, object, ANYTHING, unknown)
    const { name, namespace = fallback } = resource?.metadata ?? {}
    if (resource === undefined || typeof name !== 'string' || typeof namespace !== 'string') return
    const kept = projected(kind.kind, resource, this.#extent.group)
    this.#store(kind.kind, namespace, name, kept, versionOf(resource))
  }

  /** The resourceVersion of an object; undefined when it is not there. */
  version(kind: string, namespace: string, name: string): string | undefined {
    return this.#objects.get(kind)?.get(namespace)?.get(name)?.version
  }

  putSecret(namespace: string, name: string, facts: SecretFacts): void {
    this.#store('Secret', namespace, name, facts, '')
  }

  #store(kind: string, namespace: string, name: string, resource: Resource, version: string): void {
    const names = branch(branch(this.#objects, kind), namespace)
    const before = names.get(name)
    const named = before?.name ?? { kind, name }
    if (before !== undefined) this.#unlink(namespace, before)
    names.set(name, { name: named, resource, version })
    for (const { to } of referencesOf(kind, resource)) {
      const targets = branch(this.#referrers, namespace)
      const target = nameKey(to)
      const referrers = targets.get(target) ?? new Referrers()
      targets.set(target, referrers)
      referrers.add(named)
    }
    if (before === undefined) this.#addNamespace(nameKey(named), namespace)
  }

  remove(kind: string, namespace: string, name: string): void {
    const stored = this.#objects.get(kind)?.get(namespace)?.get(name)
    if (stored === undefined) return
    this.#unlink(namespace, stored)
    prune(this.#objects.get(kind), namespace, name)
    const key = nameKey(stored.name)
    const namespaces = this.#namespaces.get(key)
    if (namespaces instanceof Set) namespaces.delete(namespace)
    else this.#namespaces.delete(key)
    if (namespaces instanceof Set && namespaces.size === 0) this.#namespaces.delete(key)
  }

  /** What is kept of an object. */
  get(kind: string, namespace: string, name: string): Resource | undefined {
    return this.#objects.get(kind)?.get(namespace)?.get(name)?.resource
  }

  /** Every object of a kind, in no order; in one namespace or in all. */
  *all(kind: string, namespace?: string): Iterable<{ readonly namespace: string; readonly name: string }> {
    for (const [each, names] of this.#objects.get(kind) ?? []) {
      if (namespace !== undefined && each !== namespace) continue
      for (const name of names.keys()) yield { namespace: each, name }
    }
  }

  /** The view from one namespace. */
  in(namespace: string): Cluster {
    const objects = this.#objects
    const referrers = this.#referrers.get(namespace)
    const extent = this.#extent
    return {
      get: (kind, name) => objects.get(kind)?.get(namespace)?.get(name)?.resource,
      referrers: (kind, name, among) =>
        ofKinds(referrers?.get(nameKey({ kind, name }))?.inOrder() ?? [], among),
      knows: (kind) => extent.knows(kind, namespace),
      names: (kind) => first(objects.get(kind)?.get(namespace)?.keys() ?? [], MOST_NAMES),
      elsewhere: (kind, name) => {
        const found = this.#namespaces.get(nameKey({ kind, name })) ?? []
        return [...(typeof found === 'string' ? [found] : found)]
          .filter((each) => each !== namespace)
          .toSorted()
      },
      where: extent.where?.(namespace) ?? `in namespace '${namespace}'`,
      group: extent.group,
    }
  }

  #unlink(namespace: string, { name, resource }: Stored): void {
    for (const { to } of referencesOf(name.kind, resource)) {
      const targets = this.#referrers.get(namespace)
      const target = nameKey(to)
      targets?.get(target)?.remove(name)
      if (targets?.get(target)?.size === 0) targets.delete(target)
      if (targets?.size === 0) this.#referrers.delete(namespace)
    }
  }

  #addNamespace(key: string, namespace: string): void {
    const found = this.#namespaces.get(key)
    if (found === undefined) this.#namespaces.set(key, namespace)
    else if (typeof found !== 'string') found.add(namespace)
    else if (found !== namespace) this.#namespaces.set(key, new Set([found, namespace]))
  }
}

/** Who refers to one object. */
class Referrers {
  readonly #names = new Map<string, ObjectName>()
  #sorted: readonly ObjectName[] | undefined

  get size(): number {
    return this.#names.size
  }

  add(name: ObjectName): void {
    this.#names.set(nameKey(name), name)
    this.#sorted = undefined
  }

  remove(name: ObjectName): void {
    this.#names.delete(nameKey(name))
    this.#sorted = undefined
  }

  inOrder(): readonly ObjectName[] {
    this.#sorted ??= [...this.#names.values()].sort(compareNames)
    return this.#sorted
  }
}

/** The view with one object put in place of the stored one of its name: what a rule judges is part of what it sees. */
export function withObject(cluster: Cluster, self: ObjectName, resource: Resource): Cluster {
  let known: ReadonlySet<string> | undefined
  const targets = () => (known ??= new Set(referencesOf(self.kind, resource).map(({ to }) => nameKey(to))))
  const isSelf = ({ kind, name }: ObjectName) => kind === self.kind && name === self.name
  return {
    ...cluster,
    get: (kind, name) => (isSelf({ kind, name }) ? resource : cluster.get(kind, name)),
    referrers: (kind, name, among) => {
      const before = cluster.referrers(kind, name, among)
      const isOne =
        (among === undefined || among.includes(self.kind)) && targets().has(nameKey({ kind, name }))
      if (before.some(isSelf)) return isOne ? before : before.filter((each) => !isSelf(each))
      return isOne ? [...before, self].sort(compareNames) : before
    },
  }
}

/** The resourceVersion of a stored object; empty for one that is not stored. */
export function versionOf({ metadata }: Resource): string {
  const version = (metadata as { readonly resourceVersion?: unknown } | undefined)?.resourceVersion
  return typeof version === 'string' ? version : ''
}

const ofKinds = (names: readonly ObjectName[], among?: readonly string[]): readonly ObjectName[] =>
  among === undefined ? names : names.filter(({ kind }) => among.includes(kind))

const compareNames = (a: ObjectName, b: ObjectName): number =>
  a.kind === b.kind ? compare(a.name, b.name) : compare(a.kind, b.kind)

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

function* first<T>(items: Iterable<T>, most: number): Iterable<T> {
  let count = 0
  for (const item of items) {
    if (count === most) return
    count += 1
    yield item
  }
}

/** The map that lies under the key; an empty one is put there when there is none. */
function branch<V>(tree: Map<string, Map<string, V>>, key: string): Map<string, V> {
  let found = tree.get(key)
  if (found === undefined) {
    found = new Map()
    tree.set(key, found)
  }
  return found
}

/** Takes a leaf away, and its branch when nothing else is on it. */
function prune<V>(tree: Map<string, Map<string, V>> | undefined, key: string, leaf: string): void {
  const found = tree?.get(key)
  found?.delete(leaf)
  if (found?.size === 0) tree?.delete(key)
}
