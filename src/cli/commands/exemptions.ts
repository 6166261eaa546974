import { judgeIn } from '../judge-in.ts'
import { type Configuration, type FileExemption, holdsAt } from '../../configuration/file.ts'
import {
  exemptionText,
  type Ignored,
  isAlwaysFound,
  isFor,
  isForOne,
  type Settings,
} from '../../engine/index.ts'
import { kindOf, type DocumentReading, type GivenSubject, subjectOf } from '../../documents/index.ts'
import type { Resource } from '../../rule/index.ts'
import type { Documents } from '../input/texts.ts'
import { counted, IN_CLUSTER, type Located, type Unread } from '../output/report.ts'

/** The most objects that a note names. */
const MOST_NAMES = 20

/** Records the effects of the configuration's exemptions in one run. */
export class Exemptions {
  readonly #configuration: Configuration
  readonly #now: number
  readonly #used = new Set<unknown>()
  readonly #concerned = new Set<FileExemption>()
  /** Descriptions of the objects in namespaces that the settings exclude. */
  readonly #leftOut: string[] = []

  constructor(configuration: Configuration, now: number) {
    this.#configuration = configuration
    this.#now = now
  }

  /** To be called for each object that was judged. */
  judged(subject: GivenSubject, ignored: readonly Ignored[]): void {
    for (const { by } of ignored) this.#used.add(by)
    for (const each of this.#configuration.exemptions) if (isFor(each, subject)) this.#concerned.add(each)
  }

  /** To be called for each object in a namespace that the settings exclude. */
  leftOut(
    { kind, namespace, name }: GivenSubject,
    place?: { readonly file: string; readonly line: number },
  ): void {
    const where = place === undefined ? '' : ` (${place.file}:${place.line})`
    this.#leftOut.push(`${kind} ${namespace}/${name}${where}`)
  }

  /** The objects that were not judged, as an empty list or as one entry with their number and the first names. */
  get notJudged(): Located[] {
    const { length } = this.#leftOut
    if (length === 0) return []
    const { file = '' } = this.#configuration
    const more = length > MOST_NAMES ? ` and ${length - MOST_NAMES} more` : ''
    const names = `${this.#leftOut.slice(0, MOST_NAMES).join(', ')}${more}`
    const message = `${counted(length, 'resource')} not judged: in namespaces that ${file} leaves out: ${names}`
    return [{ ...IN_CLUSTER, message }]
  }

  /**
   * Notes about exemptions that have expired, or that had no effect. `judged` determines which unused exemptions
   * certainly had no effect: for a whole cluster all of them; for files those that concern a judged object, because
   * others may be for another repository; otherwise only those for one object that was judged.
   */
  notes(judged: 'cluster' | 'part of a cluster' | 'files' | 'some files'): Located[] {
    const { file = '', exemptions } = this.#configuration
    return exemptions.flatMap((each): Located[] => {
      const { line, column, expires = '' } = each
      const place = { file, line, column }
      const what = `the exemption of ${exemptionText(each)}`
      if (!holdsAt(each, this.#now))
        return [
          {
            ...place,
            message: `${what} expired after ${expires} and no longer holds: remove it or give it another day`,
          },
        ]
      const where = judged.endsWith('cluster') ? 'cluster' : 'files'
      if (this.#used.has(each) || !isAlwaysFound(each.id, where)) return []
      const isKnown = this.#concerned.has(each) && (judged === 'files' || isForOne(each))
      return judged === 'cluster' || isKnown
        ? [{ ...place, message: `${what} excuses nothing: remove it` }]
        : []
    })
  }
}

/**
 * The resources among the documents in namespaces that the configuration excludes: none, or a single entry as in
 * `Exemptions.notJudged`.
 */
export function leftOutIn(
  { documents }: Pick<Documents, 'documents'>,
  reading: DocumentReading,
  settings: Settings,
  configuration: Configuration,
): Located[] {
  const judge = judgeIn({ group: reading.group, settings }, 'no cluster')
  const exemptions = new Exemptions(configuration, 0)
  for (const { file, document } of documents) {
    const kind = kindOf(document.value, reading)
    if (kind === undefined) continue
    const subject = subjectOf(kind.kind, document.value as Resource, reading)
    if (judge.leavesOut(subject.namespace)) exemptions.leftOut(subject, { file, line: document.line })
  }
  return exemptions.notJudged
}

/** Adds objects that were not judged to a report: to its unread objects if the run must fail because of them. */
export function addNotJudged(
  { notJudged, unread }: { readonly notJudged: Located[]; readonly unread: Unread[] },
  more: readonly Located[],
  fails: boolean,
): void {
  if (fails) unread.push(...more.map((each) => ({ ...each, notJudged: true as const })))
  else notJudged.push(...more)
}
