// Compares our evaluator with cel-go over any number of pairs, and prints what differs:
//
//	node pairs.ts 1 60000 > /tmp/pairs.jsonl
//	go run . - < /tmp/pairs.jsonl > /tmp/answers
//	node compare.ts /tmp/pairs.jsonl /tmp/answers 0.33
//
// With -modfile cel-0.32.mod and 0.32 the other version. A list that is made of the keys of a map may differ: Go goes
// through a map in another order each time.

import { readFileSync } from 'node:fs'
import { type CelGoVersion, check, parse } from '../../../src/cel/index.ts'
import { evaluate } from '../../../src/cel/evaluate/evaluate.ts'
import { fromJson } from '../../../src/cel/evaluate/values.ts'
import { bounded, LIMITS, Stopped } from '../../../src/access/role/matcher.ts'
import { printed } from '../../support/cel-values.ts'

const [pairs = '', answers = '', celGo = '0.33'] = process.argv.slice(2)
const linesOf = (file: string) => readFileSync(file, 'utf8').trimEnd().split('\n')

function answer(expr: string, claims: unknown, version: CelGoVersion): string {
  const parsed = parse(expr)
  const checked = parsed.ok ? check(parsed.expr, version) : undefined
  if (!parsed.ok || checked?.ok !== true) return 'refused'
  const spend = bounded(LIMITS, Infinity, () => 0)
  try {
    const { settled } = checked
    return printed(evaluate(parsed.expr, { claims: fromJson(claims), settled, celGo: version, spend }))
  } catch (error) {
    if (error instanceof Stopped) return 'cost'
    throw error
  }
}

const expected = linesOf(answers)
let different = 0
for (const [i, line] of linesOf(pairs).entries()) {
  const { expr, claims } = JSON.parse(line) as { expr: string; claims: unknown }
  const found = answer(expr, claims, celGo as CelGoVersion)
  if (found === expected[i]) continue
  different++
  console.log(`${line}\n  cel-go: ${expected[i]}\n  ours:   ${found}`)
}
console.log(`${expected.length} pairs, ${different} differ`)
