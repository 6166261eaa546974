import type { Static, TSchema } from 'typebox'
import type { Budget } from './budget.ts'
import type { Cluster, ObjectName } from './cluster.ts'
import type { Consequence } from './consequence.ts'
import type { FieldError } from './field-error.ts'
import { type Memo, remembered } from './memo.ts'
import type { Path } from './path.ts'
import type { Given, Resource } from './resource.ts'

/**
 * An error denies. What a warning is about will fail or expose something at run time. Advice is hygiene of production: the
 * webhook gives it when an object is created, and commands give it on request.
 */
export type Severity = 'error' | 'warning' | 'advice' | 'off'
export type NonEmpty<T> = readonly [T, ...T[]]

/** A statement of the specification, in short, that its owner holds: a rule, a field of a schema, the CRD. */
export type Statement = { readonly section: string } & (
  | {
      /** One resource can break it, and is wrong then. */
      readonly must: string
    }
  | { readonly says: string }
)

/** A statement, or the name of a section or of a decision where the specification is silent: `2.4.1`, `decision 14`. */
export type Source = Statement | string

/** The names of the sections and decisions of sources, each once: `2.4.1`, `decision 14`. */
export function sourceNames(sources: readonly Source[]): string[] {
  const names = sources.map((source) => (typeof source === 'string' ? source : source.section))
  return [...new Set(names)]
}

/** The failure that people report where the rule was broken, in the words that they search for. */
export interface KnownFailure {
  /** The symptom that the user sees: a status, a condition, a log line. One sentence. */
  readonly symptom: string
  /** The component that reports it without this product: `start-up` is a container that ends with an error, `nobody` is silence. */
  readonly toldBy: 'API server' | 'operator' | 'start-up' | 'nobody'
  /** The worst that it does to the users of the object. */
  readonly consequence: Consequence
  /** The operator releases in which it happens, such as `up to 0.46`; all of them where it is not given. */
  readonly releases?: string
  /** Public threads about it: `owner/repository#number`. */
  readonly threads: readonly string[]
}

/** A check on every value of the schemas in `on`: of whole resources, or of a part that several kinds hold. */
export interface RuleFor<S extends TSchema> {
  /** The requirement, subject first; also the file name and the page in docs/rules. */
  readonly id: string
  /** Ids of rules that became this one: settings, exemptions, ignores and `explain` take them for `id`. */
  readonly formerIds?: readonly string[]
  /**
   * The schema, or the schemas, that it applies to: those of kinds, or of parts. The engine runs the rule wherever one
   * of them lies, and nowhere else.
   */
  readonly on: S | readonly S[]
  /**
   * Fields that few objects have, of the spec or of the part: the rule is run where one of them is there, and cannot find
   * anything elsewhere.
   */
  readonly needs?: readonly string[]
  /** The kinds it looks up through `context.cluster`. */
  readonly reads: readonly string[]
  /**
   * Set where its errors, which are at the missing field, stand for a `required` of the specification: they give way to
   * a release of the operator that does not require the field (decision 3).
   */
  readonly constraint?: 'required'
  /**
   * With `constraint`: what the releases that do not require the field do without it, after their name. Nothing is said
   * where it is left out.
   */
  readonly instead?: string
  /**
   * Set where other releases of the operator treat the same fields differently: the first and the last that it is about,
   * such as `0.55`. It counts where the installed release is between them; without `from`, or with `orUnknown`, also where
   * none is known.
   */
  readonly appliesTo?: { readonly from?: string; readonly to?: string; readonly orUnknown?: true }
  /** Checked when an object is deleted, instead of when it is written. */
  readonly when?: 'delete'
  readonly severity: Exclude<Severity, 'off'>
  /** The requirement: one sentence. */
  readonly summary: string
  /** The effect at run time when the rule is broken: one or two sentences. */
  readonly why: string
  /** Set where people have met the failure; these rules are docs/failures.md. */
  readonly failure?: KnownFailure
  readonly sources: NonEmpty<Source>
  /** Pure and synchronous; never throws on a resource in which any part is missing. */
  check(value: Given<Static<S>>, context: Context<Static<S>>): Iterable<FieldError>
  /** For errors that read nothing: how the API server itself can hold the rule, where no webhook runs. */
  readonly policy?: Policy
  readonly examples: {
    readonly valid: NonEmpty<Example<Static<S>>>
    readonly invalid: NonEmpty<InvalidExample<Static<S>>>
  }
}

/** A rule in a ValidatingAdmissionPolicy, or one phrase that says why it cannot be there. */
export type Policy =
  | {
      /**
       * CEL over `self`, the value that `check` sees, or an empty map: false only where `check` finds an error. Nothing
       * in it is typed, any part may be missing or null, and an evaluation that fails denies nothing.
       */
      readonly expression: string
    }
  | { readonly needsWebhook: string }

export interface Context<T> {
  readonly path: Path<T>
  readonly cluster: Cluster
  /** The object that is judged; the name is empty while it has none. */
  readonly self: ObjectName
  /** The stored value, on an update. */
  old(): Given<T> | undefined
  /** Results of `oncePerReview`. */
  readonly memo: Memo
  /** The budget that the rules of one object share for work that does not grow with its size alone. */
  readonly budget: Budget
}

/** A function that computes its result once in each review for each argument, as several rules need it. */
export const oncePerReview =
  <Of, In extends Pick<Context<unknown>, 'memo'>, R>(compute: (of: Of, context: In) => R) =>
  (of: Of, context: In): R =>
    remembered(context.memo, compute, of, context)

/** `value` is a resource without apiVersion, kind and metadata, or a part; `findings` is the exact text of each. */
export interface Example<T> {
  readonly title: string
  readonly value: Given<T>
  /** The kind that it is an example of, where the rule is about several. */
  readonly kind?: string
  /** The field of the part, where it is not a value of the first part that the rule is about. */
  readonly part?: string
  /** Annotations of the resource. */
  readonly annotations?: Readonly<Record<string, string>>
  /** The other objects, each with its kind, its name and no namespace. The resource itself is named `example`. */
  readonly others?: readonly Other[]
  /** The stored value: makes it the example of an update. */
  readonly old?: Given<T>
}

export interface InvalidExample<T> extends Example<T> {
  readonly findings: NonEmpty<string>
}

/** Another object in an example. */
export interface Other extends Resource {
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly annotations?: Readonly<Record<string, string>>
  }
}

/** Any rule, as the engine sees it. */
export type Rule = RuleFor<TSchema>

/**
 * Checks a rule against its own schema, then forgets the schema so that all rules fit in one list. Sound because the
 * engine gives a rule only values that lie where its schema does, with every part of a wrong JSON type taken away.
 */
export function defineRule<S extends TSchema>(rule: RuleFor<S>): Rule {
  return rule
}
