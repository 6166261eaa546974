import { type Judged, Climb } from './climb.ts'
import {
  type CommandPlan,
  describeCommand,
  firstPlans,
  mutateCommand,
  type Run,
  runOf,
} from './command-plans.ts'
import { Random } from './random.ts'
import type { RunResult } from './running.ts'
import { examplePlans } from './search.ts'

/** What a run may take: the start of the program, and so much for each byte that it reads. SECURITY.md says so. */
export const BOUNDS = {
  cpu: { start: 2_000, perMegabyte: 10_000 },
  memory: { start: 250e6, perMegabyte: 300e6 },
} as const

/** What the search climbs towards: the part of its bound that a run takes, so that small and large trees compete. */
export const RUN_MEASURES = {
  cpu: ({ cpuMs }: Answered, bytes: number) => cpuMs / boundOf('cpu', bytes),
  memory: ({ maxBytes }: Answered, bytes: number) => maxBytes / boundOf('memory', bytes),
} as const

type Answered = Extract<RunResult, { ended: 'answered' }>

export const boundOf = (what: keyof typeof BOUNDS, bytes: number): number =>
  BOUNDS[what].start + (BOUNDS[what].perMegabyte * bytes) / 1e6

/** Why a run is no bounded one; undefined where it is. */
export function problemOfRun(result: RunResult, bytes: number): string | undefined {
  if (result.ended === 'crashed') return `the process ended: ${result.how}`
  if (result.ended === 'killed') return `not ended after ${result.afterMs} ms of CPU`
  const { cpuMs, maxBytes } = result
  if (cpuMs > boundOf('cpu', bytes)) return `${cpuMs.toFixed(0)} ms of CPU for ${bytes} bytes`
  return maxBytes > boundOf('memory', bytes)
    ? `${(maxBytes / 1e6).toFixed(0)} MB for ${bytes} bytes`
    : undefined
}

export type JudgedRun = Judged<CommandPlan, RunResult>

/** Looks for the trees and the messages of an editor on which a command takes most. */
export class CommandSearch extends Climb<CommandPlan, RunResult> {
  constructor(
    seed: number,
    measure: keyof typeof RUN_MEASURES,
    run: (run: Run) => Promise<RunResult>,
    onFind?: (judged: JudgedRun) => void,
  ) {
    const random = new Random(seed)
    const resources = examplePlans()
    const donors = firstPlans(random, resources)
    const attempt = async (plan: CommandPlan) => {
      const made = runOf(plan)
      const result = await run(made)
      const score = result.ended === 'answered' ? RUN_MEASURES[measure](result, made.bytes) : Infinity
      return { plan, result, bytes: made.bytes, score, place: placeOf(plan) }
    }
    const change = (plan: CommandPlan) => mutateCommand(plan, random, { donors, resources })
    const isOfHalf = (place: string) => place.startsWith('lsp')
    super(
      random,
      {
        first: donors.map((plan) => () => plan),
        bases: donors,
        donors,
        enough: 1,
        change,
        isOfHalf,
        attempt,
      },
      onFind,
    )
  }
}

/** The command with its output, and what the tree is made of most. */
const placeOf = ({ line, tree }: CommandPlan): string => {
  const [name = ''] = line.split(' ')
  const output = /--output (\w+)/.exec(line)?.[1] ?? ''
  const [first] = tree
  const [part] = first?.parts ?? []
  const of =
    part === undefined
      ? ''
      : part.is === 'resources'
        ? part.plan.object.kind
        : (part.text[0]?.text ?? '').slice(0, 12)
  return `${name} ${output} ${of}`
}

export const describeRun = ({ plan, result, bytes, number }: JudgedRun): string => {
  const cost =
    result.ended === 'answered'
      ? `${result.cpuMs.toFixed(0)} ms, ${(result.maxBytes / 1e6).toFixed(0)} MB, exit ${result.status}`
      : result.ended === 'killed'
        ? `killed after ${result.afterMs} ms`
        : `ended: ${result.how}`
  return `#${number} ${bytes} bytes: ${cost}: ${describeCommand(plan)}`
}
