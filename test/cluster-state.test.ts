import assert from 'node:assert/strict'
import fc from 'fast-check'
import { applyPatch } from 'rfc6902'
import t from 'tap'
import {
  authServer,
  backend,
  bearerConfig,
  exchangeConfig,
  exchangeConfigWritten,
  gateway,
  group,
  headerConfig,
  injectConfig,
  inline,
  oidcConfig,
  serverConfig,
} from '../src/relations/examples.ts'
import { referencesOf } from '../src/relations/references.ts'
import { membersNamed } from '../src/relations/related-resources.ts'
import { API_VERSION, DEFAULT_API_GROUP, kindNamed, KINDS } from '../src/kinds/index.ts'
import type { Kind } from '../src/kinds/kind.ts'
import { mcpGroup } from '../src/kinds/mcp-group/index.ts'
import { mcpServer } from '../src/kinds/mcp-server/index.ts'
import { withChanges } from '../src/engine/defaults.ts'
import { compareFindings, findingText } from '../src/rule/finding.ts'
import { findingsIn } from '../src/engine/findings.ts'
import { yielding } from '../src/engine/yielding.ts'
import { atOnce } from '../src/rule/steps.ts'
import type { Verdict } from '../src/engine/decide.ts'
import { jsonPatch } from '../src/engine/patch.ts'
import { CurrentFindings } from '../src/server/current-findings.ts'
import { overlay } from '../src/state/overlay.ts'
import { ClusterState } from '../src/state/cluster-state.ts'
import type { Cluster } from '../src/rule/cluster.ts'
import type { Other } from '../src/rule/rule.ts'
import { MOST_ROUNDS } from '../src/server/app.ts'
import { judgeOf, submissionOf } from './support/review.ts'

/** A resource as the API server stores it. */
interface Stored {
  readonly kind: string
  readonly spec?: unknown
  readonly metadata: {
    readonly namespace: string
    readonly name: string
    readonly resourceVersion: string
    readonly deletionTimestamp?: string
  }
}

const NAMES = ['a', 'b', 'c'] as const
const NAMESPACES = ['x', 'y'] as const
const name = fc.constantFrom(...NAMES)
const provider = fc.constantFrom('okta', 'github')

/** Random resources of all kinds, with so few names that they often refer to each other. */
const other: fc.Arbitrary<Other> = fc.oneof(
  name.map((each) => group(each)),
  fc
    .tuple(name, fc.option(name), fc.constantFrom('MCPServer', 'MCPRemoteProxy', 'MCPServerEntry'), name)
    .map(([each, config, kind, groupName]) => ({
      ...backend(each, config ?? undefined, kind),
      spec: {
        groupRef: { name: groupName },
        ...(config !== null && { externalAuthConfigRef: { name: config } }),
      },
    })),
  fc.tuple(name, provider).map(([each, named]) => injectConfig(each, named)),
  fc.tuple(name, fc.option(provider)).map(([each, named]) => exchangeConfig(each, named ?? undefined)),
  fc.tuple(name, provider).map(([each, named]) => exchangeConfigWritten(each, named)),
  fc.tuple(name, fc.array(provider, { maxLength: 2 })).map(([each, all]) => serverConfig(each, ...all)),
  name.map(headerConfig),
  name.map(bearerConfig),
  fc
    .tuple(name, fc.constantFrom('https://auth.example.com', 'https://b.example.com'))
    .map(([each, issuer]) => oidcConfig(each, issuer)),
  fc
    .tuple(
      name,
      name,
      name,
      fc.option(fc.array(provider, { minLength: 1, maxLength: 2 })),
      fc.option(fc.tuple(fc.dictionary(name, name, { maxKeys: 2 }), fc.option(name))),
    )
    .map(([each, groupName, oidc, providers, outgoing]) =>
      gateway(each, {
        groupRef: { name: groupName },
        incomingAuth: { type: 'oidc', oidcConfigRef: { name: oidc }, audience: 'tools' },
        ...(providers !== null && { authServerConfig: authServer(...providers) }),
        ...(outgoing !== null && { outgoingAuth: inline(outgoing[0], outgoing[1] ?? undefined) }),
      }),
    ),
)

type Step = { readonly put: Stored } | { readonly remove: Stored } | { readonly work: number }

const DELETED = { deletionTimestamp: '2026-11-01T10:00:00Z' }
let versions = 0
const stored = fc
  .tuple(other, fc.constantFrom(...NAMESPACES), fc.constantFrom({}, {}, {}, DELETED))
  .map(([{ metadata, ...rest }, namespace, deletion]): Stored => ({
    apiVersion: `${DEFAULT_API_GROUP}/${API_VERSION}`,
    ...rest,
    metadata: { ...metadata, namespace, resourceVersion: String(versions++), ...deletion },
  }))
const steps = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: stored.map((put): Step => ({ put })) },
    { weight: 2, arbitrary: stored.map((remove): Step => ({ remove })) },
    { weight: 2, arbitrary: fc.nat({ max: 3 }).map((work): Step => ({ work })) },
  ),
  { maxLength: 40 },
)

const kindOf = ({ kind }: Stored): Kind => kindNamed.get(kind) ?? mcpGroup
const keyOf = ({ kind, metadata }: Stored) => `${kind}/${metadata.namespace}/${metadata.name}`
const newWorld = () => new ClusterState({ group: DEFAULT_API_GROUP, knows: (kind) => kind !== 'Secret' })

/** The resources that exist after the steps. */
function after(all: readonly Step[]): Stored[] {
  const there = new Map<string, Stored>()
  for (const step of all) {
    if ('put' in step) there.set(keyOf(step.put), step.put)
    if ('remove' in step) there.delete(keyOf(step.remove))
  }
  return [...there.values()]
}

function follow(all: readonly Step[]): { state: ClusterState; current: CurrentFindings } {
  const state = newWorld()
  const current = new CurrentFindings(state, () => judgeOf())
  for (const step of all) {
    if ('put' in step) current.put(kindOf(step.put), step.put)
    else if ('work' in step) {
      current.startRound()
      current.work(step.work)
    } else current.remove(kindOf(step.remove), step.remove.metadata.namespace, step.remove.metadata.name)
  }
  return { state, current }
}

/** The answers to all questions that a rule can ask in a namespace, as texts. */
function answers(cluster: Cluster): string[] {
  return KINDS.flatMap(({ kind }) =>
    NAMES.flatMap((each) => [
      `${kind} ${each} is ${JSON.stringify(cluster.get(kind, each)?.spec)}`,
      `${kind} ${each} from ${JSON.stringify([...cluster.referrers(kind, each)])}`,
      `${kind} ${each} from some ${JSON.stringify([...cluster.referrers(kind, each, ['VirtualMCPServer'])])}`,
      `${kind} ${each} in ${cluster.elsewhere(kind, each).join()}`,
    ]).concat(`${kind}: ${[...cluster.names(kind)].toSorted().join()}`),
  )
}

t.test('after any changes the state holds the stored objects', async () => {
  fc.assert(
    fc.property(steps, (all) => {
      const there = after(all)
      const fresh = newWorld()
      for (const object of there) fresh.put(kindOf(object), object)
      for (const namespace of NAMESPACES) {
        const cluster = follow(all).state.in(namespace)
        assert.deepEqual(answers(cluster), answers(fresh.in(namespace)))
        for (const { kind } of KINDS) {
          for (const each of NAMES) {
            const referring = there.filter(
              (object) =>
                object.metadata.namespace === namespace &&
                object.metadata.deletionTimestamp === undefined &&
                referencesOf(object.kind, object).some(({ to }) => to.kind === kind && to.name === each),
            )
            const named = referring.map((object) => `${object.kind}/${object.metadata.name}`).toSorted()
            const found = [...cluster.referrers(kind, each)].map((by) => `${by.kind}/${by.name}`)
            assert.deepEqual(found, named)
          }
        }
      }
    }),
    { numRuns: 300 },
  )
})

t.test('of an object the state keeps spec, status and the metadata that rules read', async () => {
  const record = `${DEFAULT_API_GROUP}/subject-provider-written`
  const state = newWorld()
  const place = { name: 'a', namespace: 'x', resourceVersion: '7', ...DELETED }
  const kept = { apiVersion: 'v1beta1', kind: 'MCPExternalAuthConfig', spec: { type: 'awsSts' }, status: {} }
  new CurrentFindings(state, () => judgeOf()).put(kindNamed.get(kept.kind) ?? mcpGroup, {
    ...kept,
    metadata: {
      ...place,
      labels: { app: 'x' },
      annotations: { [record]: 'okta', 'kubectl.kubernetes.io/last-applied-configuration': '{}' },
      managedFields: [{ manager: 'kubectl' }],
    },
  })
  assert.deepEqual(state.object(kept.kind, 'x', 'a'), {
    ...kept,
    metadata: { ...place, annotations: { [record]: 'okta' } },
  })
})

t.test('a workload that is being deleted needs nothing any more', async (t) => {
  const state = newWorld()
  const current = new CurrentFindings(state, () => judgeOf())
  const put = ({ kind, metadata, ...rest }: Other, deletion: object = {}) =>
    current.put(kindNamed.get(kind) ?? mcpGroup, {
      ...rest,
      kind,
      metadata: { ...metadata, ...deletion, namespace: 'x', resourceVersion: String(versions++) },
    })
  put(injectConfig('key', 'okta'))
  put(backend('jira', 'key'))
  put(gateway('tools', { authServerConfig: authServer('github') }))
  const errors = () => standingTexts(current).filter((text) => text.endsWith(' error'))
  t.strictSame(errors(), ['VirtualMCPServer/x/tools upstream-inject-provider-exists error'])
  put(backend('jira', 'key'), DELETED)
  t.strictSame(errors(), [], 'the watch tells its gateway')
  const large = new ClusterState(
    { group: DEFAULT_API_GROUP, knows: () => true },
    { all: Infinity, object: 0 },
  )
  for (const deletion of [{}, DELETED])
    large.put(mcpServer, {
      ...backend('jira', 'key'),
      metadata: { name: 'jira', namespace: 'x', ...deletion },
    })
  t.equal(membersNamed(large.in('x'), 'tools', 'jira').length, 0)
  t.equal(large.in('x').referrers('MCPExternalAuthConfig', 'key').length, 0)
})

t.test('an overlaid object answers like a stored one, or one that was removed', async () => {
  fc.assert(
    fc.property(steps, stored, (all, object) => {
      const { namespace, name: own } = object.metadata
      const before = follow(all).state
      const over = answers(overlay(before.in(namespace), { kind: object.kind, name: own }, object))
      const within = follow([...all, { put: object }]).state
      // The cache keeps less of an object than the overlay, so answers about the object itself may differ.
      const comparable = (texts: readonly string[]) =>
        texts.filter(
          (text) => !text.startsWith(`${object.kind} ${own} is`) && !text.startsWith(`${object.kind}: `),
        )
      assert.deepEqual(comparable(over), comparable(answers(within.in(namespace))))
      const gone = answers(overlay(before.in(namespace), { kind: object.kind, name: own }, undefined))
      const without = follow([...all, { remove: object }]).state
      assert.deepEqual(comparable(gone), comparable(answers(without.in(namespace))))
    }),
    { numRuns: 300 },
  )
})

t.test(
  'an object that is kept in part, and read when a rule asks for it, counts as one that is kept whole',
  async (t) => {
    const crowd = fc.array(stored, { minLength: 20, maxLength: 40, size: 'max' })
    let [most, reads] = [0, 0]
    fc.assert(
      fc.property(crowd, stored, fc.constantFrom(0, 900), (puts, object, largest) => {
        const { namespace, name: own } = object.metadata
        const there = after(puts.map((put) => ({ put })))
        const whole = newWorld()
        const part = new ClusterState(
          { group: DEFAULT_API_GROUP, knows: (kind) => kind !== 'Secret' },
          { all: Infinity, object: largest },
        )
        for (const each of there) for (const state of [whole, part]) state.put(kindOf(each), each)
        const isOwn = (each: Stored) => each.kind === object.kind && each.metadata.name === own
        const old = there.find((each) => each.metadata.namespace === namespace && isOwn(each))
        const submission = submissionOf(object.kind, object, {
          namespace,
          name: own,
          ...(old !== undefined && { operation: 'UPDATE', oldObject: old }),
        })
        const texts = ({ errors, warnings }: Verdict) => [...errors, ...warnings].map(findingText)
        const judge = judgeOf({ state: part })
        const lacking = () =>
          judge
            .admit(submission)
            .unconfirmed.filter(
              ({ kind, name }) =>
                part.partialBytes(kind, namespace, name) > 0 && !part.hasDigest(kind, namespace, name),
            )
        let names = lacking()
        for (let round = 1; names.length > 0; round++) {
          for (const { kind, name } of names) {
            const found = there.find(
              (each) =>
                each.kind === kind && each.metadata.name === name && each.metadata.namespace === namespace,
            )
            assert.ok(found)
            assert.ok(part.keepDigest({ kind, name }, namespace, found))
            reads += 1
          }
          most = Math.max(most, round)
          names = lacking()
        }
        assert.deepEqual(texts(judge.admit(submission)), texts(judgeOf({ state: whole }).admit(submission)))
        for (const each of NAMESPACES) {
          const referrers = (state: ClusterState) =>
            answers(state.in(each)).filter((text) => text.includes(' from '))
          assert.deepEqual(referrers(part), referrers(whole))
        }
      }),
      { numRuns: 500 },
    )
    t.ok(reads > 300, `${reads} reads`)
    t.ok(most <= MOST_ROUNDS, `${most} rounds of reads`)
  },
)

const standingTexts = (current: CurrentFindings) => {
  current.startRound()
  while (current.work(10));
  return [...current.findings()]
    .map((found) => `${found.kind}/${found.namespace}/${found.name} ${found.id} ${found.severity}`)
    .toSorted()
}

t.test('the current findings are those of judging everything anew', async () => {
  let standingErrors = 0
  fc.assert(
    fc.property(steps, (all) => {
      const there = after(all)
      const { state } = follow(there.map((put) => ({ put })))
      const expected = there.flatMap((object) => {
        const { namespace, name: own } = object.metadata
        const self = { kind: object.kind, name: own }
        const around = { cluster: state.in(namespace), self, old: () => object }
        const kind = kindOf(object)
        const alone = atOnce(findingsIn(kind, object, around))
        const found = yielding(alone, { kind, value: object, release: undefined })
        return [...new Set(found.map(({ id, severity }) => `${keyOf(object)} ${id} ${severity}`))]
      })
      const texts = standingTexts(follow(all).current)
      standingErrors += texts.filter((text) => text.endsWith(' error')).length
      assert.deepEqual(texts, expected.toSorted())
    }),
    { numRuns: 500 },
  )
  assert.ok(standingErrors > 20, `${standingErrors} errors among them`)
})

t.test('objects that may not be read are not reported as missing', async () => {
  let readable = false
  const state = new ClusterState({
    group: DEFAULT_API_GROUP,
    knows: (kind) => kind !== 'MCPGroup' || readable,
  })
  const current = new CurrentFindings(state, () => judgeOf())
  for (const namespace of NAMESPACES) {
    const metadata = { name: 'jira', namespace, resourceVersion: '1' }
    current.put(mcpServer, { ...backend('jira'), metadata })
  }
  const found = () => standingTexts(current).filter((text) => text.includes(' reference-found '))
  const missing = (namespace: string) => `MCPServer/${namespace}/jira reference-found warning`
  assert.deepEqual(found(), [])
  readable = true
  current.recheck('x')
  assert.deepEqual(found(), [missing('x')])
  current.recheck(undefined)
  assert.deepEqual(found(), [missing('x'), missing('y')])
  readable = false
  current.recheck(undefined)
  assert.deepEqual(found(), [])
})

t.test('an object with too many violations is there, and nothing of it is known', async () => {
  const state = newWorld()
  const current = new CurrentFindings(state, () => judgeOf())
  const config = kindNamed.get('MCPExternalAuthConfig') ?? mcpGroup
  const put = (kind: Kind, { metadata, ...rest }: Other, resourceVersion: string) =>
    current.put(kind, { ...rest, metadata: { ...metadata, namespace: 'x', resourceVersion } })
  const roleMappings = Array.from({ length: 1_001 }, () => ({}))
  put(mcpServer, backend('jira', 'key'), '1')
  put(config, headerConfig('key'), '2')
  put(config, { ...headerConfig('key'), spec: { type: 'awsSts', awsSts: { roleMappings } } }, '3')
  assert.deepEqual(state.get(config.kind, 'x', 'key')?.spec, undefined, 'nor what was stored before')
  const found = standingTexts(current)
  assert.ok(found.includes('MCPExternalAuthConfig/x/key object-judged-whole error'), found.join('\n'))
  assert.deepEqual(
    found.filter((text) => text.includes('reference-found')),
    ['MCPServer/x/jira reference-found warning'],
    'the group alone is missing',
  )
})

t.test('defaults that depend on other objects: twice is once, and no finding comes or goes', async () => {
  let written = 0
  fc.assert(
    fc.property(steps, stored, (all, object) => {
      const { state } = follow(all)
      const { namespace, name: own } = object.metadata
      const judge = judgeOf({ state, defaults: { serviceAccountAudience: 'x' } })
      const submission = (value: object) => submissionOf(object.kind, value, { namespace, name: own })
      const changes = judge.complete(submission(object))
      const defaulted = withChanges(object, changes)
      if (changes.some(({ at }) => at.includes('subjectProviderName'))) written += 1
      assert.deepEqual(judge.complete(submission(defaulted)), [])
      const around = { cluster: state.in(namespace), self: { kind: object.kind, name: own } }
      const texts = (value: object) =>
        atOnce(findingsIn(kindOf(object), value, around))
          .toSorted(compareFindings)
          .map(findingText)
      assert.deepEqual(texts(defaulted), texts(object))
    }),
    { numRuns: 1_000 },
  )
  assert.ok(written > 20, `${written} subject providers written`)
})

t.test('an error stored without defaults is the same one when they are written', async () => {
  const rows: readonly (readonly [Other, readonly Other[]])[] = [
    [serverConfig('a', 'okta', 'github'), [backend('jira', 'a')]],
    [
      gateway('one', { authServerConfig: authServer('okta') }),
      [backend('jira', 'a'), injectConfig('a', 'github')],
    ],
  ]
  for (const [{ kind, spec, metadata }, others] of rows) {
    const state = newWorld()
    const old = { kind, spec, metadata }
    for (const other of [...others, old]) state.put(kindNamed.get(other.kind) ?? mcpGroup, other, 'x')
    const judge = judgeOf({ state })
    const update = (object: object) =>
      submissionOf(kind, object, { operation: 'UPDATE', namespace: 'x', name: metadata.name, oldObject: old })
    const changed = { ...old, spec: { ...(spec as object), replicas: 2 } }
    const changes = judge.complete(update(changed))
    assert.ok(changes.some(({ at }) => at.includes('upstreamProviders')))
    const { errors, warnings } = judge.admit(update(withChanges(changed, changes)))
    assert.deepEqual(errors.map(findingText), [])
    assert.equal(warnings.filter(({ prefix }) => prefix === 'stored before: ').length, 1)
  }
})

t.test('every patch applies, and an annotation of another group takes nothing away', async () => {
  let removed = 0
  const groups = [DEFAULT_API_GROUP, 'example.com']
  const keys = [...groups, `x.${DEFAULT_API_GROUP}`, `${DEFAULT_API_GROUP}/v1`, ''].flatMap((group) => [
    `${group}/subject-provider-written`,
    `${group}/Subject-Provider-Written`,
  ])
  const value = fc.constantFrom<unknown>('okta', 'github', '', null, 7, {})
  const annotations = fc.oneof(
    { weight: 8, arbitrary: fc.dictionary(fc.constantFrom(...keys, '__proto__'), value) },
    { weight: 2, arbitrary: fc.constantFrom<unknown>(undefined, null, 'okta', [], 7) },
  )
  const subject = fc.constantFrom(undefined, null, '', 'okta', 'github')
  const type = fc.constantFrom('tokenExchange', 'unauthenticated', undefined)
  const version = fc.constantFrom(API_VERSION, 'v1alpha1')
  const others = fc.subarray([
    backend('jira', 'a'),
    gateway('one', { authServerConfig: authServer('okta') }),
    gateway('two', { authServerConfig: authServer('github') }),
  ])
  fc.assert(
    fc.property(
      fc.constantFrom(...groups),
      version,
      annotations,
      type,
      subject,
      others,
      (group, version, annotations, type, subjectProviderName, others) => {
        const state = new ClusterState({ group, knows: () => true })
        for (const other of others) state.put(kindNamed.get(other.kind) ?? mcpGroup, other, 'x')
        const object = {
          apiVersion: `${group}/${version}`,
          kind: 'MCPExternalAuthConfig',
          metadata: { name: 'a', namespace: 'x', annotations },
          spec: { type, tokenExchange: { tokenUrl: 'https://a.example.com', subjectProviderName } },
        }
        const submission = submissionOf(object.kind, object, { group, namespace: 'x', name: 'a' })
        const changes = judgeOf({ group, state }).complete(submission)
        const patched = JSON.parse(JSON.stringify(object)) as typeof object
        assert.deepEqual(applyPatch(patched, jsonPatch(changes)).filter(Boolean), [])
        const record = `${group}/subject-provider-written`
        const before = Object.entries(annotations ?? {}).filter(([key]) => key !== record)
        if (typeof annotations === 'object')
          assert.deepEqual(
            before,
            Object.entries(patched.metadata.annotations ?? {}).filter(([key]) => key !== record),
          )
        const own = typeof subjectProviderName === 'string' && subjectProviderName !== ''
        const isOurs = new Map(Object.entries(annotations ?? {})).get(record) === subjectProviderName
        if (own && !isOurs) assert.equal(patched.spec.tokenExchange.subjectProviderName, subjectProviderName)
        removed += changes.filter(({ value }) => value === undefined).length
      },
    ),
    { numRuns: 2_000 },
  )
  assert.ok(removed > 20, `${removed} values taken away`)
})

t.test('referrers of some kinds are chosen once for all reviews', async () => {
  const state = new ClusterState({ group: DEFAULT_API_GROUP, knows: () => true })
  const put = (name: string) =>
    state.put(mcpServer, { ...backend(name, 'config'), metadata: { namespace: 'x', name } })
  put('a')
  const kinds = ['MCPServer']
  const asked = () => state.in('x').referrers('MCPExternalAuthConfig', 'config', kinds)
  const first = asked()
  assert.equal(first.length, 1)
  assert.equal(asked(), first)
  put('b')
  assert.equal(asked().length, 2)
})
