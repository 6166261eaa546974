import t from 'tap'
import {
  authServer,
  backend,
  exchangeConfig,
  exchangeConfigWritten,
  gateway,
  group,
  headerConfig,
  inline,
  injectConfig,
  oidcConfig,
  serverConfig,
} from '../src/kinds/between/examples.ts'
import { BACKEND_KINDS } from '../src/kinds/between/neighbours.ts'
import { allRules, examplesAt, type PlacedExample, type RulePlace, rulePlaces } from '../src/kinds/places.ts'
import { type Finding, findingText } from '../src/review/finding.ts'
import { projected } from '../src/kinds/between/projections.ts'
import { REFERENCES } from '../src/kinds/between/references.ts'
import { DEFAULT_API_GROUP, KINDS } from '../src/kinds/index.ts'
import { check } from '../src/review/check.ts'
import { withObject } from '../src/review/with-object.ts'
import { findingsIn, findingsOnDelete } from '../src/review/index.ts'
import { answering, type Cluster } from '../src/rule/cluster.ts'
import { deepFreeze } from './support/freeze.ts'
import { worldOf } from './support/world.ts'

const CONFIGS = ['example', 'jira', 'wiki', 'key', 'auth', 'token', 'inject', 'aws']

/** Objects of every kind that refer to each other and to what is judged in every way that there is. */
const RICH: readonly Record<string, unknown>[] = [
  ...['tools', 'example', 'other'].map((name) => group(name)),
  ...['corporate', 'tools', 'example'].map((name) => oidcConfig(name)),
  serverConfig('auth', 'okta', 'github'),
  exchangeConfig('jira'),
  exchangeConfigWritten('wiki', 'github'),
  injectConfig('inject', 'gitlab'),
  headerConfig('key'),
  ...BACKEND_KINDS.flatMap((kind) => [
    ...CONFIGS.map((name) => backend(`${kind.toLowerCase()}-${name}`, name, kind)),
    backend('bare', undefined, kind),
    {
      kind,
      metadata: { name: 'member' },
      spec: {
        groupRef: { name: 'example' },
        externalAuthConfigRef: { name: 'example' },
        authServerRef: { kind: 'MCPExternalAuthConfig', name: 'example' },
        oidcConfigRef: { name: 'example' },
      },
    },
  ]),
  gateway('discovers', { authServerConfig: authServer('okta', 'github') }),
  gateway('discovers-too', { authServerConfig: authServer('github') }),
  gateway('lists', { outgoingAuth: inline({ bare: 'example', stranger: 'key' }, 'jira') }),
  gateway('refers', {
    groupRef: { name: 'example' },
    authServerConfig: authServer('gitlab'),
    incomingAuth: { type: 'oidc', oidcConfigRef: { name: 'example' }, audience: 'tools' },
    outgoingAuth: inline({ member: 'example' }, 'example'),
  }),
].map(({ metadata, ...rest }) => ({ ...rest, metadata: { namespace: 'default', ...metadata } }))

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
        if (rule.reads.length > 0) {
          const named = own
            .filter(({ error, severity }) => severity === 'error' || error.type === 'notFound')
            .every(({ error }) => (error.restsOn ?? []).length > 0)
          t.ok(named, `${title}: an error or a miss names the other objects that it rests on`)
        }
      }
    })
  }
})

t.test('a rule reads only the kinds that it declares, and of them only what the view keeps', async (t) => {
  for (const place of rulePlaces()) {
    const { rule, kind } = place
    const read = new Set<string>()
    for (const example of examplesAt(place)) {
      const here = texts(found(place, example, (kind) => read.add(kind)))
      found(place, { ...example, others: [...RICH, ...example.others] }, (kind) => read.add(kind))
      // Secrets are read for one review only, and nothing is left of what is deleted.
      if (rule.reads.length === 0 || rule.reads.includes('Secret') || rule.when === 'delete') continue
      const kept = { ...projected(kind.kind, example.resource, DEFAULT_API_GROUP), kind: kind.kind }
      const fromKept = ruleOn(place, { ...example, resource: kept })
      t.strictSame(fromKept, here, `${rule.id} on ${kind.kind}: ${example.title}`)
    }
    t.strictSame(
      [...read].filter((kind) => !rule.reads.includes(kind)),
      [],
      `${rule.id} on ${kind.kind}`,
    )
  }
})

t.test('the world in which they read has every reference to and from what is judged', async (t) => {
  const cluster = worldOf(RICH).in('default')
  for (const [from, fields] of Object.entries(REFERENCES)) {
    for (const { to } of fields) {
      t.ok(
        [...cluster.referrers(to, 'example', [from])].some(
          ({ name }) => cluster.get(from, name) !== undefined,
        ),
        `${from} to ${to}`,
      )
    }
  }
  for (const { kind } of KINDS) t.ok([...cluster.names(kind)].length > 1, kind)
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

/** Every question that a rule can ask, with the kinds that it asks about; without kinds it asks about all. */
function listening(cluster: Cluster, onRead: (kind: string) => void): Cluster {
  const heard =
    <A extends readonly unknown[], R>(look: (kind: string, ...rest: A) => R) =>
    (kind: string, ...rest: A) => {
      onRead(kind)
      return look(kind, ...rest)
    }
  return answering(cluster, {
    get: heard((...asked) => cluster.get(...asked)),
    knows: heard((...asked) => cluster.knows(...asked)),
    names: heard((...asked) => cluster.names(...asked)),
    elsewhere: heard((...asked) => cluster.elsewhere(...asked)),
    referrers: (kind, name, among) => {
      for (const each of among ?? KINDS.map(({ kind }) => kind)) onRead(each)
      return cluster.referrers(kind, name, among)
    },
    apart: (kind, name, aspect) => {
      for (const each of BACKEND_KINDS) onRead(each)
      return cluster.apart(kind, name, aspect)
    },
  })
}

function texts(findings: readonly Finding[]): string[] {
  return findings.map(findingText)
}
