/** The objects of a cluster or of files, by namespace. Rules look up an object by kind and name, and its referrers. */

import { visitTargets } from '../relations/index.ts'
import type { Kind } from '../kinds/kind.ts'
import {
  type Cluster,
  compareNames,
  type Memo,
  metadataOf,
  nameKey,
  type ObjectName,
  type Resource,
  type Segment,
} from '../rule/index.ts'
import { Digests, hashOf, isAmong, referenceHashes } from './digests.ts'
import { ANYTHING, shape } from '../shape/index.ts'
import { factsOf, storedBytes } from './size.ts'

/** Facts about the cluster or the files that the objects come from. */
export interface Extent {
  readonly group: string
  /** Whether all objects of the kind in the namespace were read, so an object that was not found does not exist. */
  knows(kind: string, namespace: string): boolean
  /** Where the objects of a namespace were searched, for messages: `in the given files`; by default `in namespace 'tools'`. */
  where?(namespace: string): string
}

/** Limits on the estimated bytes of all objects together, and of a single object. */
export interface MemoryBudget {
  readonly all: number
  readonly object: number
}

const UNBOUNDED: MemoryBudget = { all: Infinity, object: Infinity }

/** The name of an object that was removed from the state, because the memory was needed for other objects. */
export interface Displaced extends ObjectName {
  readonly namespace: string
}

interface Stored {
  readonly name: ObjectName
  /** The object as `put` received it; if it was too large, only the spec without lists, large maps and long texts. */
  readonly object: unknown
  /** The object as rules read it: without nulls and without values of a wrong JSON type. */
  readonly resource: Resource
  /** metadata.resourceVersion; empty where there is none. */
  readonly version: string
  readonly bytes: number
  /** Set for a large object, of which only the spec without lists, large maps and long texts is stored. */
  readonly part: Part | undefined
}

interface Part {
  /** Sorted hashes of the objects to which this object refers. */
  readonly refers: Float64Array
  /** Estimated bytes of the object with all its fields. */
  readonly wholeBytes: number
}

/** A cache of the fields that rules read, for objects that are too large to be stored with all fields. */
type PartDigests = Digests<Stored>

interface Referrers {
  readonly names: Map<string, ObjectName>
  /** The names of the referrers, sorted on demand; discarded when a name is added or removed. */
  sorted: readonly ObjectName[] | undefined
  /** For a list of kinds, the referrers of these kinds; cached, because every admission review asks for them. */
  among: WeakMap<readonly string[], readonly ObjectName[]>
}

interface Namespace {
  /** Objects by kind, then by name. */
  readonly objects: Map<string, Map<string, Stored>>
  /**
   * Referrers by `kind/name` of the target, which may be missing; without large referrers (`partial`) and without
   * those that are being deleted.
   */
  readonly referrers: Map<string, Referrers>
  /** The objects of which not all fields are stored, because they are too large. */
  readonly partial: Set<Stored>
  /** Number of changes to objects of this namespace so far. */
  changes: number
  /** Estimated bytes of all objects of this namespace. */
  bytes: number
}

/** The most names among which a similar name is searched. */
const MOST_NAMES = 2_000

/**
 * The objects of a cluster or of files. With a memory budget, it stores of large objects only the spec without lists,
 * large maps and long texts, and drops objects when it is full.
 */
export class ClusterState {
  readonly #extent: Extent
  readonly #namespaces = new Map<string, Namespace>()
  readonly #budget: MemoryBudget
  /** By namespace and kind: how many objects of any kind had been dropped when one of this kind was last dropped. */
  readonly #lacking = new Map<string, Map<string, number>>()
  readonly #digests: PartDigests = new Digests()
  #bytes = 0
  #partial = 0
  #leftOut = 0

  constructor(extent: Extent, budget: MemoryBudget = UNBOUNDED) {
    this.#extent = extent
    this.#budget = budget
  }

  get group(): string {
    return this.#extent.group
  }

  /**
   * Stores an object, replacing the object of the same kind, namespace and name. `fallback` is the namespace of an
   * object that names none; `unknown` lists paths whose values are placeholders, which rules cannot read. Ignores an
   * object without a name, because nothing can refer to it. Of an object with too many violations of its schema, rules
   * read only the metadata. Of an object over the size limit it stores only the spec without lists, large maps and long
   * texts. When the state is full, drops objects of the largest namespace and returns their names.
   */
  put(
    kind: Kind,
    object: unknown,
    fallback = '',
    unknown: readonly (readonly Segment[])[] = [],
  ): readonly Displaced[] {
    const { resource = { metadata: metadataOf(object), spec: undefined } } = shape(
      kind,
      object,
      ANYTHING,
      unknown,
    )
    const { name } = resource.metadata ?? {}
    const namespace = resource.metadata?.namespace ?? fallback
    if (typeof name !== 'string' || typeof namespace !== 'string') return []
    const version = versionOf(resource)
    const place = namespace === '' ? fallback : namespace
    return this.#store(place, { name: { kind: kind.kind, name }, object, resource, version })
  }

  /** Whether an object is stored with all its fields. */
  isWhole(kind: string, namespace: string, name: string): boolean {
    const stored = this.#find(kind, namespace, name)
    return stored !== undefined && stored.part === undefined
  }

  /** Whether the namespace has objects that are too large to be stored with all fields. */
  hasPartialIn(namespace: string): boolean {
    return (this.#namespaces.get(namespace)?.partial.size ?? 0) > 0
  }

  /** Whether the fields that rules read are cached for an object that is too large to be stored with all fields. */
  hasDigest(kind: string, namespace: string, name: string): boolean {
    const stored = this.#find(kind, namespace, name)
    return stored !== undefined && this.#digests.has(stored)
  }

  /** Estimated bytes of an object that is too large to be stored with all fields; 0 for other objects. */
  partialBytes(kind: string, namespace: string, name: string): number {
    return this.#find(kind, namespace, name)?.part?.wholeBytes ?? 0
  }

  /** The objects that are too large to be stored with all fields, in one namespace or in all. */
  *partial(within?: string): Iterable<ObjectName & { readonly namespace: string }> {
    for (const [namespace, { partial }] of this.#namespaces) {
      if (within === undefined || within === namespace)
        for (const { name } of partial) yield { ...name, namespace }
    }
  }

  /**
   * Caches the fields that rules read, for an object that is too large to be stored with all fields, until the object
   * changes or the memory is needed. False when the resourceVersion differs, or the memory is full.
   */
  keepDigest({ kind, name }: ObjectName, namespace: string, resource: Resource): boolean {
    const stored = this.#find(kind, namespace, name)
    if (stored?.part === undefined || stored.version !== versionOf(resource)) return false
    const most = this.#budget.all - this.#bytes
    return this.#digests.keep(stored, resource, storedBytes(name, resource), most)
  }

  /** Whether objects of the namespace were dropped because the state is full. */
  lacksObjectsIn(namespace: string): boolean {
    return this.#lacking.has(namespace)
  }

  /** Whether objects of the kind were dropped because the state is full, in one namespace or (undefined) in any. */
  lacks(kind: string, within: string | undefined): boolean {
    for (const [namespace, kinds] of this.#lacking) {
      if (kinds.has(kind) && (within === undefined || within === namespace)) return true
    }
    return false
  }

  /** Whether all objects of the namespace are stored, and with all their fields. */
  knowsWholeNamespace(namespace: string): boolean {
    const partial = this.#namespaces.get(namespace)?.partial.size ?? 0
    return partial === 0 && !this.lacksObjectsIn(namespace)
  }

  hasNamespace(namespace: string): boolean {
    return this.#namespaces.has(namespace)
  }

  /** Estimated bytes of all that is stored; how many objects are not stored with all fields; how many were dropped. */
  get sizes(): { readonly bytes: number; readonly partial: number; readonly leftOut: number } {
    return { bytes: this.#bytes + this.#digests.bytes, partial: this.#partial, leftOut: this.#leftOut }
  }

  /** Whether objects are missing because they were dropped when the memory was full. */
  get isFull(): boolean {
    return this.#lacking.size > 0
  }

  /**
   * Call this when all objects of a kind were stored again. `leftOut` is the number of dropped objects (`sizes`) before
   * that: earlier drops no longer count. Returns the namespaces in which no object of the kind is missing any more.
   */
  settle(kind: string, within: string | undefined, leftOut: number): string[] {
    const settled: string[] = []
    for (const [namespace, kinds] of this.#lacking) {
      const last = kinds.get(kind)
      if (last === undefined || last > leftOut || (within !== undefined && within !== namespace)) continue
      kinds.delete(kind)
      if (kinds.size === 0) this.#lacking.delete(namespace)
      settled.push(namespace)
    }
    return settled
  }

  /** Stores extracted facts of a Secret or a ConfigMap, which itself is never stored. */
  putFacts(name: ObjectName, namespace: string, facts: Resource): void {
    this.#store(namespace, { name, object: facts, resource: facts, version: '' })
  }

  remove(kind: string, namespace: string, name: string): void {
    const there = this.#namespaces.get(namespace)
    const stored = this.#find(kind, namespace, name)
    if (there === undefined || stored === undefined) return
    this.#drop(there, stored)
    if (there.objects.size === 0) this.#namespaces.delete(namespace)
  }

  /** An object as rules read it: without nulls and without values of a wrong JSON type. */
  get(kind: string, namespace: string, name: string): Resource | undefined {
    return this.#find(kind, namespace, name)?.resource
  }

  /** An object as `put` received it; if it was too large, only the spec without lists, large maps and long texts. */
  object(kind: string, namespace: string, name: string): unknown {
    return this.#find(kind, namespace, name)?.object
  }

  /** The resourceVersion of an object; undefined when the object is not stored. */
  version(kind: string, namespace: string, name: string): string | undefined {
    return this.#find(kind, namespace, name)?.version
  }

  /** Every object of a kind, in no particular order; in one namespace or in all. */
  *all(kind: string, namespace?: string): Iterable<{ readonly namespace: string; readonly name: string }> {
    for (const [each, { objects }] of this.#namespaces) {
      if (namespace !== undefined && each !== namespace) continue
      for (const name of objects.get(kind)?.keys() ?? []) yield { namespace: each, name }
    }
  }

  namespaces(): string[] {
    return [...this.#namespaces.keys()]
  }

  /** A number that differs after any change of an object in the namespace; -1 when the namespace has no objects. */
  changes(namespace: string): number {
    return this.#namespaces.get(namespace)?.changes ?? -1
  }

  /**
   * The objects as rules in one namespace see them; call it again after a change. `onPartial` gets each object that a
   * rule asks for but of which not all fields are in memory; `release` is the operator release, when known.
   */
  in(namespace: string, release?: string, onPartial?: (name: ObjectName) => void): Cluster {
    return new NamespaceObjects(namespace, {
      release,
      all: this.#namespaces,
      extent: this.#extent,
      lacking: this.#lacking.get(namespace),
      digests: this.#digests,
      onPartial,
    })
  }

  #find(kind: string, namespace: string, name: string): Stored | undefined {
    return this.#namespaces.get(namespace)?.objects.get(kind)?.get(name)
  }

  #store(namespace: string, given: Omit<Stored, 'bytes' | 'part'>): readonly Displaced[] {
    const { kind, name } = given.name
    const before = this.#find(kind, namespace, name)
    const there: Namespace = this.#namespaces.get(namespace) ?? {
      objects: new Map(),
      referrers: new Map(),
      partial: new Set(),
      changes: 0,
      bytes: 0,
    }
    if (before !== undefined) this.#drop(there, before)
    const wholeBytes = storedBytes(name, given.object, given.resource)
    const isPartial = wholeBytes > this.#budget.object
    const facts = isPartial ? factsOf(given.resource, this.#budget.object) : undefined
    const part = isPartial ? { refers: referenceHashes(kind, given.resource), wholeBytes } : undefined
    const { object, resource } = facts === undefined ? given : { object: facts, resource: facts }
    const bytes = storedBytes(name, object, resource) + (part?.refers.byteLength ?? 0)
    const { fits, displaced } = this.#makeRoom(namespace, bytes)
    if (!fits) {
      this.#leaveOut(kind, namespace)
      if (there.objects.size === 0) this.#namespaces.delete(namespace)
      return displaced
    }
    this.#namespaces.set(namespace, there)
    this.#keep(there, { ...given, object, resource, bytes, part })
    return displaced
  }

  #keep(there: Namespace, stored: Stored): void {
    const { kind, name } = stored.name
    const names = there.objects.get(kind) ?? new Map<string, Stored>()
    there.objects.set(kind, names)
    names.set(name, stored)
    there.changes += 1
    there.bytes += stored.bytes
    this.#bytes += stored.bytes
    if (stored.part === undefined) {
      link(there, stored)
      return
    }
    there.partial.add(stored)
    this.#partial += 1
  }

  #drop(there: Namespace, stored: Stored): void {
    const { kind, name } = stored.name
    const names = there.objects.get(kind)
    names?.delete(name)
    if (names?.size === 0) there.objects.delete(kind)
    if (stored.part === undefined) unlink(there, stored)
    there.changes += 1
    there.bytes -= stored.bytes
    this.#bytes -= stored.bytes
    if (there.partial.delete(stored)) this.#partial -= 1
    this.#digests.drop(stored)
  }

  /**
   * Drops objects of the largest namespace until the new object fits. `fits` is false when the namespace of the new
   * object is the largest.
   */
  #makeRoom(namespace: string, bytes: number): { readonly fits: boolean; readonly displaced: Displaced[] } {
    const displaced: Displaced[] = []
    this.#digests.shrink(Math.max(0, this.#budget.all - this.#bytes - bytes))
    while (this.#bytes + bytes > this.#budget.all) {
      let largest = { from: namespace, size: (this.#namespaces.get(namespace)?.bytes ?? 0) + bytes }
      for (const [from, { bytes: size }] of this.#namespaces) {
        if (from !== namespace && size > largest.size) largest = { from, size }
      }
      const { from } = largest
      const stored = from === namespace ? undefined : firstIn(this.#namespaces.get(from))
      if (stored === undefined) return { fits: false, displaced }
      displaced.push({ ...stored.name, namespace: from })
      this.remove(stored.name.kind, from, stored.name.name)
      this.#leaveOut(stored.name.kind, from)
    }
    return { fits: true, displaced }
  }

  #leaveOut(kind: string, namespace: string): void {
    this.#leftOut += 1
    const kinds = this.#lacking.get(namespace) ?? new Map<string, number>()
    this.#lacking.set(namespace, kinds.set(kind, this.#leftOut))
  }
}

function firstIn(there: Namespace | undefined): Stored | undefined {
  for (const names of there?.objects.values() ?? []) for (const stored of names.values()) return stored
  return undefined
}

function link({ referrers }: Namespace, { name, resource }: Stored): void {
  visitTargets(name.kind, resource, (kind, targetName) => {
    const target = nameKey({ kind, name: targetName })
    const found = referrers.get(target) ?? {
      names: new Map<string, ObjectName>(),
      sorted: undefined,
      among: new WeakMap(),
    }
    referrers.set(target, found)
    found.names.set(nameKey(name), name)
    found.sorted = undefined
    found.among = new WeakMap()
  })
}

function unlink({ referrers }: Namespace, { name, resource }: Stored): void {
  visitTargets(name.kind, resource, (kind, targetName) => {
    const target = nameKey({ kind, name: targetName })
    const found = referrers.get(target)
    if (found === undefined) return
    found.names.delete(nameKey(name))
    found.sorted = undefined
    found.among = new WeakMap()
    if (found.names.size === 0) referrers.delete(target)
  })
}

const EMPTY: Namespace = {
  objects: new Map(),
  referrers: new Map(),
  partial: new Set(),
  changes: -1,
  bytes: 0,
}

interface Around {
  readonly release: string | undefined
  readonly all: ReadonlyMap<string, Namespace>
  readonly extent: Extent
  readonly lacking: ReadonlyMap<string, unknown> | undefined
  readonly digests: PartDigests
  readonly onPartial: ((name: ObjectName) => void) | undefined
}

/** The objects that rules in one namespace can read; of other namespaces only the names of objects (`elsewhere`). */
class NamespaceObjects implements Cluster {
  readonly memo: Memo = new Map()
  readonly #namespace: string
  readonly #own: Namespace
  readonly #around: Around

  constructor(namespace: string, around: Around) {
    this.#namespace = namespace
    this.#own = around.all.get(namespace) ?? EMPTY
    this.#around = around
  }

  get release(): string | undefined {
    return this.#around.release
  }

  get group(): string {
    return this.#around.extent.group
  }

  get where(): string {
    return this.#around.extent.where?.(this.#namespace) ?? `in namespace '${this.#namespace}'`
  }

  get(kind: string, name: string): Resource | undefined {
    const stored = this.#own.objects.get(kind)?.get(name)
    if (stored?.part === undefined) return stored?.resource
    const digest = this.#around.digests.get(stored)
    if (digest === undefined) this.#around.onPartial?.(stored.name)
    return digest ?? stored.resource
  }

  referrers(kind: string, name: string, among?: readonly string[]): readonly ObjectName[] {
    const found = this.#own.referrers.get(nameKey({ kind, name }))
    const whole = found === undefined ? [] : (found.sorted ??= [...found.names.values()].sort(compareNames))
    const partial = this.#partialReferrers({ kind, name })
    const all = partial.length === 0 ? whole : [...whole, ...partial].sort(compareNames)
    if (among === undefined) return all
    const isAsked = (by: ObjectName) => among.includes(by.kind)
    if (found === undefined || partial.length > 0) return all.filter(isAsked)
    const known = found.among.get(among) ?? all.filter(isAsked)
    found.among.set(among, known)
    return known
  }

  #partialReferrers(target: ObjectName): ObjectName[] {
    if (this.#own.partial.size === 0) return []
    const hash = hashOf(target)
    const found: ObjectName[] = []
    for (const { name, part } of this.#own.partial)
      if (part !== undefined && isAmong(part.refers, hash)) found.push(name)
    return found
  }

  knows(kind: string): boolean {
    const { extent, lacking } = this.#around
    return extent.knows(kind, this.#namespace) && lacking?.has(kind) !== true
  }

  names(kind: string): Iterable<string> {
    return [...(this.#own.objects.get(kind)?.keys() ?? [])].slice(0, MOST_NAMES)
  }

  elsewhere(kind: string, name: string): readonly string[] {
    const found: string[] = []
    for (const [namespace, { objects }] of this.#around.all) {
      if (namespace !== this.#namespace && objects.get(kind)?.has(name)) found.push(namespace)
    }
    return found.sort()
  }
}

/** The resourceVersion of a stored object; empty when it has none. */
function versionOf({ metadata }: Resource): string {
  const version = (metadata as { readonly resourceVersion?: unknown } | undefined)?.resourceVersion
  return typeof version === 'string' ? version : ''
}
