import t from 'tap'
import {
  type ArmingCluster,
  Arming,
  type ArmingOptions,
  type WebhookConfiguration,
  type Lease,
  probeAnswer,
} from '../src/arming/index.ts'
import { displacing, drift } from '../src/arming/reconcile.ts'
import { LeaseHolder, type LeaseStore } from '../src/arming/lease.ts'
import { installDefinitions, removeDefinitions, type TemporaryCluster } from '../src/arming/temporary.ts'
import { parseLabelSelector } from '../src/configuration/label-selector.ts'
import { crd } from '../src/registration/crd.ts'
import { DEFAULT_API_GROUP, KINDS } from '../src/kinds/index.ts'
import { releaseOf } from '../src/release/release.ts'

/** A Lease in memory; like the API server it refuses an update with an old resourceVersion. */
function leaseStore(): LeaseStore & { lease: Lease | undefined } {
  let version = 0
  return {
    lease: undefined,
    async read() {
      return this.lease
    },
    async create(lease) {
      if (this.lease !== undefined) return false
      this.lease = { ...lease, resourceVersion: String(++version) }
      return true
    },
    async update(lease) {
      if (this.lease?.resourceVersion !== lease.resourceVersion) return false
      this.lease = { ...lease, resourceVersion: String(++version) }
      return true
    },
  }
}

t.test('one replica holds the Lease', async (t) => {
  const store = leaseStore()
  let now = 0
  const clock = () => now
  const [a, b] = [new LeaseHolder(store, 'a', clock), new LeaseHolder(store, 'b', clock)]
  t.equal(await a.hold(), true, 'nobody has it')
  t.equal(await b.hold(), false, 'a has it')
  for (now = 5_000; now <= 60_000; now += 5_000) {
    t.equal(await a.hold(), true, 'a renews it')
    t.equal(await b.hold(), false, 'and b sees that')
  }
  now = 74_000
  t.equal(await b.hold(), false, 'a may only be slow')
  now += 2_000
  t.equal(await b.hold(), true, 'a is gone')
  t.equal(await a.hold(), false, 'a comes back')
  t.equal(store.lease?.transitions, 1)
  await b.release()
  t.equal(await a.hold(), true, 'b let go')
  const late = new LeaseHolder(
    { ...store, read: async () => store.lease, update: async () => false },
    'c',
    clock,
  )
  await a.release()
  t.equal(await late.hold(), false, 'somebody was faster')
  store.lease = {
    holder: 'ghost',
    renewed: '',
    seconds: 2 ** 31 - 1,
    transitions: 2 ** 31 - 1,
    resourceVersion: '0',
  }
  t.equal(await a.hold(), false, 'whoever it names may be there')
  now += 16_000
  t.equal(await a.hold(), true, 'but is waited for no longer than any other, whatever the Lease says')
  t.equal(store.lease.transitions, 2 ** 31 - 1, 'nor does the count go beyond what can be stored')
})

/** A fake cluster whose API server can reach the webhook or not. */
function cluster(lease = leaseStore()) {
  const stored = new Map<string, WebhookConfiguration>()
  const applied: string[] = []
  const fake = {
    lease,
    stored,
    applied,
    reaches: true,
    async readConfiguration(kind: string) {
      return stored.get(kind)
    },
    watchConfiguration: () => new Promise<void>(() => undefined),
    async applyConfiguration(configuration: WebhookConfiguration) {
      const kind = String(configuration.kind)
      const [first] = configuration.webhooks as { failurePolicy: string }[]
      applied.push(`${kind} ${first?.failurePolicy ?? ''}`)
      stored.set(kind, structuredClone(configuration))
    },
    readOwner: async () => 'uid-1',
    async tryProbe(nonce: string) {
      return fake.reaches && stored.size === 2 ? `denied: ${probeAnswer(nonce)}` : undefined
    },
  }
  return fake satisfies ArmingCluster & Record<string, unknown>
}

const quiet: ArmingOptions['logger'] = { info: () => undefined, warn: () => undefined }

const optionsOf = (changed: Partial<ArmingOptions> = {}): ArmingOptions => ({
  setting: 'on',
  writes: true,
  group: DEFAULT_API_GROUP,
  identity: 'a',
  owner: 'vmcp-admission',
  clientConfig: (path) => ({
    service: { namespace: 'vmcp', name: 'vmcp-admission', port: 443, path },
    caBundle: 'CA',
  }),
  namespaceSelector: {},
  objectSelector: {},
  timeoutSeconds: 5,
  manager: 'Lease vmcp/vmcp-admission',
  breakGlass: 'stop it',
  onRead: () => undefined,
  logger: quiet,
  ...changed,
})

function armingOf(
  fake: ArmingCluster,
  setting: 'on' | 'ignore',
  clock: () => number,
  changed: Partial<ArmingOptions> = {},
) {
  return new Arming(fake, optionsOf({ setting, ...changed }), clock)
}

const VALIDATING = 'ValidatingWebhookConfiguration'
const MUTATING = 'MutatingWebhookConfiguration'
const policy = (fake: ReturnType<typeof cluster>) =>
  (fake.stored.get(VALIDATING)?.webhooks as { failurePolicy: string }[] | undefined)?.[0]?.failurePolicy

t.test('the webhook fails open until it has proved itself, and closed from then on', async (t) => {
  let now = 0
  const fake = cluster()
  fake.reaches = false
  const arming = armingOf(fake, 'on', () => now)
  await arming.reconcile()
  t.strictSame([policy(fake), arming.state.proved], ['Ignore', false])
  t.strictSame(fake.applied, [`${VALIDATING} Ignore`, `${MUTATING} Ignore`])
  fake.reaches = true
  now += 5_000
  await arming.reconcile()
  t.strictSame([policy(fake), arming.state.policy], ['Fail', 'Fail'])
  const mutating = fake.stored.get(MUTATING)?.webhooks as { failurePolicy: string }[]
  t.equal(mutating[0]?.failurePolicy, 'Ignore', 'mutation always fails open')
  const [, deletion] = fake.stored.get(VALIDATING)?.webhooks as { failurePolicy: string }[]
  t.equal(deletion?.failurePolicy, 'Ignore', 'so does what is said of deletions')
  fake.reaches = false
  now += 60_000
  await arming.reconcile()
  t.strictSame([policy(fake), arming.state.proved], ['Fail', false], 'being away does not disarm')
  const writes = fake.applied.length
  now += 5_000
  await arming.reconcile()
  t.equal(fake.applied.length, writes, 'what is as it should be is not written')
})

t.test('what is armed for another address is proved anew', async (t) => {
  let now = 0
  const fake = cluster()
  await armingOf(fake, 'on', () => now).reconcile()
  t.equal(policy(fake), 'Fail')
  const configuration = structuredClone(fake.stored.get(VALIDATING)) as {
    webhooks: Record<string, unknown>[]
  }
  for (const webhook of configuration.webhooks) webhook.clientConfig = { url: 'https://127.0.0.1:1/validate' }
  fake.stored.set(VALIDATING, configuration)
  fake.reaches = false
  now += 20_000
  const successor = armingOf(fake, 'on', () => now)
  await successor.reconcile()
  t.strictSame([policy(fake), successor.state.proved], ['Ignore', false], 'nobody is locked out by it')
  fake.reaches = true
  now += 5_000
  await successor.reconcile()
  t.equal(policy(fake), 'Fail')
})

t.test('drift is repaired, and disarming is a setting', async (t) => {
  let now = 0
  const fake = cluster()
  const arming = armingOf(fake, 'on', () => now)
  await arming.reconcile()
  t.equal(policy(fake), 'Fail')
  const change = (edit: (webhook: Record<string, unknown>) => void) => {
    const configuration = structuredClone(fake.stored.get(VALIDATING)) as {
      webhooks: Record<string, unknown>[]
    }
    edit(configuration.webhooks[0] ?? {})
    fake.stored.set(VALIDATING, configuration)
  }
  for (const [title, edit] of [
    ['caBundle emptied', (webhook) => (webhook.clientConfig = { service: { name: 'x' } })],
    ['a namespace excluded', (webhook) => (webhook.namespaceSelector = { matchLabels: { skip: 'yes' } })],
    ['operations taken away', (webhook) => (webhook.rules = [])],
    ['timeout', (webhook) => (webhook.timeoutSeconds = 1)],
  ] satisfies [string, (webhook: Record<string, unknown>) => unknown][]) {
    change(edit)
    now += 5_000
    const { repairs } = arming.state
    await arming.reconcile()
    t.equal(arming.state.repairs, repairs + 1, title)
    t.equal(policy(fake), 'Fail', title)
  }
  fake.stored.delete(MUTATING)
  now += 5_000
  await arming.reconcile()
  t.ok(fake.stored.has(MUTATING), 'what was deleted comes back')
  await armingOf(cluster(fake.lease), 'on', () => now).reconcile()
  const disarming = armingOf(fake, 'ignore', () => now)
  await disarming.reconcile()
  t.equal(policy(fake), 'Ignore')
  fake.stored.clear()
  fake.reaches = false
  now += 60_000
  await arming.reconcile()
  t.equal(policy(fake), 'Ignore', 'a configuration that was deleted is not armed before a new proof')
})

t.test(
  'nothing is armed by a proof that is old, of another time as leader, or of another bundle',
  async (t) => {
    const service = { namespace: 'vmcp', name: 'vmcp-admission', port: 443 }
    const fromFiles = { clientConfig: (path: string) => ({ service: { ...service, path } }) }
    type Webhooks = { failurePolicy: string; clientConfig: { caBundle?: string } }[]
    const inject = (fake: ReturnType<typeof cluster>, caBundle: string) => {
      for (const webhook of fake.stored.get(VALIDATING)?.webhooks as Webhooks)
        webhook.clientConfig.caBundle = caBundle
    }
    const disarm = (fake: ReturnType<typeof cluster>) => {
      const [first] = fake.stored.get(VALIDATING)?.webhooks as Webhooks
      if (first !== undefined) first.failurePolicy = 'Ignore'
    }
    const lose = async (fake: ReturnType<typeof cluster>, arming: Arming) => {
      const { lease } = fake.lease
      fake.lease.lease = { holder: 'b', renewed: '', seconds: 15, transitions: 1, resourceVersion: 'b' }
      await arming.reconcile()
      t.strictSame([arming.state.leads, arming.state.proved], [false, undefined], 'says nothing of others')
      fake.lease.lease = lease
    }
    const fail = async (fake: ReturnType<typeof cluster>, arming: Arming) => {
      const { readConfiguration } = fake
      fake.readConfiguration = () => Promise.reject(new Error('503'))
      await arming.reconcileSafely()
      t.equal(arming.state.proved, undefined)
      fake.readConfiguration = readConfiguration
    }
    for (const [title, meanwhile, seconds, expected] of [
      ['the proof is of a moment ago', () => undefined, 5, 'Fail'],
      ['a minute has passed', () => undefined, 60, 'Ignore'],
      ['another one led', lose, 5, 'Ignore'],
      ['the API server was away', fail, 5, 'Ignore'],
      ['the bundle is another one', (fake) => inject(fake, 'other'), 5, 'Ignore'],
    ] satisfies [
      string,
      (fake: ReturnType<typeof cluster>, arming: Arming) => void | Promise<void>,
      number,
      string,
    ][]) {
      let now = 0
      const fake = cluster()
      const arming = armingOf(fake, 'on', () => now, fromFiles)
      await arming.reconcile()
      inject(fake, 'injected')
      await arming.reconcile()
      t.strictSame([policy(fake), arming.state.proved], ['Fail', true], title)
      await meanwhile(fake, arming)
      disarm(fake)
      fake.reaches = false
      now += seconds * 1_000
      await arming.reconcile()
      t.equal(policy(fake), expected, title)
      fake.reaches = true
      now += 5_000
      await arming.reconcile()
      t.equal(policy(fake), 'Fail', `${title}: proved anew`)
    }
  },
)

t.test('what is put in place of what others wrote has their bundles where we say none', (t) => {
  const url = (path: string) => ({ url: `https://a${path}` })
  const entry = (name: string, clientConfig: object) => ({ name, clientConfig })
  const wanted = { metadata: { name: 'x' }, webhooks: [entry('v', url('/validate')), entry('d', url('/d'))] }
  const injected = (name: string, path: string, caBundle: string) => entry(name, { ...url(path), caBundle })
  for (const [title, stored, expected] of [
    ['by name', [injected('v', '/else', 'A'), injected('d', '/d', 'B')], ['A', 'B']],
    ['by name, in another order', [injected('d', '/d', 'B'), injected('v', '/validate', 'A')], ['A', 'B']],
    ['another name, reached as it is', [injected('other', '/validate', 'A')], ['A', undefined]],
    ['another name, reached elsewhere', [injected('other', '/else', 'A')], [undefined, undefined]],
    [
      'the name before the address',
      [injected('other', '/d', 'A'), entry('d', url('/d'))],
      [undefined, undefined],
    ],
    ['nothing', [], [undefined, undefined]],
  ] as const) {
    const { metadata, webhooks } = displacing(wanted, {
      metadata: { resourceVersion: '7' },
      webhooks: stored,
    })
    t.strictSame(metadata, { name: 'x', resourceVersion: '7' })
    const bundles = (webhooks as { clientConfig: { caBundle?: string } }[]).map(
      ({ clientConfig }) => clientConfig.caBundle,
    )
    t.strictSame(bundles, expected, title)
  }
  const ours = { metadata: {}, webhooks: [injected('v', '/validate', 'ours')] }
  const { webhooks } = displacing(ours, { webhooks: [injected('v', '/validate', 'theirs')] })
  t.strictSame(webhooks, ours.webhooks, 'what we say is ours to say')
  t.end()
})

t.test('only the holder of the Lease writes; an error is told once and passes', async (t) => {
  const fake = cluster()
  const now = 0
  const first = armingOf(fake, 'on', () => now)
  await first.reconcile()
  const writes = fake.applied.length
  const told: string[] = []
  const unowned = { ...fake, readOwner: () => Promise.reject(new Error('forbidden')) }
  const second = armingOf(unowned, 'on', () => now, {
    identity: 'b',
    logger: { ...quiet, warn: (_, message) => told.push(message) },
  })
  await second.reconcile()
  t.equal(second.state.leads, false)
  t.equal(fake.applied.length, writes)
  fake.lease.lease = undefined
  await second.reconcileSafely()
  await second.reconcileSafely()
  t.equal(told.length, 1)
  t.equal(second.state.errors, 2)
})

t.test(
  'armed, disarmed, and deleted and written again, are warnings of the replica that writes',
  async (t) => {
    const fake = cluster()
    const told: string[] = []
    const logger = {
      ...quiet,
      warn: (fields: { kind?: string }, message: string) =>
        told.push(
          [message.replace(/^arming: (\w+: )?/, '$1').replace(/: .*/, ''), fields.kind].join(' ').trim(),
        ),
    }
    const watcher = armingOf(fake, 'on', () => 0, { writes: false, logger })
    const arming = armingOf(fake, 'on', () => 0, { logger })
    await arming.reconcile()
    t.strictSame(told.splice(0), ['armed'])
    await arming.reconcile()
    await watcher.reconcile()
    t.strictSame(told, [], 'once')
    fake.stored.clear()
    await arming.reconcile()
    t.strictSame(told.splice(0), [
      'the configuration was deleted and written again ValidatingWebhookConfiguration',
      'the configuration was deleted and written again MutatingWebhookConfiguration',
      'armed',
    ])
    await armingOf(fake, 'ignore', () => 0, { logger }).reconcile()
    t.strictSame(told, ['disarmed'])
  },
)

t.test('what keeps both configurations from being read is told once', async (t) => {
  const told: object[] = []
  let looks = 0
  const unreadable: ArmingCluster = {
    ...cluster(),
    readConfiguration: async (kind) => {
      if ((kind === VALIDATING) === looks % 2 > 0) await new Promise((resolve) => setTimeout(resolve, 5))
      throw new Error(`403 ${kind}`)
    },
  }
  const logger = { ...quiet, warn: (fields: object) => told.push(fields) }
  const arming = armingOf(unreadable, 'on', () => performance.now(), { logger })
  for (; looks < 4; looks++) await arming.reconcileSafely()
  t.strictSame(told, [{ problem: `403 ${VALIDATING}` }])
})

t.test('why a proof fails is told again when it is another reason', async (t) => {
  const told: object[] = []
  const answers = ['EOF of port 4001', 'EOF of port 4002', 'connection refused', undefined, undefined]
  let now = 0
  const logger = { ...quiet, warn: (fields: object) => told.push(fields) }
  const arming = armingOf({ ...cluster(), tryProbe: async () => answers.shift() }, 'on', () => now, {
    logger,
  })
  for (; now < 25_000; now += 5_000) await arming.reconcile()
  t.strictSame(
    told,
    ['EOF of port 4001', 'connection refused', 'stored without asking'].map((answer) => ({ answer })),
  )
})

t.test('a change is looked at soon, and what cannot be watched is looked at as before', async (t) => {
  const fake = cluster()
  const watched: { kind: string; changed: () => void }[] = []
  const watchConfiguration = (kind: string, _name: string, changed: () => void) => {
    watched.push({ kind, changed })
    return kind === VALIDATING ? new Promise<void>(() => undefined) : Promise.reject(new Error('403'))
  }
  const ended = new AbortController()
  const waits: string[] = []
  /** Waits of 500 ms end at once; longer ones only when they are aborted. */
  const wait = (milliseconds: number, signal: AbortSignal) => {
    waits.push(`${milliseconds}${signal.aborted ? ' cut short' : ''}`)
    if (milliseconds === 500 || signal.aborted) return Promise.resolve()
    return new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
  }
  const calm = async () => {
    for (let before = -1; before !== waits.length;) {
      before = waits.length
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  const arming = new Arming({ ...fake, watchConfiguration }, optionsOf(), () => 0, wait)
  const run = arming.run(ended.signal)
  await calm()
  t.strictSame(
    watched.map(({ kind }) => kind),
    [VALIDATING, MUTATING],
  )
  t.strictSame(waits, ['5000', '500', '4500'], 'one pause for the watch that failed, two between looks')
  fake.stored.delete(MUTATING)
  fake.applied.length = 0
  watched[0]?.changed()
  await calm()
  t.strictSame(fake.applied, [`${MUTATING} Ignore`])
  t.strictSame(waits.slice(3), ['500', '4500'])
  ended.abort()
  await run
  t.equal(fake.lease.lease?.holder, '')
})

t.test('a server that only answers reads the configurations, and writes nothing', async (t) => {
  const fake = cluster()
  const looked: number[] = []
  const webhook = armingOf(fake, 'on', () => 0, {
    writes: false,
    onRead: (all) => looked.push(all.filter((each) => each !== undefined).length),
  })
  await webhook.reconcile()
  t.strictSame([fake.applied, fake.lease.lease, webhook.state.leads], [[], undefined, false])
  await armingOf(fake, 'on', () => 0).reconcile()
  await webhook.reconcile()
  t.strictSame([looked, webhook.state.policy], [[0, 2], 'Fail'])
})

t.test('of two installations that are there, the one that came first writes', async (t) => {
  let now = 0
  const fake = cluster()
  const told: string[] = []
  const service = (namespace: string) => (path: string) => ({
    service: { namespace, name: 'vmcp-admission', port: 443, path },
    caBundle: 'CA',
  })
  const installation = (namespace: string) =>
    armingOf({ ...fake, lease: leaseStore(), tryProbe: fake.tryProbe }, 'on', () => now, {
      manager: `Lease ${namespace}/vmcp-admission`,
      clientConfig: service(namespace),
      logger: {
        ...quiet,
        warn: (fields: { problem?: string }) => {
          if (fields.problem !== undefined) told.push(fields.problem)
        },
      },
    })
  const [first, second] = [installation('a'), installation('b')]
  const look = async (arming: Arming) => {
    fake.applied.length = 0
    await arming.reconcileSafely()
    now += 5_000
    return fake.applied.length
  }
  await look(first)
  for (let i = 0; i < 3; i++)
    t.strictSame([await look(second), await look(first)], [0, 0], 'neither writes over the other')
  t.strictSame([first.state.contested, second.state.contested, second.state.errors], [false, true, 3])
  t.equal(told.length, 1, 'and that is told once')
  t.match(told[0], /are those of another installation \(Lease a\/vmcp-admission\), which is there/)

  fake.reaches = false
  t.equal(await look(second), 2, 'what no webhook answers for is taken over')
  t.equal(await look(first), 2, 'also by the other one, which sees no webhook answer')
  for (let i = 0; i < 3; i++)
    t.strictSame([await look(second), await look(first)], [0, 0], 'but once only: it is there if it is back')
  fake.reaches = true
  t.equal(await look(second), 0)
  t.equal(told.length, 2)
  fake.stored.clear()
  t.ok((await look(second)) > 0, 'once the other is uninstalled, this one writes')
  t.equal(second.state.contested, false)
})

t.test('a writer that never rests is told of once, and not answered at once for ever', async (t) => {
  const fake = cluster()
  const told: unknown[] = []
  const arming = armingOf(fake, 'on', () => 0, { logger: { ...quiet, warn: (fields) => told.push(fields) } })
  await arming.reconcile()
  for (let i = 0; i < 8; i++) {
    const configuration = structuredClone(fake.stored.get(VALIDATING)) as {
      metadata: object
      webhooks: object[]
    }
    configuration.metadata = { ...configuration.metadata, managedFields: [{ manager: 'argocd' }] }
    configuration.webhooks = configuration.webhooks.map((each) => ({ ...each, timeoutSeconds: 9 }))
    fake.stored.set(VALIDATING, configuration)
    await arming.reconcile()
    t.equal(arming.state.contested, i >= 4 - 1, `${i}`)
  }
  t.strictSame(told, [{}, { managers: ['argocd'] }], 'after armed')
  await arming.reconcile()
  await arming.reconcile()
  t.equal(arming.state.contested, false, 'it rests')
})

t.test('what another group has registered is taken over only where the kinds of our group are', async (t) => {
  const fake = cluster()
  const lease = leaseStore()
  await armingOf(fake, 'on', () => 0).reconcile()
  fake.applied.length = 0
  const answers = ['404 the server could not find the requested resource', 'denied: by another']
  const tryProbe = async () => answers.shift()
  const other = armingOf({ ...fake, lease, tryProbe }, 'on', () => 0, { group: 'vmcp.example' })
  await t.rejects(other.reconcile(), {
    message: `the configurations are for the API group ${DEFAULT_API_GROUP}, and vmcp.example has no MCPExternalAuthConfig here: set --api-group, or install the CRDs`,
  })
  t.strictSame([fake.applied, lease.lease], [[], undefined], 'and others may lead')
  await other.reconcile()
  t.strictSame(fake.applied, [`${VALIDATING} Fail`, `${MUTATING} Ignore`])
})

t.test('conditions on the entry that wants none are repaired', async (t) => {
  const fake = cluster()
  const arming = armingOf(fake, 'on', () => 0)
  await arming.reconcile()
  fake.applied.length = 0
  const webhooksOf = () => fake.stored.get(VALIDATING)?.webhooks as { matchConditions?: unknown[] }[]
  // The API server does not store empty lists.
  for (const webhook of webhooksOf())
    if (webhook.matchConditions?.length === 0) delete webhook.matchConditions
  await arming.reconcile()
  t.strictSame(fake.applied, [], 'nothing differs')
  for (const webhook of webhooksOf()) webhook.matchConditions ??= [{ name: 'never', expression: 'false' }]
  await arming.reconcile()
  t.strictSame(fake.applied, [`${VALIDATING} Fail`])
})

t.test('the probe has the labels that the selector of objects asks for', async (t) => {
  for (const [selector, expected] of [
    ['', {}],
    ['checked=yes', { checked: 'yes' }],
    ['checked', { checked: '' }],
    ['tier in (gold,silver),!untouched,team!=a', { tier: 'gold' }],
  ] as const) {
    const sent: object[] = []
    const fake = cluster()
    const recording = {
      ...fake,
      tryProbe: (nonce: string, labels: object) => {
        sent.push(labels)
        return fake.tryProbe(nonce)
      },
    }
    await armingOf(recording, 'on', () => 0, { objectSelector: parseLabelSelector(selector) }).reconcile()
    t.strictSame(sent, [expected], selector)
    t.equal(policy(fake), 'Fail')
  }
})

t.test('the CRDs of --local-cluster are known as ours: they make no error a warning', async (t) => {
  const stored = new Map<string, WebhookConfiguration>()
  const plurals = new Map(KINDS.map(({ plural }) => [`${plural}.${DEFAULT_API_GROUP}`, plural]))
  const fake: Pick<
    TemporaryCluster,
    'createDefinition' | 'readDefinition' | 'countResources' | 'deleteDefinition'
  > = {
    async createDefinition(definition) {
      const { name } = definition.metadata as { name: string }
      stored.set(plurals.get(name) ?? '', definition)
      return true
    },
    readDefinition: async (plural) => stored.get(plural),
    countResources: async () => 0,
    deleteDefinition: async (plural) => stored.delete(plural),
  }
  await installDefinitions(fake as TemporaryCluster, {
    definitionOf: (kind) => crd(kind, false, DEFAULT_API_GROUP),
    holder: 'process 1',
    own: new Set(),
    signal: AbortSignal.timeout(60_000),
  })
  t.equal(stored.size, KINDS.length)
  t.equal(releaseOf(stored.values(), DEFAULT_API_GROUP, 'the installed operator'), undefined)
  const leaving = (await fake.readDefinition('mcpgroups')) as { readonly metadata: object }
  const isLeaving = {
    ...fake,
    readDefinition: async (plural: string) =>
      plural === 'mcpgroups'
        ? { ...leaving, metadata: { ...leaving.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }
        : fake.readDefinition(plural),
  }
  const { removed } = await removeDefinitions(isLeaving)
  t.equal(removed.includes('mcpgroups'), false, 'one that is being removed is not removed again')
  t.equal(removed.length, KINDS.length - 1, 'the others are removed at the end')

  const installed = async (refusals: number) => {
    const created = new Set<unknown>()
    const restarted: typeof fake = {
      ...isLeaving,
      readDefinition: () => isLeaving.readDefinition('mcpgroups'),
      createDefinition: async (definition: WebhookConfiguration) => {
        if (refusals-- > 0) return false
        created.add(definition)
        return true
      },
    }
    await installDefinitions(restarted as TemporaryCluster, {
      definitionOf: (kind) => crd(kind, false, DEFAULT_API_GROUP),
      holder: 'process 2',
      own: new Set(),
      signal: AbortSignal.timeout(60_000),
    })
    return created.size
  }
  t.equal(await installed(2), KINDS.length, 'one that is being removed is created again')
  let clock = 0
  t.intercept(performance, 'now', { value: () => (clock += 9_000) })
  await t.rejects(installed(Infinity), /the CRD \w+ is being deleted/, 'unless it never goes')
})

t.test('what differs', async (t) => {
  for (const [wanted, stored, at] of [
    [{ a: 1 }, { a: 1, b: 2 }, undefined],
    [{ a: { b: [1, 2] } }, { a: { b: [1, 3] } }, 'a.b[1]'],
    [{ a: [1] }, { a: [1, 2] }, 'a'],
    [{ a: { namespaceSelector: {} } }, { a: { namespaceSelector: {} } }, undefined],
    [{ namespaceSelector: {} }, { namespaceSelector: { matchLabels: { a: 'b' } } }, 'namespaceSelector'],
    [{ a: { objectSelector: {} } }, { a: {} }, 'a.objectSelector'],
    [
      { namespaceSelector: { matchExpressions: [] } },
      { namespaceSelector: { matchExpressions: [], matchLabels: { a: 'b' } } },
      'namespaceSelector',
    ],
  ] as const)
    t.equal(drift(wanted, stored), at)
})
