import type { Kind } from '../kinds/kind.ts'
import { KINDS } from '../kinds/index.ts'
import type { Cluster, ObjectName } from '../rule/cluster.ts'
import { isObject, type Resource } from '../rule/resource.ts'
import type { Finding } from './finding.ts'
import { judgeSubmission, storedSubmission } from './index.ts'
import type { Settings } from './settings.ts'
import type { World } from './world.ts'

/** A finding about an object as it is stored: which, not where. */
export interface CurrentFinding {
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly id: string
  readonly severity: 'error' | 'warning'
}

/** How many sets of findings are shared between objects. */
const MOST_SHARED = 10_000

/** `id severity` of each finding in one object, shared among the objects that have the same. */
type Tags = readonly string[]

/** A check of every object of one namespace, under way. */
interface Check {
  readonly namespace: string
  readonly left: ObjectName[]
  /** The view, and the number of changes it was made at: what one object has found out is of use to the next. */
  view: Cluster
  changes: number
}

/**
 * The objects of a world as they are stored, and what is found in each. A change makes its namespace due; a round checks
 * every object of the namespaces that are due when it starts, one namespace after the other. A namespace that changes
 * while it is checked is due for the next round.
 */
export class CurrentFindings {
  readonly #world: World
  readonly #settings: Settings
  readonly #tags = new Map<string, Map<string, Tags>>()
  readonly #shared = new Map<string, Tags>()
  readonly #due = new Set<string>()
  /** The namespaces of the round that wait. */
  #round: string[] = []
  #check: Check | undefined
  #removals = 0
  #onChange: () => void = () => undefined

  constructor(world: World, settings: Settings) {
    this.#world = world
    this.#settings = settings
  }

  /** Calls the function whenever a namespace becomes due. */
  onChange(listener: () => void): void {
    this.#onChange = listener
  }

  /** Puts an object of the cluster into the world, unless it is there in this version. */
  put(kind: Kind, object: unknown): void {
    const { name, namespace, resourceVersion } = metadataOf(object)
    if (typeof name !== 'string' || typeof namespace !== 'string') return
    if (
      typeof resourceVersion === 'string' &&
      this.#world.version(kind.kind, namespace, name) === resourceVersion
    )
      return
    const displaced = this.#world.put(kind, withReadMetadata(object, this.#world.group))
    for (const other of displaced) {
      this.#keep(other.namespace, other, [])
      this.#enqueue(other.namespace)
    }
    const self = { kind: kind.kind, name }
    // The facts that are kept of a large object cannot be judged: its own findings are those of the whole, alone.
    if (!this.#world.isWhole(kind.kind, namespace, name))
      this.#keep(
        namespace,
        self,
        this.has(kind.kind, namespace, name) ? this.#findingsIn(self, namespace, object) : [],
      )
    this.#enqueue(namespace)
  }

  remove(kind: Kind, namespace: string, name: string): void {
    if (!this.has(kind.kind, namespace, name)) return
    this.#removals += 1
    this.#world.remove(kind.kind, namespace, name)
    this.#keep(namespace, { kind: kind.kind, name }, [])
    this.#enqueue(namespace)
  }

  /** Whether the world has an object. */
  has(kind: string, namespace: string, name: string): boolean {
    return this.#world.get(kind, namespace, name) !== undefined
  }

  /** Whether the world has an object, and not only facts of it. */
  isWhole(kind: string, namespace: string, name: string): boolean {
    return this.#world.isWhole(kind, namespace, name)
  }

  /** Whether the world has anything of the namespace. */
  hasNamespace(namespace: string): boolean {
    return this.#world.hasNamespace(namespace)
  }

  /** A text that is another one once the object has come, changed or gone since; it may be another one without that. */
  stamp(kind: string, namespace: string, name: string): string {
    return this.#world.version(kind, namespace, name) ?? `gone ${this.#removals}`
  }

  /** Checks a namespace again, or all: whether every object of a kind is known there has changed. */
  recheck(namespace: string | undefined): void {
    for (const each of namespace === undefined ? this.#world.namespaces() : [namespace]) this.#enqueue(each)
  }

  startRound(): void {
    this.#round = [...new Set([...this.#round, ...this.#due])]
    this.#due.clear()
  }

  /** Checks up to `most` objects of the round; answers whether some of it is left. */
  work(most: number): boolean {
    for (let count = 0; count < most; count++) {
      const check = (this.#check ??= this.#begin())
      if (check === undefined) return false
      const name = check.left.pop()
      if (name === undefined) this.#check = undefined
      else this.#checkObject(check, name)
    }
    return this.#check !== undefined || this.#round.length > 0
  }

  /** How many namespaces are due, wait in the round, or are being checked. */
  get waiting(): number {
    return this.#due.size + this.#round.length + (this.#check === undefined ? 0 : 1)
  }

  /** How many findings there are. */
  get count(): number {
    let count = 0
    for (const objects of this.#tags.values()) for (const tags of objects.values()) count += tags.length
    return count
  }

  /** Every finding, errors first. */
  *findings(): Iterable<CurrentFinding> {
    for (const severity of ['error', 'warning'] as const) {
      for (const [namespace, objects] of this.#tags) {
        for (const [key, tags] of objects) {
          const [kind = '', name = ''] = key.split('/')
          for (const tag of tags) {
            const [id = '', tagged] = tag.split(' ')
            if (tagged === severity) yield { kind, namespace, name, id, severity }
          }
        }
      }
    }
  }

  #enqueue(namespace: string): void {
    this.#due.add(namespace)
    this.#onChange()
  }

  #begin(): Check | undefined {
    const namespace = this.#round.shift()
    if (namespace === undefined) return undefined
    const left = KINDS.flatMap(({ kind }) =>
      Array.from(this.#world.all(kind, namespace), ({ name }) => ({ kind, name })),
    )
    return { namespace, left, view: this.#world.in(namespace), changes: this.#world.changes(namespace) }
  }

  #checkObject(check: Check, self: ObjectName): void {
    const { namespace } = check
    const object = this.#world.object(self.kind, namespace, self.name)
    if (object === undefined || !this.#world.isWhole(self.kind, namespace, self.name)) return
    if (this.#world.changes(namespace) !== check.changes) {
      check.view = this.#world.in(namespace)
      check.changes = this.#world.changes(namespace)
    }
    this.#keep(namespace, self, this.#findingsIn(self, namespace, object, check.view))
  }

  #findingsIn(self: ObjectName, namespace: string, object: unknown, view?: Cluster): readonly Finding[] {
    const { group } = this.#world
    const situation = { group, settings: this.#settings, phase: 'stored', ...(view && { view }) } as const
    const { errors, warnings } = judgeSubmission(
      storedSubmission(self, { namespace, group, object }),
      situation,
    )
    return [...errors, ...warnings]
  }

  #keep(namespace: string, { kind, name }: ObjectName, findings: readonly Finding[]): void {
    const tags = new Set(findings.map(({ id, severity }) => `${id} ${severity}`))
    const objects = this.#tags.get(namespace) ?? new Map<string, Tags>()
    if (tags.size === 0) objects.delete(`${kind}/${name}`)
    else objects.set(`${kind}/${name}`, this.#share([...tags]))
    if (objects.size === 0) this.#tags.delete(namespace)
    else this.#tags.set(namespace, objects)
  }

  #share(tags: Tags): Tags {
    const text = tags.join(',')
    const known = this.#shared.get(text)
    if (this.#shared.size >= MOST_SHARED) this.#shared.clear()
    if (known === undefined) this.#shared.set(text, tags)
    return known ?? tags
  }
}

function metadataOf(object: unknown): Readonly<Record<string, unknown>> {
  return isObject(object) && isObject(object.metadata) ? object.metadata : {}
}

/** An object with the metadata that rules read: its name, its version, and the annotations of the API group. */
function withReadMetadata(object: unknown, group: string): unknown {
  if (!isObject(object)) return object
  const { name, namespace, resourceVersion, annotations } = metadataOf(object)
  const own = Object.entries(isObject(annotations) ? annotations : {}).filter(([key]) =>
    key.startsWith(`${group}/`),
  )
  const metadata = {
    name,
    namespace,
    resourceVersion,
    ...(own.length > 0 && { annotations: Object.fromEntries(own) }),
  }
  const { apiVersion, kind, spec, status } = object as Resource
  const kept: Record<string, unknown> = { apiVersion, kind, metadata }
  for (const [field, value] of Object.entries({ spec, status })) if (value !== undefined) kept[field] = value
  return kept
}
