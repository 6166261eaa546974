import t from 'tap'
import { problemOf } from './support/worst-cases/bounds.ts'
import type { Candidate } from './support/worst-cases/candidate.ts'
import { fitting } from './support/worst-cases/genes.ts'
import { Judging } from './support/worst-cases/judging.ts'
import { actorMatchers, roleMappings, ROWS } from './support/worst-cases/rows.ts'
import { growing } from './support/worst-cases/search.ts'

t.test('what once ended or stalled the server is answered within the budget', async (t) => {
  for (const { title, size, at } of ROWS) {
    const judging = new Judging()
    const result = await judging.judge(at(size))
    await judging.end()
    t.equal(problemOf(result), undefined, title.replace('N', String(size)))
  }
})

t.test('so it is at the end of a chain of others', async (t) => {
  const judging = new Judging()
  t.teardown(() => judging.end())
  for (const { title, size, at } of [...ROWS, ...ROWS.toReversed()])
    t.equal(problemOf(await judging.judge(at(size))), undefined, title.replace('N', String(size)))
})

/** Conditions that are true, false, or an error for a caller without claims. */
const TESTS = ['has(claims.a)', 'claims.a == "x"', '"x" in claims.b', 'true']
/** Expressions that contain `inner` and two other conditions: each operator and macro, with `inner` at each place. */
const NESTINGS: readonly ((inner: string, one: string, other: string) => string)[] = [
  (inner, one, other) => `(${inner} ? ${one} : ${other})`,
  (inner, one, other) => `(${one} ? ${inner} : ${other})`,
  (inner, one, other) => `(${one} ? ${other} : ${inner})`,
  (inner, one, other) => `(${inner} && ${one} || ${other})`,
  (inner, one, other) => `(${one} || (${other} && ${inner}))`,
  (inner, one, other) => `(!${inner} && (${one} || ${other}))`,
  (inner, one) => `(${inner} == ${one})`,
  (inner, one) => `(${one} != ${inner})`,
  (inner, one) => `claims.l.exists(y, ${inner} && ${one})`,
  (inner, one) => `claims.l.all(y, ${inner} || ${one})`,
  (inner, one, other) => `claims.l.exists_one(y, ${inner} ? ${one} : ${other})`,
  (inner, one, other) => `[${inner}, ${one}].exists(w, w != ${other})`,
  (inner, one, other) => `[${inner}].map(q, q ? ${one} : ${other})[0]`,
  (inner, one, other) => `({"k": ${inner}}["k"] ? ${one} : ${other})`,
]
/** Levels of nesting: if the time doubled with each level, the test would never end. */
const DEEP = 45

t.test('an expression is not visited again for each that it is within', { timeout: 600_000 }, async (t) => {
  const judging = new Judging()
  t.teardown(() => judging.end())
  for (const nest of NESTINGS)
    for (const one of TESTS)
      for (const other of TESTS) {
        const matcher = Array.from({ length: DEEP }).reduce<string>(
          (inner) => nest(inner, one, other),
          'has(claims.c)',
        )
        for (const holding of [roleMappings, actorMatchers]) {
          const problem = problemOf(await judging.judge(holding(matcher)))
          if (problem !== undefined) t.fail(`${nest('…', one, other)}, ${DEEP} deep: ${problem}`)
        }
      }
  t.pass()
})

/** Numbers of items. For MANY the work for each item may be twice that for FEW, because sorting needs more. */
const [FEW, MANY] = [250, 1_000]

t.test('a list or a map costs as much as it has items', { timeout: 600_000 }, async (t) => {
  const judging = new Judging()
  t.teardown(() => judging.end())
  const blocksOf = async (candidate: Candidate) => {
    const result = await judging.judge(candidate, { blocks: true })
    return result.ended === 'answered' ? (result.blocks ?? NaN) : Infinity
  }
  // `authServerConfig` of VirtualMCPServer has the schema of `embeddedAuthServer` in MCPExternalAuthConfig, which is
  // tested.
  for (const { title, of } of growing().filter((each) => !each.title.includes('authServerConfig'))) {
    const [few, many] = [
      await blocksOf(fitting(of(FEW)).candidate),
      await blocksOf(fitting(of(MANY)).candidate),
    ]
    const most = 1.25 * (MANY / FEW) * few + 20_000
    if (!(many <= most)) t.fail(`${title}: ${few} blocks for ${FEW}, ${many} for ${MANY}`)
  }
  t.pass()
})
