import { readFileSync } from 'node:fs'
import t from 'tap'
import { checkMatcher } from '../src/cel/index.ts'
import type { MatcherVerdict } from '../src/cel/index.ts'

/** What cel-go v0.31.0 says about an expression over `claims: map(string, dyn)`. */
type Golden = { expr: string } & ({ ok: true; type: string } | { ok: false; line: number; col: number })

const golden = readFileSync(new URL('golden/cel.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Golden)

t.test('every verdict and result type equals that of cel-go', async (t) => {
  const ours = (verdict: MatcherVerdict) => (verdict.ok ? verdict.type : 'rejected')
  const theirs = (expected: Golden) => (expected.ok ? expected.type : 'rejected')
  const different = golden.filter((expected) => ours(checkMatcher(expected.expr)) !== theirs(expected))
  t.equal(golden.length, 1555)
  t.same(different, [])
})

t.test('the first error is where cel-go puts it', async (t) => {
  const rejected = golden.filter((expected) => !expected.ok)
  const elsewhere = rejected.filter((expected) => {
    const verdict = checkMatcher(expected.expr)
    return verdict.ok || expected.ok || verdict.line !== expected.line || verdict.column !== expected.col
  })
  t.same(
    elsewhere.map(({ expr }) => expr).toSorted(),
    // cel-go puts the end of nothing at column 0, and for the last one has an error more, at the first '?'.
    ['', '', 'claims[claims.tenant] ? string(claims.iat) : "" + "^a.*$" + true ? null : 0x10 - 1e3 * x'],
  )
})
