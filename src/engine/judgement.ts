import type { Kind } from '../kinds/kind.ts'
import { Budget, type Cluster, type Finding, type Resource, type Steps } from '../rule/index.ts'
import { JUDGEMENT, type Surroundings } from './rules.ts'
import { completed } from './defaults.ts'
import { ignoresIn, withAnnotationProblems, withoutIgnored } from './ignored.ts'
import { type Confirmed, type JudgedObject, judgeBeside, NO_FINDINGS, type Verdict } from './decide.ts'
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

/** The input of a verdict: the findings of an object, those of the stored object it replaces, and the ignores. */
interface Case extends JudgedSubject {
  /** As given, with the annotation of ignores. */
  readonly object: unknown
  /** Ignores beside those of the annotation. */
  readonly ignores: readonly Ignore[]
  readonly dryRun: boolean
  readonly confirmed: Confirmed | undefined
  /** Finds what is wrong with the object, within this budget. */
  readonly find: Find
  /** The stored object that it replaces, and what is wrong with it; asked for only where the object has an error. */
  readonly replaced?: { readonly object: unknown; readonly find: Find } | undefined
}

/**
 * Finds within the budget. No generator function is made for a review: V8 keeps with each a map in its old generation, and so
 * all that it sees, until the next full collection.
 */
type Find = (budget: Budget) => Steps<readonly Finding[]>

/** Judges an object: finds, decides, ignores. What may be spent is one budget for it and one for the object it replaces. */
export function* judgement({ world }: Prepared, given: Case): Steps<ObjectJudgement> {
  const { settings, group } = world
  const { kind, namespace, name, object, replaced, dryRun, confirmed } = given
  const budget = new Budget(JUDGEMENT)
  const ofReplaced = new Budget(JUDGEMENT)
  const value = () => completed(kind, object, namespace)
  const verdict = yield* judgeBeside(
    { findings: yield* given.find(budget), value },
    { namespace, settings, dryRun, confirmed },
    replaced && (() => judgedBefore(given, replaced, ofReplaced)),
  )
  const { ignores, problems } = ignoresIn(object, group)
  const self = { kind: kind.kind, namespace, name }
  const kept = withoutIgnored(verdict, self, settings, [...given.ignores, ...ignores])
  return { ...withAnnotationProblems(kept, problems, world), spent: budget.spent + ofReplaced.spent }
}

function* judgedBefore(
  { kind, namespace }: Case,
  { object, find }: NonNullable<Case['replaced']>,
  budget: Budget,
): Steps<JudgedObject> {
  return { findings: yield* find(budget), value: () => completed(kind, object, namespace) }
}

/** An object among the other objects, which are those of its namespace unless others are given. */
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

/** The stored object as rules read it; shaped once, when the first rule asks for it, which few do. */
export function readable(kind: Kind, old: unknown, contents?: Contents): () => Resource | undefined {
  let shaped: ReturnType<typeof shape> | undefined
  return () => (old === undefined ? undefined : (shaped ??= shape(kind, old, contents)).resource)
}
