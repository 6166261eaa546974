/**
 * Compares random pairs of role mappings, and checks every answer by trying all callers of a small universe. Prints the
 * counts, and pairs that were answered wrongly. Run: npm run prove:access -- [COUNT] [SEED]
 */
import { GENERATIONS } from '../src/access/role/releases.ts'
import { checkPair, newest, type PairCounts, RandomConfigs } from '../test/support/access-pairs.ts'

const count = Number(process.argv[2] ?? 100_000)
const seed = Number(process.argv[3] ?? 1)

const random = new RandomConfigs(seed)
const counts: PairCounts = { pairs: 0, same: 0, different: 0, witnesses: 0, undecided: 0, partly: 0 }
const wrong: string[] = []
for (let i = 0; i < count && wrong.length < 20; i++) {
  const pair = random.pair()
  const problem = checkPair(pair, GENERATIONS[i % GENERATIONS.length] ?? newest, counts)
  if (problem !== undefined) wrong.push(`${problem}\n    ${JSON.stringify(pair)}`)
}
process.stdout.write(`${[...wrong, JSON.stringify({ ...counts, wrong: wrong.length })].join('\n')}\n`)
process.exitCode = wrong.length > 0 ? 1 : 0
