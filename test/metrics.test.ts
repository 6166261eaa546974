import { Registry } from 'prom-client'
import t from 'tap'
import type { InformerStatus } from '../src/cluster/index.ts'
import { backend } from '../src/kinds/between/examples.ts'
import { DEFAULT_API_GROUP } from '../src/kinds/index.ts'
import { mcpServer } from '../src/kinds/mcp-server/index.ts'
import { DEFAULT_SETTINGS } from '../src/review/settings.ts'
import { CurrentFindings } from '../src/review/current-findings.ts'
import { World } from '../src/review/world.ts'
import { measureCluster } from '../src/server/cluster-metrics.ts'
import { resourceOf } from './support/review.ts'

t.test('a thousand standing findings have a series of their own, the others are counted', async (t) => {
  const world = new World({ group: DEFAULT_API_GROUP, knows: () => true })
  const current = new CurrentFindings(world, DEFAULT_SETTINGS)
  const registry = new Registry()
  const age = { value: 1 }
  const state: InformerStatus = {
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
  measureCluster(registry, { statuses: () => [state] }, { findings: current, world })
  const series = async (name: string) => (await registry.getSingleMetric(name)?.get())?.values ?? []
  const hidden = async () => (await series('vmcp_admission_standing_findings_hidden'))[0]?.value
  const put = (i: number) => {
    const { kind, metadata, spec } = backend(`server-${i}`)
    const place = { ...metadata, namespace: 'default', resourceVersion: '1' }
    current.put(mcpServer, resourceOf(kind, spec, place))
    current.startRound()
    while (current.work(100));
  }
  for (let i = 0; i < 1_000; i++) put(i)
  t.equal((await series('vmcp_admission_standing_findings')).length, 1_000)
  t.equal(await hidden(), 0)
  put(1_000)
  t.equal((await series('vmcp_admission_standing_findings')).length, 1_000)
  t.equal(await hidden(), 1)
  for (age.value of [20, 1]) {
    const [found] = await series('vmcp_admission_view_age_seconds')
    t.match(found, { value: age.value, labels: { kind: 'MCPServer' } })
  }
})
