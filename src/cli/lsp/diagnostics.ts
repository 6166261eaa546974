import { stepsIn } from '../../rule/index.ts'
import { type Diagnostic, DiagnosticSeverity } from 'vscode-languageserver'
import type { ConfigurationError } from '../../configuration/configuration-error.ts'
import type { Located, Report, ReportedFinding } from '../output/report.ts'
import { PROGRAM } from '../program-name.ts'
import { lineAt, rangeAt } from './lines.ts'
import type { Workspace, WorkspaceFile } from './workspace.ts'

/** The name that editors show as the source of each diagnostic. */
const SOURCE = 'vmcp-admission'

const SEVERITIES = {
  error: DiagnosticSeverity.Error,
  warning: DiagnosticSeverity.Warning,
  advice: DiagnosticSeverity.Information,
} as const

/** The findings of a file as diagnostics for an editor. */
export function diagnosticsOf(
  workspace: Workspace,
  file: WorkspaceFile,
  { findings, notes, unread }: Report,
): Diagnostic[] {
  const { text } = file
  const at = ({ line, column }: Located) => rangeAt(text, { line, column })
  const all = [
    ...unread.map((each) => ({
      range: at(each),
      severity: each.template ? DiagnosticSeverity.Information : DiagnosticSeverity.Error,
      source: SOURCE,
      message: each.template ? 'a template is not YAML: what it renders to can be checked' : each.message,
    })),
    ...findings.slice(0, MOST_DIAGNOSTICS).map((finding) => diagnosticOf(workspace, file, finding)),
    ...notes.map((note) => ({
      range: at(note),
      severity: DiagnosticSeverity.Information,
      source: SOURCE,
      message: note.message,
    })),
  ]
  const more = unread.length + findings.length + notes.length - MOST_DIAGNOSTICS
  if (more <= 0) return all
  const message = `${more} more are not shown: ${PROGRAM} check ${text.uri.split('/').at(-1) ?? ''} lists all`
  return [
    ...all.slice(0, MOST_DIAGNOSTICS),
    { range: FIRST, severity: DiagnosticSeverity.Information, source: SOURCE, message },
  ]
}

/** The most diagnostics of a file; an editor cannot show more. */
const MOST_DIAGNOSTICS = 1_000

const FIRST = { start: { line: 0, character: 0 }, end: { line: 0, character: 1 } }

/** A diagnostic on the first line that says why a file is not read. */
export const notRead = (message: string): Diagnostic[] => [
  { range: FIRST, severity: DiagnosticSeverity.Warning, source: SOURCE, message },
]

/** A diagnostic for each problem in the configuration file, from its place to the end of the line. */
export const diagnosticsOfConfiguration = ({ problems }: ConfigurationError): Diagnostic[] =>
  problems.map(({ line, column, message }) => ({
    range: { start: { line: line - 1, character: column - 1 }, end: { line, character: 0 } },
    severity: DiagnosticSeverity.Error,
    source: SOURCE,
    message,
  }))

export function diagnosticOf(
  workspace: Workspace,
  { text }: WorkspaceFile,
  finding: ReportedFinding,
): Diagnostic {
  return {
    range: rangeAt(text, finding),
    severity: SEVERITIES[finding.severity],
    source: SOURCE,
    code: finding.id,
    message: messageOf(finding, lineAt(text, Math.max(finding.line - 1, 0))),
    relatedInformation: finding.related.flatMap((end) => {
      const other = end.file === null ? undefined : workspace.fileNamed(end.file)
      if (other === undefined) return []
      const range = rangeAt(other.text, end)
      return [
        { location: { uri: other.text.uri, range }, message: `${end.kind} ${end.name}: ${end.message}` },
      ]
    }),
  }
}

/**
 * The message without the id, which is the code of the diagnostic, but with the path if the line does not contain the
 * field.
 */
function messageOf({ path, message, id }: ReportedFinding, line: string): string {
  const text = message.endsWith(` (${id})`) ? message.slice(0, -id.length - 3) : message
  const name = stepsIn(path).findLast((step) => !step.startsWith('[')) ?? ''
  return path === '' || line.includes(`${name}:`) ? text : `${path}: ${text}`
}
