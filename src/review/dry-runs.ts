import { projected } from '../kinds/between/projections.ts'
import { kindNamed } from '../kinds/index.ts'
import type { Cluster, ObjectName } from '../rule/cluster.ts'
import { isObject, type Resource } from '../rule/resource.ts'
import type { Submission } from './index.ts'
import { shape } from './shape.ts'
import { withObject } from './with-object.ts'

/** How long a dry run counts, in milliseconds: whoever tries a whole commit applies it at once. */
const HOLDS = 120_000
/** How many dry runs are remembered. */
const MOST = 4_096

interface DryRun {
  readonly user: string
  /** What rules read of it. */
  readonly resource: Resource
  /** Digest of all of its spec. */
  readonly spec: string
  readonly at: number
}

/**
 * What was tried in dry runs a moment ago. A tool that dry-runs a whole commit before it applies any of it, as Flux
 * does, has told us the commit: what it then applies is judged beside the rest of it (decision 9).
 */
export class DryRuns {
  /** By object, the oldest first. */
  readonly #dryRuns = new Map<string, DryRun>()
  readonly #digest: (text: string) => string

  /** `digest` is short, and seldom the same for two texts. */
  constructor(digest: (text: string) => string) {
    this.#digest = digest
  }

  /**
   * Takes a review that was answered: of a dry run that would be admitted it keeps what rules read of the object; what
   * is written for good is no longer tried. `now` in milliseconds.
   */
  hear(submission: Submission, isAdmitted: boolean, now: number): void {
    const { user, name, dryRun } = submission
    this.#dryRuns.delete(keyOf(submission, submission))
    const resource = dryRun && isAdmitted && name !== '' ? kept(submission) : undefined
    if (resource === undefined) return
    for (const [key, { at }] of this.#dryRuns) {
      if (this.#dryRuns.size < MOST && now - at < HOLDS) break
      this.#dryRuns.delete(key)
    }
    const spec = this.#specOf(submission)
    this.#dryRuns.set(keyOf(submission, submission), { user, resource, spec, at: now })
  }

  /**
   * Puts those of the named objects into a view that the same user has just tried together with this very resource;
   * undefined when there are none.
   */
  with(
    submission: Submission,
    names: readonly ObjectName[],
    now: number,
  ): ((cluster: Cluster) => Cluster) | undefined {
    const tried = (name: ObjectName) => {
      const found = this.#dryRuns.get(keyOf(submission, name))
      return found?.user === submission.user && now - found.at < HOLDS ? found : undefined
    }
    const self = submission.operation === 'DELETE' ? undefined : tried(submission)
    if (self === undefined) return undefined
    const others = names.flatMap((name) => {
      const found = tried(name)
      return found === undefined ? [] : [{ name, resource: found.resource }]
    })
    if (others.length === 0 || self.spec !== this.#specOf(submission)) return undefined
    return (cluster) => others.reduce((view, { name, resource }) => withObject(view, name, resource), cluster)
  }

  #specOf({ object }: Submission): string {
    return this.#digest(JSON.stringify([isObject(object) ? object.spec : undefined]))
  }
}

const keyOf = ({ namespace }: Submission, { kind, name }: ObjectName) => `${kind}/${namespace}/${name}`

/** Undefined for what is no object of ours, or goes. */
function kept({ operation, group, kind: name, object, contents }: Submission): Resource | undefined {
  const kind = operation === 'DELETE' ? undefined : kindNamed.get(name)
  const resource = kind === undefined ? undefined : shape(kind, object, contents).resource
  return resource === undefined ? undefined : projected(name, resource, group)
}
