import { Budget } from '../../src/rule/index.ts'
import { readEntities } from '../../src/relations/policy-entities.ts'
import { cedarGoAnswers, cedarGoName } from '../cedar-go.ts'
import { type Compare, Tally } from './comparison.ts'
import { randomOf, several } from './random.ts'

/** Writes entities as JSON, many of them with a mistake. */
function entitiesWriter(seed: number): () => string {
  const { random, pick, some } = randomOf(seed)

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

  return () => {
    const items = some(2, entity)
    const text = JSON.stringify(random() < 0.95 ? items : pick<unknown>([null, {}, 'a', 1]))
    return random() < 0.95
      ? text
      : pick([`${text},`, text.replace(']', ',]'), text.slice(1), ` ${text}\n`, ''])
  }
}

/** Which entities of policies are accepted. */
export const compareEntities: Compare = async (count, seed) => {
  const texts = several(count, entitiesWriter(seed))
  const answers = await cedarGoAnswers(texts.map((entities) => ({ entities })))
  const tally = new Tally()
  for (const [i, text] of texts.entries()) {
    const theirs = answers[i]
    const ours = readEntities(text, new Budget(1e6))
    tally.came(theirs?.ok === true ? 'accepted' : 'refused')
    if ((ours.kind === 'entities') !== theirs?.ok)
      tally.different(JSON.stringify({ text, theirs: theirs?.message ?? 'accepted', ours }))
  }
  return [tally.result('Cedar: which entities are accepted', cedarGoName(), texts.length)]
}
