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

/**
 * A sentence of the specification, shortened. It is written next to the rule, the field or the CRD that enforces it.
 */
export type Statement = { readonly section: string } & (
  | {
      /** A demand that a single resource can violate. */
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
  /** The component that reports it: at `start-up` a container ends with an error; with `nobody` no component does. */
  readonly toldBy: 'API server' | 'operator' | 'start-up' | 'nobody'
  /** The worst that it does to the users of the object. */
  readonly consequence: Consequence
  /** The operator releases in which the failure happens, such as `up to 0.46`; all of them where it is not given. */
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
   * Rare fields of the spec or the part: the rule can find something only where one of them is present, and runs only
   * there.
   */
  readonly needs?: readonly string[]
  /** The kinds it looks up through `context.cluster`. */
  readonly reads: readonly string[]
  /**
   * Set where each error says that a field which the specification requires is missing. The error gives way to a
   * release of the operator that does not require the field (decision 3).
   */
  readonly constraint?: 'required'
  /**
   * With `constraint`: what releases that do not require the field do without it. Messages put it behind the name of
   * the release; without it there is no finding at such a release.
   */
  readonly instead?: string
  /**
   * Set where releases of the operator treat the same fields differently: the first and the last release for which the
   * rule runs, such as `0.55`. Without `from`, or with `orUnknown`, it runs also where no release is known.
   */
  readonly appliesTo?: { readonly from?: string; readonly to?: string; readonly orUnknown?: true }
  /** Checked when an object is deleted, instead of when it is written. */
  readonly when?: 'delete'
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
  /** Of a rule that reads no other objects: how the API server itself can enforce its errors where no webhook runs. */
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
       * CEL over `self`, the value that `check` gets, or an empty map without it; false only where `check` finds an
       * error. `self` has no types, any part may be missing or null, and an evaluation that fails denies nothing.
       */
      readonly expression: string
    }
  | { readonly needsWebhook: string }

export interface Context<T> {
  readonly path: Path<T>
  readonly cluster: Cluster
  /** The judged object; its name is empty where only `generateName` is given. */
  readonly self: ObjectName
  /** The stored value, on an update. */
  old(): Given<T> | undefined
  /** Results that `oncePerReview` keeps. */
  readonly memo: Memo
  /** The budget that the rules of one object share: see `Budget`. */
  readonly budget: Budget
}

/** Makes a function compute its result once for each argument in a review: several rules ask for the same. */
export const oncePerReview =
  <Of, In extends Pick<Context<unknown>, 'memo'>, R>(compute: (of: Of, context: In) => R) =>
  (of: Of, context: In): R =>
    remembered(context.memo, compute, of, context)

/** `value` is a resource without apiVersion, kind and metadata, or the part of one that the rule is `on`. */
export interface Example<T> {
  readonly title: string
  readonly value: Given<T>
  /** The kind of the example, where the rule is about several. */
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
  /** The exact text of each finding, with its place. */
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
