import t from 'tap'
import { JUDGEMENT } from '../src/review/check.ts'
import type { Candidate, Result } from './support/worst-cases/candidate.ts'
import { describePlan, fitting } from './support/worst-cases/genes.ts'
import { Judging } from './support/worst-cases/judging.ts'
import { ROWS } from './support/worst-cases/rows.ts'
import { describeJudged, growing, MEASURES, Search } from './support/worst-cases/search.ts'

/** Most units that the submitted and the stored object spend together, with what the last step goes beyond. */
const MOST_UNITS = 2 * JUDGEMENT + 2_000
/** Most bytes of memory that a judgement takes beside what the process has. */
const MOST_BYTES = 64e6
/** Most blocks of code for each unit that is spent, and for each byte of the object and of the stored one: compiling takes 400. */
const MOST_BLOCKS = 600

/** Why a candidate is no bounded one; undefined where it is. */
function problemOf(result: Result): string | undefined {
  if (result.ended === 'crashed') return `the process ended: ${result.how}`
  if (result.ended === 'killed') return `not answered after ${result.afterMs} ms`
  const { units, failures, peakBytes = 0 } = result
  if (failures.length > 0) return failures.join('; ')
  if (units === undefined) return 'no units are counted'
  if (units > MOST_UNITS) return `${units} units`
  return peakBytes > MOST_BYTES ? `${(peakBytes / 1e6).toFixed(0)} MB` : undefined
}

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

/** How many items a list or a map has first, and then; twice that work may be done for each, as sorting does. */
const [FEW, MANY] = [250, 1_000]

t.test('a list or a map costs as much as it has items', { timeout: 600_000 }, async (t) => {
  const judging = new Judging()
  t.teardown(() => judging.end())
  const blocksOf = async (candidate: Candidate) => {
    const result = await judging.judge(candidate, { blocks: true })
    return result.ended === 'answered' ? (result.blocks ?? NaN) : Infinity
  }
  // The authorization server of a VirtualMCPServer is the one of MCPExternalAuthConfig.
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

/** Candidates of each search: 30 to 45 seconds of CPU. */
const CANDIDATES = 500

for (const measure of ['units', 'uncharged'] as const) {
  t.test(
    `a search for the most ${measure} finds nothing beyond its bound`,
    { timeout: 600_000 },
    async (t) => {
      const judging = new Judging()
      t.teardown(() => judging.end())
      let left = CANDIDATES
      const search = new Search(30, MEASURES[measure], (candidate) =>
        judging.judge(candidate, { blocks: true }),
      )
      await search.run(() => left-- <= 0)
      for (const judged of search.worst()) {
        const { result, bytes, plan } = judged
        const problem = problemOf(result)
        if (problem !== undefined) t.fail(`${problem}: ${describePlan(plan)}`)
        if (result.ended !== 'answered') continue
        const blocks = MEASURES.uncharged.of(result, bytes)
        if (blocks > MOST_BLOCKS)
          t.fail(`${blocks.toFixed(0)} blocks a unit and byte: ${describeJudged(judged)}`)
      }
      t.comment(search.worst().slice(0, 3).map(describeJudged).join('\n'))
      t.equal(new Set(search.worst().map(({ place }) => place)).size > 100, true, 'it went to many places')
    },
  )
}
