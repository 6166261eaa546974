/**
 * Compares which entities of policies we and cedar-go accept, over random JSON. Needs Go.
 * Run: npm run fuzz:entities -- [COUNT] [SEED]
 */
import { randomNumbers } from '../src/access/difference/random-numbers.ts'
import { Budget } from '../src/rule/index.ts'
import { readEntities } from '../src/relations/policy-entities.ts'
import { cedarGoAnswers } from './cedar-go.ts'

const count = Number(process.argv[2] ?? 100_000)
const random = randomNumbers(Number(process.argv[3] ?? 1))
const below = (limit: number) => Math.floor(random() * limit)
const pick = <T>(choices: readonly [T, ...T[]]): T => choices[below(choices.length)] ?? choices[0]

const name = (): unknown =>
  pick<() => unknown>([
    () => ({ type: 'Tool', id: 'a' }),
    () => ({ type: 'Tool', id: 'a' }),
    () => ({ __entity: { type: 'Tool', id: 'a' } }),
    () => 'Tool::"a"',
    () => ({ type: 'Tool' }),
    () => ({ type: null, id: 'a' }),
    () => ({ __entity: { type: 'Tool' } }),
    () => ({ __entity: null, type: 'Tool', id: 'a' }),
    () => ({ __entity: 'Tool' }),
    () => ({ Type: 'Tool', ID: 'a' }),
    () => ({ type: 1, id: 'a' }),
    () => null,
  ])()

const value = (depth = 0): unknown =>
  pick<() => unknown>([
    () => 'a',
    () => 1,
    () => true,
    () => -5,
    () => 1.5,
    () => null,
    () => 1e30,
    () => (depth < 3 ? [value(depth + 1)] : 'b'),
    () => (depth < 3 ? { a: value(depth + 1) } : 'b'),
    () => ({ __entity: { type: 'Tool', id: 'a' } }),
    () => ({ __extn: { fn: 'decimal', arg: pick(['1.5', '1', 'x']) } }),
    () => ({ __extn: { fn: 'other', arg: 'x' } }),
    () => ({ __extn: { fn: 'ip', arg: '10.0.0.1' } }),
  ])()

const entity = (): unknown =>
  random() < 0.05
    ? pick<unknown>([null, 1, 'a', []])
    : Object.fromEntries(
        [
          [pick(['uid', 'uid', 'UID']), name()],
          [
            pick(['attrs', 'attrs', 'Attrs']),
            pick<unknown>([{}, { a: value() }, null, [], 'a', { a: 'x', b: 1 }]),
          ],
          ['parents', pick<unknown>([[], [name()], null, {}, 'a', [{ type: 'Role', id: 'w' }]])],
          [pick(['tags', 'attributes', 'type']), pick<unknown>([{}, { a: 1 }, 'a', name()])],
        ].filter(() => random() < 0.8) as [string, unknown][],
      )

const texts = Array.from({ length: count }, () => {
  const items = Array.from({ length: below(3) }, entity)
  const text = JSON.stringify(random() < 0.95 ? items : pick<unknown>([null, {}, 'a', 1]))
  return random() < 0.95 ? text : pick([`${text},`, text.replace(']', ',]'), text.slice(1), ` ${text}\n`, ''])
})
const answers = cedarGoAnswers(texts.map((entities) => ({ entities })))
const otherwise = texts.filter(
  (text, i) => (readEntities(text, new Budget(1e6)).kind === 'entities') !== answers[i]?.ok,
)
const accepted = answers.filter(({ ok }) => ok).length
process.stdout.write(
  `${count} texts: cedar-go accepts ${accepted}, ${otherwise.length} are judged otherwise\n`,
)
for (const text of otherwise.toSorted((a, b) => a.length - b.length).slice(0, 15))
  process.stdout.write(
    `${JSON.stringify({ text, theirs: answers[texts.indexOf(text)]?.message ?? 'accepted', ours: readEntities(text, new Budget(1e6)) })}\n`,
  )
process.exitCode = otherwise.length === 0 ? 0 : 1
