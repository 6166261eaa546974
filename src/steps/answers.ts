import { findingText } from '../rule/index.ts'
import {
  deliver,
  type DocumentOrder,
  fewestCommits,
  orderOf,
  type CommitProblem,
  type Tool,
} from './commits.ts'
import type { Lattice, Move, StateNode } from './lattice.ts'
import { costAlong, type StepPath } from './search.ts'
import { type ChangedObject, isTemporary, lastOf } from './versions.ts'

/** Whether a tool (kubectl, Flux or Argo CD) can apply the whole change as one commit, and how. */
export interface ToolAnswer {
  readonly tool: Tool
  /** Why one commit does not work: `VirtualMCPServer default/tools is refused: …`; undefined when it works. */
  readonly problem: string | undefined
  /** For Argo CD: the sync waves with which one commit works in spite of the problem. */
  readonly waves?: readonly Wave[]
  /** For Argo CD: whether these sync waves need the sync option PruneLast=true. */
  readonly isPruneLast: boolean
  /** For Argo CD: whether one commit, with these sync waves if there are any, works with PruneLast=true. */
  readonly passesPruneLast: boolean
}

export interface Wave {
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly wave: number
}

export interface Commits {
  readonly commits: readonly (readonly Move[])[]
  readonly asOne: readonly ToolAnswer[]
}

/** Divides a sequence of writes into commits, each of which works with all given tools (kubectl, Flux, Argo CD). */
export function commitsOf(
  lattice: Lattice,
  path: StepPath,
  tools: readonly Tool[],
  documents: DocumentOrder,
): Commits {
  const allowed = new Set(path.nodes.flatMap((node) => lattice.harms(node)).map(({ text }) => text))
  const ordered = (tool: Tool, moves: readonly Move[]) => orderOf(tool, moves, lattice, documents)
  const atTheEnd = new Set(
    path.nodes
      .slice(-1)
      .flatMap((node) => lattice.harms(node))
      .map(({ text }) => text),
  )
  const isGoodEnd = (node: StateNode) =>
    !lattice.isEnd(node) || lattice.harms(node).every(({ text }) => atTheEnd.has(text))
  const passes = (from: StateNode, moves: readonly Move[]): StateNode | undefined => {
    let to: StateNode | undefined
    for (const tool of tools) {
      const groups = ordered(tool, moves)
      // A harm, such as lost credentials, that no order of writes avoids must not last longer in this tool's order.
      if (path.cost > 0 && costAlong(lattice, from, groups.flat()) > costAlong(lattice, from, moves))
        return undefined
      const delivered = deliver(lattice, from, groups, allowed)
      if (delivered.problem !== undefined || !isGoodEnd(delivered.to)) return undefined
      if (to !== undefined && to.key !== delivered.to.key) return undefined
      to = delivered.to
    }
    return to
  }
  const divided = fewestCommits(lattice, path, passes)
  const [first] = tools
  return {
    commits: divided.map((moves) => (first === undefined ? moves : ordered(first, moves).flat())),
    asOne: tools.map((tool) => answerOf(tool, lattice, path, documents)),
  }
}

function answerOf(tool: Tool, lattice: Lattice, path: StepPath, documents: DocumentOrder): ToolAnswer {
  const moves = lattice.changes.flatMap((change, of) =>
    isTemporary(change) ? [] : [{ of, to: lastOf(change) }],
  )
  const tried = deliver(lattice, lattice.start, orderOf(tool, moves, lattice, documents), new Set())
  if (tried.problem === undefined) {
    const isDeletion = isDeletionIn(lattice)
    const last = [moves.filter((move) => !isDeletion(move)), moves.filter(isDeletion)].flatMap((part) =>
      orderOf(tool, part, lattice, documents),
    )
    const passesPruneLast = deliver(lattice, lattice.start, last, new Set()).problem === undefined
    return { tool, problem: undefined, isPruneLast: false, passesPruneLast }
  }
  const problem = problemText(tried.problem, lattice.changes)
  const waves = tool === 'argocd' ? wavesOf(lattice, path) : undefined
  return { tool, problem, isPruneLast: false, passesPruneLast: waves !== undefined, ...waves }
}

const isDeletionIn =
  ({ changes }: Lattice) =>
  ({ of, to }: Move): boolean =>
    changes[of]?.versions[to]?.value === undefined

const nameOf = ({ kind, namespace, name }: ChangedObject): string => `${kind.kind} ${namespace}/${name}`

function problemText({ move, refused, harm }: CommitProblem, changes: readonly ChangedObject[]): string {
  const change = changes[move.of]
  const who = change === undefined ? '' : nameOf(change)
  const [finding] = refused ?? []
  if (finding !== undefined) return `${who} is refused: ${findingText(finding)}`
  if (harm === undefined) return 'what /mutate writes depends on which object comes first'
  const why = harm.why === '' ? '' : ` (${harm.why})`
  return `after ${who}, ${harm.text}${why}`
}

/** The sync waves with which Argo CD can apply all writes as one commit; undefined when waves alone do not help. */
function wavesOf(
  lattice: Lattice,
  { moves, cost }: StepPath,
): { readonly waves: readonly Wave[]; readonly isPruneLast: boolean } | undefined {
  const isDeletion = isDeletionIn(lattice)
  const firstDeletion = moves.findIndex(isDeletion)
  const written = firstDeletion === -1 ? moves : moves.slice(0, firstDeletion)
  const deleted = moves.slice(written.length)
  const isWhole = moves.length === lattice.changes.filter((change) => !isTemporary(change)).length
  if (!isWhole || cost > 0 || !deleted.every(isDeletion)) return undefined
  const noPlace = () => 0
  const waves: Wave[] = []
  let [node, left] = [lattice.start, written]
  for (let wave = 0; left.length > 0; wave++) {
    let count = left.length
    let delivered = deliver(lattice, node, orderOf('argocd', left, lattice, noPlace), new Set())
    while (delivered.problem !== undefined && count > 1) {
      count -= 1
      delivered = deliver(lattice, node, orderOf('argocd', left.slice(0, count), lattice, noPlace), new Set())
    }
    if (delivered.problem !== undefined) return undefined
    for (const { of } of left.slice(0, count)) {
      const change = lattice.changes[of]
      if (change !== undefined)
        waves.push({ kind: change.kind.kind, namespace: change.namespace, name: change.name, wave })
    }
    node = delivered.to
    left = left.slice(count)
  }
  const last = deliver(lattice, node, orderOf('argocd', deleted, lattice, noPlace), new Set())
  return last.problem === undefined ? { waves, isPruneLast: deleted.length > 0 } : undefined
}
