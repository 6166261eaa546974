import type { ObjectName } from './cluster.ts'
import { goQuote, goQuoteStart, goValue, withoutUserInfo } from './go-text.ts'
import { LONGEST_SHOWN, type Path, type Segment, segmentsOf } from './path.ts'

/**
 * The error types of `k8s.io/apimachinery/pkg/util/validation/field`, each with its phrase and its `StatusCause`
 * reason.
 */
const ERROR_TYPES = {
  required: { phrase: 'Required value', cause: 'FieldValueRequired' },
  invalid: { phrase: 'Invalid value', cause: 'FieldValueInvalid' },
  typeInvalid: { phrase: 'Invalid value', cause: 'FieldValueTypeInvalid' },
  notSupported: { phrase: 'Unsupported value', cause: 'FieldValueNotSupported' },
  duplicate: { phrase: 'Duplicate value', cause: 'FieldValueDuplicate' },
  notFound: { phrase: 'Not found', cause: 'FieldValueNotFound' },
  forbidden: { phrase: 'Forbidden', cause: 'FieldValueForbidden' },
  tooLong: { phrase: 'Too long', cause: 'FieldValueTooLong' },
  tooMany: { phrase: 'Too many', cause: 'FieldValueTooMany' },
  advice: { phrase: '', cause: 'FieldValueInvalid' },
} as const
export type ErrorType = keyof typeof ERROR_TYPES

const WITHOUT_VALUE: ReadonlySet<ErrorType> = new Set<ErrorType>([
  'required',
  'forbidden',
  'tooLong',
  'advice',
])

/** An error or advice about one field. Messages print `value`, as the user wrote it, so it must never be a secret. */
export interface FieldError {
  readonly type: ErrorType
  readonly at: readonly Segment[]
  readonly value?: unknown
  readonly detail: string
  /** The other objects whose content or absence causes this error. */
  readonly dependsOn?: readonly ObjectName[]
  /** For a warning: the value of `dependsOn` when a severity setting turns the warning into an error. */
  readonly dependsOnAsError?: readonly ObjectName[]
  /**
   * Identifies what the error is about; by default the value at its path. The ratchet (decision 8) excuses an error
   * when the stored object has errors about the same things, whatever their rule, place and text.
   */
  readonly about?: () => Iterable<ErrorSubject>
  /** The other places that take part in a contradiction: at most four, the most helpful one first. */
  readonly related?: readonly Related[]
  /**
   * Keys of the contradictions between objects that the error reports. A contradiction has the same key in the
   * findings of each of its objects: the output for people groups findings with the same key, and shows one of these
   * findings as the cause.
   */
  readonly causes?: () => Iterable<ErrorSubject>
  /**
   * Set for a warning which says that the operator will certainly fail. The warning becomes an error when the
   * operator release is known. A warning that depends on other objects becomes an error for files only, because in a
   * cluster a later apply may bring these objects.
   */
  readonly isOutage?: true
  /** A change that corrects the error; given only when it is certainly right and changes nothing else. */
  readonly fix?: Fix
}

/** A safe change of the object as the user wrote it; `title` says what the change does: `write '168h'`. */
export interface Fix {
  readonly title: string
  readonly edits: readonly Edit[]
}

/** One step of a fix, at a path in the object. */
export type Edit =
  | { readonly op: 'rename'; readonly at: readonly Segment[]; readonly to: string }
  | { readonly op: 'set' | 'add'; readonly at: readonly Segment[]; readonly value: unknown }
  | Moving

/** Moves members within the object at `at`, all of them or none. An object that loses its last member is removed. */
export interface Moving {
  readonly op: 'move'
  readonly at: readonly Segment[]
  /** The old and the new path of each member, within the object at `at`. A move without `to` removes the member. */
  readonly moves: readonly { readonly from: readonly string[]; readonly to?: readonly string[] }[]
  /** Members to add before the moves, with their paths within the object at `at`. */
  readonly adds: readonly { readonly at: readonly string[]; readonly value: string | boolean }[]
}

/** A place in another object, or elsewhere in the judged one, and a phrase about the value there. */
export interface Related {
  readonly object: ObjectName
  readonly at: readonly Segment[]
  readonly text: string
}

/** Words that together identify what an error is about, such as a rule's id and the names of objects. */
export type ErrorSubject = readonly [what: string, ...names: readonly string[]]

type At = Path<unknown>
type Value<T> = NonNullable<T>

/** An error `Required value`: a field is missing. */
export function required(path: At, detail: string): FieldError {
  return { type: 'required', at: segmentsOf(path), detail }
}

/** An error `Forbidden`: the field must not be set. The message prints no value. */
export function forbidden(path: At, detail: string): FieldError {
  return { type: 'forbidden', at: segmentsOf(path), detail }
}

/** An error `Invalid value`: the message shows the value, and what it must be. */
export function invalid<T>(path: Path<T>, value: Value<T>, detail: string): FieldError {
  return { type: 'invalid', at: segmentsOf(path), value, detail }
}

/** An error `Not found`: a reference to an object or key that does not exist. */
export function notFound<T>(path: Path<T>, value: Value<T>, detail: string): FieldError {
  return { type: 'notFound', at: segmentsOf(path), value, detail }
}

/** An error `Too many`: the message shows the number of items, and the most that are allowed. */
export function tooMany(path: At, count: number, detail: string): FieldError {
  return { type: 'tooMany', at: segmentsOf(path), value: count, detail }
}

/** Adds to an error the other objects that it depends on. Every error about two objects needs this. */
export function dependingOn(error: FieldError, ...dependsOn: readonly ObjectName[]): FieldError {
  return { ...error, dependsOn }
}

/**
 * Adds to a warning the other objects that it depends on when a severity setting turns it into an error: only then does
 * the webhook read them from the API server.
 */
export function dependingAsError(error: FieldError, ...dependsOnAsError: readonly ObjectName[]): FieldError {
  return { ...error, dependsOnAsError }
}

/** Marks a warning which says that the operator will certainly fail; with a known release it becomes an error. */
export const outage = (error: FieldError): FieldError => ({ ...error, isOutage: true })

/** Adds to an error the one thing that it is about, for the ratchet (decision 8). */
export function about(error: FieldError, ...thing: ErrorSubject): FieldError {
  return { ...error, about: () => [thing] }
}

/** Adds to an error the things that it is about; `things` is called only when the ratchet (decision 8) needs them. */
export function aboutEach(error: FieldError, things: () => Iterable<ErrorSubject>): FieldError {
  return { ...error, about: things }
}

/** The most `related` places that an error has. */
const MOST_RELATED = 4

/** Adds to an error the other places of a contradiction, and keys that identify the contradictions (`causes`). */
export function relatedTo(
  error: FieldError,
  related: readonly Related[],
  causes?: () => Iterable<ErrorSubject>,
): FieldError {
  return { ...error, related: related.slice(0, MOST_RELATED), ...(causes && { causes }) }
}

/** A `related` place of an error: a path in an object, with a phrase about the value there. */
export const end = (object: ObjectName, path: At, text: string): Related => ({
  object,
  at: segmentsOf(path),
  text,
})

/** An error `Duplicate value`: an earlier item has the same value. */
export function duplicate<T>(path: Path<T>, value: Value<T>, detail = ''): FieldError {
  return { type: 'duplicate', at: segmentsOf(path), value, detail }
}

/** An error `Too long`: the message prints no value. */
export function tooLong(path: At, detail: string): FieldError {
  return { type: 'tooLong', at: segmentsOf(path), detail }
}

/** An advice, for warnings only: the message has the path and the sentence `detail`, no error phrase and no value. */
export function advice(path: At, detail: string): FieldError {
  return { type: 'advice', at: segmentsOf(path), detail }
}

/** The detail of an unsupported value: `supported values: "a", "b"`. */
export function supportedValues(allowed: readonly string[]): string {
  return `supported values: ${allowed.map(goQuote).join(', ')}`
}

/**
 * The message of an error after the path, as `field.Error.ErrorBody()` prints it. A value over 1,024 characters is cut,
 * and the message says so.
 */
export function errorBody({ type, value, detail }: FieldError): string {
  const { phrase } = ERROR_TYPES[type]
  if (type === 'advice') return detail
  const parts = WITHOUT_VALUE.has(type) ? [phrase] : [phrase, shownValue(value)]
  return (detail === '' ? parts : [...parts, detail]).join(': ')
}

/**
 * A value as messages show it, cut before it is quoted: a request may hold a value of seven million characters, and
 * quoting them all is slow.
 */
function shownValue(value: unknown): string {
  const text = typeof value === 'string' ? withoutUserInfo(value, LONGEST_SHOWN) : undefined
  const shown = text === undefined ? goValue(value) : goQuoteStart(text, LONGEST_SHOWN)
  if (shown.length <= LONGEST_SHOWN) return shown
  return `${shown.slice(0, LONGEST_SHOWN).toWellFormed()}… (${(text ?? shown).length} characters)`
}

/** The machine-readable reason for an error type: `metav1.StatusCause.reason`. */
export function causeOf(type: ErrorType): string {
  return ERROR_TYPES[type].cause
}
