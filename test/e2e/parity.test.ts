import root from 'tap'
import { COMPARISONS } from '../../bench/parity/comparisons.ts'
import { findBinaries } from './find-binaries.ts'

/**
 * The numbers of comparisons in this short run; the figures in docs/parity.md are those of `npm run parity`. The first
 * build of the operator takes a minute.
 */
const COUNTS: Readonly<Record<string, number>> = {
  'api-server': 300,
  cedar: 2_000,
  cel: 2_000,
  go: 2_000,
  operator: 1_000,
  yaml: 2_000,
}

root.setTimeout(600_000)
const binaries = findBinaries()
const isCi = process.env.CI === 'true'

root.test('every comparison has a short form', async (t) => {
  t.strictSame(Object.keys(COUNTS), Object.keys(COMPARISONS).toSorted())
})

for (const [name, compare] of Object.entries(COMPARISONS)) {
  const skip = !isCi && 'missing' in binaries && binaries.missing
  root.test(name, { skip, timeout: 300_000 }, async (t) => {
    for (const { what, compared, outcomes, differences } of await compare(COUNTS[name] ?? 0, 1)) {
      t.strictSame(differences.slice(0, 5), [], `${what}: ${compared} compared`)
      t.ok(compared > 250 && Object.keys(outcomes).length > 0, `${what}: ${JSON.stringify(outcomes)}`)
    }
  })
}
