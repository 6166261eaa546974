/**
 * Compares what we say with what other programs say, over random values, and prints rows of the table of docs/parity.md,
 * then the differences that the page does not explain; with one it fails. Needs Go. Run:
 * npm run parity -- NAME... [--count N] [--seed S]
 */
import { parseArgs } from 'node:util'
import { COMPARISONS } from './comparisons.ts'
import type { Comparison } from './comparison.ts'

const SHOWN = 20

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { count: { type: 'string', default: '100000' }, seed: { type: 'string', default: '1' } },
})
const unknown = positionals.filter((name) => !(name in COMPARISONS))
if (unknown.length > 0 || positionals.length === 0)
  throw new Error(`give one or more of ${Object.keys(COMPARISONS).join(', ')}`)

const counts = (of: Readonly<Record<string, number>>) =>
  Object.entries(of)
    .toSorted(([, a], [, b]) => b - a)
    .map(([what, count]) => `${count} ${what}`)
    .join(', ')

function row({ what, against, compared, outcomes, explained, differences }: Comparison): string {
  const known = Object.values(explained).reduce((sum, count) => sum + count, 0)
  return `| ${what} | ${against} | ${compared}: ${counts(outcomes)} | ${values.seed} | ${known}, ${differences.length} |`
}

for (const name of positionals) {
  for (const comparison of (await COMPARISONS[name]?.(Number(values.count), Number(values.seed))) ?? []) {
    process.stdout.write(`${row(comparison)}\n`)
    for (const [why, count] of Object.entries(comparison.explained))
      process.stdout.write(`  explained: ${count}: ${why}\n`)
    for (const each of comparison.differences.slice(0, SHOWN)) process.stdout.write(`  otherwise: ${each}\n`)
    if (comparison.differences.length > 0) process.exitCode = 1
  }
}
