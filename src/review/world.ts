/** The other objects as rules look them up: stored as small parts, indexed by every question. */

import { projected } from '../kinds/between/projections.ts'
import { type Link, linksOf } from '../kinds/between/links.ts'
import type { SecretFacts } from '../kinds/between/secrets.ts'
import type { Kind } from '../kinds/kind.ts'
import { type Cluster, nameKey, type Names, NOBODY, type ObjectName } from '../rule/cluster.ts'
import type { Segment } from '../rule/path.ts'
import type { Resource } from '../rule/resource.ts'
import { ANYTHING, shape } from './shape.ts'
import { Sorted } from './sorted.ts'

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
    const links = linksOf(kind, resource)
    if (links.length > 0) {
      const targets = branch(this.#referrers, namespace)
      for (const link of links) {
        const referrers = targets.get(link.to) ?? new Referrers()
        targets.set(link.to, referrers)
        referrers.add(link, named)
      }
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
    return new Inside(
      namespace,
      this.#objects,
      this.#referrers.get(namespace),
      this.#namespaces,
      this.#extent,
    )
  }

  #unlink(namespace: string, { name, resource }: Stored): void {
    const targets = this.#referrers.get(namespace)
    for (const link of linksOf(name.kind, resource)) {
      const referrers = targets?.get(link.to)
      referrers?.remove(link, name)
      if (referrers?.isEmpty) targets?.delete(link.to)
    }
    if (targets?.size === 0) this.#referrers.delete(namespace)
  }

  #addNamespace(key: string, namespace: string): void {
    const found = this.#namespaces.get(key)
    if (found === undefined) this.#namespaces.set(key, namespace)
    else if (typeof found !== 'string') found.add(namespace)
    else if (found !== namespace) this.#namespaces.set(key, new Set([found, namespace]))
  }
}

type Tree<V> = ReadonlyMap<string, ReadonlyMap<string, V>>

/** What there is, as it is seen from one namespace. */
class Inside implements Cluster {
  readonly #namespace: string
  readonly #objects: Tree<ReadonlyMap<string, Stored>>
  readonly #referrers: ReadonlyMap<string, Referrers> | undefined
  readonly #namespaces: ReadonlyMap<string, string | ReadonlySet<string>>
  readonly #extent: Extent

  constructor(
    namespace: string,
    objects: Tree<ReadonlyMap<string, Stored>>,
    referrers: ReadonlyMap<string, Referrers> | undefined,
    namespaces: ReadonlyMap<string, string | ReadonlySet<string>>,
    extent: Extent,
  ) {
    this.#namespace = namespace
    this.#objects = objects
    this.#referrers = referrers
    this.#namespaces = namespaces
    this.#extent = extent
  }

  get group(): string {
    return this.#extent.group
  }

  get where(): string {
    return this.#extent.where?.(this.#namespace) ?? `in namespace '${this.#namespace}'`
  }

  get(kind: string, name: string): Resource | undefined {
    return this.#objects.get(kind)?.get(this.#namespace)?.get(name)?.resource
  }

  referrers(kind: string, name: string, among?: readonly string[]): Names {
    return this.#referrers?.get(nameKey({ kind, name }))?.of(among) ?? NOBODY
  }

  apart(kind: string, name: string, aspect: string): Iterable<readonly [string, Names]> {
    return this.#referrers?.get(nameKey({ kind, name }))?.apart(aspect) ?? []
  }

  knows(kind: string): boolean {
    return this.#extent.knows(kind, this.#namespace)
  }

  names(kind: string): Iterable<string> {
    return first(this.#objects.get(kind)?.get(this.#namespace)?.keys() ?? [], MOST_NAMES)
  }

  elsewhere(kind: string, name: string): readonly string[] {
    const found = this.#namespaces.get(nameKey({ kind, name })) ?? []
    return [...(typeof found === 'string' ? [found] : found)]
      .filter((each) => each !== this.#namespace)
      .toSorted()
  }
}

/** Who refers to one object. */
class Referrers {
  readonly #all = new Sorted()
  #apart: Map<string, Map<string, Sorted>> | undefined

  get isEmpty(): boolean {
    return this.#all.length === 0
  }

  add({ aspects }: Link, name: ObjectName): void {
    this.#all.add(name)
    for (const [aspect, value] of aspects) {
      const values = branch((this.#apart ??= new Map<string, Map<string, Sorted>>()), aspect)
      const sorted = values.get(value) ?? new Sorted()
      values.set(value, sorted)
      sorted.add(name)
    }
  }

  remove({ aspects }: Link, name: ObjectName): void {
    this.#all.remove(name)
    for (const [aspect, value] of aspects) {
      const sorted = this.#apart?.get(aspect)?.get(value)
      sorted?.remove(name)
      if (sorted?.length === 0) prune(this.#apart, aspect, value)
    }
  }

  of(kinds: readonly string[] | undefined): Names {
    return this.#all.of(kinds)
  }

  *apart(aspect: string): Iterable<readonly [string, Names]> {
    for (const [value, sorted] of this.#apart?.get(aspect) ?? []) yield [value, sorted.of()]
  }
}

/** The resourceVersion of a stored object; empty for one that is not stored. */
export function versionOf({ metadata }: Resource): string {
  const version = (metadata as { readonly resourceVersion?: unknown } | undefined)?.resourceVersion
  return typeof version === 'string' ? version : ''
}

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
