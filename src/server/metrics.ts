import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { ArmingState } from '../arming/index.ts'
import { kindNamed } from '../kinds/index.ts'
import { type Verdict, writtenIn } from '../engine/index.ts'
import type { Review } from './admission-review.ts'
import type { Bodies } from './bodies.ts'
import type { ConfigurationFileState } from './configuration-file.ts'
import { measureCounter, measureGauge } from './measure.ts'
import type { ServingState } from './serving.ts'

interface Labels {
  readonly webhook: string
  readonly kind: string
  readonly operation: string
  readonly verdict: string
}

const WEBHOOKS = ['validate', 'mutate'] as const
type Webhook = (typeof WEBHOOKS)[number]
const BATCH = 256

export type Metrics = ReturnType<typeof createMetrics>

/** Creates the metrics of the server in a registry of their own; all names begin with `vmcp_admission_`. */
export function createMetrics() {
  const registry = new Registry()
  const registers = [registry]
  const counted = new Map<string, { readonly labels: Labels; count: number }>()
  new Counter({
    name: 'vmcp_admission_reviews_total',
    help: 'Reviews answered, by webhook, kind, operation and verdict (admitted, warned, denied, patched).',
    labelNames: ['webhook', 'kind', 'operation', 'verdict'],
    registers,
    // Reviews are counted in a map and added to the counter at each scrape: looking up the labels in the counter takes
    // longer than running a rule.
    collect() {
      for (const { labels, count } of counted.values()) this.inc(labels, count)
      counted.clear()
    },
  })
  const findings = new Counter({
    name: 'vmcp_admission_findings_total',
    help: 'Findings in reviews that were not dry runs, by id and severity.',
    labelNames: ['id', 'severity'],
    registers,
  })
  const exempted = new Counter({
    name: 'vmcp_admission_exempted_findings_total',
    help: 'Errors that a severity setting made a warning or dropped, by id.',
    labelNames: ['id'],
    registers,
  })
  const ignored = new Counter({
    name: 'vmcp_admission_ignored_findings_total',
    help: 'Findings that the configuration file or an annotation ignores, by id and by which of the two.',
    labelNames: ['id', 'by'],
    registers,
  })
  const failures = new Counter({
    name: 'vmcp_admission_rule_failures_total',
    help: 'Rules that failed on a resource, by id; a failure never denies.',
    labelNames: ['id'],
    registers,
  })
  const refused = new Counter({
    name: 'vmcp_admission_refused_requests_total',
    help: 'Requests that were not reviews, by HTTP status.',
    labelNames: ['status'],
    registers,
  })
  const duration = new Histogram({
    name: 'vmcp_admission_review_duration_seconds',
    help: 'Time from the last byte of the body to the answer that is handed to the connection, by webhook.',
    labelNames: ['webhook'],
    buckets: [0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1],
    registers,
    collect: () => WEBHOOKS.forEach(observeAll),
  })
  /** Seconds that reviews took, for the histogram: it is several times faster to add them in batches. */
  const times: Record<Webhook, number[]> = { validate: [], mutate: [] }
  const observeAll = (webhook: Webhook) => {
    for (const seconds of times[webhook].splice(0)) duration.observe({ webhook }, seconds)
  }
  const shed = new Counter({
    name: 'vmcp_admission_shed_reviews_total',
    help: 'Reviews refused unjudged, because too many waited for the API server.',
    registers,
  })
  const uncaught = new Counter({
    name: 'vmcp_admission_uncaught_errors_total',
    help: 'Errors that no code caught; the process shuts down after the first.',
    registers,
  })
  return {
    registry,
    reviewed(webhook: Webhook, { submission }: Review, verdict: string, seconds: number) {
      const kind = kindNamed.has(submission.kind) ? submission.kind : 'other'
      const { operation } = submission
      const key = `${webhook} ${kind} ${operation} ${verdict}`
      const row = counted.get(key)
      if (row === undefined) counted.set(key, { labels: { webhook, kind, operation, verdict }, count: 1 })
      else row.count += 1
      if (times[webhook].push(seconds) === BATCH) observeAll(webhook)
    },
    found({ errors, warnings, exempted: ids, ignored: left, failures: failed }: Verdict, dryRun: boolean) {
      for (const { id } of failed) failures.inc({ id })
      if (dryRun) return
      for (const { id, severity } of errors) findings.inc({ id, severity })
      for (const { id, severity } of warnings) findings.inc({ id, severity })
      for (const id of ids) exempted.inc({ id })
      for (const { finding, by } of left) ignored.inc({ id: finding.id, by: writtenIn(by) })
    },
    shed() {
      shed.inc()
    },
    uncaught() {
      uncaught.inc()
    },
    refused(status: number) {
      refused.inc({ status })
    },
    /** Adds the metric of dropped log lines; `dropped` returns the number of lines dropped since the start. */
    log(dropped: () => number) {
      measureCounter(
        registry,
        'vmcp_admission_log_lines_dropped_total',
        'Lines of the log that were dropped, because standard output was too slow or closed.',
        dropped,
      )
    },
    configuration(state: () => ConfigurationFileState) {
      measureConfiguration(registry, state)
    },
    bodies(bodies: Pick<Bodies, 'bytes' | 'displaced'>) {
      measureBodies(registry, bodies)
    },
    serving(state: () => ServingState) {
      measureServing(registry, state)
    },
    arming(state: () => ArmingState) {
      measureArming(registry, state)
    },
  }
}

/** Metrics about the configuration file; the first two are named like metrics of Prometheus about its configuration. */
function measureConfiguration(registry: Registry, state: () => ConfigurationFileState): void {
  measureGauge(
    registry,
    'vmcp_admission_config_last_reload_successful',
    '1 while the configuration file (--config-file) is right, 0 while it is not and an earlier content is in use.',
    () => Number(state().isRight),
  )
  measureGauge(
    registry,
    'vmcp_admission_config_last_reload_success_timestamp_seconds',
    'When the configuration that is in use was read, as Unix time.',
    () => state().since / 1_000,
  )
  new Gauge({
    name: 'vmcp_admission_config_exemptions',
    help: 'Exemptions of the configuration file, by state (active, expired).',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      for (const [name, count] of Object.entries(state().exemptions)) this.set({ state: name }, count)
    },
  })
}

function measureBodies(registry: Registry, bodies: Pick<Bodies, 'bytes' | 'displaced'>): void {
  measureGauge(
    registry,
    'vmcp_admission_request_body_bytes',
    'Bytes that are reserved for request bodies, from the head of a request until its answer.',
    () => bodies.bytes,
  )
  measureCounter(
    registry,
    'vmcp_admission_displaced_request_bodies_total',
    'Request bodies that gave way to others, because all of them together had too many bytes (--body-memory).',
    () => bodies.displaced,
  )
}

function measureServing(registry: Registry, state: () => ServingState): void {
  new Gauge({
    name: 'vmcp_admission_certificate_expiry_timestamp_seconds',
    help: 'When the serving certificate (leaf), the CA that signs, and the first CA of the bundle expire, as Unix time.',
    labelNames: ['certificate'],
    registers: [registry],
    collect() {
      for (const [certificate, expires] of Object.entries(state().expiry)) {
        if (expires !== undefined) this.set({ certificate }, expires / 1_000)
      }
    },
  })
  measureCounter(
    registry,
    'vmcp_admission_certificate_rotations_total',
    'How often another certificate from files, or another CA of our own, came into use.',
    () => state().rotations,
  )
  measureCounter(
    registry,
    'vmcp_admission_certificate_errors_total',
    'Checks of the certificates that found a problem; the certificate in use stays.',
    () => state().errors,
  )
}

function measureArming(registry: Registry, state: () => ArmingState): void {
  measureGauge(
    registry,
    'vmcp_admission_armed',
    '1 while the stored webhook configuration fails closed.',
    () => (state().policy === 'Fail' ? 1 : 0),
  )
  measureGauge(
    registry,
    'vmcp_admission_leader',
    '1 in the replica that holds the Lease and reconciles the webhook configurations.',
    () => (state().leads ? 1 : 0),
  )
  measureGauge(
    registry,
    'vmcp_admission_probe_success',
    '1 when the last probe through the API server reached the webhook, 0 when not; no sample before the first.',
    () => {
      const { proved } = state()
      return proved === undefined ? undefined : Number(proved)
    },
  )
  measureGauge(
    registry,
    'vmcp_admission_webhook_configurations_contested',
    '1 while another installation, or another writer, keeps writing the webhook configurations.',
    () => (state().contested ? 1 : 0),
  )
  measureCounter(
    registry,
    'vmcp_admission_webhook_configuration_writes_total',
    'How often this replica wrote the webhook configurations.',
    () => state().repairs,
  )
  measureCounter(
    registry,
    'vmcp_admission_arming_errors_total',
    'Attempts to reconcile the webhook configurations that failed.',
    () => state().errors,
  )
}
