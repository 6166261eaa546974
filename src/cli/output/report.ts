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
import type { SourceText } from './excerpt.ts'
import type { Terminal } from './terminal.ts'

/** Exit codes of all commands; if several apply, the worst is used. */
export const EXIT = { clean: 0, findings: 1, usage: 2, unread: 3 } as const

export type { GivenSubject }

export interface Located {
  /** The name of the file; null for an object in a cluster. */
  readonly file: string | null
  /** The line, from 1; 0 for a whole file, and for objects in a cluster. */
  readonly line: number
  readonly column: number
  readonly message: string
}

export interface ReportNote extends Located {
  /** The placeholder because of which a value is not judged, and its name for `--set`. */
  readonly placeholder?: { readonly text: string; readonly name: string | undefined }
}

/** A file or object that could not be read. */
export interface Unread extends Located {
  /** Set for a template, which is not YAML until it is rendered. */
  readonly template?: true
  /** Set with `--fail-on-not-judged`, for a document that was read but not judged. */
  readonly notJudged?: true
}

export interface ReportedFinding extends Located, GivenSubject {
  readonly severity: 'error' | 'warning' | 'advice'
  readonly id: string
  readonly path: string
  /** The other places of a contradiction, each with a message about that place. */
  readonly related: readonly ReportedEnd[]
  /** Keys of the contradictions that the finding reports; findings of other objects may have the same keys. */
  readonly causes: readonly string[]
  readonly fix: ReportedFix | null
}

/** A finding that an exemption or an ignore removes from the report. */
export interface ReportedIgnored extends ReportedFinding {
  readonly reason: string
  readonly by: 'comment' | 'annotation' | 'configuration'
}

/** A safe change, with the place of each of its steps in the file. */
export interface ReportedFix {
  readonly title: string
  readonly edits: readonly (Edit & Pick<FilePlace, 'line' | 'column'>)[]
}

export interface JudgedResource extends GivenSubject {
  /** The file; null for an object in a cluster. */
  readonly file: string | null
}

/** A place in another object, or elsewhere in the same object. */
export interface ReportedEnd extends Located, GivenSubject {
  readonly path: string
}

/** A place in a file in a form that editors and terminals can open; only the file name when the whole file is meant. */
export const placeText = ({ file, line, column }: FilePlace): string =>
  `${file ?? 'cluster'}${line === 0 ? '' : `:${line}:${column}`}`

/** The place for objects in a cluster, where there are no lines. */
export const IN_CLUSTER = { file: null, line: 0, column: 0 } as const

/** The result of one run of check or audit. */
export interface Report {
  /** The files that were read, in the order of reading. */
  readonly files: string[]
  /** The resources that were judged, in the order of judging. */
  readonly judged: JudgedResource[]
  /** Number of documents of other kinds, which are not judged. */
  others: number
  readonly findings: ReportedFinding[]
  readonly ignored: ReportedIgnored[]
  readonly notes: ReportNote[]
  /** Files and objects that kubectl could apply but that were not judged; all formats list them. */
  readonly notJudged: Located[]
  readonly unread: Unread[]
}

/** A report about what was read, without findings so far. */
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

/** The settings of a format, in addition to the report. */
export interface Printing {
  /** A description of where the resources are, such as `3 files`. */
  readonly scope: string
  /** Names the release, or the specification, by which the resources were judged; absent when none were judged. */
  readonly judgedBy?: string | undefined
  readonly group: string
  /** Whether findings of severity `advice` are printed, rather than only counted. */
  readonly advice: boolean
  /** Whether only findings, and notes about documents that were not judged, are printed. */
  readonly quiet: boolean
  /** Whether ignored findings are printed, rather than only counted. */
  readonly showIgnored: boolean
  /** The arguments of the run that name files. */
  readonly names: readonly string[]
  readonly terminal: Terminal
  /** The lines of a file, if it was read. */
  readonly source: (file: string) => SourceText | undefined
  /** The effective authentication of every VirtualMCPServer. */
  readonly plans: () => readonly Plan[]
}

/** Returns the complete text of a report for standard output. */
export type Format = (report: Report, printing: Printing) => string

export type FilePlace = Pick<Located, 'file' | 'line' | 'column'>

/** Finds the lines and columns of objects, and of fields in them, in files. */
export interface Places {
  readonly of: (finding: Finding) => FilePlace
  /** The place of the field at this path in the judged object: of its key or of its value. */
  readonly part: (at: readonly Segment[], target: 'key' | 'value') => FilePlace
  /** The place of the field at this path in any object that was read. */
  readonly end: (object: ObjectName, at: readonly Segment[]) => FilePlace
}

const nowhere = () => IN_CLUSTER
export const NO_PLACES: Places = { of: nowhere, part: nowhere, end: nowhere }

/** Adds the verdict on one resource to the report. */
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
 * A fix with the place of each step: of the key that is renamed, of the value that is set, or of the object that gets
 * an addition.
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

/** A path with slashes, as in a URL. */
export const slashed = (path: string) => path.replaceAll('\\', '/')

export const counted = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`

/** The worst exit code that applies: 3 when something could not be read, otherwise 1 for errors. */
export function exitCode({ findings, unread }: Report): number {
  if (unread.length > 0) return EXIT.unread
  return findings.some(({ severity }) => severity === 'error') ? EXIT.findings : EXIT.clean
}
