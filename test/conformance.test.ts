import { readFileSync } from 'node:fs'
import t from 'tap'
import { comparedReleases, differences, NEWEST } from './support/conformance.ts'
import { differencesParts, PAGE, unexplained } from './support/conformance-page.ts'

const found = differences(comparedReleases([NEWEST]))

t.test('every difference from releases is explained', async (t) => {
  t.strictSame(unexplained(found), [])
  t.ok(
    found.counts.every(({ worlds }) => worlds > 1_000),
    'most of the corpus is recorded',
  )
})

t.test('contributing/conformance.md tells the differences of now', async (t) => {
  const page = readFileSync(PAGE, 'utf8')
  for (const part of differencesParts(found))
    t.ok(page.includes(part), `${part.slice(0, 60)} (npm run conformance)`)
})
