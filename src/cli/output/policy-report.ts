import { createHash } from 'node:crypto'
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

/**
 * A List with one Report (openreports.io/v1alpha1) for each object with findings, for `kubectl apply -f -` and
 * dashboards. An ignored finding counts as skipped.
 */
export const printOpenReports: Format = (report, printing) => {
  const apiVersion = `${printing.group}/${API_VERSION}`
  const results = [
    ...shownIn(report, printing).map((finding) => ({ finding, result: openResult(finding) })),
    ...ignoredIn(report, printing).map((finding) => ({
      finding,
      result: {
        ...openResult(finding),
        result: 'skip',
        properties: { path: finding.path, reason: finding.reason },
      },
    })),
  ]
  const items = Array.from(Map.groupBy(results, ({ finding }) => keyOf(finding)).values(), (all) =>
    openReport(all, apiVersion),
  )
  return json({ apiVersion: 'v1', kind: 'List', items })
}

interface OpenResult {
  readonly finding: ReportedFinding
  readonly result: { readonly result: string }
}

function openReport(all: readonly OpenResult[], apiVersion: string) {
  const { kind = '', namespace = '', name = '' } = all[0]?.finding ?? {}
  const count = (wanted: string) => all.filter(({ result }) => result.result === wanted).length
  return {
    apiVersion: 'openreports.io/v1alpha1',
    kind: 'Report',
    metadata: {
      name: reportName(kind, name),
      namespace,
      labels: { 'app.kubernetes.io/managed-by': NAME },
    },
    source: NAME,
    scope: { apiVersion, kind, namespace, name },
    summary: { pass: 0, fail: count('fail'), warn: count('warn'), error: 0, skip: count('skip') },
    results: all.map(({ result }) => result),
  }
}

/** The resource is left out, because it is already the scope of the report. */
const openResult = (finding: ReportedFinding) => {
  const { source, policy, category, result, severity, message, properties } = resultOf(finding, '')
  return { source, policy, category, result, severity, message, properties }
}

/** The pattern of object names (as in DNS), and the most characters of one. */
const [DNS_NAME, LONGEST_NAME] = [/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/, 253]

/** The name of the report for an object; a digest replaces a name that is too long or not valid. */
function reportName(kind: string, name: string): string {
  const whole = `${kind.toLowerCase()}-${name}`
  if (DNS_NAME.test(whole) && whole.length <= LONGEST_NAME) return whole
  return `${kind.toLowerCase()}-${createHash('sha256').update(name).digest('hex').slice(0, 32)}`
}

const keyOf = ({ kind, namespace, name }: Pick<ReportedFinding, 'kind' | 'namespace' | 'name'>): string =>
  JSON.stringify([kind, namespace, name])
