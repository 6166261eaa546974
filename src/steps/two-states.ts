import { ALL_COMPARISONS } from '../access/difference/compare.ts'
import { Budget, deepEqual, findingText, isObject } from '../rule/index.ts'
import type { ClusterState } from '../state/index.ts'
import type { Component } from './components.ts'
import { factsOf } from './facts.ts'
import { Comparison } from './harms.ts'
import { Lattice } from './lattice.ts'
import {
  isAppliedSpec,
  isOtherMetadata,
  isOtherSpec,
  type Item,
  type Items,
  lastApplied,
  type Manifest,
  type StateJudging,
  judgeIn,
  keyOf,
  namingProvider,
  put,
  storedItems,
} from './states.ts'
import { withCopies } from './copies.ts'
import { type ChangedObject, interruptions, isTemporary, type Version, versionsBetween } from './versions.ts'

/** The old and the new state, for which an order of writes is planned. */
export interface StatePair extends StateJudging {
  readonly old: Items
  readonly new: Items
  /** A state with all other objects that rules read, such as Secrets; planning modifies it. */
  readonly state: ClusterState
  /** Whether the old objects come from an API server, and so have the defaults of /mutate. */
  readonly isStored: boolean
  /** Whether an object that only the old state has is deleted. */
  isDeleted(key: string): boolean
}

/** The old and the new state as the API server stores them, and the changes between them. */
export class TwoStates implements Component {
  changes: readonly ChangedObject[] = []
  readonly objects: readonly Omit<Item, 'value'>[]
  readonly #given: StatePair
  readonly #old: ReadonlyMap<string, unknown>
  readonly #new: ReadonlyMap<string, unknown>
  readonly #budget = new Budget(ALL_COMPARISONS)

  constructor(given: StatePair) {
    this.#given = given
    const { old, new: now, state, isStored, reading } = given
    this.objects = [...new Map([...old, ...now]).values()]
    for (const object of this.objects) put(state, object, undefined, reading)
    this.#old = isStored
      ? new Map(Array.from(old, ([key, { value }]) => [key, value]))
      : storedItems(old, new Map(), state, given)
    this.#toState(this.#old)
    const kept = [...old].filter(([key]) => !now.has(key) && !given.isDeleted(key))
    for (const [key, item] of old)
      if (!now.has(key) && given.isDeleted(key)) put(state, item, undefined, reading)
    this.#new = new Map([
      ...kept.map(([key]) => [key, this.#old.get(key)] as const),
      ...storedItems(now, this.#old, state, given),
    ])
    this.changes = this.#changes()
  }

  #toState(stored: ReadonlyMap<string, unknown>): void {
    const { state, reading, old, new: now } = this.#given
    for (const [key, item] of new Map([...old, ...now])) put(state, item, stored.get(key), reading)
    for (const change of this.changes) if (isTemporary(change)) put(state, change, undefined, reading)
  }

  #changes(): ChangedObject[] {
    const { old, new: now } = this.#given
    return [...new Map([...old, ...now])].flatMap(([key, item]): ChangedObject[] => {
      const [before, after] = [this.#old.get(key), this.#new.get(key)]
      const wanted = now.get(key)?.value
      if (isObject(before) && isObject(after) && !this.#isChanged(item, before, after)) return []
      const isSameFile = !this.#given.isStored && deepEqual(old.get(key)?.value, wanted)
      const value = isSameFile && after !== undefined ? namingProvider(after as Item['value']) : wanted
      const words = isSameFile && value !== undefined ? REWRITTEN : ''
      const first: Version = { is: 'old', value: before as Item['value'] | undefined, words: '' }
      const last: Version = { is: 'new', value: after === undefined ? undefined : value, words }
      const original = old.get(key)?.value
      const between =
        original === undefined || last.value === undefined
          ? []
          : [...versionsBetween(original, last.value), ...interruptions(original)]
      return [{ ...item, key, versions: [first, ...between, last] }]
    })
  }

  /** Whether an apply of the new manifest changes the stored spec, labels or annotations. */
  #isChanged(item: Item, before: Manifest, after: Manifest): boolean {
    const { old, new: now, isStored, release } = this.#given
    const key = keyOf(item)
    const wanted = now.get(key)?.value
    const appliedBefore = isStored ? lastApplied(before) : old.get(key)?.value
    if (isOtherMetadata(before, after, wanted && appliedBefore)) return true
    if (!isOtherSpec(release?.schemas.get(item.kind.kind), before, after)) return false
    return !(isStored && wanted !== undefined && isAppliedSpec(before, wanted, appliedBefore))
  }

  /** Adds temporary copies of MCPOIDCConfigs to the changes; false when no copy would help. */
  allowCopies(): boolean {
    const { old, new: now } = this.#given
    const changes = withCopies(this.changes, (key) => old.has(key) || now.has(key))
    if (changes === undefined) return false
    this.changes = changes
    return true
  }

  /** The errors of the new state that the old one does not have. */
  newErrors(): string[] {
    const before = new Set(this.#errorsBeside(this.#old).map(({ key, id }) => `${key} ${id}`))
    return this.#errorsBeside(this.#new)
      .filter(({ key, id }) => !before.has(`${key} ${id}`))
      .map(({ text }) => text)
  }

  #errorsBeside(stored: ReadonlyMap<string, unknown>) {
    const { state, reading } = this.#given
    this.#toState(stored)
    const judge = judgeIn(state, this.#given)
    return this.objects.flatMap((object) => {
      const value = stored.get(keyOf(object))
      if (value === undefined) return []
      const { errors } = judge.file({
        ...object,
        object: value,
        stored: 'nothing',
        ignores: [],
        strict: false,
        placeholders: reading.placeholders,
      })
      return errors.map((error) => ({
        key: keyOf(object),
        id: error.id,
        text: `${object.kind.kind} ${object.namespace}/${object.name}: ${findingText(error)}`,
      }))
    })
  }

  /**
   * The states that the cluster can go through while the changes of a component (set of connected objects) are made.
   * To find harms, these states are compared by the authentication of the component's objects.
   */
  lattice({ changes, objects }: Component): Lattice {
    const { state } = this.#given
    this.#toState(this.#new)
    const after = factsOf(state, objects, this.#given)
    this.#toState(this.#old)
    const before = factsOf(state, objects, this.#given)
    const comparison = new Comparison(before, after, this.#budget)
    return new Lattice(changes, state, this.#given, objects, comparison)
  }
}

const REWRITTEN =
  'with subjectProviderName as /mutate would write it then, because an unchanged file is not sent'
