import type { Kind } from '../kinds/kind.ts'
import { Budget, type Cluster, type Finding, type Resource, type Steps } from '../rule/index.ts'
import { JUDGEMENT, type Surroundings } from './rules.ts'
import { completed } from './defaults.ts'
import { ignoresIn, withAnnotationProblems, withoutIgnored } from './ignored.ts'
import { type Confirmed, decide, hasErrors, NO_FINDINGS, type Verdict, weigh } from './decide.ts'
import type { Ignore } from './settings.ts'
import { type Contents, shape } from '../shape/index.ts'
import type { Prepared } from './world.ts'

/** A verdict, and what it cost. */
export interface ObjectJudgement extends Verdict {
  /** Units of the budget that were spent, of the submitted and the stored object together. */
  readonly spent: number
}

export const ADMITTED: ObjectJudgement = { ...NO_FINDINGS, spent: 0 }

/** An object that is judged. */
export interface JudgedSubject {
  readonly kind: Kind
  readonly namespace: string
  readonly name: string
}

/** What `judgement` needs to know of an object. */
interface Case extends JudgedSubject {
  /** The object as given, with its annotation of ignores. */
  readonly object: unknown
  /** Ignores from elsewhere than the annotation. */
  readonly ignores: readonly Ignore[]
  readonly dryRun: boolean
  readonly confirmed: Confirmed | undefined
  /** Makes the findings of the object within the budget. */
  readonly find: Find
  /**
   * The stored object that the judged one replaces, and how to make its findings; called only where the judged one has
   * an error.
   */
  readonly replaced?: { readonly object: unknown; readonly find: Find } | undefined
}

/**
 * Makes findings within the budget. An arrow function, never a generator function made for a review: V8 keeps a map for
 * each of those in its old generation, and with it all that the function closes over, until the next full collection.
 */
type Find = (budget: Budget) => Steps<readonly Finding[]>

/**
 * Judges an object: makes its findings and weighs them, then, where there is an error, those of the object that it
 * replaces; decides; applies ignores. Each of the two objects has a budget.
 */
export function* judgement({ world }: Prepared, given: Case): Steps<ObjectJudgement> {
  const { settings, group } = world
  const { kind, namespace, name, object, replaced, dryRun, confirmed } = given
  const budget = new Budget(JUDGEMENT)
  const ofReplaced = new Budget(JUDGEMENT)
  const weighed = weigh(yield* given.find(budget), namespace, settings)
  const before =
    replaced && hasErrors(weighed)
      ? {
          weighed: weigh(yield* replaced.find(ofReplaced), namespace, settings),
          value: () => completed(kind, replaced.object, namespace),
        }
      : undefined
  const value = () => completed(kind, object, namespace)
  const verdict = decide({ weighed, value }, before, { mode: settings.mode, dryRun, confirmed })
  const { ignores, problems } = ignoresIn(object, group)
  const self = { kind: kind.kind, namespace, name }
  const kept = withoutIgnored(verdict, self, settings, [...given.ignores, ...ignores])
  return { ...withAnnotationProblems(kept, problems, world), spent: budget.spent + ofReplaced.spent }
}

/** What rules may know beside the object; the other objects are those of its namespace unless they are given. */
export const around = (
  prepared: Prepared,
  { kind, namespace, name }: JudgedSubject,
  cluster: Cluster | undefined = prepared.state?.in(namespace, prepared.version),
): Surroundings => ({
  cluster,
  self: { kind: kind.kind, name },
  outages: prepared.installed && 'of the object alone',
  severityOf: prepared.severityIn(namespace),
  rulesOf: prepared.rulesOf,
})

/** The stored object as rules read it; computed when the first rule asks for it, which few do. */
export function readable(kind: Kind, old: unknown, contents?: Contents): () => Resource | undefined {
  let shaped: ReturnType<typeof shape> | undefined
  return () => (old === undefined ? undefined : (shaped ??= shape(kind, old, contents)).resource)
}
