import { type Commits, commitsOf, type ToolAnswer } from './answers.ts'
import { TOOLS, type Tool } from './commits.ts'
import { type Component, componentsOf } from './components.ts'
import type { Move, StateNode } from './lattice.ts'
import { waySearch } from './search.ts'
import { type StatePair, TwoStates } from './two-states.ts'
import type { ChangedObject } from './versions.ts'

export interface Question extends StatePair {
  readonly tools?: readonly Tool[]
  /** The most judgements of single objects in all searches together; in each state every object is judged once. */
  readonly mostJudged?: number
  /** Called with the number of states judged so far. */
  readonly tell?: (states: number) => void
}

/** A write, with its number and the number of its commit, both counted from 1. */
export interface PlanStep {
  readonly number: number
  readonly commit: number
  readonly verb: 'create' | 'update' | 'delete'
  readonly kind: string
  readonly namespace: string
  readonly name: string
  /** Describes an intermediate version; empty for the final version. */
  readonly words: string
  /** The object that is written; undefined for a deletion. */
  readonly value: unknown
  /** The stored object before the write; undefined for a creation. */
  readonly before: unknown
  /** The object that is stored after the write, with what /mutate writes; undefined for a deletion. */
  readonly after: unknown
}

/** A harm that the plan does not avoid: it begins after step `after`, and ends with step `until`. */
export interface GivenUp {
  readonly text: string
  readonly why: string
  readonly after: number
  readonly until: number
}

export interface StepsPlan {
  /**
   * `nothing`: no object changes. `order`: an order without harm was found. `harm`: the order with the least harm that
   * was found; if the search was complete, every order has harm. `refused`: no order was found that the webhook admits.
   * `contradiction`: the new state has errors that the old state does not have.
   */
  readonly outcome: 'nothing' | 'order' | 'harm' | 'refused' | 'contradiction'
  readonly steps: readonly PlanStep[]
  readonly commits: number
  readonly givenUp: readonly GivenUp[]
  readonly errors: readonly string[]
  /** Whether each tool can apply the change as one commit; empty when the webhook admits no order. */
  readonly asOne: readonly ToolAnswer[]
  readonly states: number
  readonly isComplete: boolean
}

/** The default of `mostJudged`: enough for 20,000 states of 40 objects, which take about half a minute. */
const MOST_JUDGED = 800_000

/** Finds an order of writes from the old state to the new one. */
export function planSteps(question: Question): StepsPlan {
  const states = new TwoStates(question)
  const none = { steps: [], commits: 0, givenUp: [], errors: [], asOne: [], states: 0, isComplete: true }
  if (states.changes.length === 0) return { outcome: 'nothing', ...none }
  const errors = states.newErrors()
  if (errors.length > 0) return { outcome: 'contradiction', ...none, errors }
  const found = planBetween(states, question)
  if (found?.outcome !== 'order' && states.allowCopies()) {
    const copying = planBetween(states, question)
    if (copying?.outcome === 'order') return copying
  }
  return found ?? { outcome: 'refused', ...none, isComplete: false }
}

/** Plans each component (set of connected objects) separately or, if the plans cannot be combined, all together. */
const planBetween = (states: TwoStates, question: Question): StepsPlan | undefined =>
  planOf(states, componentsOf(states.changes, question.old, question.new), question) ??
  planOf(states, [states], question)

/** The plan for these components (sets of connected objects); undefined when their orders cannot be combined. */
function planOf(
  states: TwoStates,
  components: readonly Component[],
  { tools = TOOLS, tell = () => undefined, mostJudged = MOST_JUDGED, new: now }: Question,
): StepsPlan | undefined {
  const places = new Map([...now.keys()].map((key, i) => [key, i]))
  let [count, left] = [0, mostJudged]
  const parts = components.map((component, i) => {
    const lattice = states.lattice(component)
    const before = count
    const share = left / (components.length - i)
    const found = waySearch(lattice, share / component.objects.length, (judged) => tell(before + judged))
    count += lattice.states
    left -= lattice.work * component.objects.length
    const commits =
      found.path === undefined
        ? undefined
        : commitsOf(lattice, found.path, tools, ({ key }) => places.get(key) ?? Infinity)
    return { changes: component.changes, found, commits }
  })
  const isComplete = parts.every(({ found }) => found.isComplete)
  const asOne = tools.map((tool) =>
    joined(
      tool,
      parts.map(({ commits }) => commits),
    ),
  )
  const result = { errors: [], states: count, isComplete, asOne }
  if (parts.some(({ commits }) => commits === undefined))
    return { outcome: 'refused', steps: [], commits: 0, givenUp: [], ...result, asOne: [] }
  const ways = parts.map(({ changes, found, commits }) => ({
    changes,
    commits: commits?.commits ?? [],
    isHarmless: found.path?.cost === 0,
  }))
  // Components (connected objects) for which every order found does harm come last, one at a time: if a component
  // deletes an object and recreates it, no write of another component comes between.
  const rounds = [
    ways.filter(({ isHarmless }) => isHarmless),
    ...ways.filter(({ isHarmless }) => !isHarmless).map((way) => [way]),
  ]
  const order: Placed[] = []
  for (const round of rounds) order.push(...together(states, round, order.at(-1)?.commit ?? 0))
  const walked = walk(states, order)
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

/**
 * Merges the commits of several components (sets of connected objects): the first commits of all components become
 * the commit with the number `before` + 1, their second commits the next one, and so on.
 */
function together(
  { changes: all }: TwoStates,
  parts: readonly {
    readonly changes: readonly ChangedObject[]
    readonly commits: readonly (readonly Move[])[]
  }[],
  before: number,
): Placed[] {
  const index = new Map(all.map(({ key }, i) => [key, i]))
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

/** Judges the plan write by write, with all objects; undefined if a write is refused or the new state not reached. */
function walk(states: TwoStates, order: readonly Placed[]): Pick<StepsPlan, 'steps' | 'givenUp'> | undefined {
  const lattice = states.lattice(states)
  const steps: PlanStep[] = []
  const open = new Map<string, GivenUp>()
  const givenUp: GivenUp[] = []
  let node: StateNode = lattice.start
  for (const [i, { move, commit }] of order.entries()) {
    const change = states.changes[move.of]
    const result = lattice.move(node, move)
    if (change === undefined || result.refused !== undefined) return undefined
    const [before, after] = [node, result.node].map(({ stored }) => stored[move.of])
    steps.push(stepOf(change, move, { number: i + 1, commit, before, after }))
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

interface Placed {
  readonly move: Move
  readonly commit: number
}

function stepOf(
  change: ChangedObject,
  { to }: Move,
  { before, ...placed }: Pick<PlanStep, 'number' | 'commit' | 'before' | 'after'>,
): PlanStep {
  const version = change.versions[to]
  const verb = version?.value === undefined ? 'delete' : before === undefined ? 'create' : 'update'
  return {
    ...placed,
    verb,
    kind: change.kind.kind,
    namespace: change.namespace,
    name: change.name,
    words: version?.words ?? '',
    value: version?.value,
    before,
  }
}

/** Whether one commit of the tool works for all components (sets of connected objects): it must work for each. */
function joined(tool: Tool, parts: readonly (Commits | undefined)[]): ToolAnswer {
  const answers = parts.flatMap((part) => part?.asOne.filter((each) => each.tool === tool) ?? [])
  const [failed] = answers.filter(({ problem }) => problem !== undefined)
  // The sync option is one of the Application: with it, the deletions of all components come last.
  const isPruneLast = answers.some((answer) => answer.isPruneLast)
  const withWaves = answers.every(
    ({ problem, waves, passesPruneLast }) =>
      (problem === undefined || waves !== undefined) && (!isPruneLast || passesPruneLast),
  )
  return {
    tool,
    problem: failed?.problem,
    ...(failed !== undefined && withWaves ? { waves: answers.flatMap(({ waves = [] }) => waves) } : {}),
    isPruneLast: withWaves && isPruneLast,
    passesPruneLast: answers.every((answer) => answer.passesPruneLast),
  }
}
