import type { Kind } from '../kinds/kind.ts'
import { type Judge, READ_BY_REVIEWS, type Verdict } from '../engine/index.ts'
import { KINDS } from '../kinds/index.ts'
import {
  type Finding,
  isObject,
  metadataOf,
  nameKey,
  objectKey,
  type ObjectName,
  type Resource,
  withoutDeepFields,
} from '../rule/index.ts'
import { shape } from '../shape/index.ts'
import type { ClusterState } from '../state/index.ts'

/** A finding in a stored object, without its path and text. */
export interface CurrentFinding {
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly id: string
  readonly severity: 'error' | 'warning' | 'advice'
}

/** The most lists in `#shared`, the table of finding lists that several objects use; a full table is emptied. */
const MOST_SHARED = 10_000

/** `id severity` for each finding in an object; objects with the same findings share one list. */
type Tags = readonly string[]

/** An object in the namespace that is being checked. */
interface Named {
  readonly kind: Kind
  readonly name: string
}

/** Receives the findings in one object; an empty list when the object was removed. */
type JudgedListener = (
  object: ObjectName & { readonly namespace: string },
  findings: readonly Finding[],
) => void

/** The progress of checking all objects of a namespace. */
interface Check {
  readonly namespace: string
  readonly left: Named[]
  readonly judge: Judge
}

/**
 * The findings in the objects of a cluster state, kept up to date. A change of an object makes its namespace due for a
 * check. A round checks all objects of the namespaces that are due when the round starts, one namespace after the
 * other; a namespace that changes during its check is due in the next round.
 */
export class CurrentFindings {
  readonly #state: ClusterState
  readonly #judge: () => Judge
  readonly #tags = new Map<string, Map<string, Tags>>()
  readonly #shared = new Map<string, Tags>()
  readonly #due = new Set<string>()
  /** Large objects, stored without some of their fields, whose current version has not been judged yet. */
  readonly #unread = new Map<string, ObjectName & { readonly namespace: string }>()
  /** The namespaces that remain to be checked in the current round. */
  #round: string[] = []
  #rounds = 0
  #check: Check | undefined
  #removals = 0
  #onChange: () => void = () => undefined
  #onJudged: JudgedListener = () => undefined

  /** `judge` is called for each check of a namespace; call `recheck` when it would return a different judge. */
  constructor(state: ClusterState, judge: () => Judge) {
    this.#state = state
    this.#judge = judge
  }

  /** Calls the function whenever a namespace becomes due for a check. */
  onChange(listener: () => void): void {
    this.#onChange = listener
  }

  /** Calls the function after each check of an object, and when an object is removed. */
  onJudged(listener: JudgedListener): void {
    this.#onJudged = listener
  }

  /** Stores an object of the cluster in the state, unless the state already has this version of the object. */
  put(kind: Kind, object: unknown): void {
    const { name, namespace, resourceVersion } = metadataOf(object)
    if (typeof name !== 'string' || typeof namespace !== 'string') return
    if (
      typeof resourceVersion === 'string' &&
      this.#state.version(kind.kind, namespace, name) === resourceVersion
    )
      return
    const displaced = this.#state.put(kind, withReadMetadata(object, this.#state.group))
    for (const other of displaced) {
      this.#keep(other.namespace, other, [])
      this.#enqueue(other.namespace)
    }
    const self = { kind: kind.kind, name, namespace }
    const isKept = this.has(kind.kind, namespace, name)
    if (!isKept) this.#keep(namespace, self, [])
    // An object that is stored without some of its fields must be read again from the API server to be judged.
    if (isKept && !this.#state.isWhole(kind.kind, namespace, name)) this.#unread.set(objectKey(self), self)
    else this.#unread.delete(objectKey(self))
    this.#enqueue(namespace)
  }

  /**
   * Stores an object that was just read from the API server, as `put` does, and returns the fields that rules read. If
   * the object is too large to be stored with all fields, caches these fields while memory is left (see `shows`).
   */
  putRead(kind: Kind, object: unknown): Resource | undefined {
    this.put(kind, object)
    const { name, namespace } = metadataOf(object)
    if (typeof name !== 'string' || typeof namespace !== 'string') return undefined
    if (this.#state.isWhole(kind.kind, namespace, name)) return this.#state.get(kind.kind, namespace, name)
    const { resource = {} } = shape(kind, withReadMetadata(object, this.#state.group))
    this.#state.keepDigest({ kind: kind.kind, name }, namespace, resource)
    return resource
  }

  /** The next object to read from the API server and to judge: one that is stored without some of its fields. */
  nextUnread(): (ObjectName & { readonly namespace: string }) | undefined {
    const [next] = this.#unread.values()
    if (next !== undefined) this.#unread.delete(objectKey(next))
    return next
  }

  /** To be called when the object from `nextUnread` could not be read: `nextUnread` will return the object again. */
  readAgain(next: ObjectName & { readonly namespace: string }): void {
    if (this.has(next.kind, next.namespace, next.name)) this.#unread.set(objectKey(next), next)
  }

  /**
   * The findings in an object that was just read, judged together with the cached objects; an object that is too
   * large to be cached with all fields is judged alone.
   */
  findingsIn(kind: Kind, object: unknown): readonly Finding[] {
    const { name, namespace } = metadataOf(object)
    if (typeof name !== 'string' || typeof namespace !== 'string') return []
    const isWhole = this.#state.isWhole(kind.kind, namespace, name)
    const judge = this.#judge().beside(isWhole ? this.#state : 'no cluster')
    const read = withReadMetadata(object, this.#state.group)
    return findingsOf(judge.stored({ kind, namespace, name, object: read }))
  }

  /** Judges the whole object, which is too large to be stored with all fields, without looking at other objects. */
  judgeWhole(kind: Kind, object: unknown): void {
    const { name, namespace } = metadataOf(object)
    if (typeof name !== 'string' || typeof namespace !== 'string') return
    const self = { kind: kind.kind, name }
    if (!this.has(self.kind, namespace, name) || this.#state.isWhole(self.kind, namespace, name)) return
    const alone = this.#judge().beside('no cluster')
    const read = withReadMetadata(object, this.#state.group)
    this.#keep(namespace, self, findingsOf(alone.stored({ kind, namespace, name, object: read })))
  }

  remove(kind: Kind, namespace: string, name: string): void {
    if (!this.has(kind.kind, namespace, name)) return
    this.#removals += 1
    this.#unread.delete(objectKey({ kind: kind.kind, namespace, name }))
    this.#state.remove(kind.kind, namespace, name)
    this.#keep(namespace, { kind: kind.kind, name }, [])
    this.#enqueue(namespace)
  }

  /** Whether the state has the object, even if without some of its fields. */
  has(kind: string, namespace: string, name: string): boolean {
    return this.#state.get(kind, namespace, name) !== undefined
  }

  /** Whether the fields that rules read are cached for an object that is too large to be stored with all fields. */
  hasDigest(kind: string, namespace: string, name: string): boolean {
    return this.#state.hasDigest(kind, namespace, name)
  }

  /** Whether the state has all fields of the object that rules read. */
  shows(kind: string, namespace: string, name: string): boolean {
    return this.#state.isWhole(kind, namespace, name) || this.hasDigest(kind, namespace, name)
  }

  /** Estimated bytes of the whole object when it is stored without some of its fields; 0 otherwise. */
  partialBytes(kind: string, namespace: string, name: string): number {
    return this.#state.partialBytes(kind, namespace, name)
  }

  hasNamespace(namespace: string): boolean {
    return this.#state.hasNamespace(namespace)
  }

  /** Whether objects of the namespace were dropped because the state is full. */
  lacksObjectsIn(namespace: string): boolean {
    return this.#state.lacksObjectsIn(namespace)
  }

  /** A text that changes whenever the object changes, and perhaps at other times too. */
  stamp(kind: string, namespace: string, name: string): string {
    return this.#state.version(kind, namespace, name) ?? `gone ${this.#removals}`
  }

  /** Makes a namespace (undefined: all) due for a check, for example after a change of the installed release. */
  recheck(namespace: string | undefined): void {
    for (const each of this.#state.partial(namespace)) this.#unread.set(objectKey(each), each)
    for (const each of namespace === undefined ? this.#state.namespaces() : [namespace]) this.#enqueue(each)
  }

  startRound(): void {
    this.#rounds += 1
    this.#round = [...new Set([...this.#round, ...this.#due])]
    this.#due.clear()
  }

  /** Checks up to `most` objects of the current round; returns whether objects remain to be checked. */
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

  /** Number of rounds of checks that were started. */
  get rounds(): number {
    return this.#rounds
  }

  /** Number of namespaces that are due for a check, in the current round, or being checked. */
  get waiting(): number {
    return this.#due.size + this.#round.length + (this.#check === undefined ? 0 : 1)
  }

  /** Number of current findings, in all objects. */
  get count(): number {
    let count = 0
    for (const objects of this.#tags.values()) for (const tags of objects.values()) count += tags.length
    return count
  }

  /** All current findings, errors first. */
  *findings(): Iterable<CurrentFinding> {
    for (const severity of ['error', 'warning', 'advice'] as const) {
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
    const left = KINDS.flatMap((kind) =>
      Array.from(this.#state.all(kind.kind, namespace), ({ name }) => ({ kind, name })),
    )
    return { namespace, left, judge: this.#judge().beside(this.#state) }
  }

  #checkObject({ namespace, judge }: Check, { kind, name }: Named): void {
    const object = this.#state.object(kind.kind, namespace, name)
    if (object === undefined || !this.#state.isWhole(kind.kind, namespace, name)) return
    const found = findingsOf(judge.stored({ kind, namespace, name, object }))
    this.#keep(namespace, { kind: kind.kind, name }, found)
  }

  #keep(namespace: string, { kind, name }: ObjectName, findings: readonly Finding[]): void {
    this.#onJudged({ kind, namespace, name }, findings)
    const tags = new Set(findings.map(({ id, severity }) => `${id} ${severity}`))
    const objects = this.#tags.get(namespace) ?? new Map<string, Tags>()
    if (tags.size === 0) objects.delete(nameKey({ kind, name }))
    else objects.set(nameKey({ kind, name }), this.#share([...tags]))
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

const findingsOf = ({ errors, warnings }: Verdict): readonly Finding[] =>
  [...errors, ...warnings].filter(
    ({ error: { dependsOn = [] } }) => !dependsOn.some(({ kind }) => READ_BY_REVIEWS.has(kind)),
  )

/** The object with only those metadata that are read: name, version, deletion, and annotations of the API group. */
function withReadMetadata(object: unknown, group: string): unknown {
  if (!isObject(object)) return object
  const { name, namespace, resourceVersion, deletionTimestamp, annotations } = metadataOf(object)
  const own = Object.entries(isObject(annotations) ? annotations : {}).filter(([key]) =>
    key.startsWith(`${group}/`),
  )
  const metadata = {
    name,
    namespace,
    resourceVersion,
    ...(deletionTimestamp !== undefined && { deletionTimestamp }),
    ...(own.length > 0 && { annotations: Object.fromEntries(own) }),
  }
  const { apiVersion, kind, spec, status } = object as Resource
  const kept: Record<string, unknown> = { apiVersion, kind, metadata }
  for (const [field, value] of Object.entries({ spec, status }))
    if (value !== undefined) kept[field] = withoutDeepFields(value)
  return kept
}
