import { REPORT_VERSION } from './report-schema.ts'
import type { Format } from './report.ts'
import { json } from './visible.ts'

/** Fields of a finding that are not printed: only our own front ends use them, and edits may contain user values. */
const HIDDEN = new Set(['causes', 'edits', 'placeholder'])

/** The report as one JSON object with the schema REPORT_SCHEMA. */
export const printJson: Format = (report) => {
  const { files, judged, others, findings, ignored, notJudged, unread } = report
  const notes = [...notJudged, ...report.notes]
  const count = (wanted: string) => findings.filter(({ severity }) => severity === wanted).length
  const counts = {
    files: files.length,
    resources: judged.length,
    others,
    errors: count('error'),
    warnings: count('warning'),
    advice: count('advice'),
    ignored: ignored.length,
    notes: notes.length,
    notJudged: notJudged.length,
    unread: unread.length,
  }
  const shown = (key: string, value: unknown) => (HIDDEN.has(key) ? undefined : value)
  return json({ version: REPORT_VERSION, findings, ignored, notes, notJudged, unread, counts }, shown)
}
