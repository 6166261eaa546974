import { GAIN, type Harm, weightOf } from './harms.ts'
import type { Lattice, Move, StateNode } from './lattice.ts'
import { type ChangedObject, isTemporary } from './versions.ts'

export interface StepPath {
  readonly moves: readonly Move[]
  /** The state after each write. */
  readonly nodes: readonly StateNode[]
  readonly cost: number
}

/** The result of a search for an order of writes; `path` is undefined when no order was found. */
interface Found {
  readonly path: StepPath | undefined
  /** False when the search stopped because too many states were judged. */
  readonly isComplete: boolean
}

interface Searching {
  /** The most objects that may be written in an intermediate version, between the old and the new one. */
  readonly between: number
  /** Whether an object may lose a reference for a while, or be deleted and created again. */
  readonly interruptions: boolean
  /**
   * Whether the order of writes may lead through states with a harm, such as a backend without credentials; then the
   * search finds the order with the least harm.
   */
  readonly harms: boolean
  /** Whether deletions come after all other writes. */
  readonly deletionsLast: boolean
  /** The search stops when it and earlier searches have judged this many states together. */
  readonly mostStates: number
}

/** The most objects of a component (set of connected objects) that may be written in an intermediate version. */
const MOST_BETWEEN = 3

/**
 * Finds an order of the writes. Tries orders with complete objects only, then with intermediate versions, then with
 * interruptions (objects deleted, or without a reference, for a while). If every order does harm, searches for the
 * least harm. The searches without harm may judge half of `mostStates`, and each search for the least harm half of
 * the rest.
 */
export function waySearch(lattice: Lattice, mostStates: number, tell: (states: number) => void): Found {
  const whole: Searching = {
    between: 0,
    interruptions: false,
    harms: false,
    deletionsLast: true,
    mostStates: mostStates / 2,
  }
  const most: Searching = { ...whole, between: MOST_BETWEEN, deletionsLast: false }
  let isComplete = true
  const tried = (phase: Searching): Found => {
    const found = search(lattice, phase, tell)
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
    if (found.path !== undefined) return { ...found, isComplete: true }
    if (!found.isComplete && phase.between > 0) break
  }
  let best: StepPath | undefined
  for (const phase of [most, { ...most, interruptions: true }]) {
    // A search with many intermediate versions may judge too many states; a search with fewer may be complete.
    for (const between of [MOST_BETWEEN, 1, 0]) {
      const half = (lattice.work + mostStates) / 2
      const { path, isComplete: isWhole } = tried({ ...phase, harms: true, between, mostStates: half })
      if (path !== undefined && path.cost < (best?.cost ?? Infinity)) best = path
      if (path !== undefined || isWhole) break
    }
    // The least harm with interruptions (objects deleted, or without their reference, for a while) is searched only if
    // the best order without them grants callers access that neither the old nor the new state grants.
    if ((best?.cost ?? Infinity) < GAIN) break
  }
  return { path: best, isComplete }
}

interface Reached {
  readonly node: StateNode
  readonly cost: number
  readonly between: number
  readonly move: Move | undefined
  readonly before: Reached | undefined
}

export const costOf = (harms: readonly Harm[]): number => harms.reduce((sum, harm) => sum + weightOf(harm), 0)

/** The factor by which a harm in the final state weighs more, because no later write removes it. */
const AT_THE_END = 100

const costAt = (lattice: Lattice, node: StateNode): number =>
  costOf(lattice.harms(node)) * (lattice.isEnd(node) ? AT_THE_END : 1)

/** The cost of these writes in this order; Infinity when one of them is refused. */
export function costAlong(lattice: Lattice, from: StateNode, moves: readonly Move[]): number {
  let [node, cost] = [from, 0]
  for (const move of moves) {
    const result = lattice.move(node, move)
    if (result.refused !== undefined) return Infinity
    node = result.node
    cost += costAt(lattice, node)
  }
  return cost
}

/** Finds the order of writes with the least harm (uniform-cost search); prefers creations first and deletions last. */
function search(lattice: Lattice, searching: Searching, tell: (states: number) => void): Found {
  const order = preferred(lattice.changes)
  const open = new Open()
  const closed = new Set<string>()
  open.push({ node: lattice.start, cost: 0, between: 0, move: undefined, before: undefined })
  for (let reached = open.pop(); reached !== undefined; reached = open.pop()) {
    const { node, cost, between } = reached
    const key = `${between} ${node.key}`
    if (closed.has(key)) continue
    if (lattice.isEnd(node)) return { path: pathTo(reached), isComplete: true }
    if (lattice.work >= searching.mostStates) return { path: undefined, isComplete: false }
    closed.add(key)
    tell(lattice.states)
    // The loop runs in reverse, because the search continues with the node that was pushed last.
    for (const of of order.toReversed()) {
      for (const { to, uses } of nextVersions(lattice, node, of, between, searching)) {
        const result = lattice.move(node, { of, to })
        if (result.refused !== undefined) continue
        const harm = costAt(lattice, result.node)
        if (harm > 0 && !searching.harms) continue
        open.push({
          node: result.node,
          cost: cost + harm,
          between: between + uses,
          move: { of, to },
          before: reached,
        })
      }
    }
  }
  return { path: undefined, isComplete: true }
}

function nextVersions(
  lattice: Lattice,
  node: StateNode,
  of: number,
  between: number,
  searching: Searching,
): { readonly to: number; readonly uses: number }[] {
  const change = lattice.changes[of]
  const versions = change?.versions ?? []
  const last = versions.length - 1
  const at = node.at[of] ?? last
  if (change === undefined || at === last) return []
  if (at === 0 && isTemporary(change)) return between < searching.between ? [{ to: 1, uses: 1 }] : []
  const isDeletion = versions[last]?.value === undefined
  if (isDeletion && searching.deletionsLast && !onlyDeletionsLeft(lattice, node)) return []
  const toNew = { to: last, uses: 0 }
  if (at > 0) return [toNew]
  const others = versions.flatMap(({ is }, to) => {
    // A version that refers to a temporary copy does not count as intermediate, because the copy itself was counted.
    if (is === 'copy') return [{ to, uses: 0 }]
    const isPossible = is === 'between' || (is === 'interruption' && searching.interruptions)
    return isPossible && between < searching.between ? [{ to, uses: 1 }] : []
  })
  return [...others.toReversed(), toNew]
}

const onlyDeletionsLeft = ({ changes }: Lattice, { at }: StateNode): boolean =>
  changes.every(({ versions }, i) => at[i] === versions.length - 1 || versions.at(-1)?.value === undefined)

const KINDS_IN_ORDER = [
  'MCPGroup',
  'MCPOIDCConfig',
  'MCPExternalAuthConfig',
  'MCPServerEntry',
  'MCPRemoteProxy',
  'MCPServer',
  'VirtualMCPServer',
]

/**
 * The indexes of the changes in the order to try: objects to which others refer come first; deletions come last, with
 * referrers first.
 */
function preferred(changes: readonly ChangedObject[]): number[] {
  const rank = ({ kind, versions }: ChangedObject) => {
    const place = KINDS_IN_ORDER.indexOf(kind.kind)
    if (versions.at(-1)?.value === undefined) return 100 - place
    return versions[0].value === undefined ? place : 20 + place
  }
  return changes
    .map((change, i) => ({ i, rank: rank(change), key: change.key }))
    .toSorted((a, b) => a.rank - b.rank || (a.key < b.key ? -1 : 1))
    .map(({ i }) => i)
}

function pathTo(end: Reached): StepPath {
  const moves: Move[] = []
  const nodes: StateNode[] = []
  for (let each: Reached | undefined = end; each?.move !== undefined; each = each.before) {
    moves.unshift(each.move)
    nodes.unshift(each.node)
  }
  return { moves, nodes, cost: end.cost }
}

/**
 * The frontier of the search: pops the least cost first, then the fewest intermediate versions, then the latest node.
 */
class Open {
  readonly #byRank = new Map<number, Reached[]>()

  push(reached: Reached): void {
    const rank = reached.cost * 10 + reached.between
    const same = this.#byRank.get(rank) ?? []
    this.#byRank.set(rank, same)
    same.push(reached)
  }

  pop(): Reached | undefined {
    const least = Math.min(...this.#byRank.keys())
    const same = this.#byRank.get(least)
    const reached = same?.pop()
    if (same?.length === 0) this.#byRank.delete(least)
    return reached
  }
}
