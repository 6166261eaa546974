import { fingerprints } from './fingerprint.ts'
import { shownIn } from './line.ts'
import { type Format, slashed } from './report.ts'

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
  const unread = report.unread.map(({ file, line, message }) => ({
    description: message,
    check_name: 'not-read',
    fingerprint: `not-read ${file ?? ''} ${message}`,
    severity: 'blocker',
    location: { path: slashed(file ?? ''), lines: { begin: Math.max(1, line) } },
  }))
  return `${JSON.stringify([...unread, ...issues], null, 2)}\n`
}
