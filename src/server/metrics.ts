import { X509Certificate } from 'node:crypto'
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { ServingPair } from '../certificates/local.ts'
import { kindNamed } from '../kinds/index.ts'
import type { Verdict } from '../review/judge.ts'
import type { Review } from './admission-review.ts'

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

/** The metrics of the server in a registry of their own; names begin with `vmcp_admission_`. */
export function createMetrics() {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const registers = [registry]
  const counted = new Map<string, { readonly labels: Labels; count: number }>()
  new Counter({
    name: 'vmcp_admission_reviews_total',
    help: 'Reviews answered, by webhook, kind, operation and verdict (admitted, warned, denied, patched).',
    labelNames: ['webhook', 'kind', 'operation', 'verdict'],
    registers,
    // Reviews are counted in a map and handed over here: a label set costs more to look up than a rule to run.
    collect() {
      for (const { labels, count } of counted.values()) this.inc(labels, count)
      counted.clear()
    },
  })
  const findings = new Counter({
    name: 'vmcp_admission_findings_total',
    help: 'Findings in reviews that were no dry run, by id and severity.',
    labelNames: ['id', 'severity'],
    registers,
  })
  const exempted = new Counter({
    name: 'vmcp_admission_exempted_total',
    help: 'Errors that a severity setting made a warning or dropped, by id.',
    labelNames: ['id'],
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
    help: 'Requests that were no review, by HTTP status.',
    labelNames: ['status'],
    registers,
  })
  const duration = new Histogram({
    name: 'vmcp_admission_review_duration_seconds',
    help: 'Time from the parsed body to the answer, by webhook.',
    labelNames: ['webhook'],
    buckets: [0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1],
    registers,
    collect: () => WEBHOOKS.forEach(observeAll),
  })
  /** Filling a histogram costs several times less once its code is warm, so times are handed over in batches. */
  const times: Record<Webhook, number[]> = { validate: [], mutate: [] }
  const observeAll = (webhook: Webhook) => {
    for (const seconds of times[webhook].splice(0)) duration.observe({ webhook }, seconds)
  }
  const shed = new Counter({
    name: 'vmcp_admission_shed_reviews_total',
    help: 'Reviews refused unjudged, because too many waited for the API server.',
    registers,
  })
  const certificate = new Gauge({
    name: 'vmcp_admission_certificate_expiry_timestamp_seconds',
    help: 'When the serving certificate and its CA expire, as Unix time.',
    labelNames: ['certificate'],
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
    found({ errors, warnings, exempted: ids, failures: failed }: Verdict, dryRun: boolean) {
      for (const { id } of failed) failures.inc({ id })
      if (dryRun) return
      for (const { id, severity } of errors) findings.inc({ id, severity })
      for (const { id, severity } of warnings) findings.inc({ id, severity })
      for (const id of ids) exempted.inc({ id })
    },
    shed() {
      shed.inc()
    },
    refused(status: number) {
      refused.inc({ status })
    },
    serving(pair: ServingPair) {
      for (const [name, pem] of Object.entries({ leaf: pair.certificate, ca: pair.ca })) {
        if (pem !== undefined)
          certificate.set({ certificate: name }, Date.parse(new X509Certificate(pem).validTo) / 1000)
      }
    },
  }
}
