import { causeText, type Finding } from '../../review/finding.ts'
import type { Verdict } from '../../review/judge.ts'
import type { ObjectName } from '../../rule/cluster.ts'
import { pathText, type Segment } from '../../rule/path.ts'
import type { Terminal } from './terminal.ts'

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
  /** The other ends of a contradiction; the message says what stands there. */
  readonly related: readonly ReportedEnd[]
  /** The contradictions that it tells of: those of other objects may tell of the same. */
  readonly causes: readonly string[]
}

/** A place in another object, or elsewhere in the same. */
export interface ReportedEnd extends Located, Subject {
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

/** What a format needs beside the report. */
export interface Printing {
  /** Where the resources are, such as `3 files`. */
  readonly scope: string
  readonly terminal: Terminal
  /** The lines of a file that was read. */
  readonly source: (file: string) => readonly string[] | undefined
}

/** The whole text of a report on standard output. */
export type Format = (report: Report, printing: Printing) => string

export type Place = Pick<Located, 'file' | 'line' | 'column'>

/** Adds what was decided about one resource. */
export function addVerdict(
  report: Report,
  { errors, warnings, failures }: Verdict,
  subject: Subject,
  locate: (finding: Finding) => Place,
  locateIn: (object: ObjectName, at: readonly Segment[]) => Place = () => IN_CLUSTER,
): void {
  const { namespace } = subject
  for (const finding of [...errors, ...warnings]) {
    const { severity, id, error, prefix = '' } = finding
    report.findings.push({
      ...locate(finding),
      severity,
      id,
      path: textOf(error.at),
      message: prefix + causeText(finding),
      ...subject,
      related: (error.related ?? []).map(({ object, at, text }) => ({
        ...locateIn(object, at),
        path: textOf(at),
        message: text,
        namespace,
        ...object,
      })),
      causes: Array.from(error.causes?.() ?? [], (cause) => JSON.stringify([namespace, ...cause])),
    })
  }
  for (const failed of failures) {
    const message = `${subject.kind} ${subject.name}: internal error in ${failed.id}: ${String(failed.failure)}`
    report.unread.push({ ...locate(failed), message })
  }
}

const textOf = (at: readonly Segment[]): string => (at.length === 0 ? '' : pathText(at))

export const counted = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`

/** The worst counts: what could not be read, then errors. */
export function exitCode({ findings, unread }: Report): number {
  if (unread.length > 0) return EXIT.unread
  return findings.some(({ severity }) => severity === 'error') ? EXIT.findings : EXIT.clean
}
