/**
 * Asks both versions of cel-go again for the verdicts of test/golden/cel.jsonl. Needs Go. To add an expression, append
 * a line with `from` and `expr`. Run: npm run record:cel
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { celGoVerdicts } from './cel-go.ts'
import type { CelGoVerdict } from './cel-go.ts'

interface Row {
  readonly from: string
  readonly expr: string
  /** What it evaluates to with three sets of claims; recorded elsewhere. */
  readonly evals?: readonly string[]
}

const file = new URL('../test/golden/cel.jsonl', import.meta.url)
const rows = readFileSync(file, 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Row)
const expressions = rows.map(({ expr }) => expr)
const older = await celGoVerdicts(expressions, '0.32')
const newer = await celGoVerdicts(expressions, '0.33')

function recorded({ ok, type, phase, line, col }: CelGoVerdict) {
  if (ok) return { ok, type }
  return line === undefined ? { ok, phase } : { ok, phase, line, col }
}

/** The verdict of 0.32, and that of 0.33 where one of them compiles what the other refuses. */
const lines = rows.map(({ from, expr, evals }, index) => {
  const [inOlder, inNewer] = [older[index], newer[index]]
  if (inOlder === undefined || inNewer === undefined) throw new Error('cel-go gave too few verdicts')
  return JSON.stringify({
    from,
    expr,
    ...recorded(inOlder),
    ...(inOlder.ok === inNewer.ok ? {} : { '0.33': recorded(inNewer) }),
    ...(evals === undefined ? {} : { evals }),
  })
})
writeFileSync(file, `${lines.join('\n')}\n`)
