import { causeText, type Finding } from '../../review/finding.ts'
import type { Verdict } from '../../review/judge.ts'
import { pathText } from '../../rule/path.ts'
import { visible } from './visible.ts'

/** Exit codes of every command; the worst counts. */
export const EXIT = { clean: 0, findings: 1, usage: 2, unread: 3 } as const

/** A resource that was judged. */
export interface Subject {
  readonly kind: string
  readonly namespace: string
  readonly name: string
}

export interface Located {
  /** Null for an object in a cluster. */
  readonly file: string | null
  /** From 1; 0 when the file as a whole is meant, or a cluster. */
  readonly line: number
  readonly column: number
  readonly message: string
}

/** Something that could not be read. */
export interface Unread extends Located {
  /** Set where the file is a template, which is not YAML before it is rendered. */
  readonly template?: true
}

export interface ReportedFinding extends Located, Subject {
  readonly severity: 'error' | 'warning'
  readonly id: string
  readonly path: string
}

/** The place of every object in a cluster. */
export const IN_CLUSTER = { file: null, line: 0, column: 0 } as const

/** The result of one run of check or audit. */
export interface Report {
  /** The files that were read, in this order. */
  readonly files: string[]
  /** Documents of our kinds. */
  resources: number
  /** Documents of other kinds, which are not judged. */
  others: number
  readonly findings: ReportedFinding[]
  readonly notes: Located[]
  readonly unread: Unread[]
}

export type Place = Pick<Located, 'file' | 'line' | 'column'>

/** Adds what was decided about one resource. */
export function addVerdict(
  report: Report,
  { errors, warnings, failures }: Verdict,
  subject: Subject,
  locate: (finding: Finding) => Place,
): void {
  for (const finding of [...errors, ...warnings]) {
    const { severity, id, error, prefix = '' } = finding
    report.findings.push({
      ...locate(finding),
      severity,
      id,
      path: error.at.length === 0 ? '' : pathText(error.at),
      message: prefix + causeText(finding),
      ...subject,
    })
  }
  for (const failed of failures) {
    const message = `${subject.kind} ${subject.name}: internal error in ${failed.id}: ${String(failed.failure)}`
    report.unread.push({ ...locate(failed), message })
  }
}

/** `scope` names the place of the resources, such as `in 3 files`. */
export function printHuman(report: Report, scope = counted(report.files.length, 'file')): string {
  const order = new Map(report.files.map((file, index) => [file, index]))
  const place = ({ file }: Located) => (file === null ? Infinity : (order.get(file) ?? -1))
  const inOrder = (a: Located, b: Located) =>
    compare(place(a), place(b)) || a.line - b.line || a.column - b.column
  const lines = [
    ...findingLines(report.findings.toSorted(inOrder)),
    ...report.notes.map((note) => ({ ...note, text: `${placeOf(note)}note: ${note.message}` })),
  ]
  const printed = lines.toSorted(inOrder).map(({ text }) => visible(text))
  return [...printed, ...(printed.length === 0 ? [] : ['']), summary(report, scope), ''].join('\n')
}

/** Lines for findings. The finding about the version, which all documents of a repository share, is one line with a count. */
function findingLines(findings: readonly ReportedFinding[]): (Located & { readonly text: string })[] {
  const alike = Map.groupBy(findings, ({ id, message }, i) => (id === 'api-version-current' ? message : i))
  return [...alike.values()].flatMap(([first, ...others]) =>
    first === undefined ? [] : [{ ...first, text: findingLine(first, others.length) }],
  )
}

const compare = (a: number, b: number) => (a < b ? -1 : a > b ? 1 : 0)

const placeOf = ({ file, line, column }: Located) => (file === null ? '' : `${file}:${line}:${column}: `)

/** The line of a finding; one in a cluster begins with the object in place of the file. */
function findingLine(finding: ReportedFinding, others: number): string {
  const { file, kind, namespace, name, severity, path, message } = finding
  const text = `${path === '' ? '' : `${path}: `}${message}`
  const more = others === 0 ? '' : ` and ${others} more`
  return file === null
    ? `${kind} ${namespace}/${name}${more}: ${severity}: ${text}`
    : `${placeOf(finding)}${severity}: ${kind} ${name}${more}: ${text}`
}

function summary({ resources, others, notes, unread, ...report }: Report, scope: string): string {
  const count = (severity: string) =>
    report.findings.filter((finding) => finding.severity === severity).length
  const parts = [
    counted(count('error'), 'error'),
    counted(count('warning'), 'warning'),
    ...(notes.length === 0 ? [] : [counted(notes.length, 'note')]),
    ...(unread.length === 0 ? [] : [`${unread.length} that could not be read`]),
  ]
  const left = others === 0 ? '' : ` (${counted(others, 'document')} of other kinds not judged)`
  return `${counted(resources, 'resource')} in ${scope}${left}: ${parts.join(', ')}`
}

export const counted = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`

/** The worst counts: what could not be read, then errors. */
export function exitCode({ findings, unread }: Report): number {
  if (unread.length > 0) return EXIT.unread
  return findings.some(({ severity }) => severity === 'error') ? EXIT.findings : EXIT.clean
}

export function printJson(report: Report): string {
  const { files, resources, others, findings, notes, unread } = report
  const errors = findings.filter(({ severity }) => severity === 'error').length
  const counts = {
    files: files.length,
    resources,
    others,
    errors,
    warnings: findings.length - errors,
    notes: notes.length,
    unread: unread.length,
  }
  return `${JSON.stringify({ findings, notes, unread, counts }, undefined, 2)}\n`
}
