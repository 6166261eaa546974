import { type Cluster, isObject, type Resource, type Segment } from '../rule/index.ts'

/**
 * Facts about a Secret: its keys, the length of each value, and whether it ends in a line break. Values are never stored
 * (decision 22).
 */
export interface SecretFacts extends Resource {
  /** The number of bytes of each value, by key; undefined for a value that a deployment tool will replace. */
  readonly bytes: Readonly<Record<string, number | undefined>>
  /** The keys of values that end in a line break. */
  readonly lineBreaks: readonly string[]
  /** Whether `bytes` has all keys of the Secret: false when a deployment tool will replace a key. */
  readonly complete: boolean
}

/**
 * Facts about `data` (base64) and `stringData` (text) of a Secret; `isFilled` recognises a text that a deployment tool
 * will replace.
 */
export function secretFacts(
  { data, stringData }: Readonly<Record<string, unknown>>,
  isFilled: (text: string) => boolean = () => false,
): SecretFacts {
  const values: readonly [string, Value][] = [
    ...entries(data).map(([key, value]): [string, Value] => [key, decoded(value)]),
    ...entries(stringData).map(([key, value]): [string, Value] => [
      key,
      isFilled(value) ? UNKNOWN : { bytes: bytesOf(value), last: value.at(-1) },
    ]),
  ]
  // A key in `stringData` replaces the same key in `data`.
  const byKey = new Map(values)
  const sizes = Array.from(byKey, ([key, { bytes }]) => [key, bytes] as const)
  const lineBreaks = Array.from(byKey).flatMap(([key, { last }]) =>
    last === '\n' || last === '\r' ? [key] : [],
  )
  const maps = [data, stringData].every((map) => map === undefined || map === null || isObject(map))
  return {
    bytes: Object.fromEntries(sizes),
    lineBreaks,
    complete: maps && !sizes.some(([key]) => isFilled(key)),
  }
}

/** The length of a value and its last character; both undefined for a value that cannot be read. */
interface Value {
  readonly bytes: number | undefined
  readonly last: string | undefined
}
const UNKNOWN: Value = { bytes: undefined, last: undefined }

const bytesOf = (text: string): number => new TextEncoder().encode(text).length

const entries = (map: unknown): [string, string][] =>
  Object.entries(isObject(map) ? map : {}).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  )

/** What base64 decodes to, of which only the end is decoded; the API server refuses a text that is not base64. */
function decoded(base64: string): Value {
  const digits = base64.replace(/[\s=]/g, '')
  if (!/^[A-Za-z0-9+/]*$/.test(digits)) return UNKNOWN
  const rest = digits.length % 4
  const last = rest === 1 ? undefined : atob(digits.slice(rest === 0 ? -4 : -rest)).at(-1)
  return { bytes: Math.floor((digits.length * 3) / 4), last }
}

/** The facts about the Secret with this name; undefined when it does not exist or is not known. */
export const getSecret = (cluster: Cluster, name: string) =>
  cluster.get('Secret', name) as SecretFacts | undefined

/** The number of bytes of the value at a key in a Secret; undefined when it is not known. */
export function bytesAt(cluster: Cluster, name: string, key: string): number | undefined {
  const secret = getSecret(cluster, name)
  return secret && Object.hasOwn(secret.bytes, key) ? secret.bytes[key] : undefined
}

/** Whether rules can see any Secret: by default the server may not read Secrets (decision 22). */
export const seesSecrets = (cluster: Cluster): boolean =>
  cluster.knows('Secret') || cluster.names('Secret')[Symbol.iterator]().next().done !== true

/** A reference to a key of a Secret. Specification 2.1. */
export interface SecretReference {
  readonly name: string
  readonly key: string
  /** The path of the reference in the resource. */
  readonly at: readonly Segment[]
}

/** Fields with a reference to a Secret whose names do not end in `SecretRef`. */
const OTHER_NAMES: ReadonlySet<string> = new Set(['passwordRef', 'initialAccessTokenRef'])

/**
 * All references to Secrets in a spec: fields named `…SecretRef`, items of `…SecretRefs`, the fields in OTHER_NAMES, and
 * the items of `spec.secrets`, which an MCPServer gives its container as environment variables.
 */
export function secretReferencesOf({ spec }: { readonly spec?: unknown }): SecretReference[] {
  const found: SecretReference[] = []
  collect(spec, ['spec'], found)
  return found
}

/** Adds the Secret references inside `value`; `at` is its path, a shared array that is unchanged on return. */
function collect(value: unknown, at: (string | number)[], found: SecretReference[]): void {
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) step(value[i], i, at, found)
  } else if (isObject(value)) {
    for (const field of Object.keys(value)) step(value[field], field, at, found)
  }
}

function step(value: unknown, key: string | number, at: (string | number)[], found: SecretReference[]): void {
  const isReference =
    typeof key === 'string' ? key.endsWith('SecretRef') || OTHER_NAMES.has(key) : isReferences(at)
  at.push(key)
  if (isReference) add(value, at, found)
  else collect(value, at, found)
  at.pop()
}

function isReferences(at: readonly (string | number)[]): boolean {
  const field = at.at(-1)
  return (
    typeof field === 'string' && (field.endsWith('SecretRefs') || (field === 'secrets' && at.length === 2))
  )
}

function add(value: unknown, at: readonly Segment[], found: SecretReference[]): void {
  if (!isObject(value)) return
  const { name, key } = value
  if (typeof name === 'string' && typeof key === 'string' && name !== '' && key !== '')
    found.push({ name, key, at: [...at] })
}
