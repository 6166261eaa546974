/** The other objects as rules look them up: stored as small parts, indexed by every question. */

import { projected, type Projection } from '../kinds/between/projections.ts'
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

type ByName<V> = Map<string, Map<string, V>>

/** What there is in one namespace, by kind and name. */
interface Namespace {
  readonly objects: ByName<Stored>
  /** Who refers to an object, whether or not it exists. */
  readonly referrers: ByName<Referrers>
}

/** A near name is looked for among this many. */
const MOST_NAMES = 2_000

/**
 * The other objects, each reduced to what is read of it, and indexed for every question that a rule asks: no answer
 * looks at objects that are not in it.
 */
export class World {
  readonly #extent: Extent
  readonly #project: Projection
  readonly #namespaces = new Map<string, Namespace>()
  /** The namespaces that have an object of a kind and name, where it is not one alone. */
  readonly #homes = new Map<string, string | Set<string>>()

  /** `project` chooses what is kept of each object. */
  constructor(extent: Extent, project: Projection = projected) {
    this.#extent = extent
    this.#project = project
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
    const kept = this.#project(kind.kind, resource, this.#extent.group)
    this.#store(kind.kind, namespace, name, kept, versionOf(resource))
  }

  /** The resourceVersion of an object; undefined when it is not there. */
  version(kind: string, namespace: string, name: string): string | undefined {
    return this.#find(kind, namespace, name)?.version
  }

  putSecret(namespace: string, name: string, facts: SecretFacts): void {
    this.#store('Secret', namespace, name, facts, '')
  }

  #store(kind: string, namespace: string, name: string, resource: Resource, version: string): void {
    const there = this.#namespaces.get(namespace) ?? { objects: new Map(), referrers: new Map() }
    this.#namespaces.set(namespace, there)
    const names = branch(there.objects, kind)
    const before = names.get(name)
    const named = before?.name ?? { kind, name }
    if (before !== undefined) unlink(there, before)
    names.set(name, { name: named, resource, version })
    for (const link of linksOf(kind, resource)) {
      const targets = branch(there.referrers, link.to.kind)
      const referrers = targets.get(link.to.name) ?? new Referrers()
      targets.set(link.to.name, referrers)
      referrers.add(link, named)
    }
    if (before === undefined) this.#addHome(nameKey(named), namespace)
  }

  remove(kind: string, namespace: string, name: string): void {
    const there = this.#namespaces.get(namespace)
    const stored = there?.objects.get(kind)?.get(name)
    if (there === undefined || stored === undefined) return
    unlink(there, stored)
    prune(there.objects, kind, name)
    if (there.objects.size === 0) this.#namespaces.delete(namespace)
    const key = nameKey(stored.name)
    const homes = this.#homes.get(key)
    if (homes instanceof Set) homes.delete(namespace)
    else this.#homes.delete(key)
    if (homes instanceof Set && homes.size === 0) this.#homes.delete(key)
  }

  /** What is kept of an object. */
  get(kind: string, namespace: string, name: string): Resource | undefined {
    return this.#find(kind, namespace, name)?.resource
  }

  /** Every object of a kind, in no order; in one namespace or in all. */
  *all(kind: string, namespace?: string): Iterable<{ readonly namespace: string; readonly name: string }> {
    for (const [each, { objects }] of this.#namespaces) {
      if (namespace !== undefined && each !== namespace) continue
      for (const name of objects.get(kind)?.keys() ?? []) yield { namespace: each, name }
    }
  }

  /** The view from one namespace. */
  in(namespace: string): Cluster {
    return new Inside(namespace, this.#namespaces.get(namespace) ?? NOTHING, this.#homes, this.#extent)
  }

  #find(kind: string, namespace: string, name: string): Stored | undefined {
    return this.#namespaces.get(namespace)?.objects.get(kind)?.get(name)
  }

  #addHome(key: string, namespace: string): void {
    const found = this.#homes.get(key)
    if (found === undefined) this.#homes.set(key, namespace)
    else if (typeof found !== 'string') found.add(namespace)
    else if (found !== namespace) this.#homes.set(key, new Set([found, namespace]))
  }
}

function unlink({ referrers }: Namespace, { name, resource }: Stored): void {
  for (const link of linksOf(name.kind, resource)) {
    const found = referrers.get(link.to.kind)?.get(link.to.name)
    found?.remove(link, name)
    if (found?.isEmpty) prune(referrers, link.to.kind, link.to.name)
  }
}

const NOTHING: Namespace = { objects: new Map(), referrers: new Map() }

/** What there is, as it is seen from one namespace. */
class Inside implements Cluster {
  readonly #namespace: string
  readonly #objects: Namespace['objects']
  readonly #referrers: Namespace['referrers']
  readonly #homes: ReadonlyMap<string, string | ReadonlySet<string>>
  readonly #extent: Extent

  constructor(
    namespace: string,
    { objects, referrers }: Namespace,
    homes: ReadonlyMap<string, string | ReadonlySet<string>>,
    extent: Extent,
  ) {
    this.#namespace = namespace
    this.#objects = objects
    this.#referrers = referrers
    this.#homes = homes
    this.#extent = extent
  }

  get group(): string {
    return this.#extent.group
  }

  get where(): string {
    return this.#extent.where?.(this.#namespace) ?? `in namespace '${this.#namespace}'`
  }

  get(kind: string, name: string): Resource | undefined {
    return this.#objects.get(kind)?.get(name)?.resource
  }

  referrers(kind: string, name: string, among?: readonly string[]): Names {
    return this.#referrers.get(kind)?.get(name)?.of(among) ?? NOBODY
  }

  apart(kind: string, name: string, aspect: string): Iterable<readonly [string, Names]> {
    return this.#referrers.get(kind)?.get(name)?.apart(aspect) ?? []
  }

  knows(kind: string): boolean {
    return this.#extent.knows(kind, this.#namespace)
  }

  names(kind: string): Iterable<string> {
    const objects = this.#objects.get(kind)
    return objects === undefined ? [] : first(objects.keys(), MOST_NAMES)
  }

  elsewhere(kind: string, name: string): readonly string[] {
    const found = this.#homes.get(nameKey({ kind, name })) ?? []
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
    return kinds === undefined ? this.#all : this.#all.of(kinds)
  }

  apart(aspect: string): Iterable<readonly [string, Names]> {
    return this.#apart?.get(aspect) ?? []
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
