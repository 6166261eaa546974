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

/** The most names in the note about objects that were not judged. */
const MOST_NAMES = 20

/** Records, during one run, which exemptions of the configuration had an effect and which objects were not judged. */
export class Exemptions {
  readonly #configuration: Configuration
  readonly #now: number
  readonly #used = new Set<unknown>()
  readonly #concerned = new Set<FileExemption>()
  /** Descriptions (kind, namespace and name) of the objects in namespaces that the settings exclude from judging. */
  readonly #leftOut: string[] = []

  constructor(configuration: Configuration, now: number) {
    this.#configuration = configuration
    this.#now = now
  }

  /** Records an object that was judged, and its ignored findings. */
  judged(subject: GivenSubject, ignored: readonly Ignored[]): void {
    for (const { by } of ignored) this.#used.add(by)
    for (const each of this.#configuration.exemptions) if (isFor(each, subject)) this.#concerned.add(each)
  }

  /** Records an object that is not judged, because the settings exclude its namespace. */
  leftOut(
    { kind, namespace, name }: GivenSubject,
    place?: { readonly file: string; readonly line: number },
  ): void {
    const where = place === undefined ? '' : ` (${place.file}:${place.line})`
    this.#leftOut.push(`${kind} ${namespace}/${name}${where}`)
  }

  /** A note with the number and the first names of the objects that were not judged; empty when there are none. */
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
   * Notes about exemptions that have expired, or that certainly have no effect. After a whole cluster was judged, the
   * latter are all unused exemptions. After all files were judged (`files`), these are the unused exemptions that
   * apply to a judged object, because others may be for another repository. After only a part was judged, these are
   * the unused exemptions for a single object that was judged.
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
 * A note about the documents that are not judged because the configuration excludes their namespaces; empty when there
 * are none.
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

/**
 * Adds notes about objects that were not judged to a report: to `notJudged` or, if such objects make the run fail, to
 * `unread`.
 */
export function addNotJudged(
  { notJudged, unread }: { readonly notJudged: Located[]; readonly unread: Unread[] },
  more: readonly Located[],
  fails: boolean,
): void {
  if (fails) unread.push(...more.map((each) => ({ ...each, notJudged: true as const })))
  else notJudged.push(...more)
}
