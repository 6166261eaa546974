/**
 * Asks cedar-go again for the answers in test/golden/cedar.jsonl. Needs Go. To add a policy, entities or a request, append
 * a line with the question. Run: npm run record:cedar
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { type CedarAnswer, cedarGoAnswers, type CedarQuestion } from './cedar-go.ts'

const file = new URL('../test/golden/cedar.jsonl', import.meta.url)
const rows = readFileSync(file, 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as CedarQuestion & Partial<CedarAnswer>)
const answers = await cedarGoAnswers(rows)
const lines = rows.map((row, i) => {
  const { ok, reasons, errors } = answers[i] ?? { ok: false }
  return JSON.stringify({
    ...row,
    ok,
    reasons: reasons ?? undefined,
    errors: errors ?? undefined,
  })
})
writeFileSync(file, `${lines.join('\n')}\n`)
