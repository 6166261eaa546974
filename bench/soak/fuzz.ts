/**
 * Sends reviews that were changed at random, a process of its own. Arguments: the port, how many, how many a second, the
 * seed. Its answer is how often each status came, and the answers that no body may get.
 */
import { type Answer, call, callerOf, pace } from './calls.ts'
import { fuzzedBodies } from './fuzzed-bodies.ts'

export interface Fuzzed {
  readonly sent: number
  readonly statuses: Readonly<Record<string, number>>
  readonly faults: readonly string[]
}

/** A verdict; a body that cannot be read, is too long, or of another type. */
const ALLOWED = [200, 400, 413, 415]
const AT_A_TIME = 32
const MOST_FAULTS = 20

const [port = '', count = '', rate = '', seed = ''] = process.argv.slice(2)
const bodies = fuzzedBodies(Number(seed))

function problemWith({ status, text }: Answer): string | undefined {
  if (!ALLOWED.includes(status)) return `${status}: ${text}`
  if (status !== 200) return undefined
  const { response } = JSON.parse(text) as { response?: { uid?: unknown; allowed?: unknown } }
  return typeof response?.allowed === 'boolean' && typeof response.uid === 'string' ? undefined : text
}

const statuses: Record<string, number> = {}
const faults: string[] = []
let sent = 0
let isOver = false
process.on('disconnect', () => process.exit())
process.on('message', () => (isOver = true))
const caller = callerOf(Number(port), '127.0.0.2')
await pace(
  { rate: Number(rate), most: AT_A_TIME, count: Number(count) },
  async () => {
    const { path, body } = bodies.next().value
    const answer = await call(caller, path, body)
    sent += 1
    statuses[answer.status] = (statuses[answer.status] ?? 0) + 1
    const problem = problemWith(answer)
    if (problem !== undefined && faults.length < MOST_FAULTS)
      faults.push(`${problem.slice(0, 300)} for ${body.toString('base64').slice(0, 4_000)}`)
  },
  () => isOver,
)
process.send?.({ sent, statuses, faults } satisfies Fuzzed, () => process.exit())
