/**
 * The well-behaved clients of the soak, a process of its own. Arguments: the port, calls a second. A message of the
 * parent names the phase; `end` ends it, with what it saw of each phase as the answer.
 */
import { freshBodies, mixedReviews } from '../reviews.ts'
import { type Answer, call, callerOf, pace } from './calls.ts'

/** Milliseconds that an API server waits by the registration (--webhook-timeout). */
const DEADLINE = 5_000
const AT_A_TIME = 64
/** Different failures of a phase whose texts are kept. */
const MOST_TEXTS = 5

export interface Calls {
  readonly phase: string
  /** Milliseconds of each call. */
  readonly latencies: number[]
  failures: number
  /** Of those that are right: how many came too late for an API server. */
  late: number
  readonly texts: string[]
}

const [port = '', rate = ''] = process.argv.slice(2)
const caller = callerOf(Number(port), '127.0.0.1')
const PATHS = ['/validate', '/mutate'] as const
const bodies = mixedReviews()
const phases: Calls[] = []
let isOver = false

/** What must not change from one call to the next: whether it is allowed, and whether defaults are added. */
function verdictOf({ text }: Answer): string {
  const { response } = JSON.parse(text) as { response: { allowed: boolean; patch?: string } }
  return `${response.allowed ? 'allowed' : 'denied'}${response.patch === undefined ? '' : ', patched'}`
}

function problemWith(answer: Answer, expected: string): string | undefined {
  const { status, text } = answer
  if (status !== 200) return `${status}: ${text}`
  const verdict = verdictOf(answer)
  // Without an API server that confirms it, an error that depends on other objects is a warning.
  return verdict === expected || text.includes('not confirmed: ')
    ? undefined
    : `${verdict} in place of ${expected}: ${text}`
}

const fresh = freshBodies(bodies)
// On a quiet day, each body once on each path.
const expected = new Map<string, string[]>()
for (const path of PATHS) {
  const verdicts: string[] = []
  for (let i = 0; i < bodies.length; i++)
    verdicts.push(verdictOf(await call(caller, path, fresh.next().value)))
  expected.set(path, verdicts)
}
process.send?.('begun')

process.on('disconnect', () => process.exit())
process.on('message', (phase: string) => {
  if (phase === 'end') isOver = true
  else phases.push({ phase, latencies: [], failures: 0, late: 0, texts: [] })
})

let next = 0
await pace(
  { rate: Number(rate), most: AT_A_TIME },
  async (late) => {
    const number = next++
    const path = PATHS[Math.floor(number / bodies.length) % PATHS.length] ?? '/validate'
    const verdict = expected.get(path)?.[number % bodies.length] ?? ''
    const start = performance.now()
    const answer = await call(caller, path, fresh.next().value)
    const tally = phases.at(-1)
    if (tally === undefined) return
    const milliseconds = performance.now() - start
    tally.latencies.push(Math.round((late + milliseconds) * 100) / 100)
    if (milliseconds > DEADLINE) tally.late += 1
    const problem = problemWith(answer, verdict)
    if (problem === undefined) return
    tally.failures += 1
    if (tally.texts.length < MOST_TEXTS) tally.texts.push(problem.slice(0, 500))
  },
  () => isOver,
)
process.send?.(phases, () => process.exit())
