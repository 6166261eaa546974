/**
 * A value of type `T` as a rule sees it: read-only, and any part may be missing, because parts with a wrong JSON type
 * are removed and a required part may be absent.
 */
export type Given<T> = unknown extends T
  ? unknown
  : T extends readonly (infer Item)[]
    ? readonly (Given<Item> | undefined)[]
    : T extends object
      ? { readonly [K in keyof T]?: Given<T[K]> | undefined }
      : T

/** The fields that every Kubernetes object may have. */
export interface Resource {
  readonly apiVersion?: unknown
  readonly kind?: unknown
  readonly metadata?: {
    readonly name?: unknown
    readonly namespace?: unknown
    readonly generateName?: unknown
    readonly deletionTimestamp?: unknown
    readonly annotations?: unknown
  }
  readonly spec?: unknown
  readonly status?: unknown
}

/**
 * Whether the user left the field out. A field that was removed because of a wrong JSON type still exists, with the
 * value undefined: so no rule reports it as missing.
 */
export function isAbsent<T extends object>(holder: T, field: keyof T): boolean {
  return !Object.hasOwn(holder, field)
}

/** Whether the value is a JSON object: neither null nor a list. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The metadata of a Kubernetes object; empty when the object has none. */
export function metadataOf(object: unknown): Readonly<Record<string, unknown>> {
  return isObject(object) && isObject(object.metadata) ? object.metadata : {}
}

/** Whether a delete request marked the object; it exists until its finalizers are removed. */
export const isBeingDeleted = (object: unknown): boolean =>
  typeof metadataOf(object).deletionTimestamp === 'string'

/**
 * Whether lists and objects nest over `most` levels deep in a value. Other functions recurse without a bound: they are
 * for values of which this is false.
 */
export function isNestedOver(value: unknown, most: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (most === 0) return true
  for (const key in value)
    if (isNestedOver((value as Readonly<Record<string, unknown>>)[key], most - 1)) return true
  return false
}

/** The most levels of lists and objects in an object that is judged; an API server stores up to 10,000. */
export const DEEPEST = 1_000

/**
 * The part of a stored object, such as its spec, in which fields with over DEEPEST levels are undefined: rules take them
 * as not known. An API server stores such fields only where it keeps any content, such as `podTemplateSpec`.
 */
export function withoutDeepFields(part: unknown): unknown {
  if (!isObject(part) || !isNestedOver(part, DEEPEST)) return part
  const isDeep = (value: unknown) => isNestedOver(value, DEEPEST - 1)
  return Object.fromEntries(
    Object.entries(part).map(([field, value]) => [field, isDeep(value) ? undefined : value]),
  )
}

/** Sets an own property. Plain assignment to `__proto__` would change the prototype. */
export function setOwn(holder: object, key: string | number, value: unknown): void {
  if (key === '__proto__')
    Object.defineProperty(holder, key, { value, writable: true, enumerable: true, configurable: true })
  else (holder as Record<string | number, unknown>)[key] = value
}
