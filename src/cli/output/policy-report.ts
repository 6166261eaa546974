import { API_VERSION } from '../../kinds/index.ts'
import { ignoredIn, shownIn } from './line.ts'
import type { Format, ReportedFinding } from './report.ts'
import { json } from './visible.ts'

const RESULTS = { error: 'fail', warning: 'warn', advice: 'warn' } as const
const SEVERITIES = { error: 'high', warning: 'medium', advice: 'info' } as const
const NAME = 'vmcp-admission'

/**
 * A List with one PolicyReport (wgpolicyk8s.io/v1alpha2) for each namespace with resources, for `kubectl apply -f -`
 * and dashboards. A resource without findings counts as passed, an ignored finding as skipped.
 */
export const printPolicyReport: Format = (report, printing) => {
  const apiVersion = `${printing.group}/${API_VERSION}`
  const findings = shownIn(report, printing)
  const failing = new Set(findings.map(keyOf))
  const items = [...Map.groupBy(report.judged, ({ namespace }) => namespace)].map(
    ([namespace, resources]) => {
      const own = findings.filter((finding) => finding.namespace === namespace)
      const skipped = ignoredIn(report, printing).filter((each) => each.namespace === namespace)
      const count = (result: string) => own.filter(({ severity }) => RESULTS[severity] === result).length
      return {
        apiVersion: 'wgpolicyk8s.io/v1alpha2',
        kind: 'PolicyReport',
        metadata: { name: NAME, namespace, labels: { 'app.kubernetes.io/managed-by': NAME } },
        summary: {
          pass: resources.filter((resource) => !failing.has(keyOf(resource))).length,
          fail: count('fail'),
          warn: count('warn'),
          error: 0,
          skip: skipped.length,
        },
        results: [
          ...own.map((finding) => resultOf(finding, apiVersion)),
          ...skipped.map((each) => ({
            ...resultOf(each, apiVersion),
            result: 'skip',
            properties: { path: each.path, reason: each.reason },
          })),
        ],
      }
    },
  )
  return json({ apiVersion: 'v1', kind: 'List', items })
}

const resultOf = (
  { id, severity, kind, namespace, name, path, message }: ReportedFinding,
  apiVersion: string,
) => ({
  source: NAME,
  policy: id,
  category: 'Authentication of vMCP',
  result: RESULTS[severity],
  severity: SEVERITIES[severity],
  message: `${path === '' ? '' : `${path}: `}${message}`,
  resources: [{ apiVersion, kind, namespace, name }],
  properties: { path },
})

const keyOf = ({ kind, namespace, name }: Pick<ReportedFinding, 'kind' | 'namespace' | 'name'>): string =>
  JSON.stringify([kind, namespace, name])
