import { mkdtemp, rm } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Agent, request as httpsRequest } from 'node:https'
import { Writable } from 'node:stream'
import { text as textOf } from 'node:stream/consumers'
import fc from 'fast-check'
import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { localPair } from '../src/certificates/local.ts'
import { ClusterConnection, fromKubeconfig } from '../src/cluster/index.ts'
import { authServer } from '../src/relations/examples.ts'
import { SINGLE_PROVIDER_KINDS } from '../src/relations/related-resources.ts'
import { DEFAULT_API_GROUP, KINDS } from '../src/kinds/index.ts'
import { mcpServer } from '../src/kinds/mcp-server/index.ts'
import { probeAnnotation } from '../src/registration/webhook-configurations.ts'
import { ClusterState } from '../src/state/cluster-state.ts'
import { answering, type Cluster } from '../src/rule/cluster.ts'
import {
  DEFAULT_SETTINGS,
  parseSeveritySetting,
  type Settings,
  type SeveritySetting,
} from '../src/engine/settings.ts'
import { ALL_IDS } from '../src/engine/engine-ids.ts'
import { buildProbes, buildWebhook } from '../src/server/app.ts'
import { LARGE, parseBody } from '../src/server/json.ts'
import { Bodies } from '../src/server/bodies.ts'
import { openLog } from '../src/server/log-destination.ts'
import { createMetrics } from '../src/server/metrics.ts'
import { type ReviewStep, Turns } from '../src/server/turns.ts'
import { judgeOf, resourceOf, reviewOf } from './support/review.ts'
import { ALL_DEFAULTS } from '../src/engine/index.ts'
import { latestJudge } from '../src/server/latest-judge.ts'
import { InstalledRelease as ReadRelease } from '../src/server/installed-release.ts'
import type { Release as InstalledRelease } from '../src/release/index.ts'
import { waitFor } from './e2e/wait-for.ts'
import { fakeApiServer, refusal, type Script } from './support/fake-api-server.ts'
import { startServer } from './support/server.ts'

const folder = await mkdtemp(join(tmpdir(), 'vmcp-admission-'))
const pair = await localPair(folder, ['127.0.0.1'])
t.teardown(() => rm(folder, { recursive: true }))

const role = 'arn:aws:iam::123456789012:role/reader'
const awsSts = (spec: object) => ({ type: 'awsSts', awsSts: { region: 'eu-central-1', ...spec } })
const valid = resourceOf('MCPExternalAuthConfig', awsSts({ fallbackRoleArn: role }))
const both = { roleArn: role, claim: 'a', matcher: '"a" in claims.groups' }
const invalid = resourceOf('MCPExternalAuthConfig', awsSts({ roleMappings: [both] }))

interface Answer {
  response: {
    uid: string
    allowed: boolean
    status?: {
      code: number
      reason: string
      message: string
      details: { kind: string; name: string; causes: { field: string; message: string; reason: string }[] }
    }
    warnings?: string[]
    patch?: string
    patchType?: string
    auditAnnotations?: Record<string, string>
  }
  error?: string
}

function server(
  settings: Partial<Settings> = {},
  state?: ClusterState,
  clients?: Parameters<typeof buildWebhook>[2],
) {
  const log: string[] = []
  const stream = new Writable({
    write: (chunk, _encoding, done) => {
      log.push(String(chunk))
      done()
    },
  })
  const judge = judgeOf({ settings, state })
  const metrics = createMetrics()
  metrics.serving(() => ({
    expiry: { leaf: 1.7e12, ca: 1.9e12, bundle: 1.8e12 },
    rotations: 3,
    errors: 2,
  }))
  const logger = openLog(stream)
  const parts = {
    judge: () => judge,
    logger,
    metrics,
    mostInFlight: 1,
    bodies: new Bodies(64 * 2 ** 20),
    isStopping: () => false,
  }
  return { app: buildWebhook(parts, pair, clients), probes: buildProbes(parts, () => undefined), log }
}

async function send(
  app: FastifyInstance,
  path: string,
  payload: string | object,
  headers: object = { 'content-type': 'application/json' },
) {
  const text = typeof payload === 'string' ? payload : JSON.stringify(payload)
  const answer = await app.inject({ method: 'POST', url: path, payload: text, headers: { ...headers } })
  return {
    status: answer.statusCode,
    type: answer.headers['content-type'],
    body: JSON.parse(answer.payload) as Answer,
  }
}

const { app, probes, log } = server()
const ask = async (path: string, object: unknown, request: Record<string, unknown> = {}) => {
  const { status, body } = await send(app, path, reviewOf(object, request))
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`)
  return body.response
}

t.test('a denial is complete for kubectl, for clients and for machines', async (t) => {
  const { status, body } = await send(app, '/validate?timeout=10s', reviewOf(invalid))
  t.equal(status, 200)
  const text =
    'Forbidden: may not be specified when `claim` is set; keep one of the two (role-mapping-claim-or-matcher)'
  t.strictSame(body, {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    response: {
      uid: '705ab4f5-6393-11e8-b7cc-42010a800002',
      allowed: false,
      status: {
        status: 'Failure',
        code: 422,
        reason: 'Invalid',
        message: `MCPExternalAuthConfig.${DEFAULT_API_GROUP} "example" is invalid: spec.awsSts.roleMappings[0].matcher: ${text}`,
        details: {
          name: 'example',
          group: DEFAULT_API_GROUP,
          kind: 'MCPExternalAuthConfig',
          causes: [
            { reason: 'FieldValueForbidden', field: 'spec.awsSts.roleMappings[0].matcher', message: text },
          ],
        },
      },
      auditAnnotations: { errors: 'role-mapping-claim-or-matcher' },
    },
  })
})

t.test('an answer with nothing but warnings', async (t) => {
  const exchange = (tokenUrl: string) => ({
    type: 'tokenExchange',
    tokenExchange: { tokenUrl, audience: 'a' },
  })
  const object = resourceOf('MCPExternalAuthConfig', exchange('http://sts.example.com/${REALM}'))
  const { body } = await send(app, '/validate', reviewOf(object))
  t.strictSame(body, {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    response: {
      uid: '705ab4f5-6393-11e8-b7cc-42010a800002',
      allowed: true,
      warnings: [
        "MCPExternalAuthConfig example: spec.tokenExchange.tokenUrl: sends tokens in the clear; use 'https://' (token-exchange-url-https)",
        'MCPExternalAuthConfig example: spec.tokenExchange.tokenUrl: holds the placeholder ${REALM}, which nothing filled in, so the text is used as it stands; write the value (unresolved-placeholder)',
      ],
      auditAnnotations: { warnings: 'token-exchange-url-https,unresolved-placeholder' },
    },
  })
})

/** A cluster state that throws when a rule looks up the referrers among SINGLE_PROVIDER_KINDS. */
class Broken extends ClusterState {
  override in(namespace: string): Cluster {
    const cluster = super.in(namespace)
    const referrers: Cluster['referrers'] = (kind, name, among) => {
      if (among === SINGLE_PROVIDER_KINDS) throw new Error('the view is broken')
      return cluster.referrers(kind, name, among)
    }
    return answering(cluster, { referrers })
  }
}

t.test('a rule that throws is a warning, a count and a line of the log; it never denies', async (t) => {
  const id = 'upstream-provider-single-for-workloads'
  const configuration = { ...authServer('okta', 'github'), issuer: 'https://login.example.com' }
  const spec = { type: 'embeddedAuthServer', embeddedAuthServer: configuration }
  const review = reviewOf(resourceOf('MCPExternalAuthConfig', spec))
  const judged = async (state: ClusterState, settings: Partial<Settings> = {}) => {
    state.put(
      mcpServer,
      resourceOf('MCPServer', { authServerRef: { kind: 'MCPExternalAuthConfig', name: 'example' } }),
    )
    const { app, probes, log } = server(settings, state)
    const { body } = await send(app, '/validate', review)
    const failures = await counts(probes, 'vmcp_admission_rule_failures_total')
    return { ...body.response, failures, log }
  }
  const options = { group: DEFAULT_API_GROUP, knows: () => true }
  const { auditAnnotations, failures: none } = await judged(new ClusterState(options))
  t.strictSame([auditAnnotations?.errors, none], [id, []], 'where it can run, it denies')

  const { allowed, warnings, failures, log } = await judged(new Broken(options))
  t.equal(allowed, true)
  const broken = warnings?.flatMap((text) => /: internal error: .* \(([\w-]+)\)$/.exec(text)?.[1] ?? []) ?? []
  t.ok(
    warnings?.includes(
      `MCPExternalAuthConfig example: internal error: this check did not run, please report it (${id})`,
    ),
  )
  t.strictSame(
    failures.toSorted(),
    broken.map((each) => `vmcp_admission_rule_failures_total{id="${each}"} 1`).toSorted(),
  )
  const lines = log.map((line) => JSON.parse(line) as Record<string, unknown>)
  const failed = lines.filter(({ msg }) => msg === 'rule failed')
  t.strictSame(failed.map(({ rule }) => rule).toSorted(), broken.toSorted())
  for (const line of failed) {
    t.strictSame(Object.keys(line), ['level', 'time', 'uid', 'rule', 'err', 'msg'])
    t.match(line, { level: 'error', err: { message: 'the view is broken' } })
  }
  t.notMatch(log.join(''), /login\.example|okta/, 'nothing of the object is logged')
  const strict = await judged(new Broken(options), { severities: [setting(`${id}=error`)] })
  t.equal(strict.allowed, true, 'whatever it is worth')
})

t.test('what is admitted', async (t) => {
  const widget = { ...resourceOf('Widget', {}), apiVersion: 'x/v1' }
  const rows: [string, unknown, Record<string, unknown>, string[]?][] = [
    ['a valid object', valid, {}],
    ['DELETE', null, { operation: 'DELETE', oldObject: invalid }],
    ['CONNECT', invalid, { operation: 'CONNECT' }],
    ['a subresource', invalid, { subResource: 'status' }],
    [
      'an object that is being deleted',
      { ...invalid, metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } },
      {},
    ],
    [
      'an update that leaves the spec',
      invalid,
      { operation: 'UPDATE', oldObject: { ...invalid, metadata: {} } },
    ],
    ['another version of our group', invalid, { operation: 'UPDATE', oldObject: invalid }],
    [
      'an unknown kind',
      widget,
      { kind: { group: 'x', version: 'v1', kind: 'Widget' } },
      [
        "Widget example: this webhook does not know Widget of the group 'x' and admits it unjudged; register the webhook for the seven kinds only (registration-covers-known-kinds)",
      ],
    ],
  ]
  for (const [title, object, request, warnings] of rows) {
    const response = await ask('/validate', object, request)
    t.equal(response.allowed, true, title)
    t.strictSame(response.warnings, warnings, `${title}: warnings`)
    const mutated = await ask('/mutate', object, request)
    t.equal(mutated.allowed, true, `${title}: /mutate`)
    if (title !== 'a valid object') t.equal(mutated.patch, undefined, `${title}: no patch`)
  }
})

const json = { 'content-type': 'application/json' }

function notReviews(): [title: string, payload: string, status: number, error: RegExp, headers?: object][] {
  const text = JSON.stringify(reviewOf(valid))
  const nested = (depth: number) => '[1,'.repeat(depth) + '1' + ']'.repeat(depth)
  return [
    ['no JSON', '{', 400, /not JSON/],
    ['an empty body', '', 400, /body/],
    ['neither a body nor a content type', '', 400, /body/, {}],
    ['another content type', text, 415, /content-type/, { 'content-type': 'text/plain' }],
    ['no content type', text, 415, /content-type/, {}],
    [
      'a charset is fine',
      '{}',
      400,
      /AdmissionReview/,
      { 'content-type': 'application/json; charset=utf-8' },
    ],
    ['an array', '[]', 400, /AdmissionReview/],
    ['null', 'null', 400, /AdmissionReview/],
    ['another kind', '{"kind":"Pod"}', 400, /kind/],
    [
      'v1beta1',
      text.replace('admission.k8s.io/v1', 'admission.k8s.io/v1beta1'),
      400,
      /admissionReviewVersions/,
    ],
    ['no request', '{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}', 400, /request/],
    ['no uid', JSON.stringify(reviewOf(valid, { uid: undefined })), 400, /uid/],
    ['an empty uid', JSON.stringify(reviewOf(valid, { uid: '' })), 400, /uid/],
    ['no kind', JSON.stringify(reviewOf(valid, { kind: undefined })), 400, /kind/],
    ['an unknown operation', JSON.stringify(reviewOf(valid, { operation: 'PATCH' })), 400, /operation/],
    ['1e400', text.replace('"dryRun":false', '"x":1e400'), 400, /out of the range/],
    ['-1e400 deep inside', text.replace('"dryRun":false', '"x":{"y":[0,[-1e400]]}'), 400, /out of the range/],
    ['over 7 MiB', JSON.stringify({ filling: 'x'.repeat(7 * 1024 * 1024) }), 413, /7340032 bytes/],
    ['nested over 1,000', text.replace('"dryRun":false', `"x":${nested(1001)}`), 400, /1000 levels/],
    ['nested 100,000', nested(100_000), 400, /keys and values/],
    ['nested 80,000', nested(80_000), 400, /1000 levels/],
  ]
}

t.test(
  'a body that is not a review is a 4xx with a sentence, on both paths, and the next request is served',
  async (t) => {
    for (const path of ['/validate', '/mutate']) {
      for (const [title, payload, status, error, headers = json] of notReviews()) {
        const answer = await send(app, path, payload, headers)
        t.equal(answer.status, status, `${path}: ${title}`)
        t.match(answer.body.error, error, `${path}: ${title}`)
        t.match(answer.type, /^application\/json/)
        t.equal((await ask(path, valid)).allowed, true, `${path}: ${title}: the next request`)
      }
    }
    t.equal((await send(app, '/else', JSON.stringify(reviewOf(valid)))).status, 404)
    t.equal((await app.inject({ method: 'GET', url: '/validate' })).statusCode, 404)
  },
)

/** Simulates reviews with a fake clock; `costs` are the milliseconds that each step of a review takes. */
function taking() {
  let clock = 0
  const turns = new Turns(() => clock)
  const order: string[] = []
  const take = async (
    name: string,
    bytes: number,
    costs: Partial<Record<ReviewStep, number>>,
    flow = name,
  ) => {
    const review = { bytes, flow: '' }
    for (const step of ['parse', 'judge', 'answer', 'record'] as const) {
      await turns.take(review, step, () => {
        clock += costs[step] ?? 0
        review.flow = flow
        order.push(`${name} ${step}`)
      })
    }
  }
  // `Turns` starts the next turn in the next round of the event loop.
  const turn = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
  const judged = () => order.filter((each) => each.endsWith('judge')).map((each) => each.split(' ')[0])
  const passes = (milliseconds: number) => (clock += milliseconds)
  return { take, order, turn, judged, passes }
}

t.test('a small review takes its steps at once while none waits, for five milliseconds', async (t) => {
  const names = ['a', 'b', 'c']
  const { take, order, turn } = taking()
  const steps = (name: string) => ['parse', 'judge', 'answer', 'record'].map((step) => `${name} ${step}`)
  let isAround = false
  setImmediate(() => (isAround = true))
  for (const name of names) await take(name, 1, { judge: 1 })
  t.strictSame(order, names.flatMap(steps))
  t.equal(isAround, false, 'before the event loop comes around')
  await take('d', 1, { judge: 9 })
  await take('e', 1, {})
  t.equal(isAround, true, 'once they took as long, others come in between')
  await turn()
  order.length = 0
  const long = names.map((name, i) => take(name, i, { parse: 9 }))
  t.strictSame(order, ['a parse'], 'others wait for what is long')
  await Promise.all(long)
})

t.test('those that wait take each step together, for five milliseconds at a stretch', async (t) => {
  const names = ['a', 'b', 'c']
  const { take, order } = taking()
  const before = take('before', 1, { parse: 5 })
  await Promise.all(names.map((name, i) => take(name, i, { judge: 2 })))
  await before
  const judged = order.filter((each) => /^[abc] judge/.test(each))
  t.strictSame(
    judged,
    names.map((name) => `${name} judge`),
  )
  const [first, last] = [order.indexOf('c judge'), order.indexOf('a answer')]
  t.ok(first < last, order.join())
  const long = taking()
  const blocking = long.take('before', 1, { parse: 5 })
  await Promise.all([long.take('a', 1, { judge: 9 }), long.take('b', 2, { judge: 9 }), blocking])
  const [answer, second] = [long.order.indexOf('a answer'), long.order.indexOf('b judge')]
  t.ok(answer < second, `what took long is answered before the next is judged: ${long.order.join()}`)
})

t.test('between two reviews that are expensive one that has cost nothing has its turn', async (t) => {
  const { take, turn, judged } = taking()
  const attackers = Array.from({ length: 4 }, async (_, i) => {
    for (let j = 0; j < 10; j++) await take(`attacker${i}.${j}`, 20_000, { judge: 20 }, 'attacker')
  })
  for (let i = 0; i < 6; i++) {
    await turn()
    const before = judged().length
    await take('neighbour', 1_000, { judge: 0.1 })
    const between = judged().slice(before).indexOf('neighbour')
    t.ok(between <= 2, `${between} judgements before its own`)
  }
  const before = judged().length
  await take('large-neighbour', 60_000, { judge: 0.1 }, 'neighbour')
  t.ok(judged().slice(before).indexOf('large-neighbour') <= 2, 'and not by its size')
  await Promise.all(attackers)
})

t.test('a flow that was expensive has its turns again in the next window', async (t) => {
  const { take, judged, passes } = taking()
  await take('a', 1_000, { judge: 500 })
  const both = () => Promise.all([take('a', 1_000, { judge: 1 }), take('b', 2_000, { judge: 1 })])
  await both()
  t.strictSame(judged(), ['a', 'b', 'a'])
  passes(10_000)
  await both()
  t.strictSame(judged().slice(3), ['a', 'b'], 'then the smallest is first')
})

t.test('large reviews take one step between two turns of small ones, then rest as long', async (t) => {
  const { take, turn, order, passes } = taking()
  const large = Promise.all(
    ['x', 'y'].map((name) => take(name, 1_000_000, { parse: 40, judge: 60 }, 'attacker')),
  )
  const largeSteps = () => order.filter((each) => /^[xy]/.test(each))
  await turn()
  t.strictSame(largeSteps(), ['x parse'])
  for (let i = 0; i < 5; i++) {
    await take(`small${i}`, 1_000, { judge: 1 })
    await turn()
  }
  t.strictSame(largeSteps(), ['x parse'], 'while it rests only small ones have their turn')
  for (const [pause, steps] of [
    [40, ['x parse', 'x judge']],
    [60, ['x parse', 'x judge', 'x answer']],
  ] as const) {
    passes(pause)
    await take('small', 1_000, {})
    await turn()
    t.strictSame(largeSteps().slice(0, steps.length), steps, 'what is begun is finished first')
  }
  for (let i = 0; i < 20; i++) {
    passes(100)
    await take('small', 1_000, {})
    await turn()
  }
  await large
  t.equal(largeSteps().length, 8)
})

t.test('what comes at once is answered each for itself', async (t) => {
  const large = JSON.stringify(reviewOf(valid, { filling: 'x'.repeat(600_000) }))
  const rows: [payload: string, status: number, allowed: boolean | undefined][] = [
    [JSON.stringify(reviewOf(valid)), 200, true],
    [JSON.stringify(reviewOf(invalid)), 200, false],
    ['{', 400, undefined],
    ['{"kind":"Pod"}', 400, undefined],
    [large, 200, true],
    [large, 200, true],
    [JSON.stringify(reviewOf(invalid)), 200, false],
  ]
  const many = Array.from({ length: 20 }, () => rows).flat()
  const answers = await Promise.all(many.map(([payload]) => send(app, '/validate', payload)))
  t.strictSame(
    answers.map(({ status, body: { error, response } }) => [
      status,
      error === undefined ? response.allowed : undefined,
    ]),
    many.map(([, status, allowed]) => [status, allowed]),
  )
})

/** JSON texts with numbers on both sides of the range of doubles, and strings that look like parts of JSON. */
const HARD_JSON = [
  ...['1e308', '9e308', '-1e309', '1E+400', '0.1e-9', '9e-400', '17976931348623157e292', '18e307'],
  ...['9'.repeat(308), '9'.repeat(309), `1${'0'.repeat(308)}`, `1${'0'.repeat(309)}`, `0.${'9'.repeat(400)}`],
  ...[`1${'0'.repeat(400)}e-10`, `-1${'0'.repeat(400)}e-200`],
  ...['"null"', '"{[\\\\"', '"\\"[1e999"', '{"null\\"":null}', 'true', 'false', '"\u{1f600}]"'],
]

t.test('a look at the text of a large body shows what a look at its value would', async (t) => {
  const seen = (text: string) => {
    try {
      const { value, nulls } = parseBody(Buffer.from(text))
      return { value, nulls }
    } catch (error) {
      return (error as Error).message
    }
  }
  const outcomes = { read: 0, refused: 0 }
  fc.assert(
    fc.property(
      fc.array(fc.oneof(fc.json({ stringUnit: 'binary' }), fc.constantFrom(...HARD_JSON)), { maxLength: 6 }),
      fc.constantFrom(0, 990, 999, 1_000),
      (parts, depth) => {
        const text = `${'['.repeat(depth)}${parts.join() || '0'}${']'.repeat(depth)}`
        const [small, large] = [seen(text), seen(text.padEnd(LARGE))]
        outcomes[typeof small === 'string' ? 'refused' : 'read'] += 1
        t.strictSame(large, small)
      },
    ),
    { numRuns: 300 },
  )
  t.ok(outcomes.read > 50 && outcomes.refused > 50, JSON.stringify(outcomes))
})

t.test(
  'a review with a wrong-typed object is denied by /validate and admitted without a patch by /mutate',
  async (t) => {
    const mistyped = resourceOf('MCPExternalAuthConfig', {
      type: 'awsSts',
      awsSts: { region: 7, fallbackRoleArn: role },
    })
    const objects = [
      'text',
      7,
      true,
      [],
      null,
      { ...valid, spec: 'text' },
      { ...valid, spec: [] },
      { ...valid, metadata: 7 },
      mistyped,
    ]
    for (const object of objects) {
      const request = {
        kind: { group: DEFAULT_API_GROUP, version: 'v1beta1', kind: 'MCPExternalAuthConfig' },
      }
      const response = await ask('/validate', object, request)
      t.equal(response.allowed, false, JSON.stringify(object))
      t.equal(response.status?.code, 422)
      t.match(response.status?.details.causes.map(({ message }) => message).join('\n'), /must be of type/)
      const mutated = await ask('/mutate', object, request)
      t.strictSame([mutated.allowed, mutated.patch], [true, undefined], `${JSON.stringify(object)}: /mutate`)
      t.equal((await ask('/validate', valid)).allowed, true, `${JSON.stringify(object)}: the next request`)
    }
  },
)

t.test('the kind of the request decides, and the object must agree', async (t) => {
  const response = await ask(
    '/validate',
    { ...valid, kind: 'MCPGroup' },
    { kind: { group: DEFAULT_API_GROUP, version: 'v1beta1', kind: 'MCPExternalAuthConfig' } },
  )
  t.strictSame(
    response.status?.details.causes.map(({ field }) => field),
    ['kind'],
  )
})

t.test('strange but legal objects are judged as any other, and the next request is served', async (t) => {
  const mappings = Array.from({ length: 5_000 }, (_, i) => ({ roleArn: role, claim: `group-${i}` }))
  const wrong = mappings.map((mapping) => ({ ...mapping, matcher: 'claims.x', priority: -1 }))
  const exchange = (spec: object) =>
    resourceOf('MCPExternalAuthConfig', {
      type: 'tokenExchange',
      tokenExchange: { tokenUrl: 'https://sts.example.com', audience: 'a', ...spec },
    })
  const withKeys = JSON.parse(
    '{"__proto__":{"type":"x"},"constructor":{"prototype":1},"toString":"x"}',
  ) as object
  const matchers = Array.from({ length: 50 }, (_, i) => ({
    roleArn: role,
    matcher: `[${Array(1_600).fill('{}').join(',')}, ${i}] == [] || `,
  }))
  const rows: [string, unknown, boolean][] = [
    ['5,000 role mappings', resourceOf('MCPExternalAuthConfig', awsSts({ roleMappings: mappings })), true],
    [
      '5,000 wrong role mappings',
      resourceOf('MCPExternalAuthConfig', awsSts({ roleMappings: wrong })),
      false,
    ],
    [
      '50 matchers that do not parse',
      resourceOf('MCPExternalAuthConfig', awsSts({ roleMappings: matchers })),
      false,
    ],
    ['a 100 KB URL', exchange({ tokenUrl: `https://sts.example.com/${'a'.repeat(100_000)}` }), true],
    ['NUL in free text', exchange({ audience: 'a\u0000b' }), true],
    ['a lone surrogate in free text', exchange({ audience: 'a\ud800b' }), true],
    ['a lone surrogate in a wrong value', exchange({ subjectTokenType: '\ud800\u0000' }), false],
    [
      '__proto__ and constructor keys',
      resourceOf('MCPExternalAuthConfig', { ...awsSts({ fallbackRoleArn: role }), ...withKeys }),
      true,
    ],
    [
      '__proto__ as a map key',
      resourceOf(
        'VirtualMCPServer',
        JSON.parse(
          '{"groupRef":{"name":"g"},"incomingAuth":{"type":"anonymous"},"outgoingAuth":{"source":"inline","backends":{"__proto__":{"type":"externalAuthConfigRef"}}}}',
        ),
      ),
      false,
    ],
  ]
  for (const [title, object, allowed] of rows) {
    const response = await ask('/validate', object)
    t.equal(response.allowed, allowed, title)
    t.equal((await ask('/mutate', object)).allowed, true, `${title}: /mutate`)
    t.equal((await ask('/validate', valid)).allowed, true, `${title}: the next request`)
  }
  const key = await ask('/validate', rows.at(-1)?.[1])
  t.strictSame(
    key.status?.details.causes.map(({ field }) => field),
    ['spec.outgoingAuth.backends[__proto__].externalAuthConfigRef'],
  )
})

const mappings = (length: number, item: (i: number) => unknown) =>
  resourceOf('MCPExternalAuthConfig', awsSts({ roleMappings: Array.from({ length }, (_, i) => item(i)) }))
const backends = (value: object) =>
  resourceOf('VirtualMCPServer', {
    groupRef: { name: 'g' },
    incomingAuth: { type: 'anonymous' },
    outgoingAuth: { source: 'inline', backends: value },
  })
const many = (count: number, item: (i: number) => unknown) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, item(i)])) as object
const ownKeys = (service: string) => ({ ...mappings(50_000, (i) => ({ [`k${i}`]: 1 })), service })

/** Requests that are slow if some work is repeated for each of their items; each must be answered within seconds. */
const HEAVY: readonly (readonly [
  title: string,
  object: () => unknown,
  allowed: boolean,
  old?: () => unknown,
])[] = [
  [
    'a value of three million escapes',
    () => resourceOf('MCPExternalAuthConfig', awsSts({ region: '\x7f'.repeat(3e6) })),
    false,
  ],
  [
    '990 values of thousands',
    () => mappings(990, () => ({ roleArn: '\x7f'.repeat(3_000), claim: 'a' })),
    false,
  ],
  [
    'a key of a million escapes above 500 findings',
    () => backends({ ['\x7f'.repeat(1e6)]: { type: 'discovered', x: Array(500).fill('${A}') } }),
    true,
  ],
  ['a key of three million characters', () => backends({ ['k'.repeat(3e6)]: { type: 'x' } }), false],
  ['80,000 keys without a value', () => backends(many(80_000, () => null)), true],
  [
    '5,000 new matchers',
    () => mappings(5_000, (i) => ({ roleArn: role, matcher: `"${i}" in claims.groups` })),
    true,
  ],
  [
    '52 of the longest matchers',
    () => mappings(52, (i) => ({ roleArn: role, matcher: `[${Array(4_950).fill('1').join()},${i}] == []` })),
    true,
  ],
  ['50,000 stored errors and one more change', () => ownKeys('a'), true, () => ownKeys('b')],
]

t.test('a connection from before other CAs of clients gets one answer more', async (t) => {
  let changedAt = -Infinity
  const clients = { tls: {}, gate: () => undefined, changedAt: () => changedAt }
  const { app } = server({}, undefined, clients)
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  const agent = new Agent({ ca: pair.ca, keepAlive: true, maxSockets: 1 })
  t.teardown(() => (agent.destroy(), app.close()))
  const ask = async () => {
    const sent = httpsRequest(url, { agent, signal: AbortSignal.timeout(8_000) }).end()
    const answer = await new Promise<IncomingMessage>((resolve, reject) =>
      sent.on('response', resolve).on('error', reject),
    )
    await textOf(answer)
    return [sent.socket?.localPort, answer.headers.connection]
  }
  const [port] = await ask()
  t.strictSame(await ask(), [port, 'keep-alive'])
  changedAt = performance.now()
  t.strictSame(await ask(), [port, 'close'])
  t.equal((await ask())[1], 'close', 'a handshake that may have begun before')
  changedAt -= 60_000
  const [next] = await ask()
  t.not(next, port)
  t.strictSame(await ask(), [next, 'keep-alive'])
})

t.test('over TLS, one request after the other: whatever came before, the next one is served', async (t) => {
  const { url, ca, stop } = await startServer()
  const agent = new Agent({ ca, keepAlive: true, maxSockets: 1 })
  t.teardown(async () => {
    agent.destroy()
    await stop()
  })
  const post = async (path: string, payload: string, headers: object = json) => {
    const signal = AbortSignal.timeout(8_000)
    const sent = httpsRequest(url + path, { method: 'POST', agent, headers: { ...headers }, signal })
    sent.end(payload)
    const answer = await new Promise<IncomingMessage>((resolve, reject) =>
      sent.on('response', resolve).on('error', reject),
    )
    return {
      status: answer.statusCode,
      body: JSON.parse(await textOf(answer)) as Answer,
    }
  }
  const next = async (title: string) => {
    const { body } = await post('/validate', JSON.stringify(reviewOf(valid)))
    t.equal(body.response.allowed, true, `${title}: the next request`)
  }
  for (const [title, payload, status, error, headers] of notReviews()) {
    const answer = await post('/validate', payload, headers)
    t.equal(answer.status, status, title)
    t.match(answer.body.error, error, title)
    await next(title)
  }
  for (const [title, object, allowed, old] of HEAVY) {
    const request = old === undefined ? {} : { operation: 'UPDATE', oldObject: old() }
    const review = JSON.stringify(reviewOf(object(), request))
    t.equal((await post('/validate', review)).body.response.allowed, allowed, title)
    t.equal((await post('/mutate', review)).body.response.allowed, true, `${title}: /mutate`)
    await next(title)
  }
})

t.test(
  'a body full of mistakes: the first thousand of each rule are shown, then that there are more',
  async (t) => {
    const more = (place: string, id: string) => [place, `and more; only the first 1000 are shown (${id})`]
    const notJudged = (place: string) => [
      place,
      'Forbidden: over 1000 violations of the schema; the object is not judged further until they are fewer (object-judged-whole)',
    ]
    const rows: [string, unknown, string[]][] = [
      ['170,000 nulls', mappings(170_000, () => null), notJudged('spec.awsSts.roleMappings[1000]')],
      [
        '80,000 empty mappings',
        mappings(80_000, () => ({})),
        notJudged('spec.awsSts.roleMappings[1000].roleArn'),
      ],
      [
        '20,000 bad matchers',
        mappings(20_000, (i) => ({ roleArn: role, matcher: `${i}(` })),
        more('spec.awsSts.roleMappings[1000].matcher', 'role-mapping-matcher-compiles'),
      ],
    ]
    for (const [title, object, last] of rows) {
      const { allowed, status } = await ask('/validate', object)
      t.strictSame([allowed, status?.details.causes.length], [false, 1_001], title)
      const cause = status?.details.causes.at(-1)
      t.strictSame([cause?.field, cause?.message], last, title)
      t.strictSame((await ask('/mutate', object)).allowed, true)
    }
    const placeholders = await ask(
      '/validate',
      resourceOf('MCPServer', { args: Array(100_000).fill('${A}') }),
    )
    t.equal(placeholders.allowed, true)
  },
)

t.test('defaults come as a JSON Patch', async (t) => {
  const response = await ask('/mutate', valid)
  t.equal(response.patchType, 'JSONPatch')
  t.strictSame(JSON.parse(Buffer.from(response.patch ?? '', 'base64').toString()), [
    { op: 'add', path: '/spec/awsSts/service', value: 'aws-mcp' },
    { op: 'add', path: '/spec/awsSts/roleClaim', value: 'groups' },
    { op: 'add', path: '/spec/awsSts/sessionDuration', value: 3600 },
    { op: 'add', path: '/spec/awsSts/sessionNameClaim', value: 'sub' },
  ])
})

t.test('ratchet: an error that the stored object has already is a warning', async (t) => {
  const mapping = (fields: object) => ({ roleArn: role, ...fields })
  const config = (...roleMappings: object[]) =>
    resourceOf('MCPExternalAuthConfig', awsSts({ roleMappings, service: 's' }))
  const update = async (before: object, after: object) => {
    const { allowed, warnings = [] } = await ask('/validate', after, {
      operation: 'UPDATE',
      oldObject: before,
    })
    return { allowed, stored: warnings.filter((text) => text.includes(': stored before: ')).length }
  }
  const rows: [string, object, object, boolean, number][] = [
    ['the same error at the same place', config(both), config(both, mapping({ claim: 'b' })), true, 1],
    ['moved to another index', config(both), config(mapping({ claim: 'b' }), both), true, 1],
    ['one old error excuses one new one', config(both), config(both, { ...both, priority: 1 }), false, 1],
    [
      'another value at the same place',
      config(mapping({ claim: 'a', priority: -1 })),
      config(mapping({ claim: 'a', priority: -2 })),
      false,
      0,
    ],
    [
      'the same value with another neighbour',
      config(mapping({ claim: 'a', priority: -1 })),
      config(mapping({ claim: 'b', priority: -1 })),
      true,
      1,
    ],
    [
      'a Forbidden field may change its value',
      config(both),
      config({ ...both, matcher: 'has(claims.b)' }),
      true,
      1,
    ],
    ['a new error', config(mapping({ claim: 'a' })), config(both), false, 0],
  ]
  for (const [title, before, after, allowed, stored] of rows)
    t.strictSame(await update(before, after), { allowed, stored }, title)
})

t.test('ratchet: of more errors than are shown', async (t) => {
  const bare = (count: number) => Array<object>(count).fill({})
  const negative = { roleArn: role, claim: 'a', priority: -1 }
  const rows: [title: string, before: object[], after: object[], allowed: boolean][] = [
    ['of a rule one is mended', Array(1_200).fill(both), Array(1_199).fill(both), true],
    ['of a rule there were as many as are shown', Array(1_000).fill(both), Array(1_001).fill(both), false],
    [
      'of the schema not all is looked at',
      bare(1_200),
      [{ roleArn: role, claim: 'a' }, ...bare(1_199)],
      false,
    ],
    ['of the schema others may be hidden', bare(1_200), [...bare(1_000), negative], false],
    ['of the schema all are looked at', bare(1_000), [{ roleArn: role, claim: 'a' }, ...bare(999)], true],
  ]
  for (const [title, before, after, allowed] of rows) {
    const config = (roleMappings: object[]) => resourceOf('MCPExternalAuthConfig', awsSts({ roleMappings }))
    const answer = await ask('/validate', config(after), { operation: 'UPDATE', oldObject: config(before) })
    t.equal(answer.allowed, allowed, title)
  }
})

t.test('ratchet: of 900 stored errors one has changed, and that one is denied', async (t) => {
  const config = (changed: number) => {
    const roleMappings = Array.from({ length: 900 }, (_, i) => ({
      roleArn: role,
      claim: `c${i}`,
      priority: i === 5 ? changed : -1 - i,
    }))
    return resourceOf('MCPExternalAuthConfig', awsSts({ roleMappings }))
  }
  const { status } = await ask('/validate', config(-5_000), { operation: 'UPDATE', oldObject: config(-6) })
  t.strictSame(
    status?.details.causes.map(({ field }) => field),
    ['spec.awsSts.roleMappings[5].priority'],
  )
})

/** The lines of /metrics that begin with this name. */
const counts = async (from: FastifyInstance, name: string) =>
  (await from.inject('/metrics')).payload.split('\n').filter((line) => line.startsWith(name))

const setting = (text: string) => parseSeveritySetting(text, ALL_IDS) as SeveritySetting

t.test('another judge is made where the settings or the installed release are others', (t) => {
  const now: { settings: Settings; release: InstalledRelease | undefined } = {
    settings: DEFAULT_SETTINGS,
    release: undefined,
  }
  const judge = latestJudge(
    { group: DEFAULT_API_GROUP, state: 'no cluster', defaults: ALL_DEFAULTS },
    {
      settings: () => now.settings,
      release: () => now.release,
      counting: (all) => ({ ...all, mode: 'enforce' }),
    },
  )
  const first = judge()
  t.equal(judge(), first)
  t.equal(first.world.release, 'specification')
  now.settings = { ...DEFAULT_SETTINGS, mode: 'warn', leftOut: ['sandbox'] }
  const second = judge()
  t.not(second, first)
  t.strictSame([second.world.settings.mode, second.leavesOut('sandbox')], ['enforce', true])
  now.release = { name: 'the installed operator', schemas: new Map() }
  t.equal(judge().world.release, now.release)
  t.end()
})

t.test('a server is ready once the CRDs are read, or may not be read', { jobs: 6 }, async (t) => {
  const rows: [first: Script['lists'][number], asks: number][] = [
    [refusal(404, 'not found'), 1],
    [refusal(403, 'forbidden'), 1],
    [refusal(401, 'Unauthorized'), 1],
    [refusal(429, 'too many requests'), 2],
    [refusal(503, 'starting'), 2],
    [(response) => void response.destroy(), 2],
  ]
  await Promise.all(
    rows.map(async ([first, asks], i) => {
      const lists = [...KINDS.map(() => first), refusal(404, 'not found')]
      const api = await fakeApiServer(t, 'customresourcedefinitions', { lists })
      const connection = new ClusterConnection(await fromKubeconfig(api.kubeconfig))
      const logger = { info: () => undefined, warn: () => undefined }
      const installed = new ReadRelease(connection, DEFAULT_API_GROUP, logger)
      const stopped = new AbortController()
      const reading = installed.keepReading(stopped.signal, () => undefined)
      await waitFor(() => installed.isRead(), { seconds: 20, what: `row ${i}` })
      const timesAsked = Math.max(
        ...KINDS.map(({ plural }) => api.asked.filter(({ path }) => path.includes(`/${plural}.`)).length),
      )
      t.equal(timesAsked, asks, `row ${i}`)
      stopped.abort()
      await reading
      connection.close()
    }),
  )
})

t.test('mode and severities', async (t) => {
  const rows: [string, Partial<Settings>, boolean, number][] = [
    ['mode warn', { mode: 'warn' }, true, 1],
    ['off', { severities: [setting('role-mapping-claim-or-matcher=off')] }, true, 0],
    ['warning', { severities: [setting('role-mapping-claim-or-matcher=warning')] }, true, 1],
    [
      'off at this path',
      { severities: [setting('role-mapping-claim-or-matcher:spec.awsSts.roleMappings.matcher=off')] },
      true,
      0,
    ],
    [
      'off at another path',
      { severities: [setting('role-mapping-claim-or-matcher:spec.awsSts=off')] },
      false,
      0,
    ],
    [
      'off in this namespace',
      { severities: [setting('role-mapping-claim-or-matcher=off@other,default')] },
      true,
      0,
    ],
    [
      'off in another namespace',
      { severities: [setting('role-mapping-claim-or-matcher=off@other')] },
      false,
      0,
    ],
    [
      'the last one counts',
      {
        severities: [
          setting('role-mapping-claim-or-matcher=off'),
          setting('role-mapping-claim-or-matcher=error'),
        ],
      },
      false,
      0,
    ],
  ]
  for (const [title, settings, allowed, warnings] of rows) {
    const { app: other, log: lines, probes } = server(settings)
    const { body } = await send(other, '/validate', reviewOf(invalid))
    // The review is counted and logged after its answer is sent.
    while (lines.length === 0) await new Promise(setImmediate)
    t.strictSame([body.response.allowed, body.response.warnings?.length ?? 0], [allowed, warnings], title)
    if (settings.mode === 'warn')
      t.match(body.response.warnings?.[0], /^MCPExternalAuthConfig \S+: would be denied: spec\.awsSts/)
    const isExempted = settings.severities !== undefined && allowed
    const counted = isExempted
      ? ['vmcp_admission_exempted_findings_total{id="role-mapping-claim-or-matcher"} 1']
      : []
    t.strictSame(
      await counts(probes, 'vmcp_admission_exempted_findings_total'),
      counted,
      `${title} is counted`,
    )
    if (isExempted)
      t.match(lines.join(''), /"exempted":\["role-mapping-claim-or-matcher"\]/, `${title} is logged`)
  }
  for (const [text, problem] of [
    ['x', /is not ID/],
    ['no-such-rule=off', /not the id of a rule/],
    ['schema-type=off', /always an error/],
    ['schema-required=never', /is not ID/],
    ['schema-pattern:spec.list[0].b=off', /leave list indexes out/],
    ['schema-required:spec.awsSts.nonsense=off', /not a field of any kind/],
    ['schema-enum:spec.outgoingAuth.backends.jira.type=off', /with <name> for any key of a map/],
    ['constructor=off', /not the id of a rule/],
  ] as const)
    t.match(parseSeveritySetting(text, ALL_IDS), problem)
})

t.test('more than a thousand findings that a setting relaxes hide none that it does not', async (t) => {
  const misspelt = mappings(1_001, (i) => ({
    roleArn: 'x',
    ...(i === 0 ? { ...both, roleArn: 'x' } : { claim: `c${i}` }),
  }))
  const parameters = (field: string) => ({ additionalAuthorizationParams: { client_id: 'x' }, field })
  const providers = Array.from({ length: 1_002 }, (_, i) => ({
    name: `p${i}`,
    type: i === 1_001 ? 'oauth2' : 'oidc',
    ...(i === 1_001
      ? {
          oauth2Config: {
            clientId: 'x',
            authorizationEndpoint: 'https://a.example.com/authorize',
            tokenEndpoint: 'https://a.example.com/token',
            userInfo: { endpointUrl: 'https://a.example.com/userinfo' },
            ...parameters('oauth2'),
          },
        }
      : { oidcConfig: { issuerUrl: 'https://a.example.com', clientId: 'x', ...parameters('oidc') } }),
  }))
  const server = resourceOf('MCPExternalAuthConfig', {
    type: 'embeddedAuthServer',
    embeddedAuthServer: { issuer: 'https://a.example.com', upstreamProviders: providers },
  })
  const allowing = 'upstream-authorization-params-allowed'
  const place = 'spec.embeddedAuthServer.upstreamProviders.oidcConfig.additionalAuthorizationParams.<name>'
  const rows: [title: string, object: unknown, severities: string[], denied: string[]][] = [
    ['violations of the schema', misspelt, ['schema-pattern=off'], ['object-judged-whole']],
    ['the same as warnings', misspelt, ['schema-pattern=warning'], ['object-judged-whole']],
    ['findings of a rule at another place', server, [`${allowing}:${place}=off`], [allowing]],
    ['the same as warnings', server, [`${allowing}:${place}=warning`], [allowing]],
    ['the whole rule', server, [`${allowing}=off`], []],
  ]
  for (const [title, object, severities, denied] of rows) {
    const { body } = await send(serverWith(severities), '/validate', reviewOf(object))
    const ids = (body.response.status?.details.causes ?? []).map(
      ({ message }) => /\(([a-z-]+)\)$/.exec(message)?.[1],
    )
    t.strictSame(ids, denied, title)
  }
})

const serverWith = (severities: readonly string[]) => server({ severities: severities.map(setting) }).app

t.test('a severity at a path below a map: of one key, or of any', async (t) => {
  const config = backends({ jira: { type: 'bogus' } })
  const rows: [path: string, allowed: boolean][] = [
    ['spec.outgoingAuth.backends.<name>.type', true],
    ['spec.outgoingAuth.backends[jira].type', true],
    ['spec.outgoingAuth.backends[wiki].type', false],
  ]
  for (const [path, allowed] of rows) {
    const { app: other } = server({ severities: [setting(`schema-enum:${path}=off`)] })
    const { body } = await send(other, '/validate', reviewOf(config))
    t.equal(body.response.allowed, allowed, path)
  }
})

t.test('placeholders: what a deployment tool forgot, not what runs later', async (t) => {
  const rows: [string, unknown, string[]][] = [
    [
      'in a field of the specification',
      resourceOf('MCPServer', { groupRef: { name: '$GROUP' } }),
      ['spec.groupRef.name'],
    ],
    [
      'in another field',
      resourceOf('MCPServer', { env: [{ name: 'A', value: '${A}' }] }),
      ['spec.env[0].value'],
    ],
    ['a shell variable in another field', resourceOf('MCPServer', { args: ['-c', 'echo $HOME'] }), []],
    ['a template of run time', resourceOf('MCPServer', { annotations: { a: '{{ .params.url }}' } }), []],
    [
      'beside the key of a map',
      backends({ '${BACKEND}': { type: 'discovered' }, jira: { type: '${TYPE}' } }),
      ['spec.outgoingAuth.backends', 'spec.outgoingAuth.backends[jira].type'],
    ],
    [
      'under a key that is not a name',
      resourceOf('MCPServer', { annotations: { 'a.b/c': '<TOKEN>' } }),
      ['spec.annotations[a.b/c]'],
    ],
  ]
  const escape = (sign: string) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`
  for (const [title, object, places] of rows) {
    const plain = JSON.stringify(reviewOf(object))
    // Placeholders with escaped characters are found too; Go writes `<` as an escape.
    for (const text of [plain, plain.replaceAll(/[$<]/g, escape)]) {
      const { body } = await send(app, '/validate', text)
      const found = (body.response.warnings ?? [])
        .filter((warning) => warning.endsWith('(unresolved-placeholder)'))
        .map((warning) => warning.split(': ')[1])
      t.strictSame(found, places, title)
    }
  }
})

t.test('warnings fit what the API server passes on', async (t) => {
  const refs = Array.from({ length: 60 }, (_, i) => [
    `backend-${i}-${'x'.repeat(300)}\n`,
    { type: 'externalAuthConfigRef', externalAuthConfigRef: { name: '${CONFIG}' } },
  ])
  const object = resourceOf('VirtualMCPServer', {
    groupRef: { name: 'g' },
    incomingAuth: { type: 'anonymous' },
    outgoingAuth: { source: 'inline', backends: Object.fromEntries(refs) as object },
  })
  const { warnings = [], allowed } = await ask('/validate', object)
  t.equal(allowed, true)
  t.ok(warnings.join('').length <= 4_096, 'all of them')
  for (const text of warnings) t.ok(text.length <= 256 && !/[\u0000-\u001f]/.test(text), text)
  t.match(warnings.at(-1), /^and \d+ more; `vmcp-admission check` shows all of them$/)
  t.match(warnings[1], /… \(unresolved-placeholder\)$/)
  const named = resourceOf('MCPExternalAuthConfig', { type: 'unauthenticated' })
  const { body } = await send(app, '/validate', reviewOf(named, { name: 'n'.repeat(253) }))
  t.match(
    body.response.warnings,
    [/^MCPExternalAuthConfig n{63}…: spec\.type: .* sends no credentials/],
    'a long name',
  )
})

t.test('the probe is denied for the marker alone, and counted nowhere', async (t) => {
  const annotations = { [probeAnnotation(DEFAULT_API_GROUP)]: 'nonce' }
  const marked = { ...invalid, metadata: { name: 'example', annotations } }
  for (const settings of [
    {},
    { mode: 'warn' },
    { severities: [setting('role-mapping-claim-or-matcher=off')] },
  ] as const) {
    const probed = server(settings)
    const metrics = () => counts(probed.probes, 'vmcp_')
    const before = await metrics()
    const { body } = await send(probed.app, '/validate', reviewOf(marked, { dryRun: true }))
    t.match(body.response, {
      allowed: false,
      status: { code: 403, reason: 'Forbidden', message: 'vmcp-admission is here: nonce' },
      warnings: undefined,
    })
    const mutated = await send(probed.app, '/mutate', reviewOf(marked, { dryRun: true }))
    t.strictSame([mutated.body.response.allowed, mutated.body.response.patch], [true, undefined])
    t.strictSame([await metrics(), probed.log], [before, []])
  }
})

t.test('the line of a denial says who, what and where, and no value of the object', async (t) => {
  const { app, log } = server()
  const secret = 'hush-hush'
  const object = resourceOf('MCPExternalAuthConfig', {
    type: 'awsSts',
    awsSts: {
      region: `${secret} 1`,
      roleMappings: [
        { roleArn: `${secret} 2`, claim: `${secret} 3`, matcher: `"${secret} 4" in claims.groups` },
        {
          roleArn: 'arn:aws:iam::123456789012:role/x',
          matcher: `claims.${secret.slice(0, 4)}.endswith("${secret}")`,
        },
      ],
      sessionDuration: 31_415_926,
    },
    bearerToken: { tokenSecretRef: { name: secret, key: secret } },
  })
  const review = reviewOf(object, { userInfo: { username: 'ann@example.com', groups: ['staff'] } })
  const { body } = await send(app, '/validate', review)
  t.equal(body.response.allowed, false)
  t.match(body.response.status?.message, secret, 'the answer names values')
  // A review is logged after its answer is sent.
  const recorded = async (count: number) => {
    while (log.length < count) await new Promise(setImmediate)
  }
  await recorded(1)
  const [text = ''] = log
  const line = JSON.parse(text) as Record<string, unknown>
  t.match(line, {
    level: 'info',
    time: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
    verdict: 'denied',
    user: 'ann@example.com',
    operation: 'CREATE',
    kind: 'MCPExternalAuthConfig',
    namespace: 'default',
    name: 'example',
  })
  t.strictSame(
    [new Set(line.errors as string[]), new Set(line.fields as string[])],
    [
      new Set([
        'schema-pattern',
        'schema-maximum',
        'external-auth-config-matches-type',
        'role-mapping-claim-or-matcher',
        'role-mapping-matcher-compiles',
      ]),
      new Set([
        'spec.awsSts.region',
        'spec.awsSts.sessionDuration',
        'spec.bearerToken',
        'spec.awsSts.roleMappings[0].roleArn',
        'spec.awsSts.roleMappings[0].matcher',
        'spec.awsSts.roleMappings[1].matcher',
      ]),
    ],
  )
  t.notMatch(text, /hush|31415926|123456789012|claims|staff|awsSts"/, 'no value')
  await send(app, '/validate', reviewOf(resourceOf('MCPGroup', {})))
  await recorded(2)
  t.notMatch(log[1], /"user"|"fields"/, 'only of denials')
  t.equal(log.length, 2)
})

t.test('probes, metrics and log', async (t) => {
  t.equal((await probes.inject('/livez')).statusCode, 200)
  t.equal((await probes.inject('/readyz')).statusCode, 200)
  const { payload } = await probes.inject('/metrics')
  t.match(
    payload,
    /vmcp_admission_reviews_total\{webhook="validate",kind="MCPExternalAuthConfig",operation="CREATE",verdict="denied"\} \d+/,
  )
  t.match(payload, /vmcp_admission_findings_total\{id="role-mapping-claim-or-matcher",severity="error"\} \d+/)
  t.match(payload, /vmcp_admission_review_duration_seconds_bucket/)
  t.strictSame(await counts(probes, 'vmcp_admission_certificate_'), [
    'vmcp_admission_certificate_expiry_timestamp_seconds{certificate="leaf"} 1700000000',
    'vmcp_admission_certificate_expiry_timestamp_seconds{certificate="ca"} 1900000000',
    'vmcp_admission_certificate_expiry_timestamp_seconds{certificate="bundle"} 1800000000',
    'vmcp_admission_certificate_rotations_total 3',
    'vmcp_admission_certificate_errors_total 2',
  ])
  t.match(payload, /vmcp_admission_refused_requests_total\{status="413"\} 2/)
  t.notMatch(log.join(''), /123456789012|claims|eu-central/, 'nothing of the object is logged')
})
