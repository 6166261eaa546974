import t from 'tap'
import { type RulePlace, allRules, exampleResource, rulePlaces } from '../src/kinds/places.ts'
import { type Finding, findingText } from '../src/review/finding.ts'
import { findingsIn } from '../src/review/index.ts'
import { pathText } from '../src/rule/path.ts'
import { deepFreeze } from './support/freeze.ts'

t.test('every example of every rule, at every place where the rule applies', async (t) => {
  for (const place of rulePlaces()) {
    const { rule, kind, at } = place
    await t.test(`${rule.id} on ${kind.kind}`, async (t) => {
      for (const { title, value } of rule.examples.valid) {
        const findings = found(place, value)
        t.strictSame(own(findings, place), [], title)
        t.strictSame(
          texts(findings.filter(({ severity }) => severity === 'error')),
          [],
          `${title}: no other error`,
        )
      }
      for (const { title, value, findings: expected } of rule.examples.invalid) {
        const findings = found(place, value)
        const prefix = at.length === 0 ? '' : `${pathText(at)}.`
        t.strictSame(
          own(findings, place),
          expected.map((text) => `${prefix}${text} (${rule.id})`),
          title,
        )
        const others = findings.filter(({ id, severity }) => severity === 'error' && id !== rule.id)
        t.strictSame(texts(others), [], `${title}: breaks only this rule`)
      }
    })
  }
})

t.test('facts about the set', async (t) => {
  const ids = allRules().map(({ id }) => id)
  t.equal(new Set(ids).size, ids.length, 'ids are unique')
  for (const { id, summary, why } of allRules()) {
    t.match(id, /^[a-z0-9]+(-[a-z0-9]+)+$/, `${id} is kebab-case`)
    for (const sentence of [summary, why])
      t.match(sentence, /^[A-Z`][^\n]*\.$/, `${id}: '${sentence}' is a sentence`)
  }
})

function found(place: RulePlace, value: unknown): readonly Finding[] {
  return findingsIn(place.kind, deepFreeze(exampleResource(place, value, 'example')))
}

function own(findings: readonly Finding[], { rule }: RulePlace): string[] {
  return texts(findings.filter(({ id }) => id === rule.id))
}

function texts(findings: readonly Finding[]): string[] {
  return findings.map(findingText)
}
