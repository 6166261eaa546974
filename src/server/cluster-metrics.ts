import { Counter, Gauge, type Registry } from 'prom-client'
import type { Informers, InformerStatus } from '../cluster/index.ts'
import type { CurrentFindings } from './current-findings.ts'
import type { Release } from '../release/index.ts'
import type { ClusterState } from '../state/index.ts'
import type { ReadOutcome } from './live.ts'
import { measureCounter, measureGauge } from './measure.ts'

/** The most time series of current findings; more would burden Prometheus. */
const MOST_SERIES = 1_000
const STATES: readonly InformerStatus['state'][] = ['listing', 'watching', 'absent', 'forbidden', 'failing']

/**
 * Adds a gauge for the offset of this replica's clock from the API server's; `offset` is in milliseconds, undefined
 * until the API server has answered.
 */
export function measureClock(registry: Registry, offset: () => number | undefined): void {
  measureGauge(
    registry,
    'vmcp_admission_clock_offset_seconds',
    "By how many seconds the clock of this replica is ahead of the API server's (negative: behind), at the least.",
    () => {
      const milliseconds = offset()
      return milliseconds === undefined ? undefined : milliseconds / 1_000
    },
  )
}

/** Adds a gauge for the number of kinds of which the installed operator's CRD is known. */
export function measureRelease(registry: Registry, release: () => Release | undefined): void {
  measureGauge(
    registry,
    'vmcp_admission_installed_release_kinds',
    'Kinds whose CRD of the installed operator is known and goes before the specification.',
    () => release()?.schemas.size ?? 0,
  )
}

/** Adds the metrics of the cluster cache and of the current findings; returns the counter of live reads. */
export function measureCluster(
  registry: Registry,
  informers: Pick<Informers, 'statuses'>,
  { findings, state }: { readonly findings: CurrentFindings; readonly state: Pick<ClusterState, 'sizes'> },
): (outcome: ReadOutcome) => void {
  measureInformers(registry, informers)
  measureCache(registry, state)
  measureFindings(registry, findings)
  const reads = new Counter({
    name: 'vmcp_admission_live_reads_total',
    help: 'Objects read from the API server to confirm a verdict, by outcome (found, missing, failed, limited).',
    labelNames: ['outcome'],
    registers: [registry],
  })
  return (outcome) => reads.inc({ outcome })
}

function measureInformers(registry: Registry, informers: Pick<Informers, 'statuses'>): void {
  const registers = [registry]
  const labelNames = ['kind', 'namespace'] as const
  const place = ({ kind, namespace = '' }: InformerStatus) => ({ kind, namespace })
  new Gauge({
    name: 'vmcp_admission_cluster_cache_age_seconds',
    help: 'Seconds since the API server last confirmed what the cache holds, by kind and watched namespace.',
    labelNames,
    registers,
    collect() {
      for (const status of informers.statuses()) this.set(place(status), status.age)
    },
  })
  new Gauge({
    name: 'vmcp_admission_cluster_cache_state',
    help: '1 for the state of each kind: listing, watching, absent (no CRD), forbidden or failing.',
    labelNames: [...labelNames, 'state'],
    registers,
    collect() {
      for (const status of informers.statuses()) {
        for (const state of STATES) this.set({ ...place(status), state }, state === status.state ? 1 : 0)
      }
    },
  })
  new Counter({
    name: 'vmcp_admission_cluster_cache_lists_total',
    help: 'Complete lists of a kind; after the first one only where a watch cannot go on.',
    labelNames,
    registers,
    collect() {
      this.reset()
      for (const status of informers.statuses()) this.inc(place(status), status.lists)
    },
  })
  new Counter({
    name: 'vmcp_admission_cluster_cache_failures_total',
    help: 'Lists and watches that failed: an error, a broken connection or an expired resourceVersion.',
    labelNames,
    registers,
    collect() {
      this.reset()
      for (const status of informers.statuses()) this.inc(place(status), status.failures)
    },
  })
}

function measureCache(registry: Registry, state: Pick<ClusterState, 'sizes'>): void {
  measureGauge(
    registry,
    'vmcp_admission_cluster_cache_bytes',
    'Memory that the cached objects take, as it is estimated.',
    () => state.sizes.bytes,
  )
  measureGauge(
    registry,
    'vmcp_admission_cluster_cache_partial_objects',
    'Objects that are too large to be cached whole: they are read from the API server when a verdict needs them.',
    () => state.sizes.partial,
  )
  measureCounter(
    registry,
    'vmcp_admission_cluster_cache_left_out_objects_total',
    'How often an object was left out because the cache was full (--cache-memory).',
    () => state.sizes.leftOut,
  )
}

function measureFindings(registry: Registry, findings: CurrentFindings): void {
  new Gauge({
    name: 'vmcp_admission_current_findings',
    help: `1 for each finding in an object as it is stored; at most ${MOST_SERIES} series.`,
    labelNames: ['kind', 'namespace', 'name', 'id', 'severity'],
    registers: [registry],
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
  measureGauge(
    registry,
    'vmcp_admission_current_findings_hidden',
    'Current findings without a series of their own, because there are too many.',
    () => Math.max(0, findings.count - MOST_SERIES),
  )
  measureGauge(
    registry,
    'vmcp_admission_current_findings_pending_namespaces',
    'Namespaces that changed and are still to be checked again.',
    () => findings.waiting,
  )
}
