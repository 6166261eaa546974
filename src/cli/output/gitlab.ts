import { fingerprints } from './fingerprint.ts'
import { notesIn, shownIn } from './line.ts'
import { type Format, type Located, slashed } from './report.ts'
import { json } from './visible.ts'

const SEVERITIES = { error: 'major', warning: 'minor', advice: 'info' } as const

/** A Code Quality report of GitLab. https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format */
export const printGitLab: Format = (report, printing) => {
  const findings = shownIn(report, printing)
  const prints = fingerprints(findings)
  const issues = findings.map(({ id, severity, kind, name, path, message, ...at }, i) => ({
    description: `${kind} ${name}: ${path === '' ? '' : `${path}: `}${message}`,
    check_name: id,
    fingerprint: prints[i],
    severity: SEVERITIES[severity],
    location: locationOf(at),
  }))
  const unread = report.unread.map((each) => ({
    description: each.message,
    check_name: 'not-read',
    fingerprint: `not-read ${each.file ?? ''} ${each.message}`,
    severity: 'blocker',
    location: locationOf(each),
  }))
  const notes = notesIn(report, printing)
  const printsOfNotes = fingerprints(notes.map(({ file, message }) => ({ ...NOTE, file, path: message })))
  const noted = notes.map((each, i) => ({
    description: each.message,
    check_name: i < report.notJudged.length ? 'not-judged' : NOTE.id,
    fingerprint: printsOfNotes[i],
    severity: i < report.notJudged.length ? 'minor' : 'info',
    location: locationOf(each),
  }))
  return json([...unread, ...issues, ...noted])
}

const NOTE = { id: 'note', kind: '', namespace: '', name: '' } as const

/** The location of an item of the report; an item without a file gets the top of the repository. */
const locationOf = ({ file, line }: Pick<Located, 'file' | 'line'>) => ({
  path: slashed(file ?? '.'),
  lines: { begin: Math.max(1, line) },
})
