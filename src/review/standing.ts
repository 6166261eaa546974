import { type Concern, concernedBy, concernsOf } from '../kinds/between/affected.ts'
import type { Kind } from '../kinds/kind.ts'
import { kindNamed, KINDS } from '../kinds/index.ts'
import { readsOf } from '../kinds/places.ts'
import { type Cluster, nameKey, type ObjectName } from '../rule/cluster.ts'
import type { Resource } from '../rule/resource.ts'
import { check } from './check.ts'
import type { Finding } from './finding.ts'
import { findingsIn } from './index.ts'
import { type Settings, severityAt } from './settings.ts'
import type { World } from './world.ts'

/** A finding about an object as it is stored: what it is, not where. */
export interface StandingFinding {
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly id: string
  readonly severity: 'error' | 'warning'
}

/** `id severity` of each thing found, interned: many objects have the same. */
type Tags = readonly string[]

interface Subject extends ObjectName {
  readonly namespace: string
}

/** How many objects are woken in the time of one that is judged, or less. */
const WOKEN_AT_ONCE = 50

/**
 * What is found in the objects of a world as they are stored, kept up while they change. What an object says alone is
 * found when it comes; whom it concerns, and what they say beside each other, is found later, by `work`.
 */
export class Standing {
  readonly #world: World
  readonly #settings: Settings
  readonly #alone = new Map<string, Tags>()
  readonly #between = new Map<string, Tags>()
  /** What changes concern, still to be looked up. */
  readonly #concerns = new Map<string, Concern & { readonly namespace: string }>()
  /** Objects that are being looked up; a lookup goes on where it was, whatever changes meanwhile. */
  readonly #lookups: Iterator<Subject>[] = []
  readonly #waiting = new Map<string, Subject>()
  readonly #interned = new Map<string, Tags>()
  #removals = 0
  /** The view in which an object was judged last, until something changes: what it has found out is of use to the next. */
  #last: { readonly namespace: string; readonly cluster: Cluster } | undefined

  constructor(world: World, settings: Settings) {
    this.#world = world
    this.#settings = settings
  }

  /** Puts an object of the cluster into the world, unless it is there in this version. */
  put(kind: Kind, object: unknown): void {
    const subject = subjectOf(kind, object)
    if (subject === undefined || this.#isKnown(subject, object)) return
    this.#wakeAround(subject)
    this.#last = undefined
    this.#world.put(kind, object)
    this.#wakeAround(subject)
    this.#keep(this.#alone, subject, findingsIn(kind, object))
  }

  remove(kind: Kind, namespace: string, name: string): void {
    const subject = { kind: kind.kind, namespace, name }
    if (this.has(kind.kind, namespace, name)) this.#removals += 1
    this.#wakeAround(subject)
    this.#last = undefined
    this.#world.remove(kind.kind, namespace, name)
    this.#waiting.delete(keyOf(subject))
    this.#keep(this.#alone, subject, [])
    this.#keep(this.#between, subject, [])
  }

  /** Whether the world has an object. */
  has(kind: string, namespace: string, name: string): boolean {
    return this.#world.get(kind, namespace, name) !== undefined
  }

  /** A text that is another one once the object has come, changed or gone since; it may be another one without that. */
  stamp(kind: string, namespace: string, name: string): string {
    return this.#world.version(kind, namespace, name) ?? `gone ${this.#removals}`
  }

  /** Judges anew who asks whether all of a kind is known, in one namespace or in all: that has changed. */
  reconsider(kind: string, namespace: string | undefined): void {
    const readers = KINDS.filter((each) => readsOf(each).includes(kind))
    this.#lookups.push(this.#everyObject(readers, namespace))
  }

  /**
   * Takes up to `most` short steps: each judges one of the waiting objects beside the others, or finds out who has to
   * wait. Answers with how much is left.
   */
  work(most: number): number {
    for (let step = 0; step < most && this.waiting > 0; step++) this.#step()
    return this.waiting
  }

  /** How many objects wait to be judged beside the others, and lookups of such. */
  get waiting(): number {
    return this.#waiting.size + this.#concerns.size + this.#lookups.length
  }

  #step(): void {
    const [lookup] = this.#lookups
    if (lookup !== undefined) {
      this.#wakeSome(lookup)
      return
    }
    for (const [key, { namespace, ...concern }] of this.#concerns) {
      this.#concerns.delete(key)
      this.#lookups.push(within(namespace, concernedBy(concern, this.#world.in(namespace))))
      return
    }
    for (const [key, subject] of this.#waiting) {
      this.#waiting.delete(key)
      this.#keep(this.#between, subject, this.#judge(subject))
      return
    }
  }

  #wakeSome(lookup: Iterator<Subject>): void {
    for (let i = 0; i < WOKEN_AT_ONCE; i++) {
      const next = lookup.next()
      if (next.done === true) {
        this.#lookups.shift()
        return
      }
      this.#wake(next.value)
    }
  }

  #wake(subject: Subject): void {
    this.#waiting.set(keyOf(subject), subject)
  }

  /** How many findings there are. */
  get count(): number {
    let count = 0
    for (const found of [this.#alone, this.#between]) {
      for (const tags of found.values()) count += tags.length
    }
    return count
  }

  /** Everything found, errors first. */
  *findings(): Iterable<StandingFinding> {
    for (const severity of ['error', 'warning'] as const) {
      for (const found of [this.#alone, this.#between]) {
        for (const [key, tags] of found) {
          const [kind = '', namespace = '', name = ''] = key.split('/')
          for (const tag of tags) {
            const [id = '', tagged] = tag.split(' ')
            if (tagged === severity) yield { kind, namespace, name, id, severity }
          }
        }
      }
    }
  }

  #isKnown({ kind, namespace, name }: Subject, object: unknown): boolean {
    const version = (object as { metadata?: { resourceVersion?: unknown } }).metadata?.resourceVersion
    return typeof version === 'string' && this.#world.version(kind, namespace, name) === version
  }

  #wakeAround(subject: Subject): void {
    const { kind, namespace, name } = subject
    this.#wake(subject)
    for (const concern of concernsOf(subject, this.#world.get(kind, namespace, name))) {
      this.#concerns.set(`${concern.whom} ${namespace} ${nameKey(concern.to)}`, { ...concern, namespace })
    }
  }

  *#everyObject(kinds: readonly Kind[], within: string | undefined): Iterator<Subject> {
    for (const { kind } of kinds) {
      for (const { namespace, name } of this.#world.all(kind, within)) yield { kind, namespace, name }
    }
  }

  #judge({ kind, namespace, name }: Subject): readonly Finding[] {
    const resource: Resource | undefined = this.#world.get(kind, namespace, name)
    const known = kindNamed.get(kind)
    if (resource === undefined || known === undefined) return []
    if (this.#last?.namespace !== namespace) this.#last = { namespace, cluster: this.#world.in(namespace) }
    const { cluster } = this.#last
    return check(known, resource, { cluster, self: { kind, name }, old: () => resource }, [], 'between')
  }

  #keep(where: Map<string, Tags>, subject: Subject, findings: readonly Finding[]): void {
    const tags = new Set<string>()
    for (const { id, error, severity: own } of findings) {
      const severity = severityAt(this.#settings, { id, at: error.at, namespace: subject.namespace }, own)
      if (severity !== 'off') tags.add(`${id} ${severity}`)
    }
    if (tags.size === 0) where.delete(keyOf(subject))
    else where.set(keyOf(subject), this.#intern([...tags]))
  }

  #intern(tags: Tags): Tags {
    const text = tags.join(',')
    const known = this.#interned.get(text)
    if (known === undefined) this.#interned.set(text, tags)
    return known ?? tags
  }
}

const keyOf = ({ kind, namespace, name }: Subject): string => `${kind}/${namespace}/${name}`

function* within(namespace: string, names: Iterable<ObjectName>): Iterator<Subject> {
  for (const { kind, name } of names) yield { kind, namespace, name }
}

function subjectOf({ kind }: Kind, object: unknown): Subject | undefined {
  const { name, namespace } = (object as Resource | null)?.metadata ?? {}
  return typeof name === 'string' && typeof namespace === 'string' ? { kind, namespace, name } : undefined
}
