import { type Configuration, type FileExemption, holdsAt } from '../../configuration/file.ts'
import { exemptionText, isAlwaysFound, isFor, isForOne } from '../../review/ignored.ts'
import type { Ignored } from '../../review/settings.ts'
import type { Subject } from '../../review/given-objects.ts'
import { counted, IN_CLUSTER, type Located } from '../output/report.ts'

/** What the exemptions of the configuration did in one run. */
export class Exemptions {
  readonly #configuration: Configuration
  readonly #now: number
  readonly #used = new Set<unknown>()
  readonly #concerned = new Set<FileExemption>()
  #leftOut = 0

  constructor(configuration: Configuration, now: number) {
    this.#configuration = configuration
    this.#now = now
  }

  /** Takes note of an object that was judged. */
  judged(subject: Subject, ignored: readonly Ignored[]): void {
    for (const { by } of ignored) this.#used.add(by)
    for (const each of this.#configuration.exemptions) if (isFor(each, subject)) this.#concerned.add(each)
  }

  /** Takes note of an object in a namespace that is left out. */
  leftOut(): void {
    this.#leftOut += 1
  }

  /**
   * Notes on exemptions that have expired, or that excuse nothing in what was judged: a whole cluster, in which each must
   * have its objects; all files of the configuration, which may be for those of other repositories too; or a part, of
   * which an exemption for one object can be told.
   */
  notes(judged: 'cluster' | 'part of a cluster' | 'files' | 'some files'): Located[] {
    const { file = '', exemptions } = this.#configuration
    const notes = exemptions.flatMap((each): Located[] => {
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
    if (this.#leftOut === 0) return notes
    const message = `${counted(this.#leftOut, 'resource')} not judged: in namespaces that ${file} leaves out`
    return [...notes, { ...IN_CLUSTER, message }]
  }
}
