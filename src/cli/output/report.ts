import type { Plan } from '../../access/effective-authentication.ts'
import {
  describeFinding,
  type Edit,
  type Finding,
  type Fix,
  type ObjectName,
  pathText,
  type Segment,
} from '../../rule/index.ts'
import type { GivenSubject } from '../../documents/index.ts'
import { type Ignored, type Verdict, writtenIn } from '../../engine/index.ts'
import type { Terminal } from './terminal.ts'

/** Exit codes of every command; the worst counts. */
export const EXIT = { clean: 0, findings: 1, usage: 2, unread: 3 } as const

export type { GivenSubject }

export interface Located {
  /** The name of the file; null for an object in a cluster. */
  readonly file: string | null
  /** The line, from 1; 0 for a whole file, and in a cluster. */
  readonly line: number
  readonly column: number
  readonly message: string
}

export interface ReportNote extends Located {
  /** The placeholder because of which a value is not judged, and the name for it in `--set`. */
  readonly placeholder?: { readonly text: string; readonly name: string | undefined }
}

/** Something that could not be read. */
export interface Unread extends Located {
  /** Set where the file is a template, which is not YAML before it is rendered. */
  readonly template?: true
  /** Set for a document that was read but not judged, with `--fail-on-not-judged`. */
  readonly notJudged?: true
}

export interface ReportedFinding extends Located, GivenSubject {
  readonly severity: 'error' | 'warning' | 'advice'
  readonly id: string
  readonly path: string
  /** The other places of a contradiction, each with a message about it. */
  readonly related: readonly ReportedEnd[]
  /** Keys of the contradictions that the finding reports; findings of other objects may have the same keys. */
  readonly causes: readonly string[]
  readonly fix: ReportedFix | null
}

/** A finding that an exemption or an ignore takes out of the report. */
export interface ReportedIgnored extends ReportedFinding {
  readonly reason: string
  readonly by: 'comment' | 'annotation' | 'configuration'
}

/** A safe change, with the places of its steps in the file. */
export interface ReportedFix {
  readonly title: string
  readonly edits: readonly (Edit & Pick<FilePlace, 'line' | 'column'>)[]
}

export interface JudgedResource extends GivenSubject {
  /** The file; null for an object in a cluster. */
  readonly file: string | null
}

/** A place in another object, or elsewhere in the same. */
export interface ReportedEnd extends Located, GivenSubject {
  readonly path: string
}

/** A place in a file in the form that editors and terminals open; only the file where the whole of it is meant. */
export const placeText = ({ file, line, column }: FilePlace): string =>
  `${file ?? 'cluster'}${line === 0 ? '' : `:${line}:${column}`}`

/** The place of all objects in a cluster, where there are no lines. */
export const IN_CLUSTER = { file: null, line: 0, column: 0 } as const

/** The result of one run of check or audit. */
export interface Report {
  /** The files that were read, in this order. */
  readonly files: string[]
  /** The resources that were judged, in this order. */
  readonly judged: JudgedResource[]
  /** Documents of other kinds, which are not judged. */
  others: number
  readonly findings: ReportedFinding[]
  readonly ignored: ReportedIgnored[]
  readonly notes: ReportNote[]
  /** The files and objects that may be built or applied and were not judged; every format names them. */
  readonly notJudged: Located[]
  readonly unread: Unread[]
}

/** A report with what was read, and no findings yet. */
export const openReport = (read: Partial<Report>): Report => ({
  files: [],
  judged: [],
  others: 0,
  findings: [],
  ignored: [],
  notes: [],
  notJudged: [],
  unread: [],
  ...read,
})

/** The settings of a format beside the report. */
export interface Printing {
  /** Where the resources are, such as `3 files`. */
  readonly scope: string
  /** A release, or the specification, by which the resources were judged; absent where none was. */
  readonly judgedBy?: string | undefined
  readonly group: string
  /** Whether advice is printed, not only counted. */
  readonly advice: boolean
  /** Whether nothing but findings is printed. */
  readonly quiet: boolean
  /** Whether ignored findings are printed, not only counted. */
  readonly showIgnored: boolean
  /** The arguments of the run that are files. */
  readonly names: readonly string[]
  readonly terminal: Terminal
  /** The lines of a file, if it was read. */
  readonly source: (file: string) => readonly string[] | undefined
  /** The effective authentication of every VirtualMCPServer. */
  readonly plans: () => readonly Plan[]
}

/** The whole text of a report on standard output. */
export type Format = (report: Report, printing: Printing) => string

export type FilePlace = Pick<Located, 'file' | 'line' | 'column'>

/** Finds the places of objects and their parts, in files only. */
export interface Places {
  readonly of: (finding: Finding) => FilePlace
  /** The place of a part of the judged object: of its key or of its value. */
  readonly part: (at: readonly Segment[], target: 'key' | 'value') => FilePlace
  /** The place of a part of any object. */
  readonly end: (object: ObjectName, at: readonly Segment[]) => FilePlace
}

const nowhere = () => IN_CLUSTER
export const NO_PLACES: Places = { of: nowhere, part: nowhere, end: nowhere }

/** Adds what was decided about one resource. */
export function addVerdict(
  report: Report,
  { errors, warnings, failures, ignored }: Verdict,
  subject: GivenSubject,
  places: Places = NO_PLACES,
): void {
  for (const finding of [...errors, ...warnings]) report.findings.push(reported(finding, subject, places))
  for (const each of ignored) report.ignored.push(reportedIgnored(each, subject, places))
  for (const failed of failures) {
    const message = `${subject.kind} ${subject.name}: internal error in ${failed.id}: ${String(failed.failure)}`
    report.unread.push({ ...places.of(failed), message })
  }
}

function reported(finding: Finding, subject: GivenSubject, places: Places): ReportedFinding {
  const { error } = finding
  const { namespace } = subject
  const related = (error.related ?? []).map(({ object, at, text }) => ({
    ...places.end(object, at),
    path: textOf(at),
    message: text,
    namespace,
    ...object,
  }))
  return {
    ...places.of(finding),
    ...describeFinding(finding),
    ...subject,
    related,
    causes: Array.from(error.causes?.() ?? [], (cause) => JSON.stringify([namespace, ...cause])),
    fix: error.fix === undefined ? null : reportedFix(error.fix, places),
  }
}

const reportedIgnored = (
  { finding, by }: Ignored,
  subject: GivenSubject,
  places: Places,
): ReportedIgnored => ({
  ...reported(finding, subject, places),
  reason: by.reason,
  by: writtenIn(by),
})

/**
 * A fix with the place of each step: of the key that it renames, of the value that it sets, or of the object to which
 * it adds.
 */
function reportedFix({ title, edits }: Fix, { part }: Places): ReportedFix {
  const placed = edits.map((edit) => {
    const { line, column } =
      edit.op === 'add'
        ? part(edit.at.slice(0, -1), 'value')
        : part(edit.at, edit.op === 'rename' ? 'key' : 'value')
    return { ...edit, line, column }
  })
  return { title, edits: placed }
}

const textOf = (at: readonly Segment[]): string => (at.length === 0 ? '' : pathText(at))

/** A path with slashes only, as in a URL. */
export const slashed = (path: string) => path.replaceAll('\\', '/')

export const counted = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`

/** The worst exit code that applies: 3 for what could not be read, then 1 for errors. */
export function exitCode({ findings, unread }: Report): number {
  if (unread.length > 0) return EXIT.unread
  return findings.some(({ severity }) => severity === 'error') ? EXIT.findings : EXIT.clean
}
