import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import type { Costs } from './support/review-costs.ts'

/**
 * V8 flags for a run without optimisation and garbage collection, in which the allocated bytes are the same on every
 * machine.
 */
const STEADY = [
  ...['--no-opt', '--no-sparkplug', '--single-threaded'],
  ...['--min-semi-space-size=512', '--max-semi-space-size=512'],
]
const SCRIPT = fileURLToPath(new URL('support/review-costs.ts', import.meta.url))
const RECORDED = new URL('golden/review-costs.json', import.meta.url)

/** The factor by which a review may exceed its recorded cost. */
const MORE = 1.05
/** The bytes per review by which a rule may differ, because the code around it allocates a little. */
const SLACK = 150

t.test('a review costs what was recorded, and each rule too', (t) => {
  // With an empty environment, because measuring coverage allocates memory.
  const costs = JSON.parse(
    execFileSync(process.execPath, [...STEADY, SCRIPT], { encoding: 'utf8', maxBuffer: 1 << 24, env: {} }),
  ) as Record<string, Costs>
  if (process.env.UPDATE_GOLDEN) writeFileSync(RECORDED, `${JSON.stringify(costs, undefined, 1)}\n`)
  const recorded = JSON.parse(readFileSync(RECORDED, 'utf8')) as Record<string, Costs>
  t.strictSame(Object.keys(costs), Object.keys(recorded))
  for (const [bodies, cost] of Object.entries(costs)) {
    const { units = 0, calls = 0, bytes = 0, byRule = {} } = recorded[bodies] ?? {}
    t.ok(cost.units <= units * MORE, `${bodies}: ${cost.units} units, ${units} recorded`)
    t.ok(cost.calls <= calls * MORE, `${bodies}: ${cost.calls} calls of rules, ${calls} recorded`)
    t.ok(cost.bytes <= bytes * MORE, `${bodies}: ${cost.bytes} bytes, ${bytes} recorded`)
    for (const [id, { calls, bytes }] of Object.entries(cost.byRule)) {
      const known = byRule[id] ?? { calls: 0, bytes: 0 }
      const isSame = calls <= known.calls * MORE && bytes <= known.bytes * MORE + SLACK
      if (!isSame)
        t.fail(
          `${bodies}: ${id} costs ${calls} calls and ${bytes} bytes, ${known.calls} and ${known.bytes} recorded`,
        )
    }
  }
  // Otherwise a review whose cost was not measured would pass.
  t.ok(Object.values(costs).some(({ units }) => units > 1))
  t.equal(Object.values(costs).filter(({ calls }) => calls > 10).length, 3)
  t.ok(Object.values(costs).every(({ bytes }) => bytes > 1_000))
  t.end()
})
