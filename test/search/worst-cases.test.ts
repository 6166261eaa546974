import t from 'tap'
import { MOST_BLOCKS, problemOf } from '../support/worst-cases/bounds.ts'
import { describePlan } from '../support/worst-cases/genes.ts'
import { Judging } from '../support/worst-cases/judging.ts'
import { describeJudged, MEASURES, Search } from '../support/worst-cases/search.ts'

/** The number of candidates in each search, which takes 30 to 45 seconds of CPU. */
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
