import { fingerprints } from './fingerprint.ts'
import { shownIn } from './line.ts'
import { type Format, type Located, slashed } from './report.ts'

const SEVERITIES = { error: 'major', warning: 'minor', advice: 'info' } as const

/** A Code Quality report of GitLab. https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format */
export const printGitLab: Format = (report, printing) => {
  const findings = shownIn(report, printing)
  const prints = fingerprints(findings)
  const issues = findings.map(({ id, severity, file, line, kind, name, path, message }, i) => ({
    description: `${kind} ${name}: ${path === '' ? '' : `${path}: `}${message}`,
    check_name: id,
    fingerprint: prints[i],
    severity: SEVERITIES[severity],
    location: { path: slashed(file ?? ''), lines: { begin: Math.max(1, line) } },
  }))
  const unread = report.unread.map((each) => issueOf(each, 'not-read', 'blocker'))
  const notJudged = report.notJudged.map((each) => issueOf(each, 'not-judged', 'minor'))
  return `${JSON.stringify([...unread, ...notJudged, ...issues], null, 2)}\n`
}

const issueOf = ({ file, line, message }: Located, name: string, severity: string) => ({
  description: message,
  check_name: name,
  fingerprint: `${name} ${file ?? ''} ${message}`,
  severity,
  location: { path: slashed(file ?? ''), lines: { begin: Math.max(1, line) } },
})
