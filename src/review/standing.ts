import { affectedBy } from '../kinds/between/affected.ts'
import type { Kind } from '../kinds/kind.ts'
import { kindNamed } from '../kinds/index.ts'
import type { ObjectName } from '../rule/cluster.ts'
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

/**
 * What is found in the objects of a world as they are stored, kept up while they change. What an object says alone is
 * found when it comes; what it says beside others is found later, by `work`, whenever it or they have changed.
 */
export class Standing {
  readonly #world: World
  readonly #settings: Settings
  readonly #alone = new Map<string, Tags>()
  readonly #between = new Map<string, Tags>()
  readonly #waiting = new Map<string, Subject>()
  readonly #interned = new Map<string, Tags>()

  constructor(world: World, settings: Settings) {
    this.#world = world
    this.#settings = settings
  }

  /** Puts an object of the cluster into the world, unless it is there in this version. */
  put(kind: Kind, object: unknown): void {
    const subject = subjectOf(kind, object)
    if (subject === undefined || this.#isKnown(subject, object)) return
    this.#wakeAround(subject)
    this.#world.put(kind, object)
    this.#wakeAround(subject)
    this.#keep(this.#alone, subject, findingsIn(kind, object))
  }

  remove(kind: Kind, namespace: string, name: string): void {
    const subject = { kind: kind.kind, namespace, name }
    this.#wakeAround(subject)
    this.#world.remove(kind.kind, namespace, name)
    this.#waiting.delete(keyOf(subject))
    this.#keep(this.#alone, subject, [])
    this.#keep(this.#between, subject, [])
  }

  /** Whether the world has an object. */
  has(kind: string, namespace: string, name: string): boolean {
    return this.#world.get(kind, namespace, name) !== undefined
  }

  /** Judges up to `most` of the waiting objects beside the others; answers how many still wait. */
  work(most: number): number {
    for (const [key, subject] of this.#waiting) {
      if (most-- <= 0) break
      this.#waiting.delete(key)
      this.#keep(this.#between, subject, this.#judge(subject))
    }
    return this.#waiting.size
  }

  /** How many objects wait to be judged beside the others. */
  get waiting(): number {
    return this.#waiting.size
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

  #wakeAround({ kind, namespace, name }: Subject): void {
    for (const affected of affectedBy({ kind, name }, this.#world.in(namespace))) {
      const subject = { ...affected, namespace }
      this.#waiting.set(keyOf(subject), subject)
    }
  }

  #judge({ kind, namespace, name }: Subject): readonly Finding[] {
    const resource: Resource | undefined = this.#world.get(kind, namespace, name)
    const known = kindNamed.get(kind)
    if (resource === undefined || known === undefined) return []
    return check(
      known,
      resource,
      { cluster: this.#world.in(namespace), self: { kind, name }, old: () => resource },
      [],
      'between',
    )
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

function subjectOf({ kind }: Kind, object: unknown): Subject | undefined {
  const { name, namespace } = (object as Resource | null)?.metadata ?? {}
  return typeof name === 'string' && typeof namespace === 'string' ? { kind, namespace, name } : undefined
}
