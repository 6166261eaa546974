import { globSync } from 'node:fs'
import { basename } from 'node:path'
import t from 'tap'
import {
  authServer,
  backend,
  exchangeConfig,
  exchangeConfigWritten,
  gateway,
  group,
  headerConfig,
  injectConfig,
  inline,
  oidcConfig,
  otherOf,
  serverConfig,
} from '../src/relations/examples.ts'
import { isUnused } from '../src/relations/reach.ts'
import { BACKEND_KINDS } from '../src/relations/related-resources.ts'
import {
  allRules,
  examplesAt,
  type PlacedExample,
  placesOf,
  type RulePlace,
  rulePlaces,
} from '../src/kinds/places.ts'
import { type Finding, findingText } from '../src/rule/finding.ts'
import { REFERENCES } from '../src/relations/references.ts'
import { DEFAULT_API_GROUP, kindNamed, KINDS } from '../src/kinds/index.ts'
import { runRules } from '../src/engine/rules.ts'
import { shape } from '../src/shape/shape.ts'
import { overlay } from '../src/state/overlay.ts'
import { findingsIn, findingsOnDelete } from '../src/engine/findings.ts'
import { atOnce } from '../src/rule/steps.ts'
import { ALL_IDS, ENGINE_IDS, FORMER_IDS } from '../src/engine/engine-ids.ts'
import { ignoreAnnotation } from '../src/engine/ignored.ts'
import { idPage } from '../src/cli/output/id-page.ts'
import { severitiesOf, STRICT } from '../src/engine/profiles.ts'
import { parseSeveritySetting, type Settings, type SeveritySetting } from '../src/engine/settings.ts'
import { CONSEQUENCES, type Consequence } from '../src/rule/consequence.ts'
import { answering, type Cluster, nameKey } from '../src/rule/cluster.ts'
import { pathText, valueAt } from '../src/rule/path.ts'
import { isObject, metadataOf } from '../src/rule/resource.ts'
import { deepFreeze } from './support/freeze.ts'
import { recording } from './support/recording.ts'
import { judgeOf, submissionOf } from './support/review.ts'
import { stateOf } from './support/cluster-state.ts'

const CONFIGS = ['example', 'jira', 'wiki', 'key', 'auth', 'token', 'inject', 'aws']

/** Objects of every kind that refer to each other, and to the judged objects, in every possible way. */
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
    otherOf(kind, 'member', {
      groupRef: { name: 'example' },
      externalAuthConfigRef: { name: 'example' },
      authServerRef: { kind: 'MCPExternalAuthConfig', name: 'example' },
      oidcConfigRef: { name: 'example' },
    }),
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
        const { title, findings: expected, others: around } = example
        const names = around.map((other) =>
          JSON.stringify([other.kind, metadataOf(other).namespace, metadataOf(other).name]),
        )
        t.equal(new Set(names).size, names.length, `${title}: each other object once`)
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
            .every(({ error }) => (error.dependsOn ?? []).length > 0)
          t.ok(named, `${title}: an error or a missing object names the other objects that it depends on`)
        }
      }
    })
  }
})

t.test('in an object as it is stored, the rules about changes find nothing, and all others do', (t) => {
  const ids = new Set<string>()
  for (const place of rulePlaces())
    for (const example of examplesAt(place))
      for (const { id } of found(place, { ...example, old: example.resource })) ids.add(id)
  const rules = new Map(rulePlaces().map(({ rule }) => [rule.id, rule]))
  t.strictSame(
    [...rules.keys()].filter((id) => !ids.has(id)).toSorted(),
    [...rules.values()].flatMap(({ id, when }) => (when === 'change' ? [id] : [])).toSorted(),
  )
  t.end()
})

/** Rules between objects whose findings name no other object, because the other end is missing or is not at fault. */
const ONE_END = new Set([
  'oidc-config-address-allowed',
  'role-mapping-claim-shape-fits',
  'outgoing-auth-inline-configured',
  // Only where the release is known; examples have none.
  'outgoing-auth-inline-used',
  'policy-reference-found',
  'refresh-scope-not-advertised',
  'resource-url-absolute',
])

t.test('a finding between objects names its other ends', async (t) => {
  const between = rulePlaces().filter(({ rule }) => rule.reads.length > 0)
  const withEnds = new Set<string>()
  for (const place of between) {
    const { rule, kind } = place
    const ends = examplesAt(place).flatMap((example) => {
      const own = found(place, example).filter(({ id }) => id === rule.id)
      return own.flatMap(({ error }) => (error.related ?? []).map((end) => ({ end, error, example })))
    })
    if (ends.length > 0) withEnds.add(rule.id)
    for (const { end, error, example } of ends) {
      const { object, at, text } = end
      const title = `${example.title}: ${nameKey(object)} ${pathText(at)}`
      const named = [{ kind: kind.kind, metadata: { name: 'example' } }, ...example.others].filter(
        (other) => `${String(other.kind)}/${String(metadataOf(other).name)}` === nameKey(object),
      )
      t.ok(named.length > 0, `${title}: is there`)
      const holder = nameKey(object) === `${kind.kind}/example` ? example.resource : named[0]
      t.ok(valueAt(holder, at.slice(0, -1)) !== undefined, `${title}: the place, or the object around it`)
      t.match(text, /^[a-z].{2,60}[^.]$/, `${title}: ${text}`)
      t.notSame({ object, at }, { object: { kind: kind.kind, name: 'example' }, at: error.at }, title)
    }
  }
  const without = between.map(({ rule }) => rule.id).filter((id) => !withEnds.has(id))
  t.strictSame(new Set(without), ONE_END)
})

t.test('without resourceUrl releases take the address of a Service of the name', async (t) => {
  const url = (port: number, namespace = 'default') => `http://example.${namespace}.svc.cluster.local:${port}`
  const serverOf = (audience: string) => ({
    kind: 'VirtualMCPServer',
    spec: {
      incomingAuth: { type: 'oidc', oidcConfigRef: { name: 'corporate', audience } },
      authServerConfig: authServer('okta'),
    },
  })
  const proxyOf = (audience: string, proxyPort?: number) => ({
    kind: 'MCPRemoteProxy',
    spec: {
      authServerRef: { name: 'auth' },
      oidcConfigRef: { name: 'corporate', audience },
      ...(proxyPort !== undefined && { proxyPort }),
    },
  })
  const rows = [
    [serverOf(url(4483)), 'default', 0],
    [serverOf(url(4483)), 'other', 1],
    [serverOf(url(4483, 'any')), undefined, 0],
    [serverOf(url(8080)), 'default', 1],
    [proxyOf(url(8080)), 'default', 0],
    [proxyOf(url(9000), 9000), 'default', 0],
    [proxyOf(url(8080), 9000), 'default', 1],
  ] as const
  const auth = { ...serverConfig('auth', 'okta'), metadata: { name: 'auth', namespace: 'default' } }
  const state = stateOf([auth])
  for (const [{ kind: name, spec }, namespace, count] of rows) {
    const kind = KINDS.find(({ kind }) => kind === name)
    if (kind === undefined) throw new Error(name)
    const resource = { metadata: { name: 'example', ...(namespace !== undefined && { namespace }) }, spec }
    const around = { cluster: state.in('default'), self: { kind: name, name: 'example' } }
    const found = atOnce(findingsIn(kind, resource, around)).filter(({ id }) =>
      id.endsWith('auth-server-audience-is-resource-url'),
    )
    t.equal(found.length, count, JSON.stringify([namespace, spec]))
  }
})

t.test('a configuration that no VirtualMCPServer uses for a backend', async (t) => {
  const using = (outgoingAuth: unknown, name = 'tools', groupName = 'tools') => ({
    ...gateway(name, { groupRef: { name: groupName }, outgoingAuth: outgoingAuth as object }),
    metadata: { name, namespace: 'default' },
  })
  const DISCOVERED = { jira: { type: 'discovered' } }
  const rows: [title: string, gateways: readonly object[], expected: boolean][] = [
    ['no VirtualMCPServer', [], false],
    ['one of another group', [using(inline({ jira: 'other' }), 'tools', 'other')], false],
    ['the reference of the workload counts', [using(undefined)], false],
    ['another configuration for the backend', [using(inline({ jira: 'other' }))], true],
    ['this configuration for the backend', [using(inline({ jira: 'key' }))], false],
    ['not listed, and another one by default: releases use its own', [using(inline({}, 'other'))], false],
    ['this configuration by default', [using(inline({}, 'key'))], false],
    ['not listed: releases use its own', [using(inline({ wiki: 'key' }))], false],
    ['a value of releases', [using({ source: 'inline', backends: DISCOVERED })], false],
    ['backends of a wrong type', [using({ source: 'inline', backends: [] })], false],
    ['a source of a wrong type', [using({ source: 1 })], false],
    ['one of two that uses it', [using(inline({})), using(inline({}, 'key'), 'more')], false],
    [
      'one of two that cannot be read',
      [using(inline({})), using({ source: 'inline', default: 1 }, 'more')],
      false,
    ],
    ['two that list another one', [using(inline({ jira: 'a' })), using(inline({ jira: 'b' }), 'more')], true],
  ]
  for (const [title, gateways, expected] of rows)
    t.equal(
      isUnused('jira', { group: 'tools', config: 'key' }, stateOf(gateways).in('default')),
      expected,
      title,
    )
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

t.test(
  'of other objects rules read the spec, the deletion and the annotations of the API group',
  async (t) => {
    const read = new Set<string>()
    for (const place of rulePlaces()) {
      for (const example of examplesAt(place)) {
        for (const others of [example.others, [...RICH, ...example.others]])
          found(place, { ...example, others }, { onRead: () => undefined, onField: (path) => read.add(path) })
      }
    }
    const annotations = `metadata.annotations.${DEFAULT_API_GROUP}/`
    const isKept = (path: string) =>
      /^(spec|metadata\.deletionTimestamp)(\.|$)/.test(path) ||
      path.startsWith(annotations) ||
      'metadata.annotations'.startsWith(path)
    t.strictSame(
      [...read].filter((path) => !isKept(path)),
      [],
    )
  },
)

t.test('the severity of each rule fits the consequence of its failure', async (t) => {
  const seen = new Set<Consequence>()
  for (const { id, severity, failure } of allRules()) {
    if (failure === undefined) continue
    seen.add(failure.consequence)
    const may: readonly string[] = CONSEQUENCES[failure.consequence]
    t.ok(may.includes(severity), `${id}: ${failure.consequence} is ${may.join(' or ')}, not ${severity}`)
  }
  t.ok(seen.size > 4)
  // The findings that are errors once the release is known.
  const outages = new Set<string>()
  for (const { place, example } of placed())
    for (const { id, error } of found(place, example)) if (error.isOutage) outages.add(id)
  t.ok(outages.size > 4)
  for (const { id, failure } of allRules().filter((rule) => outages.has(rule.id))) {
    const may: readonly string[] = CONSEQUENCES[failure?.consequence ?? 'style']
    t.ok(may.includes('error'), `${id}: an outage is worse than ${failure?.consequence ?? 'no failure'}`)
  }
})

t.test('a null field counts as absent, for its own rules and for others (decision 17)', async (t) => {
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

t.test('the state in which they read has every reference to and from what is judged', async (t) => {
  const cluster = stateOf(RICH).in('default')
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
  const files = globSync('src/{kinds/*,relations}/rules/*.ts', { cwd: new URL('../', import.meta.url) })
  t.strictSame(
    ids.toSorted(),
    files.map((path) => basename(path, '.ts')).toSorted(),
    'every rule file is listed',
  )
  for (const rule of allRules()) {
    const schemas: readonly unknown[] = [rule.on].flat()
    const places = placesOf(rule)
    for (const schema of schemas)
      t.ok(
        places.some(({ kind, at }) =>
          at.length === 0 ? kind.schema === schema : kind.parts.some((part) => part.schema === schema),
        ),
        `${rule.id} applies wherever its \`on\` says`,
      )
    for (const place of places)
      t.ok(examplesAt(place).length > 0, `${rule.id} has an example on ${place.kind.kind}`)
    const examples = Object.values(rule.examples).flat()
    t.ok(
      examples.some(({ findings }) => findings === undefined),
      `${rule.id} has a valid example`,
    )
    t.ok(
      examples.some(({ findings }) => findings !== undefined),
      `${rule.id} has an invalid example`,
    )
    for (const { kind } of examples)
      t.ok(kind === undefined || places.some((place) => place.kind.kind === kind), `${rule.id}: ${kind}`)
  }
  for (const { id, summary, why } of allRules()) {
    t.match(id, /^[a-z0-9]+(-[a-z0-9]+)+$/, `${id} is kebab-case`)
    for (const sentence of [summary, why])
      t.match(sentence, /^[A-Z`][^\n]*\.$/, `${id}: '${sentence}' is a sentence`)
  }
})

t.test('a former id names the rule in settings, exemptions, annotations and explain', async (t) => {
  t.ok(FORMER_IDS.size > 0)
  for (const [former, id] of FORMER_IDS) {
    t.notOk(ALL_IDS.has(former), `${former} is not the id of another rule`)
    t.strictSame(idPage(former), idPage(id))
    const off = parseSeveritySetting(`${former}=off`, ALL_IDS) as SeveritySetting
    const excused = { id: former, reason: 'later' }
    for (const place of rulePlaces().filter(({ rule }) => rule.id === id)) {
      const { resource, others } = examplesAt(place).find(({ findings }) => findings.length > 0) ?? {}
      const found = (settings: Partial<Settings>, annotations: object = {}) => {
        const object = { ...resource, metadata: { ...metadataOf(resource), annotations } }
        const { warnings } = judgeOf({ settings, state: stateOf(others ?? []) }).admit(
          submissionOf(place.kind.kind, object),
        )
        return warnings.filter((finding) => [id, 'ignore-effective'].includes(finding.id)).length
      }
      const title = `${former} on ${place.kind.kind}`
      t.ok(found({}) > 0, title)
      t.equal(found({ severities: [off] }), 0, `${title}: a severity`)
      t.equal(found({ exemptions: [excused] }), 0, `${title}: an exemption`)
      t.equal(
        found({}, { [ignoreAnnotation(DEFAULT_API_GROUP)]: `${former}: later` }),
        0,
        `${title}: an annotation`,
      )
    }
  }
})

t.test('the profile strict makes errors of warnings, also where they depend on other objects', async (t) => {
  const known = new Map([...allRules(), ...ENGINE_IDS].map(({ id, severity }) => [id, severity]))
  for (const { ids } of STRICT) {
    t.strictSame(ids, ids.toSorted())
    for (const id of ids) t.equal(known.get(id), 'warning', `${id} is a warning`)
  }
  const all = STRICT.flatMap(({ ids }) => ids)
  t.equal(new Set(all).size, all.length, 'each once')
  for (const place of rulePlaces().filter(({ rule }) => all.includes(rule.id))) {
    const { rule, kind } = place
    const { resource, others } = examplesAt(place).find(({ findings }) => findings.length > 0) ?? {}
    const verdict = (severities: readonly SeveritySetting[], dryRun: boolean) => {
      const isDeletion = rule.when === 'delete'
      const objects = isDeletion ? { operation: 'DELETE' as const, oldObject: resource } : {}
      const { errors, warnings } = judgeOf({ settings: { severities }, state: stateOf(others ?? []) }).admit(
        submissionOf(kind.kind, isDeletion ? undefined : resource, { ...objects, dryRun }),
      )
      const own = (findings: readonly Finding[]) => findings.find(({ id }) => id === rule.id)
      return own(errors) === undefined ? `warning ${own(warnings)?.prefix ?? ''}` : 'error'
    }
    const strict = severitiesOf('strict')
    const title = `${rule.id} on ${kind.kind}`
    t.equal(verdict(severitiesOf('standard'), false), 'warning ', title)
    t.equal(verdict(strict, false), 'error', `${title}: strict`)
    t.equal(
      verdict(strict, true),
      rule.reads.length > 0 && !ONE_END.has(rule.id) ? 'warning alone, this would be denied: ' : 'error',
      `${title}: in a dry run`,
    )
    const own = { id: rule.id, severity: 'warning' } as const
    t.equal(verdict([...strict, own], false), 'warning ', `${title}: --severity goes before the profile`)
  }
})

interface Overhearing {
  /** Called with each kind that the rule looks up. */
  readonly onRead?: (kind: string) => void
  /** Called with the path of each field of another object that the rule reads, such as `spec.type`. */
  readonly onField?: (path: string) => void
}

/** The findings of all rules of the kind; with `onRead`, only those of the rule at `place`. */
function found(
  place: RulePlace,
  { resource, others, old }: PlacedExample,
  { onRead, onField }: Overhearing = {},
): readonly Finding[] {
  const { kind, rule } = place
  const state = stateOf([...others, ...(old === undefined ? [] : [old])])
  const cluster = onRead === undefined ? state.in('default') : listening(state.in('default'), onRead, onField)
  const around = { cluster, self: { kind: kind.kind, name: 'example' }, old: () => old }
  deepFreeze(resource)
  if (onRead !== undefined) {
    const readable = shape(kind, resource).resource ?? {}
    const others = rule.when === 'delete' ? cluster : overlay(cluster, around.self, readable)
    return atOnce(runRules([{ at: place.at, rules: [rule] }], readable, others, around))
  }
  return rule.when === 'delete'
    ? atOnce(findingsOnDelete(kind, resource, around))
    : atOnce(findingsIn(kind, resource, around))
}

/** A cluster that reports each lookup of a rule by its kind. */
function listening(
  cluster: Cluster,
  onRead: (kind: string) => void,
  onField: (path: string) => void = () => undefined,
): Cluster {
  const heard =
    <A extends readonly unknown[], R>(look: (kind: string, ...rest: A) => R) =>
    (kind: string, ...rest: A) => {
      onRead(kind)
      return look(kind, ...rest)
    }
  return answering(cluster, {
    get: heard((kind, name) => {
      const resource = cluster.get(kind, name)
      if (resource === undefined || !kindNamed.has(kind)) return resource
      return recording(resource, (path) => onField(path.join('.')))
    }),
    knows: heard((...asked) => cluster.knows(...asked)),
    names: heard((...asked) => cluster.names(...asked)),
    elsewhere: heard((...asked) => cluster.elsewhere(...asked)),
    referrers: (kind, name, among) => {
      for (const each of among ?? KINDS.map(({ kind }) => kind)) onRead(each)
      return cluster.referrers(kind, name, among)
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

/** The resource with `value` in every optional field that the objects in its spec lack. */
function filled<T extends { readonly spec?: unknown }>(resource: T, value: unknown): T {
  const inside = (part: unknown): unknown => {
    if (Array.isArray(part)) return part.map(inside)
    if (!isObject(part)) return part
    const fields = Object.entries(part).map(([name, field]) => [name, inside(field)] as const)
    return { ...Object.fromEntries([...NAMES].map((name) => [name, value])), ...Object.fromEntries(fields) }
  }
  return { ...resource, spec: inside(resource.spec) }
}

/** Copies of the resource with `value` in place of one part of the spec each, and one with it in all absent fields. */
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
