import type { ClusterConnection } from '../cluster/index.ts'
import { configMapFacts, secretFacts } from '../relations/index.ts'
import { kindNamed } from '../kinds/index.ts'
import type { Kind } from '../kinds/kind.ts'
import type { Confirmed } from '../engine/index.ts'
import type { CurrentFindings } from './current-findings.ts'
import { overlay } from '../state/index.ts'
import { answering, isObject, nameKey, objectKey, type ObjectName, type Resource } from '../rule/index.ts'
import { ReadLimits } from './read-limits.ts'

/** The most objects that are read from the API server for a review. */
const MOST_READS = 20
/** The most attempts to read an object that changes during each attempt. */
const MOST_ATTEMPTS = 3
/** Milliseconds for which a missing object is not read again: only of watched kinds, whose creation the watch tells. */
const MISS_HOLDS = 1_000

/** The most large objects for which the time of the last read is stored. */
const MOST_REMEMBERED = 1_000

/** The result of a read from the API server, as a label of a metric; `limited`: not sent, because reads are limited. */
export type ReadOutcome = 'found' | 'missing' | 'failed' | 'limited'

type Connection = Pick<ClusterConnection, 'read' | 'readSecret' | 'readConfigMap' | 'readNamespace'>

/** Reads from the API server the objects that a verdict depends on, so that no denial depends on an outdated cache. */
export class LiveReads {
  readonly #connection: Connection
  readonly #findings: CurrentFindings
  readonly #count: (outcome: ReadOutcome) => void
  /** Times at which objects were found not to exist, in monotonic milliseconds. */
  readonly #misses = new Map<string, number>()
  /** Times at which large objects were last read, in monotonic milliseconds. */
  readonly #largeReads = new Map<string, number>()
  readonly #limits = new ReadLimits()
  #waiting = 0

  constructor(connection: Connection, findings: CurrentFindings, count: (outcome: ReadOutcome) => void) {
    this.#connection = connection
    this.#findings = findings
    this.#count = count
  }

  /** Number of reviews that currently wait for reads. */
  get waiting(): number {
    return this.#waiting
  }

  /** Reads objects into the cache. Never throws: an object that cannot be read in time is not part of the result. */
  async confirm(namespace: string, names: readonly ObjectName[], milliseconds: number): Promise<Confirmed> {
    const confirmed = new Set<string>()
    const reading: Reading = { facts: new Map(), objects: new Map() }
    const signal = AbortSignal.timeout(milliseconds)
    const read = async (name: ObjectName) => {
      if (!(await this.#isRead(namespace, name, reading, signal))) return
      confirmed.add(nameKey(name))
    }
    this.#waiting += 1
    await Promise.all(names.slice(0, MOST_READS).map(read))
    this.#waiting -= 1
    return {
      has: (name) => confirmed.has(nameKey(name)),
      with: (cluster) => {
        const { facts, objects } = reading
        const seen = answering(cluster, {
          get: (kind, name) => facts.get(nameKey({ kind, name })) ?? cluster.get(kind, name),
        })
        return [...objects.values()]
          .filter(({ isCached }) => !isCached())
          .reduce((view, { name, resource }) => overlay(view, name, resource), seen)
      },
    }
  }

  /** Whether the namespace is being deleted or is gone; undefined when it cannot be read. */
  async isTerminating(namespace: string, milliseconds: number): Promise<boolean | undefined> {
    try {
      const found = await this.#connection.readNamespace(namespace, AbortSignal.timeout(milliseconds))
      const status = isObject(found) && isObject(found.status) ? found.status : undefined
      return status?.phase === 'Terminating' || found === undefined
    } catch {
      return undefined
    }
  }

  async #isRead(
    namespace: string,
    { kind, name }: ObjectName,
    reading: Reading,
    signal: AbortSignal,
  ): Promise<boolean> {
    const key = objectKey({ kind, namespace, name })
    const missed = performance.now() - (this.#misses.get(key) ?? -Infinity) < MISS_HOLDS
    if (missed && !this.#findings.has(kind, namespace, name)) return true
    const known = kindNamed.get(kind)
    // Unknown namespaces share one limit, because a client could name a new one in each review.
    const bounded = this.#findings.hasNamespace(namespace) ? namespace : ''
    const bytes = this.#findings.partialBytes(kind, namespace, name)
    if (!this.#limits.allows(bounded, known === undefined, bytes)) {
      this.#count('limited')
      return false
    }
    const asked = performance.now()
    try {
      if (known !== undefined && bytes > 0)
        return await this.#limits.alone(signal, async () => {
          const isFresh = (this.#largeReads.get(key) ?? -Infinity) >= asked
          // Another review has read the object since this review requested it.
          if (isFresh && this.#findings.hasDigest(kind, namespace, name)) return true
          if (this.#largeReads.size >= MOST_REMEMBERED) this.#largeReads.clear()
          const begun = performance.now()
          const isRead = await this.#isKnown(known, namespace, name, reading, signal)
          if (isRead) this.#largeReads.set(key, begun)
          return isRead
        })
      return await this.#limits.inTurn(signal, async () => {
        if (known !== undefined) return this.#isKnown(known, namespace, name, reading, signal)
        const isSecret = kind === 'Secret'
        const found = await (isSecret
          ? this.#connection.readSecret(namespace, name, signal)
          : this.#connection.readConfigMap(namespace, name, signal))
        this.#heard(found)
        const factsOf = isSecret ? secretFacts : configMapFacts
        if (isObject(found)) reading.facts.set(nameKey({ kind, name }), factsOf(found))
        return true
      })
    } catch {
      this.#count('failed')
      return false
    }
  }

  /**
   * Reads an object into the cache, and returns true. If a watch event changes the cached object during the read,
   * reads it again: the answer may be older than the event, and the watch does not send the event again. Returns
   * false when this happens at each of MOST_ATTEMPTS reads.
   */
  async #isKnown(
    kind: Kind,
    namespace: string,
    name: string,
    { objects }: Reading,
    signal: AbortSignal,
  ): Promise<boolean> {
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
      const before = this.#findings.stamp(kind.kind, namespace, name)
      const found = await this.#connection.read(kind, namespace, name, signal)
      if (this.#findings.stamp(kind.kind, namespace, name) !== before) continue
      this.#heard(found)
      const self = { kind: kind.kind, name }
      if (found === undefined) {
        this.#remember(objectKey({ ...self, namespace }))
        this.#findings.remove(kind, namespace, name)
        const isCached = () => !this.#findings.has(kind.kind, namespace, name)
        objects.set(nameKey(self), { name: self, resource: undefined, isCached })
        return true
      }
      const resource = this.#findings.putRead(kind, found)
      const stamp = this.#findings.stamp(kind.kind, namespace, name)
      const isCached = () =>
        this.#findings.shows(kind.kind, namespace, name) &&
        this.#findings.stamp(kind.kind, namespace, name) === stamp
      objects.set(nameKey(self), { name: self, resource, isCached })
      return true
    }
    return false
  }

  #heard(found: unknown): void {
    this.#count(found === undefined ? 'missing' : 'found')
  }

  #remember(key: string): void {
    const now = performance.now()
    for (const [other, since] of this.#misses) {
      if (now - since < MISS_HOLDS) break
      this.#misses.delete(other)
    }
    // The old entry is deleted first, so that the new one is last: the map is ordered by age.
    this.#misses.delete(key)
    this.#misses.set(key, now)
  }
}

/** The objects read for one review, kept in memory until it is answered. */
interface Reading {
  /** The facts about Secrets and ConfigMaps that rules read, by kind and name. */
  readonly facts: Map<string, Resource>
  /** The objects of the kinds that are watched, by kind and name. */
  readonly objects: Map<string, ReadObject>
}

interface ReadObject {
  readonly name: ObjectName
  /** The fields that rules read; undefined when the object does not exist. */
  readonly resource: Resource | undefined
  /**
   * False when the object did not fit into the cache, and after a watch event for it, which may be older than the read.
   */
  readonly isCached: () => boolean
}

/** The result for a review for which nothing was read from the API server. */
export const NOTHING_READ: Confirmed = { has: () => false, with: (cluster) => cluster }

export const mergeReads = (one: Confirmed, other: Confirmed): Confirmed => ({
  has: (name) => one.has(name) || other.has(name),
  with: (cluster) => other.with(one.with(cluster)),
})
