// Prints the cost of reviews in figures that are the same on every machine: budget units, rule calls, and allocated
// bytes. Run it with node --no-opt --no-sparkplug --single-threaded --min-semi-space-size=512, so that nothing is
// optimised or garbage-collected during the measurement.
import { ATTACKS } from '../../bench/attacks.ts'
import { mixedReviews, roleMappingReviews } from '../../bench/reviews.ts'
import { DEFAULT_API_GROUP, kindNamed } from '../../src/kinds/index.ts'
import { allRules } from '../../src/kinds/places.ts'
import { gateway, inline } from '../../src/relations/examples.ts'
import { decodeReview, type Review } from '../../src/server/admission-review.ts'
import { parseBody } from '../../src/server/json.ts'
import { ClusterState } from '../../src/state/index.ts'
import { judgeOf, resourceOf } from './review.ts'

/** The averages per review: budget units, rule calls and allocated bytes, in total and by rule. */
export interface Costs {
  readonly units: number
  readonly calls: number
  readonly bytes: number
  readonly byRule: Readonly<Record<string, { readonly calls: number; readonly bytes: number }>>
}

const JUDGED = 60

const calls = new Map<string, { calls: number; bytes: number }>()
const allocated = () => process.memoryUsage().heapUsed

function counted(): void {
  for (const rule of allRules() as { id: string; check: (...of: never[]) => Iterable<unknown> }[]) {
    const check = rule.check.bind(rule)
    const own = { calls: 0, bytes: 0 }
    calls.set(rule.id, own)
    rule.check = (...of) => {
      const before = allocated()
      const found = [...check(...of)]
      own.calls += 1
      own.bytes += allocated() - before - MEASURING
      return found
    }
  }
}

/** The bytes that one measurement of the heap itself allocates. */
const MEASURING = (() => {
  for (let i = 0; i < 100; i++) allocated()
  const before = allocated()
  return allocated() - before
})()

function costsOf(bodies: readonly string[]): Costs {
  const judge = judgeOf()
  const read = (part: readonly string[]) =>
    part.map((body) => decodeReview(parseBody(Buffer.from(body))) as Review)
  const reviews = read(bodies.slice(0, JUDGED))
  const judgeAll = (all: readonly Review[]) => {
    let units = 0
    for (const { submission } of all) units += judge.admit(submission).spent
    return units
  }
  // Warms up what is computed once a process. No review is judged twice, because clusters seldom send one twice.
  judgeAll(read(bodies.length === 1 ? bodies : bodies.slice(JUDGED)))
  for (const own of calls.values()) Object.assign(own, { calls: 0, bytes: 0 })
  const before = allocated()
  const units = judgeAll(reviews)
  const bytes = allocated() - before
  const each = (sum: number) => Math.round((sum * 100) / reviews.length) / 100
  const ran = [...calls].filter(([, own]) => own.calls > 0)
  return {
    units: each(units),
    calls: each(ran.reduce((sum, [, own]) => sum + own.calls, 0)),
    bytes: Math.round(each(bytes)),
    byRule: Object.fromEntries(
      ran.map(([id, own]) => [
        id,
        { calls: each(own.calls), bytes: Math.max(0, Math.round(each(own.bytes))) },
      ]),
    ),
  }
}

/**
 * The cost of storing a VirtualMCPServer of 1.4 MB in the cluster state, which keeps only facts about one that large.
 */
function costsOfStoring(): Costs {
  const kind = kindNamed.get('VirtualMCPServer')
  if (kind === undefined) throw new Error('no kind of gateways')
  const ids = Array.from({ length: 15_300 }, (_, i) => [`backend-${i}`, `config-${i}`])
  const { spec } = gateway('', { outgoingAuth: inline(Object.fromEntries(ids) as Record<string, string>) })
  const text = JSON.stringify(resourceOf(kind.kind, spec))
  const state = new ClusterState(
    { group: DEFAULT_API_GROUP, knows: () => true },
    { all: 1e8, object: 1 << 18 },
  )
  state.put(kind, JSON.parse(text))
  const object: unknown = JSON.parse(text)
  const before = allocated()
  state.put(kind, object)
  return { units: 0, calls: 0, bytes: allocated() - before, byRule: {} }
}

counted()
const LARGE_UPDATE = 'an update of 15,000 providers'
process.stdout.write(
  JSON.stringify({
    'a mix': costsOf(mixedReviews()),
    '155 role mappings': costsOf(roleMappingReviews()),
    [LARGE_UPDATE]: costsOf([ATTACKS[LARGE_UPDATE]?.(0) ?? '']),
    'a stored gateway of 1.4 MB': costsOfStoring(),
  }),
)
