import type { Static, TSchema } from 'typebox'
import type { Budget } from './budget.ts'
import type { Cluster, ObjectName } from './cluster.ts'
import type { Consequence } from './consequence.ts'
import type { FieldError } from './field-error.ts'
import { type Memo, remembered } from './memo.ts'
import type { Path, Segment } from './path.ts'
import type { Given, Resource } from './resource.ts'

/**
 * An error denies the request. A warning is about something that will fail or expose data at run time. Advice is good
 * practice for production: the webhook gives it when an object is created, and commands give it on request.
 */
export type Severity = 'error' | 'warning' | 'advice' | 'off'
export type NonEmpty<T> = readonly [T, ...T[]]

/**
 * A sentence of the specification, shortened. It is written next to the rule, the field or the CRD that enforces it.
 */
export type Statement = { readonly section: string } & (
  | {
      /** A requirement that a single resource can violate. */
      readonly must: string
    }
  | { readonly says: string }
)

export const must = (section: string, text: string): Statement => ({ section, must: text })
export const says = (section: string, text: string): Statement => ({ section, says: text })

/** A statement of the specification, or the name of one of its sections or of a decision: `2.4.1`, `decision 14`. */
export type Source = Statement | string

/** The names of the sections and decisions in these sources, without repeats: `2.4.1`, `decision 14`. */
export function sourceNames(sources: readonly Source[]): string[] {
  const names = sources.map((source) => (typeof source === 'string' ? source : source.section))
  return [...new Set(names)]
}

/** The failure that people report when the rule is broken, in the words that they search for. */
export interface KnownFailure {
  /** The symptom that the user sees: a status, a condition, a log line. One sentence. */
  readonly symptom: string
  /** The component that reports the failure; `start-up`: a container ends with an error; `nobody`: no component. */
  readonly reportedBy: 'API server' | 'operator' | 'start-up' | 'nobody'
  /** The worst effect on the users of the object. */
  readonly consequence: Consequence
  /** The operator releases in which the failure happens, such as `up to 0.46`; all of them when absent. */
  readonly releases?: string
  /** Public issues and pull requests about the failure: `owner/repository#number`. */
  readonly threads?: readonly string[]
}

/** A check on every value of the schemas in `on`: whole resources, or parts of resources of several kinds. */
export interface RuleFor<S extends TSchema> {
  /** States the requirement, subject first; also the name of the file and of the page in docs/rules. */
  readonly id: string
  /** Former ids of the rule: settings, exemptions, ignores and `explain` still accept them. */
  readonly formerIds?: readonly string[]
  /**
   * The schemas that the rule applies to: of kinds, or of parts that several kinds have in common. The engine runs the
   * rule on each value of such a schema, and on no other value.
   */
  readonly on: S | readonly S[]
  /**
   * Rare fields of the checked spec or part: the rule runs only where one of them is present, because without them it
   * finds nothing.
   */
  readonly needs?: readonly string[]
  /** The kinds that the rule looks up through `context.cluster`; none when omitted. */
  readonly reads?: readonly string[]
  /**
   * Set when each error says that a field required by the specification is missing. At a release of the operator that
   * does not require the field, the error becomes a warning or disappears (decision 3).
   */
  readonly constraint?: 'required'
  /**
   * With `constraint`: how releases that do not require the field behave without it, perhaps by the path of the error.
   * Messages append this to the name of the release; when it is absent, there is no finding at such a release.
   */
  readonly instead?: string | ((at: readonly Segment[]) => string | undefined)
  /**
   * Set when releases of the operator treat the same fields differently: the first and the last release for which the
   * rule runs, such as `0.55`. Without `from`, or with `orUnknown`, it also runs when no release is known.
   */
  readonly appliesTo?: { readonly from?: string; readonly to?: string; readonly orUnknown?: true }
  /**
   * `delete`: the rule is checked at the deletion of an object, not when the object is written. `change`: the rule is
   * about what a write changes, so it finds nothing in an object as it is stored.
   */
  readonly when?: 'delete' | 'change'
  readonly severity: Exclude<Severity, 'off'>
  /** The requirement: one sentence. */
  readonly summary: string
  /** The effect at run time when the rule is broken: one or two sentences. */
  readonly why: string
  /** Set where people have reported the failure; docs/failures.md lists it. */
  readonly failure?: KnownFailure
  readonly sources: NonEmpty<Source>
  /** Pure and synchronous; never throws on a resource in which any part is missing. */
  check(value: Given<Static<S>>, context: Context<Static<S>>): Iterable<FieldError>
  /** For a rule that reads no other objects: how the API server itself can enforce the rule where no webhook runs. */
  readonly policy?: Policy
  /** The examples by title, at least one valid and one invalid. The examples of a list share their title. */
  readonly examples: Readonly<Record<string, Example<Static<S>> | readonly Example<Static<S>>[]>>
}

/** The rule as part of a ValidatingAdmissionPolicy, or a phrase that says why it cannot be expressed there. */
export type Policy =
  | {
      /**
       * A CEL expression over `self`: the value that `check` gets, or an empty map when the value is absent. False
       * only where `check` finds an error. `self` has no types, any part may be missing or null, and an evaluation
       * that fails denies nothing.
       */
      readonly expression: string
    }
  | { readonly needsWebhook: string }

export interface Context<T> {
  readonly path: Path<T>
  readonly cluster: Cluster
  /** The judged object; its name is empty when it has only `generateName`. */
  readonly self: ObjectName
  /** The value at the same path of the stored object, when the request is an update. */
  old(): Given<T> | undefined
  /** Cached results of functions made with `oncePerReview`. */
  readonly memo: Memo
  /** The budget that all rules share while they check one object: see `Budget`. */
  readonly budget: Budget
}

/** Caches the results of a function for each argument within a review, because several rules need the same result. */
export const oncePerReview =
  <Of, In extends Pick<Context<unknown>, 'memo'>, R>(compute: (of: Of, context: In) => R) =>
  (of: Of, context: In): R =>
    remembered(context.memo, compute, of, context)

/** `value` is a resource without apiVersion, kind and metadata, or the part of a resource that the rule checks. */
export interface Example<T> {
  readonly value: Given<T>
  /** The kind of the example, when the rule is about several kinds. */
  readonly kind?: string
  /** The field that contains `value`, such as `authzConfigRef`; omitted for the field of the first schema in `on`. */
  readonly part?: string
  readonly annotations?: Readonly<Record<string, string>>
  /**
   * Other objects that the example needs. Without a namespace they are in the namespace of the judged resource, which
   * is named `example`.
   */
  readonly others?: readonly Other[]
  /** `value` as it is in the stored object; an example that has `old` is an update. */
  readonly old?: Given<T>
  /** The exact text of each finding, with its path; omitted when the example is valid. */
  readonly findings?: string | NonEmpty<string>
}

/** An object of an example, beside the judged object. */
export interface Other extends Resource {
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly annotations?: Readonly<Record<string, string>>
  }
}

/** A rule for any schema, as the engine runs it. */
export type Rule = RuleFor<TSchema> & Required<Pick<RuleFor<TSchema>, 'reads'>>

/**
 * Lets TypeScript check a rule against its own schema, and returns it as a `Rule`, so that one list can hold all rules.
 * Safe because the engine calls a rule only with values of the schemas in `on`, without parts of a wrong JSON type.
 */
export function defineRule<S extends TSchema>(rule: RuleFor<S>): Rule {
  const general: RuleFor<TSchema> = rule
  return { reads: [], ...general }
}
