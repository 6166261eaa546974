import type { Kind } from '../kinds/kind.ts'
import {
  Budget,
  type Cluster,
  type Finding,
  type ObjectName,
  type Resource,
  type Steps,
} from '../rule/index.ts'
import { JUDGEMENT, type Surroundings } from './rules.ts'
import { completed } from './defaults.ts'
import { ignoresIn, withAnnotationProblems, withoutIgnored } from './ignored.ts'
import { type Confirmed, decide, hasErrors, NO_FINDINGS, type Verdict, weigh } from './decide.ts'
import type { Ignore } from './settings.ts'
import { type Contents, shape } from '../shape/index.ts'
import type { Prepared } from './world.ts'

/** The kinds that only reviews read, by `--check-secrets` and `--check-config-maps`: the cache never has them. */
export const READ_BY_REVIEWS: ReadonlySet<string> = new Set(['Secret', 'ConfigMap'])

/** A verdict with its cost. */
export interface ObjectJudgement extends Verdict {
  /**
   * The Secrets and ConfigMaps that findings depend on, also findings that are off or ignored. Rules report nothing
   * about the content of a Secret that has not been read.
   */
  readonly looksAt: readonly ObjectName[]
  /** Units of the budget spent on the submitted and the stored object together. */
  readonly spent: number
}

export const ADMITTED: ObjectJudgement = { ...NO_FINDINGS, looksAt: [], spent: 0 }

/** An object that is judged. */
export interface JudgedSubject {
  readonly kind: Kind
  readonly namespace: string
  readonly name: string
}

/** The input of `judgement`. */
interface Case extends JudgedSubject {
  /** The object as given, including its annotation with ignores. */
  readonly object: unknown
  /** The ignores that are not in the annotation of the object, but in comments of its file. */
  readonly ignores: readonly Ignore[]
  readonly dryRun: boolean
  readonly confirmed: Confirmed | undefined
  /** Makes the findings of the object within the budget. */
  readonly find: Find
  /** The stored object that the judged one replaces; its findings are made only when the judged one has an error. */
  readonly replaced?: { readonly object: unknown; readonly find: Find } | undefined
}

/**
 * Makes findings within the budget. Always an arrow function, not a generator function: V8 keeps a map (hidden class)
 * for every generator function that a review creates, with all that it closes over, until the next full garbage
 * collection.
 */
type Find = (budget: Budget) => Steps<readonly Finding[]>

/**
 * Judges an object: makes its findings and sets their severities; if one is an error, does the same for the stored
 * object that this one replaces; then decides the verdict and applies ignores. Each of the two objects has a budget.
 */
export function* judgement({ world }: Prepared, given: Case): Steps<ObjectJudgement> {
  const { settings, group } = world
  const { kind, namespace, name, object, replaced, dryRun, confirmed } = given
  const budget = new Budget(JUDGEMENT)
  const ofReplaced = new Budget(JUDGEMENT)
  const findings = yield* given.find(budget)
  const weighed = weigh(findings, namespace, settings)
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
  return {
    ...withAnnotationProblems(kept, problems, world),
    looksAt: findings.flatMap(({ error: { dependsOn = [] } }) =>
      dependsOn.filter(({ kind }) => READ_BY_REVIEWS.has(kind)),
    ),
    spent: budget.spent + ofReplaced.spent,
  }
}

/** The context in which rules check an object: by default with the other objects of its namespace. */
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

/** The stored object as rules read it; computed on demand, because few rules ask for it. */
export function readable(kind: Kind, old: unknown, contents?: Contents): () => Resource | undefined {
  let shaped: ReturnType<typeof shape> | undefined
  return () => (old === undefined ? undefined : (shaped ??= shape(kind, old, contents)).resource)
}
