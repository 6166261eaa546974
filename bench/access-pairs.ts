/**
 * Compares random pairs of role mappings, and checks every answer by trying all callers of a small universe. Prints the
 * counts, and pairs that were answered wrongly. With --cel-go, which needs Go, cel-go evaluates every witness as well.
 * Run: npm run prove:access -- [COUNT] [SEED] [--cel-go]
 */
import { parseArgs } from 'node:util'
import { decideRole, matchersOf } from '../src/access/role/decide.ts'
import type { Evaluation } from '../src/access/role/matcher.ts'
import type { CelGoVersion } from '../src/cel/index.ts'
import { GENERATIONS, NEWEST } from '../src/kinds/mcp-external-auth-config/generations.ts'
import { checkPair, type NotedWitness, type PairCounts, RandomConfigs } from '../test/support/access-pairs.ts'
import { celGoValues } from './cel-go.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { 'cel-go': { type: 'boolean', default: false } },
})
const count = Number(positionals[0] ?? 100_000)
const seed = Number(positionals[1] ?? 1)

const random = new RandomConfigs(seed)
const counts: PairCounts = { pairs: 0, same: 0, different: 0, witnesses: 0, undecided: 0, partly: 0 }
const wrong: string[] = []
const witnesses: NotedWitness[] = []
for (let i = 0; i < count && wrong.length < 20; i++) {
  const pair = random.pair()
  const note = (witness: NotedWitness) => {
    if (values['cel-go']) witnesses.push(witness)
  }
  const problem = checkPair(pair, GENERATIONS[i % GENERATIONS.length] ?? NEWEST, counts, note)
  if (problem !== undefined) wrong.push(`${problem}\n    ${JSON.stringify(pair)}`)
}

/** Decides each witness with the results of cel-go, and notes where they are others. Returns how many were decided. */
async function confirmWithCelGo(celGo: CelGoVersion): Promise<number> {
  const ours = witnesses.filter(({ generation }) => generation.celGo === celGo)
  const questions = ours.flatMap(({ old, now, witness }) =>
    [...matchersOf(old), ...matchersOf(now)].map((expr) => JSON.stringify({ expr, claims: witness })),
  )
  const answers = await celGoValues(questions, celGo)
  const known = new Map(questions.map((question, i) => [question, answers[i]]))
  for (const { old, now, generation, witness, had, has } of ours) {
    const evaluationOf = (expr: string): Evaluation => {
      const answer = known.get(JSON.stringify({ expr, claims: witness })) ?? ''
      if (answer === 'refused') return { kind: 'refused', message: 'refused' }
      return answer === 'true' ? { kind: 'value', value: true } : { kind: 'failed', message: answer }
    }
    const roles = [old, now].map((each) => decideRole(each, witness, generation, evaluationOf).role)
    if (roles[0] !== had || roles[1] !== has)
      wrong.push(`cel-go decides otherwise: ${JSON.stringify({ old, now, witness, had, has, roles })}`)
  }
  return ours.length
}

const confirmed = values['cel-go']
  ? (await confirmWithCelGo('0.32')) + (await confirmWithCelGo('0.33'))
  : undefined
process.stdout.write(
  `${[...wrong, JSON.stringify({ ...counts, confirmedByCelGo: confirmed, wrong: wrong.length })].join('\n')}\n`,
)
process.exitCode = wrong.length > 0 ? 1 : 0
