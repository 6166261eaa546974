import { Counter, Gauge, type Registry } from 'prom-client'
import type { Informers, InformerStatus } from '../cluster/index.ts'
import type { CurrentFindings } from '../review/current-findings.ts'
import type { World } from '../review/world.ts'
import type { ReadOutcome } from './live.ts'

/** More series than this are a burden for whoever collects them. */
const MOST_SERIES = 1_000
const STATES: readonly InformerStatus['state'][] = ['listing', 'watching', 'absent', 'forbidden', 'failing']

/** A gauge of the clock; without a value until the API server has answered. */
export function measureClock(registry: Registry, offset: () => number | undefined): void {
  new Gauge({
    name: 'vmcp_admission_clock_offset_seconds',
    help: "By how many seconds the clock of this replica is ahead of the API server's (negative: behind), at the least.",
    registers: [registry],
    collect() {
      const milliseconds = offset()
      if (milliseconds !== undefined) this.set(milliseconds / 1_000)
    },
  })
}

/** The metrics of the view of the cluster; answers with the counter of live reads. */
export function measureCluster(
  registry: Registry,
  informers: Pick<Informers, 'statuses'>,
  { findings, world }: { readonly findings: CurrentFindings; readonly world: Pick<World, 'sizes'> },
): (outcome: ReadOutcome) => void {
  const registers = [registry]
  const place = ({ kind, namespace = '' }: InformerStatus) => ({ kind, namespace })
  new Gauge({
    name: 'vmcp_admission_view_age_seconds',
    help: 'Seconds since the API server last proved what the view holds, by kind and watched namespace.',
    labelNames: ['kind', 'namespace'],
    registers,
    collect() {
      for (const state of informers.statuses()) this.set(place(state), state.age)
    },
  })
  new Gauge({
    name: 'vmcp_admission_view_state',
    help: '1 for the state of each kind: listing, watching, absent (no CRD), forbidden or failing.',
    labelNames: ['kind', 'namespace', 'state'],
    registers,
    collect() {
      for (const state of informers.statuses()) {
        for (const each of STATES) this.set({ ...place(state), state: each }, each === state.state ? 1 : 0)
      }
    },
  })
  new Gauge({
    name: 'vmcp_admission_view_restarts',
    help: 'How often a kind was listed again out of turn: after an error, silence, or an expired version.',
    labelNames: ['kind', 'namespace'],
    registers,
    collect() {
      for (const state of informers.statuses()) this.set(place(state), state.failures)
    },
  })
  new Gauge({
    name: 'vmcp_admission_standing_findings',
    help: `1 for each thing that is found in an object as it is stored; at most ${MOST_SERIES} series.`,
    labelNames: ['kind', 'namespace', 'name', 'id', 'severity'],
    registers,
    collect() {
      this.reset()
      let shown = 0
      for (const finding of findings.findings()) {
        if (shown === MOST_SERIES) break
        shown += 1
        this.set({ ...finding }, 1)
      }
    },
  })
  new Gauge({
    name: 'vmcp_admission_standing_findings_hidden',
    help: 'Standing findings that have no series of their own, because there are too many.',
    registers,
    collect() {
      this.set(Math.max(0, findings.count - MOST_SERIES))
    },
  })
  new Gauge({
    name: 'vmcp_admission_standing_waiting',
    help: 'Objects that changed, or of which others did, and that are still to be judged again.',
    registers,
    collect() {
      this.set(findings.waiting)
    },
  })
  const cache = (name: string, help: string, value: () => number) =>
    new Gauge({
      name: `vmcp_admission_cache_${name}`,
      help,
      registers,
      collect() {
        this.set(value())
      },
    })
  cache('bytes', 'Memory that the kept objects take, as it is estimated.', () => world.sizes.bytes)
  cache(
    'partial_objects',
    'Objects that are too large to be kept whole: verdicts about them rest on live reads.',
    () => world.sizes.partial,
  )
  cache(
    'left_out',
    'How often an object was not kept, because the cache was full (--cache-memory).',
    () => world.sizes.leftOut,
  )
  const reads = new Counter({
    name: 'vmcp_admission_live_reads_total',
    help: 'Objects read from the API server to confirm a verdict, by outcome (found, missing, failed, limited).',
    labelNames: ['outcome'],
    registers,
  })
  return (outcome) => reads.inc({ outcome })
}
