import { API_VERSION } from '../../kinds/index.ts'
import {
  OPEN_REPORTS,
  POLICY_REPORTS,
  REPORT_SOURCE,
  reportOf,
  type ReportResult,
  RESULTS,
  resultOf,
  skippedResultOf,
} from '../../reports/index.ts'
import { ignoredIn, shownIn } from './line.ts'
import type { Format, Printing, Report, ReportedFinding } from './report.ts'
import { json } from './visible.ts'

/**
 * A List with one PolicyReport (wgpolicyk8s.io/v1alpha2) for each namespace with resources, for `kubectl apply -f -`
 * and dashboards. A resource without findings counts as passed, an ignored finding as skipped.
 */
export const printPolicyReport: Format = (report, printing) => {
  const apiVersion = `${printing.group}/${API_VERSION}`
  const findings = shownIn(report, printing)
  const failing = new Set(findings.map(keyOf))
  const results = resultsIn(report, printing)
  const items = [...Map.groupBy(report.judged, ({ namespace }) => namespace)].map(
    ([namespace, resources]) => {
      const own = findings.filter((finding) => finding.namespace === namespace)
      const count = (result: string) => own.filter(({ severity }) => RESULTS[severity] === result).length
      return {
        apiVersion: POLICY_REPORTS.apiVersion,
        kind: POLICY_REPORTS.kind,
        metadata: {
          name: REPORT_SOURCE,
          namespace,
          labels: { 'app.kubernetes.io/managed-by': REPORT_SOURCE },
        },
        summary: {
          pass: resources.filter((resource) => !failing.has(keyOf(resource))).length,
          fail: count('fail'),
          warn: count('warn'),
          error: 0,
          skip: ignoredIn(report, printing).filter((each) => each.namespace === namespace).length,
        },
        results: results
          .filter(({ finding }) => finding.namespace === namespace)
          .map(({ finding: { kind, name }, result: { properties, ...result } }) => ({
            ...result,
            resources: [{ apiVersion, kind, namespace, name }],
            properties,
          })),
      }
    },
  )
  return json({ apiVersion: 'v1', kind: 'List', items })
}

/**
 * A List with one Report (openreports.io/v1alpha1) for each object with findings, for `kubectl apply -f -` and
 * dashboards. An ignored finding counts as skipped.
 */
export const printOpenReports: Format = (report, printing) => {
  const all = Map.groupBy(resultsIn(report, printing), ({ finding }) => keyOf(finding)).values()
  const items = Array.from(all, (own) => {
    const { kind = '', namespace = '', name = '' } = own[0]?.finding ?? {}
    const results = own.map(({ result }) => result)
    return reportOf(OPEN_REPORTS, { kind, namespace, name }, results, printing.group)
  })
  return json({ apiVersion: 'v1', kind: 'List', items })
}

interface FindingResult {
  readonly finding: ReportedFinding
  readonly result: ReportResult
}

/** The results for a policy report: those of the findings, then those of the ignored findings. */
const resultsIn = (report: Report, printing: Printing): readonly FindingResult[] => [
  ...shownIn(report, printing).map((finding) => ({ finding, result: resultOf(finding) })),
  ...ignoredIn(report, printing).map((finding) => ({
    finding,
    result: skippedResultOf(finding, finding.reason),
  })),
]

const keyOf = ({ kind, namespace, name }: Pick<ReportedFinding, 'kind' | 'namespace' | 'name'>): string =>
  JSON.stringify([kind, namespace, name])
