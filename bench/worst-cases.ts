/**
 * Looks for the objects, and the pairs of an old and a new object, that cost most to judge, and prints the worst of each
 * place with its CPU and memory, measured again in a process of its own, and where the time goes.
 * Run: npm run worst-cases -- [MINUTES] [SEED] [units|blocks|uncharged|cpu|memory]
 * With the word `runs` first: the same for runs of the command, see `worst-runs.ts`.
 */
import {
  costText,
  describeJudged,
  type Judged,
  MEASURES,
  Search,
} from '../test/support/worst-cases/search.ts'
import { fitting, smaller } from '../test/support/worst-cases/genes.ts'
import { Judging } from '../test/support/worst-cases/judging.ts'
import { searchRuns } from './worst-runs.ts'

const say = (line: string) => process.stdout.write(`${line}\n`)
/** The measures that need blocks; counting them makes the code several times slower. */
const COUNTED: ReadonlySet<string> = new Set(['blocks', 'uncharged'])

const isOfRuns = process.argv[2] === 'runs'
const [minutes = '10', seed = '1', measure = 'cpu'] = process.argv.slice(isOfRuns ? 3 : 2)
await (isOfRuns ? searchRuns : searchObjects)(Number(minutes), Number(seed), measure)

async function searchObjects(minutes: number, seed: number, name: string): Promise<void> {
  if (!Object.hasOwn(MEASURES, name))
    throw new Error(`'${name}' is none of ${Object.keys(MEASURES).join(', ')}`)
  const measure = MEASURES[name as keyof typeof MEASURES]
  const judging = new Judging()
  const search = new Search(
    seed,
    measure,
    (candidate) => judging.judge(candidate, { blocks: COUNTED.has(name), limitMs: 3_000 }),
    (judged) => say(`found ${describeJudged(judged)}`),
  )
  const until = Date.now() + minutes * 60_000
  await search.run(() => Date.now() > until)
  say(`judged ${search.count} candidates with seed ${seed}`)
  await judging.end()
  for (const judged of search.worst().slice(0, 30)) await confirm(judged)
}

/** Measures a candidate again, without the count of blocks, and says where its time goes: of a smaller one where it does not end. */
async function confirm(judged: Judged): Promise<void> {
  say(describeJudged(judged))
  const own = new Judging()
  let { plan, candidate, bytes } = fitting(judged.plan)
  let result = await own.judge(candidate)
  say(`    alone: ${costText(result)}`)
  for (let rounds = 0; result.ended !== 'answered' && rounds < 12; rounds++) {
    ;({ plan, candidate, bytes } = fitting(smaller(plan)))
    result = await own.judge(candidate, { limitMs: 3_000 })
    if (result.ended === 'answered') say(`    smaller, ${bytes} bytes: ${costText(result)}`)
  }
  await own.end()
  const profile = result.ended === 'answered' ? await own.profile(candidate) : undefined
  for (const { where, ms } of profile?.slice(0, 3) ?? []) say(`    ${ms.toFixed(0)} ms ${where}`)
  await own.end()
}
