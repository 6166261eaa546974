import assert from 'node:assert/strict'
import fc from 'fast-check'
import { applyPatch } from 'rfc6902'
import t from 'tap'
import { KINDS } from '../src/kinds/index.ts'
import type { Kind } from '../src/kinds/kind.ts'
import { mcpExternalAuthConfig } from '../src/kinds/mcp-external-auth-config/index.ts'
import { virtualMcpServer } from '../src/kinds/virtual-mcp-server/index.ts'
import { eachIsReached, type MappingCondition } from '../src/kinds/mcp-external-auth-config/callers.ts'
import { mayBeTrueLacking } from '../src/kinds/mcp-external-auth-config/claim-shapes.ts'
import { acceptsNoClaims, proveTaken } from '../src/kinds/mcp-external-auth-config/proofs.ts'
import { programsOf } from '../src/cel/index.ts'
import { Budget, withinBudget } from '../src/rule/budget.ts'
import { examplesAt, rulePlaces } from '../src/kinds/places.ts'
import { ALONE, runRules } from '../src/engine/rules.ts'
import { deepEqual } from '../src/rule/deep-equal.ts'
import { defaultsFor, withChanges, type WrittenDefaults } from '../src/engine/defaults.ts'
import { compareFindings, findingText } from '../src/rule/finding.ts'
import { findingsIn } from '../src/engine/findings.ts'
import { atOnce } from '../src/rule/steps.ts'
import type { Verdict } from '../src/engine/decide.ts'
import { jsonPatch } from '../src/engine/patch.ts'
import { shape } from '../src/shape/shape.ts'
import { emptyCluster } from '../src/rule/cluster.ts'
import { jsonKey, pathText, type Segment, valueAt } from '../src/rule/path.ts'
import { isObject } from '../src/rule/resource.ts'
import type { Rule } from '../src/rule/rule.ts'
import { resources } from './support/arbitrary.ts'
import { deepFreeze } from './support/freeze.ts'
import { judgeOf, resourceOf, submissionOf } from './support/review.ts'

const JUDGE = judgeOf()
const created = (kind: Kind, object: unknown) => submissionOf(kind.kind, object)
const texts = (kind: Kind, value: unknown) =>
  atOnce(findingsIn(kind, value)).toSorted(compareFindings).map(findingText)
const textsOf = ({ errors, warnings }: Verdict) => [errors, warnings].map((found) => found.map(findingText))
const RUNS = { numRuns: 300 }

for (const kind of KINDS) {
  t.test(kind.kind, async (t) => {
    t.test(
      'defaults: idempotent, changing nothing that is there, agreeing with an independent JSON Patch',
      async () => {
        fc.assert(
          fc.property(resources(kind), fc.option(fc.nat()), (resource, choice) => {
            const object = choice === null ? resource : withNull(resource, choice)
            const added = JUDGE.complete(created(kind, deepFreeze(object)))
            const after = withChanges(object, added)
            const patched = structuredClone(object)
            const problems = applyPatch(patched, jsonPatch(added)).filter((problem) => problem !== null)
            return (
              problems.length === 0 &&
              deepEqual(patched, after) &&
              JUDGE.complete(created(kind, after)).length === 0 &&
              keeps(object, after)
            )
          }),
          RUNS,
        )
      },
    )

    t.test('defaults: the schema and every finding are the same with them and without', async () => {
      fc.assert(
        fc.property(resources(kind, { wrong: 3 }), (object) => {
          if (shape(kind, object).mistyped) return
          const after = withChanges(object, defaultsFor(kind, object, 'default'))
          assert.deepEqual(texts(kind, after), texts(kind, object))
        }),
        RUNS,
      )
    })

    t.test('any object: no rule fails or changes it, every place exists, the order is stable', async () => {
      fc.assert(
        fc.property(fc.oneof(resources(kind, { wrong: 8 }), fc.jsonValue()), (object) => {
          const verdict = JUDGE.admit(created(kind, deepFreeze(object)))
          assert.deepEqual(verdict.failures, [])
          const whole = isObject(object) ? withChanges(object, defaultsFor(kind, object, 'default')) : object
          for (const finding of [...verdict.errors, ...verdict.warnings]) {
            const { type, at } = finding.error
            const mayBeMissing = type === 'required' || type === 'advice'
            assert.ok(exists(whole, mayBeMissing ? at.slice(0, -1) : at), findingText(finding))
          }
          assert.deepEqual(textsOf(JUDGE.admit(created(kind, object))), textsOf(verdict))
        }),
        RUNS,
      )
    })

    t.test('taking knowledge away adds no finding', async () => {
      fc.assert(
        fc.property(resources(kind), fc.nat(), (object, choice) => {
          const places = placesIn(object)
          const place = places[choice % places.length]
          if (place === undefined) return
          lessIsNotMore(kind, object, place)
        }),
        RUNS,
      )
    })
  })
}

t.test('taking knowledge away from an example adds no finding', async () => {
  for (const place of rulePlaces()) {
    if (place.rule.id === 'role-mapping-matchers-fit') continue // below its bound the matchers are judged again
    for (const { resource } of examplesAt(place)) {
      for (const at of placesIn(resource)) lessIsNotMore(place.kind, resource, at)
    }
  }
})

t.test('a rule that throws is a warning that carries the failure; the others still run', async (t) => {
  const failure = new Error('out of order')
  const required = { type: 'required', at: ['spec'], detail: '' } as const
  const rule = (id: string, check: Rule['check']) =>
    ({ id, severity: 'error', reads: [], check }) as unknown as Rule
  const rules = [
    rule('throws-at-once', () => {
      throw failure
    }),
    rule('throws-later', function* () {
      yield required
      throw failure
    }),
    rule('runs', () => [required]),
  ]
  const detail = 'internal error: this check did not run, please report it'
  const failed = { severity: 'warning', error: { type: 'advice', at: [], detail }, failure }
  t.strictSame(atOnce(runRules([{ at: [], rules }], {}, emptyCluster(), ALONE)), [
    { id: 'throws-at-once', ...failed },
    { id: 'throws-later', severity: 'error', error: required },
    { id: 'throws-later', ...failed },
    { id: 'runs', severity: 'error', error: required },
  ])
})

t.test('any JSON: verdicts never throw', async () => {
  fc.assert(
    fc.property(fc.constantFrom(...KINDS), fc.jsonValue(), fc.jsonValue(), (kind, object, oldObject) => {
      JUDGE.admit({ ...created(kind, object), operation: 'UPDATE', oldObject })
      JUDGE.complete({ ...created(kind, object), operation: 'UPDATE', oldObject })
    }),
    { numRuns: 2_000 },
  )
})

t.test('what was judged before changes no verdict on role mappings', async (t) => {
  const role = { roleArn: 'arn:aws:iam::123456789012:role/a' }
  const conditions = [
    {},
    { claim: 'a' },
    { claim: 'b' },
    { claim: 7 },
    { matcher: 'a' },
    { matcher: 'true' },
    { matcher: 7 },
    { claim: 'a', matcher: 'true' },
    { claim: 'a', matcher: 7 },
    { claim: 7, matcher: 'true' },
  ]
  const items = [...conditions.map((condition) => ({ ...role, ...condition })), 'text']
  const lists = [[], ...items.flatMap((item) => [[item], ...items.map((other) => [item, other])])]
  const judged = (roleMappings: readonly unknown[]) =>
    texts(mcpExternalAuthConfig, {
      spec: { type: 'awsSts', awsSts: { region: 'eu-central-1', roleMappings } },
    })
  const verdicts = lists.map((list) => {
    judged([{ ...role, claim: 'unlike all' }])
    return judged(list)
  })
  for (const [i, first] of lists.entries()) {
    for (const [j, second] of lists.entries()) {
      judged(first)
      const after = judged(second)
      if (!deepEqual(after, verdicts[j])) t.strictSame(after, verdicts[j], `${i} before ${j}`)
    }
  }
  t.ok(new Set(verdicts.map((each) => each.join())).size > 50, 'they differ')
})

t.test('a default is written where null is, as where nothing is (decision 23)', async (t) => {
  const lifespans = { accessTokenLifespan: '1h', refreshTokenLifespan: '168h', authCodeLifespan: '10m' }
  const rows: [title: string, given: object][] = [
    ['nothing', {}],
    ['a null object', { tokenLifespans: null, storage: null }],
    [
      'a null field',
      { tokenLifespans: { ...lifespans, accessTokenLifespan: null }, storage: { type: null } },
    ],
  ]
  const issuer = 'https://a.example.com'
  for (const [title, given] of rows) {
    const object = { spec: { type: 'embeddedAuthServer', embeddedAuthServer: { issuer, ...given } } }
    const changes = JUDGE.complete(created(mcpExternalAuthConfig, deepFreeze(object)))
    const expected = { issuer, tokenLifespans: lifespans, storage: { type: 'memory' } }
    t.same(withChanges(object, changes).spec.embeddedAuthServer, expected, title)
  }
})

t.test('--defaults: those outside lists, or none (decision 23)', async (t) => {
  const spec = {
    type: 'embeddedAuthServer',
    embeddedAuthServer: {
      issuer: 'https://a.example.com',
      storage: { type: 'memory' },
      upstreamProviders: [{ name: 'okta', type: 'oidc', oidcConfig: { issuerUrl: 'https://b.example.com' } }],
    },
  }
  const placesWith = (written: WrittenDefaults) =>
    judgeOf({ defaults: { written } })
      .complete(created(mcpExternalAuthConfig, { spec }))
      .map(({ at }) => pathText(at))
  const outside = ['spec.embeddedAuthServer.tokenLifespans']
  const inside = ['spec.embeddedAuthServer.upstreamProviders[0].oidcConfig.scopes']
  t.strictSame(placesWith('all').toSorted(), [...outside, ...inside])
  t.strictSame(placesWith('outside-lists'), outside)
  t.strictSame(placesWith('off'), [])
})

/** The resource with null at one of its places; items of lists are not replaced. */
function withNull(resource: object, choice: number): object {
  const places = placesIn(resource).filter((at) => typeof at.at(-1) !== 'number')
  const at = places[choice % places.length]
  return at === undefined ? resource : withChanges(resource, [{ at, value: null }])
}

/**
 * A value of a wrong JSON type must give a finding about that type, and otherwise no finding that the original did not
 * have.
 */
function lessIsNotMore(kind: Kind, object: object, at: readonly Segment[]): void {
  const mistyped = structuredClone(object)
  const holder = valueAt(mistyped, at.slice(0, -1)) as Record<string | number, unknown>
  Object.defineProperty(holder, jsonKey(at.at(-1) ?? ''), {
    value: WRONG_TYPE,
    enumerable: true,
    configurable: true,
    writable: true,
  })
  const before = new Set(texts(kind, object))
  const { findings } = shape(kind, mistyped)
  if (!findings.some(({ error }) => error.type === 'typeInvalid' && pathText(error.at) === pathText(at)))
    return
  const more = texts(kind, mistyped).filter((text) => !before.has(text) && !text.includes('(schema-type)'))
  assert.deepEqual(more, [], `${kind.kind} without ${pathText(at)}: ${JSON.stringify(object)}`)
}

/** A value that is of the wrong type everywhere: the schemas have no list of lists. */
const WRONG_TYPE = [[7]]

/** The path of every place in a value, without distinction between fields and keys of maps. */
function placesIn(value: unknown, at: readonly Segment[] = []): (readonly Segment[])[] {
  if (typeof value !== 'object' || value === null) return at.length === 0 ? [] : [at]
  const entries: [Segment, unknown][] = Array.isArray(value)
    ? value.map((item, i) => [i, item])
    : Object.entries(value)
  const inner = entries.flatMap(([key, field]) =>
    at.length === 0 && key !== 'spec' ? [] : placesIn(field, [...at, key]),
  )
  return at.length === 0 ? inner : [at, ...inner]
}

function exists(value: unknown, at: readonly Segment[]): boolean {
  if (at.length === 0) return true
  const holder = valueAt(value, at.slice(0, -1))
  return typeof holder === 'object' && holder !== null && Object.hasOwn(holder, jsonKey(at.at(-1) ?? ''))
}

/** Whether every value of `before` is unchanged in `after`, except an empty subjectProviderName. */
function keeps(before: unknown, after: unknown): boolean {
  if (Array.isArray(before)) {
    return (
      Array.isArray(after) &&
      before.length === after.length &&
      before.every((item, i) => keeps(item, after[i]))
    )
  }
  if (!isObject(before)) return Object.is(before, after)
  return (
    isObject(after) &&
    Object.entries(before).every(([key, field]) => field === null || keeps(field, after[key]))
  )
}

/** Random matchers over so few claims and values that they often contradict or imply each other. */
const matchers = fc.letrec<{ matcher: string }>((tie) => {
  const claim = fc
    .constantFrom('email', 'azp', 'groups', 'roles', 'act', 'act.sub')
    .map((name) => `claims.${name}`)
  const text = fc.constantFrom('"a"', '"b"', '"a.b"', '1', '2.0', 'true', 'null')
  const part = tie('matcher')
  const test = fc.oneof(
    fc.tuple(text, claim).map(([a, b]) => `${a} in ${b}`),
    fc.tuple(claim, fc.constantFrom('==', '!='), text).map((words) => words.join(' ')),
    fc.tuple(claim, fc.constantFrom('startsWith', 'endsWith', 'contains')).map(([a, f]) => `${a}.${f}("a")`),
    fc.constantFrom('email', 'groups', 'act', 'act.sub').map((name) => `has(claims.${name})`),
    claim.map((name) => `${name} in ["a", "b"]`),
    fc.constantFrom('true', 'false', 'claims.act', '"x" in claims', 'claims.groups.exists(g, g == "a")'),
  )
  const logic = fc.oneof(
    fc.tuple(part, fc.constantFrom('&&', '||'), part).map((words) => `(${words.join(' ')})`),
    fc.tuple(part, part, part).map(([a, b, c]) => `(${a} ? ${b} : ${c})`),
    part.map((each) => `!(${each})`),
  )
  return { matcher: fc.oneof({ maxDepth: 3, depthSize: 'small' }, test, logic) }
}).matcher

t.test('the cheap answers about matchers agree with the proofs', async () => {
  let [reached, closed] = [0, 0]
  const entry = fc.oneof(
    fc.constantFrom('a', 'b', 'c').map((claim) => ({ claim, matcher: undefined })),
    matchers.map((matcher) => ({ claim: undefined, matcher })),
  )
  fc.assert(
    fc.property(
      fc.array(entry, { minLength: 1, maxLength: 4 }),
      fc.constantFrom('groups', 'x', 'email'),
      (entries, roleClaim) => {
        const conditions = entries.flatMap(({ claim, matcher }): MappingCondition[] => {
          if (claim !== undefined) return [{ claim }]
          const program = programsOf(matcher)['0.33']
          if (typeof program === 'string') return []
          if (!mayBeTrueLacking(program.expr, () => true)) {
            closed++
            assert.equal(acceptsNoClaims(matcher, new Budget(100_000)), false, matcher)
          }
          return [{ program }]
        })
        if (conditions.length < entries.length) return
        if (withinBudget(() => eachIsReached(conditions, roleClaim, new Budget(500))) !== true) return
        reached++
        const mappings = entries.map((each, index) => ({ index, ...each }))
        assert.equal(proveTaken(mappings, roleClaim, new Budget(100_000)).taken.size, 0)
      },
    ),
    { numRuns: 2_000 },
  )
  assert.ok(reached > 100 && closed > 100, `${reached} lists reached, ${closed} matchers closed`)
})

t.test('an unreadable method of a client makes no other client the first', async () => {
  const client = (clientId: string) => ({ clientId, trustDomainRef: 'a', methods: ['spiffe_x509'] })
  const inboundGrants = { spiffeClientAuth: [client('a'), client('b')] }
  const embeddedAuthServer = { issuer: 'http://localhost:8080', inboundGrants }
  const config = resourceOf('MCPExternalAuthConfig', { type: 'embeddedAuthServer', embeddedAuthServer })
  const clients = ['spec', 'embeddedAuthServer', 'inboundGrants', 'spiffeClientAuth']
  lessIsNotMore(mcpExternalAuthConfig, config, [...clients, 0, 'methods', 0])
})

t.test('an unreadable grant does not say that a server means to have no providers', async () => {
  for (const [field, value, below] of [
    ['inboundGrants', {}, []],
    ['inboundGrants', { spiffeClientAuth: [] }, ['spiffeClientAuth']],
    ['delegateClients', [], []],
    ['trustedIssuers', [{ issuerUrl: 'https://idp.example.com' }], [0]],
  ] as const) {
    const authServerConfig = { issuer: 'https://auth.example.com', [field]: value }
    const spec = {
      groupRef: { name: 'tools' },
      incomingAuth: { type: 'anonymous' },
      authServerConfig: { ...authServerConfig, primaryUpstreamProvider: 'okta' },
      authServerUpstreamFilter: { defaultUpstreams: ['okta'] },
    }
    const at = ['spec', 'authServerConfig', field, ...below]
    lessIsNotMore(virtualMcpServer, resourceOf('VirtualMCPServer', spec), at)
  }
})
