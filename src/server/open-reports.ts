import type { Logger } from 'pino'
import { Counter, type Registry } from 'prom-client'
import type { ClusterConnection } from '../cluster/index.ts'
import { REPORTS_LEASE } from '../registration/index.ts'
import { REPORT_SOURCE } from '../reports/index.ts'
import type { ServerConfiguration } from './configuration.ts'
import type { CurrentFindings } from './current-findings.ts'
import { measureGauge } from './measure.ts'
import { ReportKeeper } from './report-keeper.ts'

interface Sources {
  readonly connection: ClusterConnection
  readonly findings: CurrentFindings
  readonly isSynced: () => boolean
}

/** The keeper of the reports that `--reports` turns on, with its metrics. It writes nothing before `run` is called. */
export function openReports(
  configuration: ServerConfiguration,
  { connection, findings, isSynced }: Sources,
  logger: Logger,
  registry: Registry,
): ReportKeeper {
  const writes = new Counter({
    name: 'vmcp_admission_report_writes_total',
    help: 'Reports of current findings, by outcome (written, removed, failed).',
    labelNames: ['outcome'],
    registers: [registry],
  })
  const reports = connection.reports(REPORT_SOURCE)
  const keeper = new ReportKeeper(
    {
      lease: connection.registrations(configuration.namespace).lease(REPORTS_LEASE),
      list: (api, namespace, found) => reports.list(api, namespace, found),
      apply: (api, namespace, name, report) => reports.apply(api, namespace, name, report),
      remove: (api, namespace, name) => reports.remove(api, namespace, name),
      read: (kind, namespace, name, signal) => connection.read(kind, namespace, name, signal),
    },
    {
      group: configuration['api-group'],
      namespaces: configuration['watch-namespaces'],
      isReady: allJudged(findings, isSynced),
      lacksObjectsIn: (namespace) => findings.lacksObjectsIn(namespace),
      judge: (kind, object) => findings.findingsIn(kind, object),
      count: (outcome) => writes.inc({ outcome }),
      logger,
    },
  )
  findings.onJudged((object, found) => {
    keeper.put(object, found)
  })
  measureGauge(
    registry,
    'vmcp_admission_reports',
    'Reports of current findings that are stored; of the replica that keeps them only.',
    () => keeper.count,
  )
  return keeper
}

/**
 * Returns a predicate: whether all objects were judged after the cache was filled. It becomes true even if some
 * objects change all the time.
 */
function allJudged(findings: CurrentFindings, isSynced: () => boolean): () => boolean {
  let rounds: number | undefined
  return () => {
    if (!isSynced()) return false
    rounds ??= findings.rounds
    // The current round may have begun before the cache was filled; the next round checks all namespaces that were due.
    return findings.waiting === 0 || findings.rounds >= rounds + 2
  }
}
