import type { ClusterState } from '../state/index.ts'
import { type Judge, refusedBy, type Submission, withChanges } from '../engine/index.ts'
import { type Finding, findingText, isObject, metadataOf } from '../rule/index.ts'
import { placeholdersIn } from '../documents/index.ts'
import { factsOf } from './facts.ts'
import type { Comparison, Harm } from './harms.ts'
import { type Item, judgeIn, type StateJudging, put, submitted } from './states.ts'
import { type ChangedObject, isTemporary, lastOf } from './versions.ts'

/** A state between the old and the new one: the index of the version and the stored value of each changing object. */
export interface StateNode {
  readonly at: readonly number[]
  readonly stored: readonly unknown[]
  readonly key: string
}

/** A write: the changing object with index `of` gets its version with index `to`. */
export interface Move {
  readonly of: number
  readonly to: number
}

/** The state after a write, or the findings because of which the webhook denies the write. */
type Result =
  { readonly node: StateNode; readonly refused?: undefined } | { readonly refused: readonly Finding[] }

/** The number of budget units that take as long as comparing the effects of a state on one object. */
const UNITS_PER_OBJECT = 40

/** The number of budget units that take as long as validating an object by the CRD of a release. */
const UNITS_PER_VALIDATION = 500

/**
 * The states of a cluster between an old and a new one, in which only some objects change. Each state is judged once.
 */
export class Lattice {
  readonly changes: readonly ChangedObject[]
  readonly start: StateNode
  readonly #state: ClusterState
  readonly #judging: StateJudging
  readonly #judge: Judge
  readonly #objects: readonly Omit<Item, 'value'>[]
  readonly #comparison: Comparison
  readonly #results = new Map<string, Result>()
  readonly #harms = new Map<string, readonly Harm[]>()
  #here: StateNode | undefined
  #spent = 0

  /** `objects` are the objects whose authentication is compared; to judge a `StateNode`, it is put into `state`. */
  constructor(
    changes: readonly ChangedObject[],
    state: ClusterState,
    judging: StateJudging,
    objects: readonly Omit<Item, 'value'>[],
    comparison: Comparison,
  ) {
    this.changes = changes
    this.#state = state
    this.#judging = judging
    this.#judge = judgeIn(state, judging)
    this.#objects = objects
    this.#comparison = comparison
    this.start = nodeOf(
      changes.map(() => 0),
      changes.map(({ versions: [old] }) => old.value),
    )
  }

  /** The number of cluster states that were judged. */
  get states(): number {
    return this.#harms.size
  }

  /**
   * The work so far, as a number of judged states: `states`, plus the budget units that were spent on judging writes,
   * converted to states.
   */
  get work(): number {
    return this.states + this.#spent / UNITS_PER_OBJECT / Math.max(1, this.#objects.length)
  }

  isEnd({ at }: StateNode): boolean {
    return this.changes.every((change, i) => at[i] === lastOf(change) || (at[i] === 0 && isTemporary(change)))
  }

  /** The result of a write in the state `from`: whether the webhook admits it, and the state after it. */
  move(from: StateNode, { of, to }: Move): Result {
    const key = `${from.key} ${of} ${to}`
    const known = this.#results.get(key)
    if (known !== undefined) return known
    const result = this.#judged(from, { of, to })
    this.#results.set(key, result)
    return result
  }

  harms(node: StateNode): readonly Harm[] {
    const known = this.#harms.get(node.key)
    if (known !== undefined) return known
    this.goTo(node)
    const found = this.#comparison.harmsIn(factsOf(this.#state, this.#objects, this.#judging))
    this.#harms.set(node.key, found)
    return found
  }

  /** Changes the cluster state to the state that the node describes. */
  goTo(node: StateNode): void {
    this.changes.forEach((change, i) => {
      if (this.#here?.stored[i] === node.stored[i] && this.#here !== undefined) return
      put(this.#state, change, node.stored[i], this.#judging.reading)
    })
    this.#here = node
  }

  #judged(from: StateNode, { of, to }: Move): Result {
    const change = this.changes[of]
    if (change === undefined) return { node: from }
    this.goTo(from)
    const { reading } = this.#judging
    const { is = 'new', value } = change.versions[to] ?? {}
    const stored = from.stored[of]
    const submission: Submission =
      value === undefined
        ? { ...submitted(change, undefined, stored, reading), operation: 'DELETE' }
        : submitted(change, value, stored, reading)
    const isFilledLater =
      isObject(value) && placeholdersIn(change.kind, value, reading.placeholders).length > 0
    const { errors, spent } = isFilledLater
      ? this.#judge.file({
          ...change,
          object: submission.object,
          stored: stored === undefined ? 'nothing' : { object: stored, state: this.#state },
          ignores: [],
          strict: false,
          placeholders: reading.placeholders,
        })
      : this.#judge.admit(submission)
    this.#spent += spent
    if (errors.length > 0) return { refused: errors }
    const written = value === undefined ? [] : this.#judge.complete(submission)
    const { object } = submission
    const after = value === undefined || !isObject(object) ? undefined : withChanges(object, written)
    // `file` has judged the object by the release's CRD, and the new version was judged by it before the search.
    const isJudged = isFilledLater || is === 'new' || after === undefined
    const refused = isJudged ? [] : this.#refusedByRelease(change, after, stored)
    if (refused.length > 0) return { refused }
    return {
      node: nodeOf(
        from.at.map((version, i) => (i === of ? to : version)),
        from.stored.map((each, i) => (i === of ? after : each)),
      ),
    }
  }

  /** The errors of the release's CRD that the stored object does not have. */
  #refusedByRelease({ kind: { kind } }: ChangedObject, value: unknown, stored: unknown): readonly Finding[] {
    const { release } = this.#judging
    if (release?.schemas.has(kind) !== true) return []
    const errorsOf = (object: unknown, before?: unknown) => {
      this.#spent += UNITS_PER_VALIDATION
      return refusedBy(object, { kind, release, stored: before, unknown: [] })
    }
    const errors = errorsOf(value, stored)
    if (errors.length === 0 || stored === undefined) return errors
    const before = new Set(errorsOf(stored).map(findingText))
    return errors.filter((error) => !before.has(findingText(error)))
  }
}

function nodeOf(at: readonly number[], stored: readonly unknown[]): StateNode {
  // The key of a node contains the values that /mutate wrote, because these also depend on the state at the write.
  const written = stored.map((value) => [providerIn(value), metadataOf(value).annotations])
  return { at, stored, key: JSON.stringify([at, written]) }
}

function providerIn(value: unknown): unknown {
  const spec = isObject(value) && isObject(value.spec) ? value.spec : {}
  return isObject(spec.tokenExchange) ? spec.tokenExchange.subjectProviderName : undefined
}
