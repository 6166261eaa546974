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

/**
 * The bounds of a run: a fixed amount, an amount for each byte, and one for each line end, colon, comma and bracket in
 * its files. A language server may use the CPU for reading the files again at each message.
 */
const BOUNDS = {
  /** Milliseconds of CPU. */
  cpu: { start: 3_000, byte: 0.002, mark: 0.05 },
  /** Bytes of memory. */
  memory: { start: 500e6, byte: 30, mark: 1_800 },
} as const

/** The score of a run: the share of its bound that it uses, so that small and large folders are comparable. */
export const RUN_MEASURES = {
  cpu: ({ cpuMs }: Answered, run: Size) => cpuMs / boundOf('cpu', run),
  memory: ({ maxBytes }: Answered, run: Size) => maxBytes / boundOf('memory', run),
} as const

type Answered = Extract<RunResult, { ended: 'answered' }>
type Size = Pick<Run, 'bytes' | 'marks' | 'rounds'>

function boundOf(what: keyof typeof BOUNDS, { bytes, marks, rounds }: Size): number {
  const { start, byte, mark } = BOUNDS[what]
  const once = byte * bytes + mark * marks
  if (what === 'memory') return start + once
  return start + rounds * once
}

/** The bound that the run exceeds; undefined when it exceeds none. */
export function problemOfRun(result: RunResult, run: Size): string | undefined {
  if (result.ended === 'crashed') return `the process ended: ${result.how}`
  if (result.ended === 'killed') return `not ended after ${result.afterMs} ms of CPU`
  const { cpuMs, maxBytes } = result
  const of = `for ${run.bytes} bytes with ${run.marks} marks`
  if (cpuMs > boundOf('cpu', run)) return `${cpuMs.toFixed(0)} ms of CPU ${of}`
  return maxBytes > boundOf('memory', run) ? `${(maxBytes / 1e6).toFixed(0)} MB ${of}` : undefined
}

export type JudgedRun = Judged<CommandPlan, RunResult>

/** Searches for the files and editor messages with which a command takes most. */
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
      const score = result.ended === 'answered' ? RUN_MEASURES[measure](result, made) : Infinity
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

/** The command, its output format, and the first kind of content in its files. */
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
