import type { Release, ReleaseSchema } from '../release/index.ts'

/** All operator releases. Schemas share their `parts`: `{ "$": index }` stands for the part with this index. */
export interface PackedReleases {
  /** The schemas by minor version of the operator and by kind. */
  readonly schemas: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  readonly parts: readonly unknown[]
}

/** The release of a minor version of the operator; undefined when the packed value does not contain it. */
export function unpackRelease({ schemas, parts }: PackedReleases, minor: string): Release | undefined {
  const packed = schemas[minor]
  if (packed === undefined) return undefined
  const known = new Map<number, unknown>()
  const unpacked = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) return value.map(unpacked)
    if ('$' in value) {
      const index = value.$ as number
      if (!known.has(index)) known.set(index, unpacked(parts[index]))
      return known.get(index)
    }
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, unpacked(member)]))
  }
  const read = Object.entries(packed).map(
    ([kind, schema]) => [kind, unpacked(schema) as ReleaseSchema] as const,
  )
  return { name: `operator release ${minor}`, version: minor, schemas: new Map(read) }
}

/** Parts of schemas with fewer characters are not moved to `parts`, because an index would hardly be shorter. */
const SMALLEST = 40

export function packReleases(
  releases: ReadonlyMap<string, Readonly<Record<string, object>>>,
): PackedReleases {
  const parts: unknown[] = []
  const indexes = new Map<string, number>()
  const packed = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value
    const inner = Array.isArray(value)
      ? value.map(packed)
      : Object.fromEntries(Object.entries(value).map(([key, member]) => [key, packed(member)]))
    const text = JSON.stringify(inner)
    if (text.length < SMALLEST) return inner
    const index = indexes.get(text) ?? parts.push(inner) - 1
    indexes.set(text, index)
    return { $: index }
  }
  const schemas = Array.from(releases, ([minor, kinds]) => [
    minor,
    Object.fromEntries(Object.entries(kinds).map(([kind, schema]) => [kind, packed(schema)])),
  ])
  return { schemas: Object.fromEntries(schemas) as PackedReleases['schemas'], parts }
}
