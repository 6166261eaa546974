import { isBeingDeleted, isObject, type JsonHolder, type Resource, setOwn } from '../rule/index.ts'

/** Bytes of an empty object in the heap of 64-bit V8; test/memory.test.ts compares these numbers with measurements. */
const OBJECT = 56
const ENTRY = 32
const TEXT = 20
const NUMBER = 8
/** Bytes that the cache's maps need for an object: for its name, keys, references and findings. */
const STORED = 450

/** Estimated bytes that an object takes in the cluster cache, with what is copied for rules (`resource`). */
export const storedBytes = (name: string, object: unknown, resource: unknown = object): number =>
  STORED + 4 * name.length + bytesOf(object) + copiedBytes(resource, object)

/** Estimated bytes of the lists and objects in a copy that it does not share with its original. */
function copiedBytes(copy: unknown, original: unknown): number {
  if (copy === original || typeof copy !== 'object' || copy === null) return 0
  const entry = Array.isArray(copy) ? NUMBER : ENTRY
  let bytes = OBJECT
  for (const key in copy)
    bytes += entry + copiedBytes((copy as JsonHolder)[key], (original as JsonHolder | undefined)?.[key])
  return bytes
}

/** Estimated bytes that a value of JSON takes in memory. */
function bytesOf(value: unknown): number {
  if (typeof value === 'string') return textBytes(value)
  if (typeof value !== 'object' || value === null) return NUMBER
  let bytes = OBJECT
  if (Array.isArray(value)) for (const item of value) bytes += NUMBER + bytesOf(item)
  else {
    for (const key in value) {
      bytes += ENTRY + key.length + bytesOf((value as Readonly<Record<string, unknown>>)[key])
    }
  }
  return bytes
}

/** Estimated bytes of a text: in V8 two bytes for each character if any is beyond Latin-1, else one byte. */
const textBytes = (text: string): number => TEXT + text.length * (/[^\x00-\xff]/.test(text) ? 2 : 1)

/** The longest text, in characters, that the cache keeps of an object over its size limit; names are shorter. */
const LONGEST_FACT = 1_000
/** In the reduced copy of an object over its size limit, a nested object with more fields than this is left out. */
const MOST_FIELDS = 50

/**
 * A reduced copy of an object over its size limit: the spec without lists, large maps and long texts. Rules assume
 * nothing about these, because they treat them like values of a wrong JSON type. If the copy takes over `most` bytes,
 * the spec is undefined. Of the metadata it has only whether the object is being deleted.
 */
export function factsOf(resource: Resource, most: number): Resource {
  const facts = factsIn(resource.spec)
  const spec = bytesOf(facts) > most ? undefined : facts
  if (!isBeingDeleted(resource)) return { spec }
  return { metadata: { deletionTimestamp: resource.metadata?.deletionTimestamp }, spec }
}

function factsIn(value: unknown): unknown {
  if (typeof value === 'string') return value.length > LONGEST_FACT ? undefined : value
  if (Array.isArray(value)) return undefined
  if (!isObject(value)) return value
  const fields = Object.keys(value)
  if (fields.length > MOST_FIELDS) return undefined
  const kept: Record<string, unknown> = {}
  for (const field of fields) setOwn(kept, field, factsIn(value[field]))
  return kept
}
