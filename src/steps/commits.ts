import type { Finding } from '../rule/index.ts'
import { costOf, type StepPath } from './search.ts'
import type { Harm } from './harms.ts'
import type { Lattice, Move, StateNode } from './lattice.ts'
import type { ChangedObject } from './versions.ts'

export const TOOLS = ['kubectl', 'flux', 'argocd'] as const
export type Tool = (typeof TOOLS)[number]

/** A sequence of groups of writes. A tool sends the writes of a group at the same time, so they arrive in any order. */
export type Groups = readonly (readonly Move[])[]

/** The problem when a tool applies a commit: the write that is refused, or that causes harm. */
export interface CommitProblem {
  readonly move: Move
  readonly refused?: readonly Finding[]
  readonly harm?: Harm
}

export type Delivered =
  { readonly to: StateNode; readonly problem?: undefined } | { readonly problem: CommitProblem }

/** The index of a change's document among the documents of the new state: kubectl applies them in this order. */
export type DocumentOrder = (change: ChangedObject) => number

/**
 * The order in which a tool writes the changes of a commit. kubectl: the documents, then the deletions, which the user
 * runs. Flux: by kind and name, then the deletions in reverse (fluxcd/pkg ssa/sort.go, manager_delete.go). Argo CD: the
 * deletions of a wave, then its objects by name, adjacent ones of the same kind at once (gitops-engine
 * pkg/sync/sync_tasks.go and runTasks of sync_context.go).
 */
export function orderOf(
  tool: Tool,
  moves: readonly Move[],
  { changes }: Lattice,
  documents: DocumentOrder,
): Groups {
  const isDeletion = ({ of, to }: Move) => changes[of]?.versions[to]?.value === undefined
  const compare =
    (...keys: ((change: ChangedObject) => string | number)[]) =>
    (a: Move, b: Move) => {
      const [x, y] = [changes[a.of], changes[b.of]]
      if (x === undefined || y === undefined) return 0
      for (const key of keys) if (key(x) !== key(y)) return key(x) < key(y) ? -1 : 1
      return 0
    }
  const kind = (change: ChangedObject) => change.kind.kind
  const namespace = (change: ChangedObject) => change.namespace
  const name = (change: ChangedObject) => change.name
  const byKind = compare(kind, namespace, name)
  const written = moves.filter((move) => !isDeletion(move))
  const deleted = moves.filter(isDeletion).toSorted((a, b) => byKind(b, a))
  const single = (move: Move) => [move]
  switch (tool) {
    case 'kubectl':
      return [...written.toSorted(compare(documents)), ...deleted].map(single)
    case 'flux':
      return [...written.toSorted(byKind), ...deleted].map(single)
    case 'argocd': {
      const groups: Move[][] = deleted.length === 0 ? [] : [deleted]
      let last: string | undefined
      for (const move of written.toSorted(compare(name, kind))) {
        const here = changes[move.of]?.kind.kind
        if (here === last) groups.at(-1)?.push(move)
        else groups.push([move])
        last = here
      }
      return groups
    }
  }
}

/** The most writes in a group for which all orders are tried. */
const MOST_AT_ONCE = 8

/** Applies groups of writes until a write is refused, or does harm that another order of writes would avoid. */
export function deliver(
  lattice: Lattice,
  from: StateNode,
  groups: Groups,
  allowed: ReadonlySet<string>,
): Delivered {
  let node = from
  for (const group of groups) {
    const result = inAnyOrder(lattice, node, group, allowed)
    if (result.problem !== undefined) return result
    node = result.to
  }
  return { to: node }
}

function inAnyOrder(
  lattice: Lattice,
  from: StateNode,
  group: readonly Move[],
  allowed: ReadonlySet<string>,
): Delivered {
  if (group.length > MOST_AT_ONCE) {
    // There are too many orders to try: only this order and its reverse are tried.
    const problem = [group, group.toReversed()]
      .map((order) =>
        deliver(
          lattice,
          from,
          order.map((move) => [move]),
          allowed,
        ),
      )
      .find((each) => each.problem !== undefined)
    if (problem !== undefined) return problem
  }
  const seen = new Set<string>()
  const open: { readonly node: StateNode; readonly left: readonly Move[] }[] = [{ node: from, left: group }]
  const ends = new Map<string, StateNode>()
  for (let here = open.pop(); here !== undefined; here = open.pop()) {
    const { node, left } = here
    if (left.length === 0) ends.set(node.key, node)
    for (const move of group.length > MOST_AT_ONCE ? left.slice(0, 1) : left) {
      const result = lattice.move(node, move)
      if (result.refused !== undefined) return { problem: { move, refused: result.refused } }
      const harms = lattice.harms(result.node).filter(({ text }) => !allowed.has(text))
      const [harm] = harms
      if (harm !== undefined && costOf(harms) > 0) return { problem: { move, harm } }
      if (seen.has(result.node.key)) continue
      seen.add(result.node.key)
      open.push({ node: result.node, left: left.filter((each) => each !== move) })
    }
  }
  const [to = from, another] = ends.values()
  const [move] = group
  // The order may determine what /mutate writes, so several final states are possible.
  return another === undefined || move === undefined ? { to } : { problem: { move } }
}

/** The most writes for which all divisions into commits are tried. */
const MOST_DIVIDED = 6

/**
 * The fewest commits that all tools apply without a refusal, and without more harm than the writes do one by one.
 */
export function fewestCommits(
  lattice: Lattice,
  path: StepPath,
  passes: (from: StateNode, moves: readonly Move[]) => StateNode | undefined,
): readonly (readonly Move[])[] {
  const isDivided = path.cost === 0 && path.moves.length <= MOST_DIVIDED
  return (isDivided ? divided(lattice, path.moves, passes) : undefined) ?? greedy(lattice, path, passes)
}

interface Reached {
  readonly node: StateNode
  readonly left: readonly Move[]
  readonly commits: readonly (readonly Move[])[]
}

/** Searches divisions of the writes into commits breadth-first, by the number of commits, large commits first. */
function divided(
  lattice: Lattice,
  path: readonly Move[],
  passes: (from: StateNode, moves: readonly Move[]) => StateNode | undefined,
): readonly (readonly Move[])[] | undefined {
  const seen = new Set<string>()
  let level: readonly Reached[] = [{ node: lattice.start, left: path, commits: [] }]
  while (level.length > 0) {
    const next: Reached[] = []
    for (const { node, left, commits } of level) {
      for (const some of subsets(left)) {
        const to = passes(node, some)
        if (to === undefined) continue
        const reached = {
          node: to,
          left: left.filter((move) => !some.includes(move)),
          commits: [...commits, some],
        }
        if (reached.left.length === 0) return reached.commits
        if (seen.has(to.key)) continue
        seen.add(to.key)
        next.push(reached)
      }
    }
    level = next
  }
  return undefined
}

/** The sets of writes that can form a commit, large sets first. A set has at most the next write of each object. */
function subsets(moves: readonly Move[]): Move[][] {
  const isNext = (move: Move) => moves.find(({ of }) => of === move.of) === move
  const possible = moves.filter(isNext)
  const all = Array.from({ length: 2 ** possible.length - 1 }, (_, i) =>
    possible.filter((_, bit) => ((i + 1) >> bit) % 2 === 1),
  )
  return all.toSorted((a, b) => b.length - a.length)
}

/**
 * Puts as many of the next writes into a commit as all tools accept, with the same result as single writes, then starts
 * the next commit.
 */
function greedy(
  lattice: Lattice,
  { moves, nodes }: StepPath,
  passes: (from: StateNode, moves: readonly Move[]) => StateNode | undefined,
): readonly (readonly Move[])[] {
  const commits: (readonly Move[])[] = []
  let node = lattice.start
  for (let done = 0; done < moves.length;) {
    let end = moves.length
    for (; end > done + 1; end--) {
      const some = moves.slice(done, end)
      const isOnce = new Set(some.map(({ of }) => of)).size === some.length
      if (isOnce && passes(node, some)?.key === nodes[end - 1]?.key) break
    }
    commits.push(moves.slice(done, end))
    node = nodes[end - 1] ?? node
    done = end
  }
  return commits
}
