import { GENERATIONS, type Generation } from '../access/role/releases.ts'
import type { ClusterState } from '../review/cluster-state.ts'
import { deepEqual } from '../review/deep-equal.ts'
import { judgeSubmission } from '../review/index.ts'
import { findingText } from '../review/finding.ts'
import { type Commits, commitsOf, type ToolAnswer } from './answers.ts'
import { type Component, componentsOf } from './components.ts'
import { TOOLS, type Tool } from './commits.ts'
import { factsOf } from './facts.ts'
import { Comparison, GAIN } from './harms.ts'
import { Lattice, type Move, type Node } from './lattice.ts'
import { type Found, type Path, search, type Searching } from './search.ts'
import {
  isChanged,
  type Item,
  type Items,
  type Judging,
  namingProvider,
  put,
  storedItems,
  submitted,
} from './states.ts'
import { type Change, interruptions, type Version, versionsBetween } from './versions.ts'

export interface Question extends Judging {
  readonly old: Items
  readonly new: Items
  /** A state that knows of both sides what rules read beside these objects, such as Secrets; it is changed. */
  readonly state: ClusterState
  /** Whether the old objects are as the API server has them, with the defaults of /mutate. */
  readonly isStored: boolean
  /** Whether an old object is deleted that the new state does not have. */
  isDeleted(key: string): boolean
  /** Whether an apply of the new value would send nothing although the stored object has more. */
  isApplied?(old: unknown, now: unknown): boolean
  readonly tools?: readonly Tool[]
  readonly generations?: readonly Generation[]
  readonly mostStates?: number
}

/** A write, and the commit that it belongs to, both counted from 1. */
export interface Step {
  readonly number: number
  readonly commit: number
  readonly verb: 'create' | 'update' | 'delete'
  readonly kind: string
  readonly namespace: string
  readonly name: string
  /** What the version is, where it is not the new one. */
  readonly words: string
  /** What is written; undefined for a deletion. */
  readonly value: unknown
  /** What is stored before. */
  readonly before: unknown
}

/** A harm that no order avoids: from after one step until another. */
export interface GivenUp {
  readonly text: string
  readonly why: string
  readonly after: number
  readonly until: number
}

export interface StepsPlan {
  /**
   * `nothing`: no object changes. `order`: an order without harm. `harm`: one with the least harm; there is none without, or,
   * where the search was not complete, none was found. `refused`: no order was found that the webhook admits.
   * `contradiction`: the new state has errors of its own.
   */
  readonly outcome: 'nothing' | 'order' | 'harm' | 'refused' | 'contradiction'
  readonly steps: readonly Step[]
  readonly commits: number
  readonly givenUp: readonly GivenUp[]
  readonly errors: readonly string[]
  /** Whether each tool brings the change as one commit. */
  readonly asOne: readonly ToolAnswer[]
  readonly states: number
  readonly isComplete: boolean
}

const MOST_STATES = 20_000

/** Finds an order of writes from the old state to the new one. */
export function planSteps(question: Question): StepsPlan {
  const world = new World(question)
  const none = { steps: [], commits: 0, givenUp: [], errors: [], asOne: [], states: 0, isComplete: true }
  if (world.changes.length === 0) return { outcome: 'nothing', ...none }
  const errors = world.newErrors()
  if (errors.length > 0) return { outcome: 'contradiction', ...none, errors }
  const components = componentsOf(world.changes, question.old, question.new)
  const plan = world.plan(components)
  // References connect what concerns each other. If something else does, all is planned as one.
  return (
    plan ??
    world.plan([{ changes: world.changes, objects: world.objects }]) ?? { outcome: 'refused', ...none }
  )
}

class World {
  readonly changes: readonly Change[]
  readonly objects: readonly Omit<Item, 'value'>[]
  readonly #question: Question
  readonly #old: ReadonlyMap<string, unknown>
  readonly #new: ReadonlyMap<string, unknown>

  constructor(question: Question) {
    this.#question = question
    const { old, new: now, state, isStored, reading } = question
    this.objects = [...new Map([...old, ...now]).values()]
    for (const object of this.objects) put(state, object, undefined, reading)
    this.#old = isStored
      ? new Map(Array.from(old, ([key, { value }]) => [key, value]))
      : storedItems(old, new Map(), state, question)
    this.#toState(this.#old)
    const kept = [...old].filter(([key]) => !now.has(key) && !question.isDeleted(key))
    for (const [key, item] of old)
      if (!now.has(key) && question.isDeleted(key)) put(state, item, undefined, reading)
    this.#new = new Map([
      ...kept.map(([key]) => [key, this.#old.get(key)] as const),
      ...storedItems(now, this.#old, state, question),
    ])
    this.changes = this.#changes()
  }

  #toState(stored: ReadonlyMap<string, unknown>): void {
    const { state, reading, old, new: now } = this.#question
    for (const [key, item] of new Map([...old, ...now])) put(state, item, stored.get(key), reading)
  }

  #changes(): Change[] {
    const { old, new: now, isApplied = () => false } = this.#question
    return [...new Map([...old, ...now])].flatMap(([key, item]): Change[] => {
      const [before, after] = [this.#old.get(key), this.#new.get(key)]
      const wanted = now.get(key)?.value
      if (after !== undefined && !isChanged(before, after)) return []
      if (after !== undefined && before !== undefined && isApplied(before, wanted)) return []
      const isSameFile = !this.#question.isStored && deepEqual(old.get(key)?.value, wanted)
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

  /** The errors of the new state that the old one does not have. */
  newErrors(): string[] {
    const before = new Set(this.#errorsBeside(this.#old).map(({ key, id }) => `${key} ${id}`))
    return this.#errorsBeside(this.#new)
      .filter(({ key, id }) => !before.has(`${key} ${id}`))
      .map(({ text }) => text)
  }

  #errorsBeside(stored: ReadonlyMap<string, unknown>) {
    const { state, reading, settings } = this.#question
    this.#toState(stored)
    return this.objects.flatMap((object) => {
      const value = stored.get(keyIn(object))
      if (value === undefined) return []
      const submission = submitted(object, value, undefined, reading)
      const { errors } = judgeSubmission(submission, {
        group: reading.group,
        settings,
        state,
        phase: 'before deployment',
        placeholders: reading.placeholders,
      })
      return errors.map((error) => ({
        key: keyIn(object),
        id: error.id,
        text: `${object.kind.kind} ${object.namespace}/${object.name}: ${findingText(error)}`,
      }))
    })
  }

  #lattice(changes: readonly Change[], objects: readonly Omit<Item, 'value'>[]): Lattice {
    const { state, reading, generations = GENERATIONS } = this.#question
    this.#toState(this.#new)
    const after = factsOf(state, objects, reading)
    this.#toState(this.#old)
    const before = factsOf(state, objects, reading)
    const comparison = new Comparison(before, after, generations)
    return new Lattice(changes, state, this.#question, objects, comparison)
  }

  /** Undefined where the orders of the components do not fit together. */
  plan(components: readonly Component[]): StepsPlan | undefined {
    const { tools = TOOLS, mostStates = MOST_STATES, new: now } = this.#question
    const places = new Map([...now.keys()].map((key, i) => [key, i]))
    const parts = components.map(({ changes, objects }) => {
      const lattice = this.#lattice(changes, objects)
      const found = waySearch(lattice, mostStates)
      const commits =
        found.path === undefined
          ? undefined
          : commitsOf(lattice, found.path, tools, ({ key }) => places.get(key) ?? Infinity)
      this.#toState(this.#old)
      return { changes, found, commits }
    })
    const states = parts.reduce((sum, { found }) => sum + found.states, 0)
    const isComplete = parts.every(({ found }) => found.isComplete)
    const asOne = tools.map((tool) =>
      joined(
        tool,
        parts.map(({ commits }) => commits),
      ),
    )
    const result = { errors: [], states, isComplete, asOne }
    if (parts.some(({ commits }) => commits === undefined))
      return { outcome: 'refused', steps: [], commits: 0, givenUp: [], ...result }
    const ways = parts.map(({ changes, found, commits }) => ({
      changes,
      commits: commits?.commits ?? [],
      isHarmless: found.path?.cost === 0,
    }))
    // What is given up comes back before anything else is written.
    const rounds = [
      ways.filter(({ isHarmless }) => isHarmless),
      ...ways.filter(({ isHarmless }) => !isHarmless).map((way) => [way]),
    ]
    const order: Placed[] = []
    for (const round of rounds) order.push(...this.#together(round, order.at(-1)?.commit ?? 0))
    const walked = this.#walk(order)
    if (walked === undefined) return undefined
    const isHarmless = parts.every(({ found }) => found.path?.cost === 0)
    if (isHarmless && walked.givenUp.length > 0) return undefined
    return {
      outcome: isHarmless ? 'order' : 'harm',
      commits: Math.max(...order.map(({ commit }) => commit)),
      ...walked,
      ...result,
    }
  }

  /** The writes of components, after some commits: first those of every first commit. */
  #together(
    parts: readonly { readonly changes: readonly Change[]; readonly commits: readonly (readonly Move[])[] }[],
    before: number,
  ): Placed[] {
    const index = new Map(this.changes.map(({ key }, i) => [key, i]))
    const count = Math.max(0, ...parts.map(({ commits }) => commits.length))
    return Array.from({ length: count }, (_, commit) =>
      parts.flatMap(({ changes, commits }) =>
        (commits[commit] ?? []).map(({ of, to }) => ({
          move: { of: index.get(changes[of]?.key ?? '') ?? -1, to },
          commit: before + commit + 1,
        })),
      ),
    ).flat()
  }

  /** Judges all writes once more, one after the other, beside everything. */
  #walk(order: readonly Placed[]): Pick<StepsPlan, 'steps' | 'givenUp'> | undefined {
    const lattice = this.#lattice(this.changes, this.objects)
    const steps: Step[] = []
    const open = new Map<string, GivenUp>()
    const givenUp: GivenUp[] = []
    let node: Node = lattice.start
    for (const [i, { move, commit }] of order.entries()) {
      const change = this.changes[move.of]
      const result = lattice.move(node, move)
      if (change === undefined || result.refused !== undefined) return undefined
      steps.push(stepOf(change, move, { number: i + 1, commit, before: node.stored[move.of] }))
      node = result.node
      const harms = new Map(lattice.harms(node).map((harm) => [harm.text, harm]))
      for (const [text, since] of open) {
        if (harms.has(text)) continue
        givenUp.push({ ...since, until: i + 1 })
        open.delete(text)
      }
      for (const { text, why } of harms.values())
        if (!open.has(text)) open.set(text, { text, why, after: i + 1, until: i + 1 })
    }
    return lattice.isEnd(node) ? { steps, givenUp: [...givenUp, ...open.values()] } : undefined
  }
}

interface Placed {
  readonly move: Move
  readonly commit: number
}

const REWRITTEN =
  'with subjectProviderName as /mutate would write it then, because an unchanged file is not sent'

const keyIn = ({ kind, namespace, name }: Omit<Item, 'value'>) => `${kind.kind}/${namespace}/${name}`

/** Most objects of a component that take an intermediate version. */
const MOST_BETWEEN = 3

/** Whole objects first, then intermediate versions, then the least harm; interruptions come at the last. */
function waySearch(lattice: Lattice, mostStates: number): Found {
  const whole: Searching = { between: 0, interruptions: false, harms: false, deletionsLast: true, mostStates }
  const most: Searching = { ...whole, between: MOST_BETWEEN, deletionsLast: false }
  let states = 0
  let isComplete = true
  const tried = (phase: Searching): Found => {
    const found = search(lattice, phase)
    states += found.states
    isComplete &&= found.isComplete
    return found
  }
  for (const phase of [
    whole,
    { ...whole, deletionsLast: false },
    { ...whole, between: 1 },
    { ...whole, between: 1, deletionsLast: false },
    most,
    { ...most, interruptions: true },
  ]) {
    const found = tried(phase)
    if (found.path !== undefined) return { ...found, states, isComplete: true }
    if (!found.isComplete && phase.between > 0) break
  }
  let best: Path | undefined
  for (const phase of [most, { ...most, interruptions: true }]) {
    // What is too much to search with many intermediate versions may be found with fewer.
    for (const between of [MOST_BETWEEN, 1, 0]) {
      const { path, isComplete: isWhole } = tried({ ...phase, harms: true, between })
      if (path !== undefined && path.cost < (best?.cost ?? Infinity)) best = path
      if (path !== undefined || isWhole) break
    }
    // Only to give nobody what neither state gives is an interruption worth it.
    if ((best?.cost ?? Infinity) < GAIN) break
  }
  return { path: best, states, isComplete }
}

function stepOf(
  change: Change,
  { to }: Move,
  { number, commit, before }: Pick<Step, 'number' | 'commit' | 'before'>,
): Step {
  const version = change.versions[to]
  const verb = version?.value === undefined ? 'delete' : before === undefined ? 'create' : 'update'
  return {
    number,
    commit,
    verb,
    kind: change.kind.kind,
    namespace: change.namespace,
    name: change.name,
    words: version?.words ?? '',
    value: version?.value,
    before,
  }
}

/** The answer of a tool for all components: it fails where one of them does. */
function joined(tool: Tool, parts: readonly (Commits | undefined)[]): ToolAnswer {
  const answers = parts.flatMap((part) => part?.asOne.filter((each) => each.tool === tool) ?? [])
  const [failed] = answers.filter(({ problem }) => problem !== undefined)
  const withWaves = answers.every(({ problem, waves }) => problem === undefined || waves !== undefined)
  return {
    tool,
    problem: failed?.problem,
    ...(failed !== undefined && withWaves ? { waves: answers.flatMap(({ waves = [] }) => waves) } : {}),
    isPruneLast: withWaves && answers.some(({ isPruneLast }) => isPruneLast),
  }
}
