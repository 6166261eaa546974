import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { pino } from 'pino'
import t from 'tap'
import { localPair } from '../src/certificates/local.ts'
import {
  authServer,
  backend,
  bearerConfig,
  exchangeConfig,
  gateway,
  group,
  headerConfig,
  injectConfig,
  inline,
  oidcConfig,
  otherOf,
  serverConfig,
} from '../src/relations/examples.ts'
import { DEFAULT_API_GROUP, kindNamed } from '../src/kinds/index.ts'
import { DEFAULT_SETTINGS, type Settings } from '../src/engine/settings.ts'
import { CurrentFindings } from '../src/server/current-findings.ts'
import { type MemoryBudget, ClusterState } from '../src/state/cluster-state.ts'
import type { Other } from '../src/rule/rule.ts'
import { buildWebhook } from '../src/server/app.ts'
import { Bodies } from '../src/server/bodies.ts'
import { LiveReads, type ReadOutcome } from '../src/server/live.ts'
import { createMetrics } from '../src/server/metrics.ts'
import { readBudgetMs } from '../src/server/read-budget.ts'
import { judgeOf, resourceOf, reviewOf } from './support/review.ts'

const folder = await mkdtemp(join(tmpdir(), 'vmcp-admission-'))
t.teardown(() => rm(folder, { recursive: true }))
const pair = await localPair(folder, ['127.0.0.1'])

interface Answer {
  readonly response: {
    readonly allowed: boolean
    readonly warnings?: readonly string[]
    readonly status?: { readonly code: number; readonly message: string }
  }
}

const resource = ({ kind, spec, metadata }: Other) => resourceOf(kind, spec, metadata)
const DELETED = { deletionTimestamp: '2026-11-01T10:00:00Z' }
const deleted = (other: Other): Other => ({ ...other, metadata: { ...other.metadata, ...DELETED } })
const idOf = ({ kind, metadata }: Other) => `${kind}/${metadata.name}`

/** The objects in the API server (`stored`) and in the cache (`believed`), and how the API server answers. */
interface Given {
  readonly stored?: readonly Other[]
  readonly believed?: readonly Other[]
  readonly answer?: 'at once' | 'never' | 'refuse'
  readonly checksSecrets?: boolean
  readonly settings?: Partial<Settings>
  readonly namespace?: 'Active' | 'Terminating' | 'no answer'
  readonly mostInFlight?: number
  readonly budget?: MemoryBudget
}

function serverWith(given: Given) {
  const { stored = [], believed = stored, answer = 'at once' } = given
  const there = new Map<string, object>(stored.map((other) => [idOf(other), resource(other)]))
  const reads: string[] = []
  /** Changes that a watch brings while objects are read, one after each read of MCPExternalAuthConfig/jira. */
  const meanwhile: (() => void)[] = []
  const atOnce = { now: 0, most: 0 }
  const read = async (id: string, signal: AbortSignal): Promise<object | undefined> => {
    reads.push(id)
    if (answer === 'refuse') throw new Error('refused')
    atOnce.now += 1
    atOnce.most = Math.max(atOnce.most, atOnce.now)
    const found = there.get(id)
    await (answer === 'never' ? setTimeout(60_000, undefined, { signal }) : setImmediate())
    atOnce.now -= 1
    if (id === 'MCPExternalAuthConfig/jira') meanwhile.shift()?.()
    return found
  }
  const connection = {
    read: (kind: { kind: string }, _namespace: string, name: string, signal: AbortSignal) =>
      read(`${kind.kind}/${name}`, signal),
    readSecret: (_namespace: string, name: string, signal: AbortSignal) => read(`Secret/${name}`, signal),
    readConfigMap: (_namespace: string, name: string, signal: AbortSignal) =>
      read(`ConfigMap/${name}`, signal),
    readNamespace: async () => {
      if (given.namespace === 'no answer') throw new Error('refused')
      return { status: { phase: given.namespace ?? 'Active' } }
    },
  }
  const knows = (kind: string) =>
    kind === 'Secret' || kind === 'ConfigMap' ? given.checksSecrets === true : true
  const state = new ClusterState({ group: DEFAULT_API_GROUP, knows }, given.budget)
  const outcomes: ReadOutcome[] = []
  const settings = { ...DEFAULT_SETTINGS, ...given.settings }
  const judge = judgeOf({ settings, state })
  const current = new CurrentFindings(state, () => judge)
  const hear = (other: Other) => {
    const kind = kindNamed.get(other.kind)
    if (kind !== undefined) current.put(kind, resource(other))
  }
  const forget = ({ kind, metadata }: Other) => {
    const known = kindNamed.get(kind)
    if (known !== undefined) current.remove(known, 'default', metadata.name)
  }
  believed.forEach(hear)
  /** Functions called after each read, once its result is in the cache and before the review goes on. */
  const afterReads: (() => void)[] = []
  const log: string[] = []
  const stream = new Writable({
    write(chunk, _encoding, done) {
      log.push(String(chunk))
      done()
    },
  })
  const app = buildWebhook(
    {
      judge: () => judge,
      logger: pino({ base: null }, stream),
      metrics: createMetrics(),
      live: new LiveReads(connection, current, (outcome) => {
        outcomes.push(outcome)
        queueMicrotask(() => afterReads.forEach((each) => each()))
      }),
      mostInFlight: given.mostInFlight ?? 10,
      bodies: new Bodies(0),
      isStopping: () => false,
    },
    pair,
  )
  const send = async (object: Other, request: Record<string, unknown> = {}, query = '?timeout=250ms') => {
    const { name } = object.metadata
    const payload = JSON.stringify(reviewOf(resource(object), { name, ...request }))
    const headers = { 'content-type': 'application/json' }
    const sent = await app.inject({ method: 'POST', url: `/validate${query}`, payload, headers })
    return (JSON.parse(sent.payload) as Answer).response
  }
  /** The ids of the current findings of an object, and those in its report. */
  const inBackground = (object: Other) => {
    hear(object)
    current.startRound()
    while (current.work(10));
    const kind = kindNamed.get(object.kind)
    const forReport = kind === undefined ? [] : current.findingsIn(kind, resource(object))
    return [...current.findings(), ...forReport].map(({ id }) => id)
  }
  return {
    send,
    reads,
    atOnce,
    outcomes,
    log,
    there,
    hear,
    forget,
    meanwhile,
    afterReads,
    inBackground,
    state,
  }
}

const wrong = gateway('gateway', { authServerConfig: authServer('github') })
const setting = [backend('jira', 'jira'), injectConfig('jira', 'okta')]
const leaving = [deleted(backend('jira', 'jira')), injectConfig('jira', 'okta')]
const listing = gateway('gateway', { outgoingAuth: inline({ jira: 'key', wiki: 'key' }) })
const listed = [backend('jira'), headerConfig('key'), oidcConfig('corporate'), group()]
const ids = (answer: Answer['response']) =>
  [answer.status?.message ?? '', ...(answer.warnings ?? [])]
    .flatMap((text) => [
      ...text
        .replace(/^\w+ \S+: /, '')
        .matchAll(/(not confirmed: |alone, this would be denied: )?[^:]*.*?\(([a-z-]+)\)/g),
    ])
    .map((match) => `${match[1] ?? ''}${match[2] ?? ''}`)
    .filter((id) => /upstream-inject|reference-found|secret|hmac|deleted|is-member/.test(id))
    .toSorted()

t.test('nobody is denied because the cache is old', async (t) => {
  const rows: readonly (readonly [title: string, Given, Other, string[], allowed: boolean, reads: number])[] =
    [
      ['what the view says is so', { stored: setting }, wrong, ['upstream-inject-provider-exists'], false, 3],
      [
        'the configuration was changed a moment ago',
        { stored: [backend('jira', 'jira'), injectConfig('jira', 'github')], believed: setting },
        wrong,
        [],
        true,
        3,
      ],
      ['the backend has gone', { stored: [], believed: setting }, wrong, [], true, 3],
      ['the backend is being deleted', { stored: leaving, believed: setting }, wrong, [], true, 3],
      ['the view knows that it is', { stored: leaving }, wrong, [], true, 0],
      [
        'the configuration is there, and the view does not know it yet',
        { stored: setting, believed: [backend('jira', 'jira')] },
        backend('jira', 'jira'),
        [],
        true,
        2,
      ],
      [
        'a backend has joined the group, and the view does not know it yet',
        { stored: [...listed, backend('wiki')], believed: listed },
        listing,
        [],
        true,
        3,
      ],
      ['it has not', { stored: listed }, listing, ['outgoing-auth-backend-is-member'], true, 3],
      [
        'it is not there',
        { stored: [] },
        backend('jira', 'jira'),
        ['reference-found', 'reference-found'],
        true,
        2,
      ],
      [
        'the API server refuses to say',
        { stored: setting, answer: 'refuse' },
        wrong,
        ['not confirmed: upstream-inject-provider-exists'],
        true,
        3,
      ],
      [
        'the API server does not answer in time',
        { stored: setting, answer: 'never' },
        wrong,
        ['not confirmed: upstream-inject-provider-exists'],
        true,
        3,
      ],
    ]
  for (const [title, given, object, expected, allowed, reads] of rows) {
    const server = serverWith(given)
    const answer = await server.send(object)
    t.equal(answer.allowed, allowed, title)
    const confirmed = ids(answer).map((id) => id.replace('not confirmed: reference-found', 'reference-found'))
    t.strictSame(
      confirmed.filter((id) => id !== 'reference-found' || expected.includes(id)),
      expected,
      title,
    )
    t.ok(server.reads.length >= Math.min(reads, 2), `${title}: ${server.reads.join()}`)
  }
})

t.test('long names that begin alike are told apart', async (t) => {
  const long = (end: string) => `${'n'.repeat(240)}-${end}`
  const references = {
    [long('a')]: { type: 'externalAuthConfigRef' as const, externalAuthConfigRef: { name: long('a') } },
    [long('b')]: { type: 'externalAuthConfigRef' as const, externalAuthConfigRef: { name: long('b') } },
  }
  const server = serverWith({ stored: [] })
  await server.send(gateway('gateway', { outgoingAuth: { source: 'inline', backends: references } }))
  const configs = server.reads.filter((read) => read.startsWith('MCPExternalAuthConfig'))
  t.strictSame(configs, [`MCPExternalAuthConfig/${long('a')}`, `MCPExternalAuthConfig/${long('b')}`])
})

t.test('a dry run does not deny for what others are', async (t) => {
  const answer = await serverWith({ stored: setting }).send(wrong, { dryRun: true })
  t.equal(answer.allowed, true)
  t.ok(ids(answer).includes('alone, this would be denied: upstream-inject-provider-exists'))
})

t.test('a warning says what to do before it lists who is concerned', async (t) => {
  const long = (i: number) => `${'n'.repeat(60)}-${i}`
  const four = [1, 2, 3, 4].map(long)
  const using = (config?: string) => four.map((name) => backend(name, config))
  const providing = (name: string) => gateway('tools', { authServerConfig: authServer(name) })
  const gateways = four.map((name) => gateway(name))
  const rows: readonly (readonly [title: string, stored: readonly Other[], object: Other, advice: string])[] =
    [
      [
        'a misspelt provider',
        [injectConfig('c', 'okta'), ...using('c')],
        providing('octa'),
        'did you mean "octa"',
      ],
      [
        'another provider',
        [injectConfig('c', 'okta'), ...using('c')],
        providing('github'),
        'there is "github"',
      ],
      [
        'no provider',
        [injectConfig('c', 'okta'), ...using('c')],
        gateway('tools'),
        'use another configuration',
      ],
      ['no reference', using(), gateway('tools'), 'without `externalAuthConfigRef`'],
      ['not listed', using(), gateway('tools', { outgoingAuth: inline({ x: 'c' }) }), 'no `default` names'],
      ['no configuration', gateways, backend('jira'), 'name a configuration, or one of type unauthenticated'],
      [
        'a choice',
        four.flatMap((name) => [exchangeConfig(name), backend(name, name)]),
        providing('okta'),
        'set `subjectProviderName`',
      ],
      ['two providers', [...using('c')], serverConfig('c', 'okta', 'github'), 'must have at most 1 item'],
    ]
  for (const [title, stored, object, advice] of rows) {
    const { warnings = [] } = await serverWith({
      stored: [group(), oidcConfig('corporate'), ...stored],
    }).send(object, { dryRun: true })
    const lists = warnings.filter((text) => text.includes(advice))
    t.equal(lists.length, 1, `${title}: ${warnings.join('\n')}`)
  }
})

t.test('a dry run leaves nothing behind: what was tried beside it excuses no write', async (t) => {
  const build = (config: string) => backend('build', config)
  const grown = serverConfig('auth', 'okta', 'github')
  const server = serverWith({ stored: [serverConfig('auth', 'okta'), build('auth')] })
  for (const object of [grown, build('own')]) {
    const { allowed } = await server.send(object, { dryRun: true })
    t.equal(allowed, true)
  }
  const { allowed, status } = await server.send(grown)
  t.equal(allowed, false)
  t.match(status?.message, 'spec.embeddedAuthServer.upstreamProviders: ')
})

t.test(
  'at most twenty objects are read for one review, at once, and a miss holds for a second',
  async (t) => {
    const names = Array.from({ length: 30 }, (_, i) => `backend-${i}`)
    const server = serverWith({ stored: [] })
    const object = gateway('gateway', {
      outgoingAuth: {
        source: 'inline',
        backends: Object.fromEntries(
          names.map((name) => [name, { type: 'externalAuthConfigRef', externalAuthConfigRef: { name } }]),
        ),
      },
    })
    let clock = 10_000
    t.intercept(performance, 'now', { value: () => clock })
    const answer = await server.send(object)
    t.equal(answer.allowed, true)
    t.equal(server.reads.length, 20)
    t.equal(server.atOnce.most, 20, 'none waits for another')
    clock += 999
    await server.send(object)
    t.equal(server.reads.length, 20, 'what was missing a moment ago is not asked for again')
    clock += 1
    await server.send(object)
    t.equal(server.reads.length, 40, 'after a second it is')
  },
)

t.test('reads are bounded for a namespace and second', async (t) => {
  const secret = (i: number) => bearerConfig(`jira-${i}`)
  let clock = 10_000
  t.intercept(performance, 'now', { value: () => clock })
  const server = serverWith({ checksSecrets: true, stored: [group()] })
  server.there.set('Secret/jira-0', { data: {} })
  const count = (outcome: ReadOutcome) => server.outcomes.filter((each) => each === outcome).length
  const doubted = (answer: Answer['response']) => ids(answer).some((id) => id.startsWith('not confirmed'))
  for (let i = 0; i < 20; i++) t.notOk(doubted(await server.send(secret(i))), `Secret ${i}`)
  t.ok(doubted(await server.send(secret(20))), 'one more is not confirmed')
  t.strictSame([count('limited'), server.reads.length], [1, 20], 'and counted, not read')
  t.notOk(doubted(await server.send(secret(0), { namespace: 'other' })), 'nor does another namespace wait')
  clock += 1_000
  t.notOk(doubted(await server.send(secret(21))), 'a second later they are read again')

  const many = (i: number) =>
    gateway('gateway', {
      outgoingAuth: inline(
        Object.fromEntries(Array.from({ length: 20 }, (_, j) => [`b${j}`, `c-${i}-${j}`])),
      ),
    })
  const before = server.reads.length
  const unknown = (i: number) => ({ namespace: `unknown-${i}` })
  for (let i = 0; i < 20; i++) await server.send(many(i), unknown(i))
  t.equal(server.reads.length - before, 200, 'namespaces of which nothing is known share one bound')
})

/** So many providers that the cache does not keep the whole configuration. */
const manyProviders = Array.from({ length: 300 }, (_, i) => `provider-${i}`)
const small: MemoryBudget = { all: Infinity, object: 4_096 }

t.test('what is too large to keep is read for a review that it may concern', async (t) => {
  const large = gateway('gateway', { authServerConfig: authServer(...manyProviders) })
  const config = injectConfig('jira', 'github')
  const stored = [large, backend('jira', 'jira'), group(), oidcConfig('corporate')]
  const whole = serverWith({ stored })
  const expected = (await whole.send(config)).warnings
  t.match(expected?.join(), /gateway/, 'the view knows')

  const partial = serverWith({ stored, budget: small })
  t.equal(partial.state.sizes.partial, 1)
  t.strictSame(
    (await partial.send(config)).warnings,
    expected,
    'and so does the review of a view that keeps a part',
  )
  t.ok(partial.reads.includes('VirtualMCPServer/gateway'))
  t.equal((await partial.send(large)).allowed, true, 'it is judged itself as it comes')

  const denied = serverWith({ stored: [serverConfig('auth', ...manyProviders)], budget: small })
  const answer = await denied.send(backend('build', 'auth'))
  t.match(answer.status?.message, /workload-auth-server-single-provider/, 'errors that rest on it deny')

  const silent = serverWith({ stored, budget: small, answer: 'refuse' })
  const doubt = /^\w+ \S+: not confirmed: VirtualMCPServer\/gateway was not read: .* \(others-known\)$/
  t.match((await silent.send(config)).warnings?.[0], doubt, 'a review that cannot read it says so')
  t.equal(
    (await silent.send(group(), { operation: 'UPDATE', oldObject: resource(group()) })).warnings,
    undefined,
  )
})

t.test(
  'what is too large to keep is read once a version, and by no review that does not depend on it',
  async (t) => {
    const large = (version: string) => {
      const { kind, metadata, spec } = gateway('gateway', { authServerConfig: authServer(...manyProviders) })
      return { kind, spec, metadata: { ...metadata, resourceVersion: version } }
    }
    const elsewhere = { groupRef: { name: 'others' } }
    const own = [backend('jira', 'jira'), injectConfig('jira', 'github')]
    const server = serverWith({ stored: [large('1'), ...own, group(), group('others')], budget: small })
    const readsOf = async (object: Other, request: Record<string, unknown> = {}) => {
      const before = server.reads.length
      const { warnings = [] } = await server.send(object, request)
      const read = server.reads.slice(before).filter((id) => id === 'VirtualMCPServer/gateway')
      return [read.length, warnings.some((text) => text.includes('others-known'))]
    }
    const other = backend('wiki')
    t.strictSame(
      await readsOf({ ...other, spec: { ...(other.spec as object), ...elsewhere } }),
      [0, false],
      'another group',
    )
    t.strictSame(await readsOf(headerConfig('unused')), [0, false], 'nobody refers to it')
    const dryRun = { dryRun: true }
    const both = await Promise.all([readsOf(backend('wiki'), dryRun), readsOf(backend('docs'), dryRun)])
    t.equal(
      server.reads.filter((id) => id === 'VirtualMCPServer/gateway').length,
      1,
      'two at once read it once',
    )
    t.notOk(both.some(([, isDoubted]) => isDoubted))
    t.strictSame(await readsOf(backend('docs'), dryRun), [0, false], 'the same version')
    server.there.set('VirtualMCPServer/gateway', resource(large('2')))
    server.hear(large('2'))
    t.strictSame(await readsOf(backend('docs'), dryRun), [1, false], 'the next version')
    t.strictSame(await readsOf(backend('docs'), dryRun), [0, false])

    const denied = serverWith({ stored: [serverConfig('auth', ...manyProviders)], budget: small })
    for (let i = 0; i < 3; i++) t.equal((await denied.send(backend('build', 'auth'))).allowed, false)
    t.ok(denied.reads.length >= 3, 'a denial depends on what was read for it, however often')
    denied.there.set('MCPExternalAuthConfig/auth', resource(serverConfig('auth', 'okta')))
    t.equal(
      (await denied.send(backend('build', 'auth'))).allowed,
      true,
      'it has changed, and no watch has said so',
    )
  },
)

t.test('large objects are read up to so many bytes in a second for one namespace', async (t) => {
  let clock = 10_000
  t.intercept(performance, 'now', { value: () => clock })
  const backends = Object.fromEntries(Array.from({ length: 9_000 }, (_, i) => [`backend-${i}`, 'key']))
  const stored = Array.from({ length: 10 }, (_, i) =>
    gateway(`gateway-${i}`, { outgoingAuth: inline(backends) }),
  )
  // The budget leaves no room for digests of large objects.
  const server = serverWith({ stored: [...stored, group()], budget: { all: 1_000_000, object: 4_096 } })
  const send = () => server.send(backend('jira'), {}, '?timeout=30s')
  const large = () => server.reads.filter((id) => id.startsWith('VirtualMCPServer')).length
  const doubt = ({ warnings = [] }: Answer['response']) =>
    warnings.some((text) => text.includes('others-known'))
  t.ok(doubt(await send()), 'the verdict says that some were not read')
  const first = large()
  t.ok(first > 0 && first < 10, `${first} reads`)
  t.equal(server.outcomes.filter((outcome) => outcome === 'limited').length, 10 - first)
  await send()
  t.equal(large(), first, 'no more in this second')
  clock += 1_000
  await send()
  t.equal(large(), 2 * first, 'in the next one')
})

t.test(
  'what does not fit into the view is read where it is referred to, and the verdict says so',
  async (t) => {
    const stored = [injectConfig('jira', 'okta'), serverConfig('auth', 'okta', 'github')]
    const server = serverWith({ stored, budget: { all: 1, object: 4_096 } })
    t.ok(server.state.lacksObjectsIn('default'))
    const answer = await server.send(backend('build', 'auth'))
    t.match(answer.status?.message, /workload-auth-server-single-provider/)
    t.ok(server.reads.includes('MCPExternalAuthConfig/auth'))
    const { warnings } = await server.send(backend('jira', 'jira'))
    t.match(warnings, [
      /^\w+ \S+: not confirmed: not all of the namespace fits into --cache-memory: .*others-known/,
    ])
    t.equal(
      (await server.send(group(), { namespace: 'other' })).warnings,
      undefined,
      'of other namespaces nothing',
    )
    const leavesOut = serverWith({
      stored,
      budget: { all: 1, object: 4_096 },
      settings: { leftOut: ['default'] },
    })
    t.equal((await leavesOut.send(backend('jira', 'jira'))).warnings, undefined, 'of one left out nothing')
    t.strictSame(leavesOut.reads, [], 'and nothing is read for it')
  },
)

t.test('a miss says nothing of what has come since', async (t) => {
  const server = serverWith({ stored: [backend('jira', 'jira')] })
  await server.send(backend('jira', 'jira'))
  t.ok(server.reads.includes('MCPExternalAuthConfig/jira'), 'missed')
  server.hear(injectConfig('jira', 'okta'))
  server.there.set('MCPExternalAuthConfig/jira', resource(injectConfig('jira', 'github')))
  t.equal((await server.send(wrong)).allowed, true, 'it has come, and has been changed since')
  const secrets = serverWith({ checksSecrets: true })
  const told = async () => ids(await secrets.send(bearerConfig('jira')))
  t.strictSame(await told(), ['secret-reference-found'])
  secrets.there.set('Secret/jira', { data: { token: 'c2VjcmV0LXZhbHVl' } })
  t.strictSame(await told(), [], 'nothing watches Secrets: each review reads them again')
})

t.test('what the watch brings while an object is read is not undone by the answer', async (t) => {
  const jira = (version: string, provider = 'okta') => {
    const { kind, metadata, spec } = injectConfig('jira', provider)
    return { kind, spec, metadata: { ...metadata, resourceVersion: version } }
  }
  const backends = [backend('jira', 'jira')]
  const providerOf = ({ state }: ReturnType<typeof serverWith>) =>
    (state.get('MCPExternalAuthConfig', 'default', 'jira')?.spec as { upstreamInject?: object } | undefined)
      ?.upstreamInject

  const comes = serverWith({ stored: backends })
  comes.meanwhile.push(() => {
    comes.there.set('MCPExternalAuthConfig/jira', resource(jira('2')))
    comes.hear(jira('2'))
  })
  await comes.send(backend('jira', 'jira'))
  t.strictSame(providerOf(comes), { providerName: 'okta' }, 'it came: not there is no longer true')
  t.equal((await comes.send(wrong)).allowed, false, 'and counts')

  const goes = serverWith({ stored: [...backends, jira('1')] })
  goes.meanwhile.push(() => {
    goes.there.delete('MCPExternalAuthConfig/jira')
    goes.forget(jira('1'))
  })
  t.equal((await goes.send(wrong)).allowed, true, 'it went while it was read')
  t.equal(providerOf(goes), undefined, 'and does not come back')

  const flickers = serverWith({ stored: backends })
  flickers.there.set('MCPExternalAuthConfig/jira', resource(jira('2')))
  flickers.meanwhile.push(() => {
    flickers.there.delete('MCPExternalAuthConfig/jira')
    flickers.hear(jira('2'))
    flickers.forget(jira('2'))
  })
  await flickers.send(backend('jira', 'jira'))
  t.equal(providerOf(flickers), undefined, 'it came and went')

  const changes = serverWith({ stored: [...backends, jira('1')] })
  changes.meanwhile.push(() => {
    changes.there.set('MCPExternalAuthConfig/jira', resource(jira('2', 'github')))
    changes.hear(jira('2', 'github'))
  })
  t.equal((await changes.send(wrong)).allowed, true, 'it changed to what is right')
  t.strictSame(providerOf(changes), { providerName: 'github' }, 'and stays so')

  const older = serverWith({ stored: [...backends, jira('2', 'github')], believed: [...backends, jira('1')] })
  const versionIn = ({ state }: ReturnType<typeof serverWith>) =>
    state.version('MCPExternalAuthConfig', 'default', 'jira')
  older.afterReads.push(() => {
    if (versionIn(older) === '2') older.hear(jira('1'))
  })
  t.equal((await older.send(wrong)).allowed, true, 'an event that is older than the read comes after it')
  t.equal(versionIn(older), '1')

  const removed = serverWith({ stored: backends, believed: [...backends, jira('0')] })
  removed.afterReads.push(() => {
    if (versionIn(removed) === undefined) removed.hear(jira('1'))
  })
  t.equal((await removed.send(wrong)).allowed, true, 'also where the read found nothing')
  t.equal(versionIn(removed), '1')

  const restless = serverWith({ stored: [...backends, jira('0')] })
  for (let i = 1; i < 20; i++) restless.meanwhile.push(() => restless.hear(jira(String(i))))
  const { allowed, warnings = [] } = await restless.send(wrong)
  t.equal(allowed, true, 'what changes all the time')
  t.match(warnings.join(' '), 'not confirmed: ', 'is not confirmed')
  t.equal(
    restless.reads.filter((id) => id === 'MCPExternalAuthConfig/jira').length,
    3,
    'after three attempts',
  )
})

t.test('Secrets are looked at only on request, and nothing of them stays', async (t) => {
  const secret = (data: object) => ({ kind: 'Secret', metadata: { name: 'jira' }, data }) as unknown as Other
  const withSecret = (data: object): Given => ({ checksSecrets: true, stored: [], ...{ secret: data } })
  const rows: readonly (readonly [string, Given, object | undefined, readonly string[]])[] = [
    ['not asked for', {}, undefined, []],
    ['not there', { checksSecrets: true }, undefined, ['secret-reference-found']],
    ['without the key', withSecret({}), { other: 'eA==' }, ['secret-reference-found']],
    ['with the key', withSecret({}), { token: 'c2VjcmV0LXZhbHVl' }, []],
  ]
  for (const [title, given, data, expected] of rows) {
    const server = serverWith(given)
    if (data !== undefined) server.there.set('Secret/jira', secret(data))
    const answer = await server.send(bearerConfig('jira'))
    t.strictSame(ids(answer), expected, title)
    t.notMatch(server.log.join(), /secret-value|c2VjcmV0/, `${title}: the log`)
    t.equal(server.reads.length, given.checksSecrets ? 1 : 0, `${title}: reads`)
    const found = server.inBackground(bearerConfig('jira'))
    t.notOk(found.includes('secret-reference-found'), `${title}: nothing in the background, which reads none`)
  }
  const stringData = (bytes: number) => ({
    'signing-key': Buffer.from('key').toString('base64'),
    hmac: Buffer.alloc(bytes).toString('base64'),
  })
  const id = 'secret-reference-found'
  const reason = 'external-secrets makes it'
  const issuing = gateway('gateway', { authServerConfig: authServer('okta') })
  const metadata = {
    name: 'gateway',
    annotations: { [`${DEFAULT_API_GROUP}/vmcp-admission-ignore`]: `${id}: ${reason}` },
  }
  const update = { operation: 'UPDATE', oldObject: resource(gateway('gateway', {})) }
  // The first judgement reads no Secret. A warning that is ignored or off must not prevent the read that follows.
  const short: readonly (readonly [string, Partial<Settings>, Other, object])[] = [
    ['as it is', {}, issuing, {}],
    ['a warning that its annotation ignores', {}, { ...issuing, metadata }, {}],
    ['a warning that is off', { severities: [{ id, severity: 'off' }] }, issuing, {}],
    ['a warning that is exempted', { exemptions: [{ id, reason }] }, issuing, {}],
    ['advice, of which no update is told', { severities: [{ id, severity: 'advice' }] }, issuing, update],
  ]
  for (const [title, settings, object, request] of short) {
    for (const [bytes, allowed] of [
      [31, false],
      [32, true],
    ] as const) {
      const server = serverWith({ checksSecrets: true, settings })
      server.there.set('Secret/auth', { data: stringData(bytes) })
      const answer = await server.send(object, { ...request })
      t.equal(answer.allowed, allowed, `an HMAC secret of ${bytes} bytes: ${title}`)
    }
  }
})

t.test('ConfigMaps are looked at only on request', async (t) => {
  const trusting: Other = otherOf('MCPOIDCConfig', 'corporate', {
    type: 'inline',
    inline: { issuer: 'https://login.example.com', caBundleRef: { configMapRef: { name: 'ca' } } },
  })
  const pem = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n'
  const told = ['config-map-reference-found']
  const rows: readonly (readonly [string, Given, object | undefined, readonly string[]])[] = [
    ['not asked for', {}, undefined, []],
    ['not there', { checksSecrets: true }, undefined, told],
    ['without the key', { checksSecrets: true }, { data: { 'ca.pem': pem } }, told],
    ['an empty value', { checksSecrets: true }, { data: { 'ca.crt': '' } }, told],
    ['a text', { checksSecrets: true }, { data: { 'ca.crt': 'the CA' } }, told],
    ['text after the last', { checksSecrets: true }, { data: { 'ca.crt': `${pem}the end` } }, []],
    [
      'another block first',
      { checksSecrets: true },
      { data: { 'ca.crt': pem.replaceAll('CERTIFICATE', 'PRIVATE KEY') + pem } },
      told,
    ],
    ['certificates', { checksSecrets: true }, { data: { 'ca.crt': `# CA\n${pem}${pem}` } }, []],
    ['bytes', { checksSecrets: true }, { binaryData: { 'ca.crt': Buffer.from(pem).toString('base64') } }, []],
  ]
  for (const [title, given, found, expected] of rows) {
    const server = serverWith(given)
    if (found !== undefined) server.there.set('ConfigMap/ca', found)
    t.strictSame(ids(await server.send(trusting)), expected, title)
    t.equal(server.reads.length, given.checksSecrets ? 1 : 0, `${title}: reads`)
    const inBackground = server.inBackground(trusting)
    t.notOk(inBackground.includes('config-map-reference-found'), `${title}: nothing in the background`)
  }
  const authzConfig = { type: 'configMap', configMap: { name: 'policies' } } as const
  const authorizing = gateway('gateway', { incomingAuth: { type: 'anonymous', authzConfig } })
  const severities = [{ id: 'config-map-reference-found', severity: 'off' as const }]
  const server = serverWith({ checksSecrets: true, settings: { severities } })
  server.there.set('ConfigMap/policies', { data: { 'authz.json': '{}' } })
  const { warnings = [] } = await server.send(authorizing)
  t.match(warnings.join(), 'authorization-config-map-accepted', 'policies, where a missing one is not told')
})

t.test('a deletion is refused only on request, and never where it would be stuck', async (t) => {
  const severities = [{ id: 'deleted-resource-unreferenced', severity: 'error' as const }]
  const cleaner = { username: 'system:serviceaccount:kube-system:namespace-controller' }
  const strict: Given = { settings: { severities } }
  const believed = [backend('jira', 'key'), headerConfig('key')]
  const referred = /still referred to by MCPServer "jira"/
  const annotations = {
    [`${DEFAULT_API_GROUP}/vmcp-admission-ignore`]: 'deleted-resource-unreferenced: it is replaced today',
  }
  const ignoring = { oldObject: resource({ ...headerConfig('key'), metadata: { name: 'key', annotations } }) }
  const rows: readonly (readonly [string, Given, object, boolean, RegExp])[] = [
    ['by default', {}, {}, true, referred],
    ['where its annotation ignores the warning', {}, ignoring, true, /^$/],
    ['on request', strict, {}, false, referred],
    ['on request, whatever its annotation ignores', strict, ignoring, false, referred],
    ['of a collection, without a name in the request', strict, { name: '' }, false, referred],
    [
      'after its only workload',
      { ...strict, stored: [deleted(backend('jira', 'key')), headerConfig('key')], believed },
      {},
      true,
      /^$/,
    ],
    ['by the namespace controller', strict, { userInfo: cleaner }, true, /^$/],
    ['while the namespace goes', { ...strict, namespace: 'Terminating' }, {}, true, /^$/],
    [
      'while nobody says whether it goes',
      { ...strict, namespace: 'no answer' },
      {},
      true,
      /not confirmed: .*still referred to by MCPServer "jira"/,
    ],
  ]
  for (const [title, given, request, allowed, expected] of rows) {
    const server = serverWith({ stored: believed, ...given })
    const object = headerConfig('key')
    const deletion = { operation: 'DELETE', object: null, oldObject: resource(object), ...request }
    const answer = await server.send(object, deletion)
    t.equal(answer.allowed, allowed, title)
    t.match([answer.status?.message ?? '', ...(answer.warnings ?? [])].join(''), expected, title)
  }
})

t.test('what waits for the API server is bounded', async (t) => {
  const server = serverWith({ stored: setting, answer: 'never', mostInFlight: 2 })
  const answers = await Promise.all([1, 2, 3].map(() => server.send(wrong)))
  t.strictSame(
    answers.map(({ allowed, status }) => [allowed, status?.code]),
    [
      [true, undefined],
      [true, undefined],
      [false, 429],
    ],
  )
  t.match(answers[2]?.status?.message, /too many reviews at hand; try again/)
  const alone = await server.send(exchangeConfig('wiki'))
  t.equal(alone.allowed, true, 'what rests on nothing else is judged at once')
})

t.test('at the bound nothing is shed but what the view alone would deny', async (t) => {
  const severities = [{ id: 'deleted-resource-unreferenced', severity: 'error' as const }]
  const deletion = { operation: 'DELETE', object: null, oldObject: resource(injectConfig('jira', 'okta')) }
  const both = gateway('gateway', {
    authServerConfig: authServer('github'),
    outgoingAuth: { source: 7 },
  } as never)
  const rows: readonly (readonly [
    string,
    Given,
    Other,
    Record<string, unknown>,
    number | undefined,
    RegExp,
  ])[] = [
    ['an error that rests on others', {}, wrong, {}, 429, /try again/],
    [
      'in mode warn',
      { settings: { mode: 'warn' } },
      wrong,
      {},
      undefined,
      /not confirmed: .*upstream-inject/,
    ],
    ['in a dry run', {}, wrong, { dryRun: true }, undefined, /not confirmed: .*upstream-inject/],
    [
      'only warnings',
      { stored: [] },
      backend('jira', 'jira'),
      {},
      undefined,
      /not confirmed: .*reference-found/,
    ],
    ['an error of its own besides', {}, both, {}, 422, /spec\.outgoingAuth\.source/],
    [
      'a deletion',
      { settings: { severities } },
      injectConfig('jira', 'okta'),
      deletion,
      undefined,
      /not confirmed: .*deleted-resource/,
    ],
  ]
  for (const [title, given, object, request, code, text] of rows) {
    const server = serverWith({ stored: setting, mostInFlight: 0, ...given })
    const { allowed, status, warnings = [] } = await server.send(object, request)
    t.strictSame([allowed, status?.code], [code === undefined, code], title)
    t.match([status?.message ?? '', ...warnings].join('\n'), text, title)
    t.strictSame(server.reads, [], title)
  }
})

t.test('how long reads may take', async (t) => {
  for (const [url, milliseconds] of [
    ['/validate?timeout=10s', 8_000],
    ['/validate?timeout=500ms', 400],
    ['/validate?timeout=333ms', 266],
    ['/validate?a=b&timeout=1m', 24_000],
    ['/validate', 8_000],
    ['/validate?timeout=nonsense', 8_000],
    ['/validate?timeout=-3s', 0],
  ] as const)
    t.equal(readBudgetMs(url), milliseconds, url)
})
