import { Registry } from 'prom-client'
import t from 'tap'
import type { InformerStatus } from '../src/cluster/index.ts'
import { backend } from '../src/relations/examples.ts'
import { DEFAULT_API_GROUP } from '../src/kinds/index.ts'
import { mcpServer } from '../src/kinds/mcp-server/index.ts'
import { CurrentFindings } from '../src/server/current-findings.ts'
import { ClusterState } from '../src/state/cluster-state.ts'
import { measureClock, measureCluster } from '../src/server/cluster-metrics.ts'
import { createMetrics } from '../src/server/metrics.ts'
import { judgeOf, resourceOf } from './support/review.ts'

t.test('a thousand current findings have a series of their own, the others are counted', async (t) => {
  const state = new ClusterState({ group: DEFAULT_API_GROUP, knows: () => true })
  const current = new CurrentFindings(state, () => judgeOf())
  const registry = new Registry()
  const age = { value: 1 }
  const status: InformerStatus = {
    kind: 'MCPServer',
    namespace: undefined,
    state: 'watching',
    reason: undefined,
    synced: true,
    lists: 1,
    failures: 0,
    get age() {
      return age.value
    },
  }
  measureCluster(registry, { statuses: () => [status] }, { findings: current, state })
  const series = async (name: string) => (await registry.getSingleMetric(name)?.get())?.values ?? []
  const hidden = async () => (await series('vmcp_admission_current_findings_hidden'))[0]?.value
  const put = (i: number) => {
    const { kind, metadata, spec } = backend(`server-${i}`)
    const place = { ...metadata, namespace: 'default', resourceVersion: '1' }
    current.put(mcpServer, resourceOf(kind, { image: 'a', ...(spec as object) }, place))
  }
  const judgeAll = () => {
    current.startRound()
    while (current.work(100));
  }
  for (let i = 0; i < 1_000; i++) put(i)
  judgeAll()
  t.equal((await series('vmcp_admission_current_findings')).length, 1_000)
  t.equal(await hidden(), 0)
  put(1_000)
  judgeAll()
  t.equal((await series('vmcp_admission_current_findings')).length, 1_000)
  t.equal(await hidden(), 1)
  for (age.value of [20, 1]) {
    const [found] = await series('vmcp_admission_cluster_cache_age_seconds')
    t.match(found, { value: age.value, labels: { kind: 'MCPServer' } })
  }
})

t.test('counters and nothing else end in _total, and a probe has no sample before the first', async (t) => {
  const metrics = createMetrics()
  const arming = { leads: true, policy: undefined, contested: false, repairs: 2, errors: 3 } as const
  let proved: boolean | undefined
  metrics.log(() => 4)
  metrics.bodies({ bytes: 5, displaced: 6 })
  metrics.serving(() => ({ expiry: { leaf: 1, ca: 2, bundle: 3 }, rotations: 7, errors: 8 }))
  metrics.arming(() => ({ ...arming, proved }))
  measureClock(metrics.registry, () => undefined)
  const state = new ClusterState({ group: DEFAULT_API_GROUP, knows: () => true })
  const findings = new CurrentFindings(state, () => judgeOf())
  measureCluster(metrics.registry, { statuses: () => [] }, { findings, state })
  const own = (await metrics.registry.getMetricsAsJSON()).filter(({ name }) => name.startsWith('vmcp_'))
  t.ok(own.length > 25)
  for (const { name, type } of own) t.equal(name.endsWith('_total'), String(type) === 'counter', name)
  const samples = async (name: string) =>
    (await metrics.registry.metrics()).split('\n').filter((line) => line.startsWith(`vmcp_admission_${name}`))
  t.strictSame(await samples('clock_offset_seconds'), [])
  for (const [now, shown] of [
    [undefined, []],
    [true, ['vmcp_admission_probe_success 1']],
    [false, ['vmcp_admission_probe_success 0']],
    [undefined, []],
  ] as const) {
    proved = now
    t.strictSame(await samples('probe_success'), shown)
  }
  t.strictSame(await samples('log_lines'), ['vmcp_admission_log_lines_dropped_total 4'])
  t.strictSame(await samples('certificate_rotations'), ['vmcp_admission_certificate_rotations_total 7'])
})
