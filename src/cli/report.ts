import { visible } from './visible.ts'

/** A resource that was judged. */
export interface Subject {
  readonly kind: string
  readonly namespace: string
  readonly name: string
}

export interface Located {
  readonly file: string
  /** From 1; 0 when the file as a whole is meant. */
  readonly line: number
  readonly column: number
  readonly message: string
}

export interface ReportedFinding extends Located, Subject {
  readonly severity: 'error' | 'warning'
  readonly id: string
  readonly path: string
}

/** Everything that one run of check has to say. */
export interface Report {
  /** The files that were read, in this order. */
  readonly files: string[]
  /** Documents of our kinds. */
  resources: number
  /** Documents of other kinds, which are not judged. */
  others: number
  readonly findings: ReportedFinding[]
  readonly notes: Located[]
  readonly unread: Located[]
}

export function printHuman(report: Report): string {
  const lines = [
    ...report.findings.map((finding) => ({ ...finding, word: finding.severity, text: findingLine(finding) })),
    ...report.notes.map((note) => ({ ...note, word: 'note', text: note.message })),
  ]
  const order = new Map(report.files.map((file, index) => [file, index]))
  const place = ({ file }: Located) => order.get(file) ?? -1
  const sorted = lines.toSorted((a, b) => place(a) - place(b) || a.line - b.line || a.column - b.column)
  const printed = sorted.map(({ file, line, column, word, text }) =>
    visible(`${file}:${line}:${column}: ${word}: ${text}`),
  )
  return [...printed, ...(printed.length === 0 ? [] : ['']), summary(report), ''].join('\n')
}

function findingLine({ kind, name, path, message }: ReportedFinding): string {
  return `${kind} ${name}: ${path === '' ? '' : `${path}: `}${message}`
}

function summary({ files, resources, others, notes, unread, ...report }: Report): string {
  const count = (severity: string) =>
    report.findings.filter((finding) => finding.severity === severity).length
  const parts = [
    counted(count('error'), 'error'),
    counted(count('warning'), 'warning'),
    ...(notes.length === 0 ? [] : [counted(notes.length, 'note')]),
    ...(unread.length === 0 ? [] : [`${unread.length} that could not be read`]),
  ]
  const left = others === 0 ? '' : ` (${counted(others, 'document')} of other kinds not judged)`
  return `${counted(resources, 'resource')} in ${counted(files.length, 'file')}${left}: ${parts.join(', ')}`
}

const counted = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`

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
