import { readFileSync } from 'node:fs'
import { createJudge, DEFAULT_SETTINGS, ALL_DEFAULTS, type Submission } from '../src/engine/index.ts'
import { DEFAULT_API_GROUP } from '../src/kinds/index.ts'
import { allRules } from '../src/kinds/places.ts'
import type { Release } from '../src/release/index.ts'
import { decodeReview } from '../src/server/admission-review.ts'
import { parseBody } from '../src/server/json.ts'
import { table } from './figures.ts'
import { freshBodies, mixedReviews } from './reviews.ts'

/**
 * What each rule costs a review of the mixed ones, the dearest first: prints a table in Markdown. In a process of its own,
 * because it puts a measure around each rule: npm run bench -- --rules.
 */

/** Reviews that each pass judges, none of which was judged before. */
const REVIEWS = 2_000
const PASSES = 5

const collect = (globalThis as { gc?: () => void }).gc ?? (() => undefined)

interface Cost {
  calls: number
  nanoseconds: number
  bytes: number
}

const costs = new Map<string, Cost>()
let measured: 'nothing' | 'time' | 'bytes' = 'nothing'
for (const rule of allRules()) {
  const cost: Cost = { calls: 0, nanoseconds: 0, bytes: 0 }
  costs.set(rule.id, cost)
  const { check } = rule
  const measuring: typeof check = (value, context) => {
    if (measured === 'nothing') return check(value, context)
    const read = measured === 'time' ? nanoseconds : heap
    const before = read()
    const found = [...check(value, context)]
    const taken = read() - before
    if (measured === 'time') {
      cost.calls++
      cost.nanoseconds += taken
    } else if (taken > 0) cost.bytes += taken
    return found
  }
  Object.assign(rule, { check: measuring })
}

const nanoseconds = () => performance.now() * 1e6
const heap = () => process.memoryUsage().heapUsed

const file = JSON.parse(readFileSync(new URL('../releases/0.63.json', import.meta.url), 'utf8')) as {
  schemas: Readonly<Record<string, never>>
}
const release: Release = { name: 'the installed operator', schemas: new Map(Object.entries(file.schemas)) }
const judge = createJudge({
  group: DEFAULT_API_GROUP,
  settings: DEFAULT_SETTINGS,
  release,
  state: 'no cluster',
  defaults: ALL_DEFAULTS,
})
const bodies = freshBodies(mixedReviews())

function submissions(): Submission[] {
  return Array.from({ length: REVIEWS }, () => {
    const review = decodeReview(parseBody(bodies.next().value))
    if (typeof review === 'string') throw new Error(review)
    return review.submission
  })
}

function pass(what: typeof measured): { readonly microseconds: number; readonly bytes: number } {
  const all = submissions()
  collect()
  measured = what
  const [before, start] = [heap(), performance.now()]
  let bytes = 0
  for (const submission of all) judge.admit(submission)
  bytes = heap() - before
  const microseconds = (performance.now() - start) * 1e3
  measured = 'nothing'
  return { microseconds: microseconds / REVIEWS, bytes: bytes / REVIEWS }
}

for (let i = 0; i < PASSES; i++) pass('nothing')
/** What the measure itself takes, of each call. */
const empty = { nanoseconds: Infinity, bytes: 0 }
for (let i = 0; i < 20; i++) {
  const begun = performance.now()
  for (let j = 0; j < 10_000; j++) nanoseconds()
  empty.nanoseconds = Math.min(empty.nanoseconds, ((performance.now() - begun) * 1e6) / 10_000)
}
for (let i = 0; i < PASSES; i++) pass('time')
const whole = Math.min(...Array.from({ length: PASSES }, () => pass('nothing').microseconds))
const between = [heap(), heap(), heap()]
empty.bytes = Math.max(0, (between[2] ?? 0) - (between[1] ?? 0))
const allocated = pass('nothing').bytes
pass('bytes')

/** The dearest rules, each in a row of its own. */
const MOST_SHOWN = 20
const reviews = PASSES * REVIEWS
const calls = (cost: Cost) => cost.calls / reviews
const microseconds = (cost: Cost) => (cost.nanoseconds - cost.calls * empty.nanoseconds) / reviews / 1e3
const bytes = (cost: Cost) => Math.max(0, cost.bytes / REVIEWS - calls(cost) * empty.bytes)
const sorted = [...costs].toSorted(([, a], [, b]) => b.nanoseconds - a.nanoseconds)
const row = (name: string, each: readonly Cost[]) => [
  name,
  each.reduce((sum, cost) => sum + calls(cost), 0).toFixed(2),
  each.reduce((sum, cost) => sum + microseconds(cost), 0).toFixed(2),
  each.reduce((sum, cost) => sum + bytes(cost), 0).toFixed(0),
]
process.stdout.write(
  `${table(
    ['rule', 'calls a review', 'µs a review', 'bytes a review'],
    [
      row('all rules', [...costs.values()]),
      ['the whole judgement, without the measure', '1', whole.toFixed(1), allocated.toFixed(0)],
      ...sorted.slice(0, MOST_SHOWN).map(([id, cost]) => row(`\`${id}\``, [cost])),
      row(
        `${sorted.length - MOST_SHOWN} others`,
        sorted.slice(MOST_SHOWN).map(([, cost]) => cost),
      ),
    ],
  )}\n`,
)
