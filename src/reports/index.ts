import { createHash } from 'node:crypto'
import { API_VERSION } from '../kinds/index.ts'
import type { DescribedFinding, ObjectName } from '../rule/index.ts'

/** The name of this project, as the source of results and in the labels of reports. */
export const REPORT_SOURCE = 'vmcp-admission'

/** The API of one kind of report; each report is about one object. */
export interface ReportApi {
  readonly group: string
  readonly apiVersion: string
  readonly kind: string
  readonly plural: string
}

export const OPEN_REPORTS: ReportApi = {
  group: 'openreports.io',
  apiVersion: 'openreports.io/v1alpha1',
  kind: 'Report',
  plural: 'reports',
}
export const POLICY_REPORTS: ReportApi = {
  group: 'wgpolicyk8s.io',
  apiVersion: 'wgpolicyk8s.io/v1alpha2',
  kind: 'PolicyReport',
  plural: 'policyreports',
}

/** A result in a report, with the fields that both report APIs have. */
export interface ReportResult {
  readonly source: string
  readonly policy: string
  readonly category: string
  readonly result: 'fail' | 'warn' | 'skip'
  readonly severity: 'high' | 'medium' | 'info'
  readonly message: string
  readonly properties: Readonly<Record<string, string>>
}

/** The object that a report is about. */
export type ReportSubject = ObjectName & { readonly namespace: string }

export const RESULTS = { error: 'fail', warning: 'warn', advice: 'warn' } as const
const SEVERITIES = { error: 'high', warning: 'medium', advice: 'info' } as const

export const resultOf = ({ severity, id, path, message }: DescribedFinding): ReportResult => ({
  source: REPORT_SOURCE,
  policy: id,
  category: 'Authentication of vMCP',
  result: RESULTS[severity],
  severity: SEVERITIES[severity],
  message: `${path === '' ? '' : `${path}: `}${message}`,
  properties: { path },
})

/** A result with the status `skip` and the reason; the summary counts it neither as failed nor as a warning. */
export const skippedResultOf = (finding: DescribedFinding, reason: string): ReportResult => ({
  ...resultOf(finding),
  result: 'skip',
  properties: { path: finding.path, reason },
})

/** The report of one object. The object is the scope of the report, so the results do not repeat it. */
export function reportOf(
  api: ReportApi,
  { kind, namespace, name }: ReportSubject,
  results: readonly ReportResult[],
  group: string,
) {
  const count = (wanted: string) => results.filter(({ result }) => result === wanted).length
  return {
    apiVersion: api.apiVersion,
    kind: api.kind,
    metadata: {
      name: reportName(kind, name),
      namespace,
      labels: { 'app.kubernetes.io/managed-by': REPORT_SOURCE },
    },
    // A PolicyReport has sources in its results only.
    ...(api === OPEN_REPORTS && { source: REPORT_SOURCE }),
    scope: { apiVersion: `${group}/${API_VERSION}`, kind, namespace, name },
    summary: { pass: 0, fail: count('fail'), warn: count('warn'), error: 0, skip: count('skip') },
    results,
  }
}

/** The pattern of names in Kubernetes (DNS subdomains), and the most characters of a name. */
const [DNS_NAME, LONGEST_NAME] = [/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/, 253]

/** The name of the report of an object, with a digest instead of a name that is too long or invalid. */
export function reportName(kind: string, name: string): string {
  const whole = `${kind.toLowerCase()}-${name}`
  if (DNS_NAME.test(whole) && whole.length <= LONGEST_NAME) return whole
  return `${kind.toLowerCase()}-${createHash('sha256').update(name).digest('hex').slice(0, 32)}`
}
