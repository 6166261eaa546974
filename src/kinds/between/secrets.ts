import type { Cluster } from '../../rule/cluster.ts'
import type { Segment } from '../../rule/path.ts'
import { isObject, type Resource } from '../../rule/resource.ts'

/** What is known of a Secret. Values are never kept (decision 22). */
export interface SecretFacts extends Resource {
  /** How many bytes each key holds; undefined where that cannot be told. */
  readonly bytes: Readonly<Record<string, number | undefined>>
  /** Whether these are all of its keys. */
  readonly complete: boolean
}

/** Reads `data` (base64) and `stringData` (text) of a Secret; `isFilled` tells the texts that something else puts in later. */
export function secretFacts(
  { data, stringData }: Readonly<Record<string, unknown>>,
  isFilled: (text: string) => boolean = () => false,
): SecretFacts {
  const sizes = [
    ...entries(data).map(([key, value]) => [key, decodedLength(value)] as const),
    ...entries(stringData).map(
      ([key, value]) => [key, isFilled(value) ? undefined : bytesOf(value)] as const,
    ),
  ]
  const maps = [data, stringData].every((map) => map === undefined || map === null || isObject(map))
  return { bytes: Object.fromEntries(sizes), complete: maps && !sizes.some(([key]) => isFilled(key)) }
}

const bytesOf = (text: string): number => new TextEncoder().encode(text).length

const entries = (map: unknown): [string, string][] =>
  Object.entries(isObject(map) ? map : {}).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  )

/** Undefined for what is no base64: no API server takes it. */
function decodedLength(base64: string): number | undefined {
  const digits = base64.replace(/[\s=]/g, '')
  return /^[A-Za-z0-9+/]*$/.test(digits) ? Math.floor((digits.length * 3) / 4) : undefined
}

export const getSecret = (cluster: Cluster, name: string) =>
  cluster.get('Secret', name) as SecretFacts | undefined

/** Whether anything is known of Secrets: mostly nobody may look at them. */
export const seesSecrets = (cluster: Cluster): boolean =>
  cluster.knows('Secret') || cluster.names('Secret')[Symbol.iterator]().next().done !== true

/** A reference to a key of a Secret. Section 2.1. */
export interface SecretReference {
  readonly name: string
  readonly key: string
  /** Where the reference stands. */
  readonly at: readonly Segment[]
}

/** Every Secret reference of a spec: all are fields named `…SecretRef`, or items of `…SecretRefs`. */
export function secretReferencesOf({ spec }: { readonly spec?: unknown }): SecretReference[] {
  const found: SecretReference[] = []
  collect(spec, ['spec'], found)
  return found
}

/** `at` is where the value stands; it is put back as it was. */
function collect(value: unknown, at: (string | number)[], found: SecretReference[]): void {
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) step(value[i], i, at, found)
  } else if (isObject(value)) {
    for (const field of Object.keys(value)) step(value[field], field, at, found)
  }
}

function step(value: unknown, key: string | number, at: (string | number)[], found: SecretReference[]): void {
  const isReference = typeof key === 'string' ? key.endsWith('SecretRef') : isReferences(at.at(-1))
  at.push(key)
  if (isReference) add(value, at, found)
  else collect(value, at, found)
  at.pop()
}

const isReferences = (field: string | number | undefined): boolean =>
  typeof field === 'string' && field.endsWith('SecretRefs')

function add(value: unknown, at: readonly Segment[], found: SecretReference[]): void {
  if (!isObject(value)) return
  const { name, key } = value
  if (typeof name === 'string' && typeof key === 'string' && name !== '' && key !== '')
    found.push({ name, key, at: [...at] })
}
