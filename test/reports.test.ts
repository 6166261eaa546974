import t from 'tap'
import { StatusError } from '../src/cluster/index.ts'
import { DEFAULT_API_GROUP, kindNamed } from '../src/kinds/index.ts'
import type { Kind } from '../src/kinds/kind.ts'
import { mcpGroup } from '../src/kinds/mcp-group/index.ts'
import { backend, configWith, group } from '../src/relations/examples.ts'
import { OPEN_REPORTS, POLICY_REPORTS, type ReportApi } from '../src/reports/index.ts'
import type { Other } from '../src/rule/rule.ts'
import { CurrentFindings } from '../src/server/current-findings.ts'
import { ReportKeeper } from '../src/server/report-keeper.ts'
import { ClusterState } from '../src/state/cluster-state.ts'
import { judgeOf, resourceOf } from './support/review.ts'

interface Report {
  readonly metadata: {
    readonly name: string
    readonly namespace: string
    readonly annotations: Readonly<Record<string, string>>
    readonly ownerReferences: readonly { readonly uid: string }[]
  }
  readonly summary: Readonly<Record<string, number>>
  readonly results: readonly { readonly result: string; readonly message: string }[]
}

const kindOf = ({ kind }: { readonly kind: string }): Kind => kindNamed.get(kind) ?? mcpGroup
const aws = (name: string, region: string): Other =>
  configWith(name, 'awsSts', { region, fallbackRoleArn: 'arn:aws:iam::123456789012:role/reader' })
const REGION = (region: string) =>
  `spec.awsSts.region: Invalid value: "${region}": must be an AWS region, such as 'eu-central-1' (schema-pattern)`
const [WRONG, RIGHT] = [aws('aws', 'europe'), aws('aws', 'eu-central-1')]

/** A fake cluster with both report APIs, its cache, and report writers that use the clock of the test. */
function world({
  served = [OPEN_REPORTS, POLICY_REPORTS],
  namespaces = [] as string[],
  memory = Infinity,
} = {}) {
  const state = new ClusterState(
    { group: DEFAULT_API_GROUP, knows: (kind) => kindNamed.has(kind) },
    { all: memory, object: Infinity },
  )
  const findings = new CurrentFindings(state, () => judgeOf())
  const objects = new Map<string, object>()
  const reports = new Map<string, Report>()
  const requests: string[] = []
  const logged: object[] = []
  const counted: string[] = []
  let [version, now] = [0, 0]
  let lease: { holder: string; resourceVersion: string } | undefined
  let refusal: ((request: string) => number | undefined) | undefined
  const keyOf = (...parts: readonly string[]) => parts.join('/')
  const ask = (request: string) => {
    requests.push(request)
    const status = refusal?.(request)
    if (status !== undefined) throw new StatusError(status, `no ${request}: "hush"`)
  }
  const isServed = (api: ReportApi) => served.includes(api)
  const cluster = {
    lease: {
      read: async () => lease && { ...lease, renewed: '', seconds: 15, transitions: 0 },
      create: async ({ holder }: { readonly holder: string }) => {
        lease = { holder, resourceVersion: String(++version) }
        return true
      },
      update: async ({ holder }: { readonly holder: string }) => {
        lease = { holder, resourceVersion: String(++version) }
        return true
      },
    },
    list: async (api: ReportApi, namespace: string | undefined, found: (report: never) => void) => {
      ask(keyOf('list', api.plural, ...(namespace === undefined ? [] : [namespace])))
      for (const [key, report] of reports) {
        const [plural, place] = key.split('/')
        if (plural === api.plural && (namespace ?? place) === place) found(structuredClone(report) as never)
      }
      return isServed(api)
    },
    apply: async ({ plural }: ReportApi, namespace: string, name: string, report: object) => {
      ask(keyOf('apply', plural, namespace, name))
      reports.set(keyOf(plural, namespace, name), structuredClone(report) as Report)
    },
    remove: async ({ plural }: ReportApi, namespace: string, name: string) => {
      ask(keyOf('remove', plural, namespace, name))
      return reports.delete(keyOf(plural, namespace, name))
    },
    read: async ({ kind }: Kind, namespace: string, name: string) => {
      ask(keyOf('read', kind, namespace, name))
      return objects.get(keyOf(kind, namespace, name))
    },
  }
  const newKeeper = () =>
    new ReportKeeper(
      cluster,
      {
        group: DEFAULT_API_GROUP,
        namespaces,
        isReady: () => findings.waiting === 0,
        lacksObjectsIn: (namespace) => findings.lacksObjectsIn(namespace),
        judge: (kind, object) => findings.findingsIn(kind, object),
        count: (outcome) => counted.push(outcome),
        logger: {
          info: (fields: object) => void logged.push(fields),
          warn: (fields: object) => void logged.push(fields),
        } as never,
      },
      () => now,
    )
  const keepers = [newKeeper()]
  findings.onJudged((object, found) => {
    for (const keeper of keepers) keeper.put(object, found)
  })
  const put = ({ kind, metadata, spec }: Other, namespace = 'tools', uid = metadata.name) => {
    const meta = { namespace, uid, resourceVersion: String(++version), ...metadata }
    const object = resourceOf(kind, spec, meta)
    objects.set(keyOf(kind, namespace, metadata.name), object)
    findings.put(kindOf({ kind }), object)
  }
  const remove = ({ kind, metadata: { name } }: Other, namespace = 'tools') => {
    objects.delete(keyOf(kind, namespace, name))
    findings.remove(kindOf({ kind }), namespace, name)
  }
  /**
   * Judges all changes; then one writer makes a pass, 5 s after the previous one. Returns the requests of that pass.
   */
  const pass = async (keeper = keepers[0]) => {
    do findings.startRound()
    while (findings.work(1_000))
    now += 5_000
    requests.length = 0
    await keeper?.pass(new AbortController().signal)
    return [...requests]
  }
  return {
    ...{ put, remove, pass, state, findings, reports, objects, logged, counted, keepers, newKeeper, served },
    refuse: (by: typeof refusal) => (refusal = by),
    sleep: (milliseconds: number) => (now += milliseconds),
    lose: () => (lease = { holder: 'other', resourceVersion: String(++version) }),
  }
}

const LISTS = ['list/reports', 'list/policyreports']
const READ = 'read/MCPExternalAuthConfig/tools/aws'
const APPLY = 'apply/reports/tools/mcpexternalauthconfig-aws'
const REMOVE = 'remove/reports/tools/mcpexternalauthconfig-aws'
const KEY = 'reports/tools/mcpexternalauthconfig-aws'

t.test('an object with findings has a report, until it is mended or goes', async (t) => {
  const { put, remove, pass, reports, counted, keepers, logged } = world()
  put(WRONG)
  put(aws('fine', 'eu-central-1'))
  t.strictSame(await pass(), [...LISTS, READ, APPLY])
  t.match(reports.get(KEY), {
    apiVersion: 'openreports.io/v1alpha1',
    kind: 'Report',
    metadata: {
      labels: { 'app.kubernetes.io/managed-by': 'vmcp-admission' },
      ownerReferences: [
        {
          apiVersion: `${DEFAULT_API_GROUP}/v1beta1`,
          kind: 'MCPExternalAuthConfig',
          name: 'aws',
          uid: 'aws',
        },
      ],
    },
    source: 'vmcp-admission',
    scope: { kind: 'MCPExternalAuthConfig', namespace: 'tools', name: 'aws' },
    summary: { pass: 0, fail: 1, warn: 0, error: 0, skip: 0 },
    results: [{ result: 'fail', severity: 'high', policy: 'schema-pattern', message: REGION('europe') }],
  })
  t.equal(keepers[0]?.count, 1)
  t.strictSame(await pass(), [], 'nothing has changed')
  put({ ...WRONG, metadata: { name: 'aws', labels: { a: 'b' } } as Other['metadata'] })
  t.strictSame(await pass(), [], 'nor have its findings')
  put(aws('aws', 'asia'))
  t.strictSame(await pass(), [READ, APPLY], 'another value')
  t.equal(reports.get(KEY)?.results[0]?.message, REGION('asia'))
  put(RIGHT)
  t.strictSame(await pass(), [READ, REMOVE], 'mended')
  put(WRONG)
  await pass()
  remove(WRONG)
  t.strictSame(await pass(), [READ, REMOVE], 'deleted')
  t.equal(reports.size, 0)
  t.equal(keepers[0]?.count, 0)
  put(WRONG)
  await pass()
  remove(WRONG)
  put(WRONG, 'tools', 'another')
  t.strictSame(await pass(), [READ, APPLY], 'deleted and created again')
  t.equal(reports.get(KEY)?.metadata.ownerReferences[0]?.uid, 'another')
  t.strictSame(counted, ['written', 'written', 'removed', 'written', 'removed', 'written', 'written'])
  t.strictSame(logged, [{ api: 'openreports.io/v1alpha1' }])
})

t.test('which API is used', async (t) => {
  const rows: [served: ReportApi[], stored: string[]][] = [
    [[OPEN_REPORTS, POLICY_REPORTS], ['reports']],
    [[OPEN_REPORTS], ['reports']],
    [[POLICY_REPORTS], ['policyreports']],
    [[], []],
  ]
  for (const [served, stored] of rows) {
    const { put, pass, reports, logged } = world({ served })
    put(WRONG)
    t.strictSame((await pass()).slice(0, 2), LISTS)
    t.strictSame(
      [...reports.keys()].map((key) => key.split('/')[0]),
      stored,
    )
    t.strictSame(await pass(), [], 'nothing more, whether there is an API or none')
    t.equal(logged.length, 1)
  }
  const { put, pass, served, reports, sleep } = world({ served: [] })
  put(WRONG)
  await pass()
  sleep(300_000)
  t.strictSame(await pass(), LISTS, 'none after five minutes')
  served.push(POLICY_REPORTS)
  sleep(300_000)
  await pass()
  t.strictSame([...reports.keys()], ['policyreports/tools/mcpexternalauthconfig-aws'])
  t.notOk('source' in (reports.values().next().value ?? {}), 'a PolicyReport has no source')
  served.unshift(OPEN_REPORTS)
  sleep(300_000)
  t.strictSame(await pass(), [...LISTS, `remove/policy${KEY}`, READ, APPLY], 'the other API is preferred')
  t.strictSame([...reports.keys()], [KEY])
})

t.test('another replica goes on where one ends', async (t) => {
  const { put, remove, pass, keepers, newKeeper, reports, lose, objects, findings } = world()
  put(WRONG)
  put(aws('second', 'europe'))
  await pass()
  reports.set('reports/tools/strange', {
    metadata: { name: 'strange', namespace: 'tools', annotations: {}, ownerReferences: [] },
    summary: {},
    results: [],
  })
  const other = newKeeper()
  keepers.push(other)
  findings.recheck(undefined)
  t.strictSame(await pass(other), [], 'the first one holds the Lease')
  t.equal(other.count, undefined)
  lose()
  t.strictSame(await pass(), [], 'it is lost')
  t.equal(keepers[0]?.count, undefined)
  for (let waited = 0; waited < 4; waited++) t.strictSame(await pass(other), [])
  t.strictSame(await pass(other), LISTS, 'what is stored is right')
  t.equal(other.count, 2)
  t.ok(reports.has('reports/tools/strange'), 'a report that somebody applied stays')
  remove(aws('second', 'europe'))
  await pass(other)
  t.equal(reports.size, 2)
  // The object is stored but not in the cache (because it is full or not yet filled), so its report must stay.
  const kept = objects.get('MCPExternalAuthConfig/tools/aws') ?? {}
  remove(WRONG)
  objects.set('MCPExternalAuthConfig/tools/aws', kept)
  t.strictSame(await pass(other), [READ], 'its report stays')
  t.strictSame(await pass(other), [], 'and it is not read again')
})

t.test('what the API server refuses', async (t) => {
  const rows: [what: string, at: string, status: number, retriedAfter: number][] = [
    ['the lists are forbidden', 'list', 403, 30_000],
    ['the read is forbidden', 'read', 403, 300_000],
    ['the write is forbidden', 'apply', 403, 300_000],
    ['a conflict', 'apply', 409, 300_000],
    ['it is too large', 'apply', 413, 300_000],
    ['a policy refuses it', 'apply', 422, 300_000],
    ['the CRD has gone', 'apply', 404, 30_000],
    ['the API server is busy', 'apply', 429, 30_000],
    ['another webhook fails', 'apply', 500, 300_000],
    ['its name is too long for a request', 'read', 431, 300_000],
    ['the API server is away', 'apply', 503, 30_000],
    ['the API server fails', 'list', 500, 30_000],
  ]
  for (const [what, at, status, retriedAfter] of rows) {
    const { put, pass, refuse, counted, logged, reports, sleep } = world()
    const concernsOne = retriedAfter === 300_000
    refuse((request) => (request.startsWith(at) ? status : undefined))
    put(WRONG)
    await pass()
    t.strictSame(counted, ['failed'], what)
    const said = JSON.stringify(logged)
    t.match(said, String(status), what)
    if (at !== 'list') t.notMatch(said, 'hush', `${what}: without its text`)
    t.strictSame(await pass(), [], `${what}: not at once again`)
    sleep(retriedAfter)
    await pass()
    t.strictSame(counted, ['failed', 'failed'], what)
    t.ok(JSON.stringify(logged).split(`${status}`).length <= (concernsOne ? 3 : 2), 'logged once')
    refuse(undefined)
    sleep(retriedAfter)
    await pass()
    t.ok(reports.has(KEY), `${what}: written later`)
  }
  const { put, pass, refuse, reports, sleep } = world()
  put(WRONG)
  put(aws('second', 'europe'))
  refuse((request) => (request === APPLY ? 422 : undefined))
  await pass()
  t.strictSame([...reports.keys()], ['reports/tools/mcpexternalauthconfig-second'], 'others are written')
  refuse((request) => (request.startsWith('remove') ? 403 : undefined))
  put(RIGHT)
  put(aws('second', 'eu-central-1'))
  await pass()
  t.equal(reports.size, 1, 'not removed')
  refuse(undefined)
  sleep(300_000)
  await pass()
  t.equal(reports.size, 0, 'removed later')
})

t.test('while the cache lacks objects of a namespace, its reports stay as they are', async (t) => {
  const { put, pass, state, findings, reports } = world({ memory: 30_000 })
  for (const other of [group(), backend('jira', 'lost'), WRONG]) put(other)
  await pass()
  const key = 'reports/tools/mcpserver-jira'
  const before = reports.get(key)
  t.match(before?.results, [{ message: /no MCPExternalAuthConfig of this name/ }])
  for (let i = 0; !state.isFull; i++) put(aws(`fine-${i}`, 'eu-central-1'))
  put(RIGHT)
  t.strictSame(await pass(), [], 'what is missing may be what was left out')
  t.strictSame([...reports.keys()].toSorted(), [KEY, key])
  state.settle('MCPExternalAuthConfig', undefined, state.sizes.leftOut)
  findings.recheck(undefined)
  t.strictSame(await pass(), [READ, REMOVE], 'when there is room, what has changed is written')
  t.strictSame([...reports], [[key, before]])
})

t.test('a change while the report of the object is written', async (t) => {
  const rows: [what: string, first: Other, at: string, change: Other, after: string | undefined][] = [
    ['mended during the read', WRONG, READ, RIGHT, undefined],
    ['mended during the write', WRONG, APPLY, RIGHT, undefined],
    ['another value', WRONG, APPLY, aws('aws', 'asia'), REGION('asia')],
    ['wrong again during the removal', RIGHT, REMOVE, WRONG, REGION('europe')],
  ]
  for (const [what, first, at, change, after] of rows) {
    const { put, pass, refuse, reports, findings } = world()
    if (first === RIGHT) {
      put(WRONG)
      await pass()
    }
    put(first)
    let isLeft = true
    refuse((request) => {
      if (request !== at || !isLeft) return undefined
      isLeft = false
      put(change)
      do findings.startRound()
      while (findings.work(1_000))
      return undefined
    })
    await pass()
    t.notOk(isLeft, what)
    await pass()
    t.equal(reports.get(KEY)?.results[0]?.message, after, what)
  }
})

t.test('objects that keep changing make no other one wait', async (t) => {
  const { put, pass, reports } = world()
  for (let round = 0; round < 4; round++) {
    for (let i = 0; i < 60; i++) put(aws(`busy-${i}`, `europe-${round}`))
    if (round === 1) put(WRONG)
    await pass()
  }
  t.ok(reports.has(KEY))
})

t.test('reports that somebody else made to look like ours', async (t) => {
  const { put, pass, reports } = world()
  const forged = (name: string, scope: object, digest: string, uid = 'a') =>
    reports.set(`reports/tools/${name}`, {
      ...{ metadata: { name, namespace: 'tools', annotations: { 'vmcp-admission/findings': digest } } },
      scope,
      summary: {},
      results: [],
      ...{ ownerReferences: [{ uid }] },
    } as never)
  const digest = 'd'.repeat(43)
  forged('mcpgroup-a', { kind: 'MCPGroup', name: 'a' }, 'x'.repeat(1_000_000))
  forged('pod-a', { kind: 'Pod', name: 'a' }, digest)
  forged('mcpgroup-b', { kind: 'MCPGroup', name: 'b'.repeat(1_000_000) }, digest)
  forged('mcpgroup-c', { kind: 'MCPGroup', name: 'c' }, digest)
  put(WRONG)
  await pass()
  t.strictSame([...reports.keys()], [KEY], 'they are removed, and those of objects stay')
})

t.test('bounds', async (t) => {
  const { put, pass, reports } = world({ namespaces: ['tools', 'shop'] })
  for (let i = 0; i < 70; i++) put(aws(`aws-${i}`, 'europe'))
  const first = await pass()
  const lists = LISTS.flatMap((list) => [`${list}/tools`, `${list}/shop`])
  t.strictSame(first.slice(0, 4), lists, 'the watched namespaces only')
  t.equal(first.length, 4 + 2 * 50, 'objects in a pass')
  t.equal((await pass()).length, 2 * 20)
  t.equal(reports.size, 70)
  const large = aws('large', 'eu-central-1')
  const roleMappings = Array.from({ length: 900 }, (_, i) => ({
    claim: 'a'.repeat(50),
    roleArn: `role-${i}`,
  }))
  put({ ...large, spec: { type: 'awsSts', awsSts: { region: 'eu-central-1', roleMappings } } })
  await pass()
  const report = reports.get('reports/tools/mcpexternalauthconfig-large')
  t.equal(report?.summary.fail, 900, 'the summary counts all')
  t.ok((report?.results.length ?? 0) > 100 && Buffer.byteLength(JSON.stringify(report)) < 70_000)
  t.strictSame(await pass(), [])
})
