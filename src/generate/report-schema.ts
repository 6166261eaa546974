import { REPORT_SCHEMA } from '../cli/output/report-schema.ts'
import type { GeneratedFile } from './generated-file.ts'

/** schemas/output/report.json: what `check` and `audit` print with `--output json`. */
export function* reportSchema(): Iterable<GeneratedFile> {
  const title = 'The report of vmcp-admission check and audit'
  const schema = { $schema: 'http://json-schema.org/draft-07/schema#', title, ...REPORT_SCHEMA }
  yield { path: 'schemas/output/report.json', text: `${JSON.stringify(schema, null, 2)}\n` }
}
