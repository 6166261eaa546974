import t from 'tap'
import { allRules, examplesAt, type PlacedExample, type RulePlace, rulePlaces } from '../src/kinds/places.ts'
import { type Finding, findingText } from '../src/review/finding.ts'
import { projected } from '../src/kinds/between/projections.ts'
import { DEFAULT_API_GROUP } from '../src/kinds/index.ts'
import { check } from '../src/review/check.ts'
import { withObject } from '../src/review/world.ts'
import { findingsIn, findingsOnDelete } from '../src/review/index.ts'
import type { Cluster } from '../src/rule/cluster.ts'
import { deepFreeze } from './support/freeze.ts'
import { worldOf } from './support/world.ts'

t.test('every example of every rule, at every place where the rule applies', async (t) => {
  for (const place of rulePlaces()) {
    const { rule, kind } = place
    await t.test(`${rule.id} on ${kind.kind}`, async (t) => {
      for (const example of examplesAt(place)) {
        const { title, findings: expected } = example
        const findings = found(place, example)
        const own = findings.filter(({ id }) => id === rule.id)
        const warned = findings.filter(({ severity }) => severity === 'warning').map(findingText)
        t.strictSame(
          warned.filter((text) => text.length > 256),
          [],
          'warnings are short (decision 21)',
        )
        t.strictSame(texts(own), expected, title)
        const others = findings.filter(({ id, severity }) => severity === 'error' && id !== rule.id)
        t.strictSame(texts(others), [], `${title}: no other error`)
        if (rule.severity === 'error' && rule.reads.length > 0) {
          const named = own.every(({ error }) => (error.restsOn ?? []).length > 0)
          t.ok(named, `${title}: an error names the other objects that it rests on`)
        }
      }
    })
  }
})

t.test('a rule reads only the kinds that it declares, and of them only what the view keeps', async (t) => {
  for (const place of rulePlaces().filter(({ rule }) => rule.reads.length > 0)) {
    const read = new Set<string>()
    for (const example of examplesAt(place)) {
      const findings = texts(found(place, example, (kind) => read.add(kind)))
      // Secrets are read for one review only, and nothing is left of what is deleted.
      if (place.rule.reads.includes('Secret') || place.rule.when === 'delete') continue
      const { kind } = place.kind
      const kept = { ...projected(kind, example.resource, DEFAULT_API_GROUP), kind }
      const fromKept = ruleOn(place, { ...example, resource: kept })
      t.strictSame(fromKept, findings, `${place.rule.id} on ${kind}: ${example.title}`)
    }
    t.strictSame(
      [...read].filter((kind) => !place.rule.reads.includes(kind)),
      [],
      place.rule.id,
    )
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

/** What the rule alone finds in what the view keeps of an object. */
function ruleOn({ kind, rule }: RulePlace, { resource, others, old }: PlacedExample): string[] {
  const self = { kind: kind.kind, name: 'example' }
  const around = { cluster: withObject(worldOf(others).in('default'), self, resource), self, old: () => old }
  return texts(check({ ...kind, rules: [rule], parts: [] }, resource, around))
}

/** What the rules of the kind find, and no others; `onRead` hears of every kind that is looked up. */
function found(
  place: RulePlace,
  { resource, others, old }: PlacedExample,
  onRead?: (kind: string) => void,
): readonly Finding[] {
  const { kind, rule } = place
  const world = worldOf([...others, ...(old === undefined ? [] : [old])])
  const cluster = onRead === undefined ? world.in('default') : listening(world.in('default'), onRead)
  const around = { cluster, self: { kind: kind.kind, name: 'example' }, old: () => old }
  const rules = onRead === undefined ? kind : { ...kind, rules: [rule], parts: [] }
  deepFreeze(resource)
  return rule.when === 'delete'
    ? findingsOnDelete(rules, resource, around)
    : findingsIn(rules, resource, around)
}

function listening(cluster: Cluster, onRead: (kind: string) => void): Cluster {
  const hear =
    <R>(look: (kind: string, name: string) => R) =>
    (kind: string, name: string) => {
      onRead(kind)
      return look(kind, name)
    }
  return {
    ...cluster,
    get: hear(cluster.get),
    elsewhere: hear(cluster.elsewhere),
    referrers: (kind, name, among) => {
      const found = cluster.referrers(kind, name, among)
      for (const referrer of found) onRead(referrer.kind)
      return found
    },
  }
}

function texts(findings: readonly Finding[]): string[] {
  return findings.map(findingText)
}
