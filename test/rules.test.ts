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
import { projected, type Projection } from '../src/kinds/between/projections.ts'
import { REFERENCES } from '../src/kinds/between/references.ts'
import { DEFAULT_API_GROUP, KINDS } from '../src/kinds/index.ts'
import { check } from '../src/review/check.ts'
import { withObject } from '../src/review/with-object.ts'
import { findingsIn, findingsOnDelete, mutate } from '../src/review/index.ts'
import { DEFAULT_SETTINGS } from '../src/review/settings.ts'
import type { World } from '../src/review/world.ts'
import { answering, type Cluster } from '../src/rule/cluster.ts'
import { isObject, type Resource } from '../src/rule/resource.ts'
import { deepFreeze } from './support/freeze.ts'
import { EVERYTHING, recording } from './support/recording.ts'
import { submissionOf } from './support/review.ts'
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

t.test('a rule reads only the kinds that it declares', async (t) => {
  for (const place of rulePlaces()) {
    const { rule, kind } = place
    const read = new Set<string>()
    for (const example of examplesAt(place)) {
      for (const others of [example.others, [...RICH, ...example.others]])
        found(place, { ...example, others }, { onRead: (kind) => read.add(kind) })
    }
    t.strictSame(
      [...read].filter((kind) => !rule.reads.includes(kind)),
      [],
      `${rule.id} on ${kind.kind}`,
    )
  }
})

t.test('the view keeps what rules and defaults read of other objects, and nothing else', async (t) => {
  const [read, missing] = [new Set<string>(), new Set<string>()]
  const project: Projection = (kind, resource) =>
    recording(resource, (path) => {
      const kept = keptPath(kind, path)
      if (kept === undefined) missing.add([kind, ...path].join(' '))
      else read.add(kept)
    })
  for (const place of rulePlaces()) {
    for (const example of examplesAt(place)) {
      const others = [...RICH, ...example.others]
      found(place, example, { project })
      found(place, { ...example, others }, { project })
      defaultsOf(example.resource, worldOf(others, project))
    }
  }
  t.strictSame([...missing].toSorted(), [], 'read, and not kept')
  const kept = KINDS.flatMap(({ kind }) => leavesOf(KEPT[kind], [kind]))
  t.strictSame(
    kept.filter((path) => !read.has(path)),
    [],
    'kept, and not read',
  )
})

t.test('a field that is null is as one that is absent, whoever knows of it (decision 17)', async (t) => {
  for (const { place, example } of placed()) {
    const { title, resource, others } = example
    const nulls = { ...example, resource: filled(resource, null), others: others.map((o) => filled(o, null)) }
    const inOrder = (given: PlacedExample) => texts(found(place, given)).toSorted()
    t.strictSame(inOrder(nulls), inOrder(example), `${place.rule.id} on ${place.kind.kind}: ${title}`)
  }
})

t.test('a value of a wrong type in another object fails no rule', async (t) => {
  const failed = new Set<string>()
  for (const { place, example } of placed()) {
    for (const [i, other] of example.others.entries()) {
      for (const wrong of ['text', {}]) {
        for (const strange of mistyped(other, wrong)) {
          const others = example.others.with(i, strange)
          for (const { id, failure } of found(place, { ...example, others })) if (failure) failed.add(id)
        }
      }
    }
  }
  t.strictSame([...failed], [])
})

t.test('in the background a rule says of what is kept of an object what it says of the whole', async (t) => {
  for (const place of rulePlaces()) {
    const { rule, kind } = place
    // Secrets are read for one review only, and nothing is left of what is deleted.
    if (rule.reads.length === 0 || rule.reads.includes('Secret') || rule.when === 'delete') continue
    for (const { title, resource, others } of examplesAt(place)) {
      const kept = { ...projected(kind.kind, resource, DEFAULT_API_GROUP), kind: kind.kind }
      const stands = (resource: Resource) => ruleOn(place, resource, worldOf(others))
      t.strictSame(stands(kept), stands(resource), `${rule.id} on ${kind.kind}: ${title}`)
    }
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

/** What the view keeps of an object that has every field: `*` is every item and every key. */
const KEPT = Object.fromEntries(
  KINDS.map(({ kind }) => [kind, projected(kind, EVERYTHING, DEFAULT_API_GROUP)]),
)

/** A field of an object of the kind, as `leavesOf` has it; undefined when the view does not keep it. */
function keptPath(kind: string, path: readonly string[]): string | undefined {
  const steps = [kind]
  let holder: unknown = KEPT[kind]
  for (const field of path) {
    const parts = isObject(holder) ? holder : {}
    const step = Object.hasOwn(parts, field) ? field : '*'
    if (!Object.hasOwn(parts, step)) return undefined
    steps.push(step)
    holder = parts[step]
  }
  return steps.join(' ')
}

/** The innermost fields. */
function leavesOf(value: unknown, at: readonly string[]): string[] {
  return Object.entries(isObject(value) ? value : {}).flatMap(([field, part]) => {
    const below = leavesOf(part, [...at, field])
    return below.length === 0 ? [[...at, field].join(' ')] : below
  })
}

/** What the rule alone finds in an object that stays as it is. */
function ruleOn({ kind, rule }: RulePlace, resource: Resource, world: World): string[] {
  const self = { kind: kind.kind, name: 'example' }
  const cluster = withObject(world.in('default'), self, resource)
  return texts(check({ ...kind, rules: [rule], parts: [] }, resource, { cluster, self, old: () => resource }))
}

function defaultsOf(object: Record<string, unknown>, world: World): void {
  const submission = submissionOf(String(object.kind), object)
  const settings = DEFAULT_SETTINGS
  mutate(submission, { group: DEFAULT_API_GROUP, settings, world, serviceAccountAudience: 'x' })
}

interface Overhearing {
  /** Hears of every kind that the rule looks up. */
  readonly onRead?: (kind: string) => void
  readonly project?: Projection
}

/** What the rules of the kind find; the rule alone when somebody listens. */
function found(
  place: RulePlace,
  { resource, others, old }: PlacedExample,
  { onRead, project }: Overhearing = {},
): readonly Finding[] {
  const { kind, rule } = place
  const world = worldOf([...others, ...(old === undefined ? [] : [old])], project)
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

function placed(): { readonly place: RulePlace; readonly example: PlacedExample }[] {
  return rulePlaces().flatMap((place) => examplesAt(place).map((example) => ({ place, example })))
}

const NAMES = new Set(
  placed().flatMap(({ example }) => [example.resource, ...example.others].flatMap(namesIn)),
)

/** With the value under every name that an object below spec could have and has not. */
function filled<T extends { readonly spec?: unknown }>(resource: T, value: unknown): T {
  const inside = (part: unknown): unknown => {
    if (Array.isArray(part)) return part.map(inside)
    if (!isObject(part)) return part
    const fields = Object.entries(part).map(([name, field]) => [name, inside(field)] as const)
    return { ...Object.fromEntries([...NAMES].map((name) => [name, value])), ...Object.fromEntries(fields) }
  }
  return { ...resource, spec: inside(resource.spec) }
}

/** With the value in place of each part below spec, one at a time, and once under every name that is free. */
function mistyped<T extends { readonly spec?: unknown }>(resource: T, value: unknown): T[] {
  const instead = (part: unknown): unknown[] => {
    if (Array.isArray(part)) {
      const items: readonly unknown[] = part
      return [value, ...items.flatMap((item, i) => instead(item).map((x) => items.with(i, x)))]
    }
    if (!isObject(part)) return [value]
    return [
      value,
      ...Object.entries(part).flatMap(([name, field]) => instead(field).map((x) => ({ ...part, [name]: x }))),
    ]
  }
  return [filled(resource, value), ...instead(resource.spec).map((spec) => ({ ...resource, spec }))]
}

function namesIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(namesIn)
  return isObject(value) ? Object.entries(value).flatMap(([name, field]) => [name, ...namesIn(field)]) : []
}
