import { API_VERSION, DEFAULT_API_GROUP } from '../../src/kinds/index.ts'
import { fieldOf, itemOf, type ReleaseSchema } from '../../src/release/index.ts'
import { isObject } from '../../src/rule/resource.ts'
import { distinct, worlds } from '../../test/support/conformance-worlds.ts'
import { type Random, randomOf } from './random.ts'

/** A resource that can be sent, and its kind. */
export interface KindObject {
  readonly kind: string
  readonly object: Readonly<Record<string, unknown>>
}

/** Values that the objects of the conformance corpus have in fields of a name. */
const known = new Map<string, unknown[]>()
function collect(value: unknown): void {
  if (Array.isArray(value)) value.forEach(collect)
  else if (isObject(value))
    for (const [name, field] of Object.entries(value)) {
      const values = known.get(name) ?? []
      if (values.length < MOST_KNOWN) values.push(field)
      known.set(name, values)
      collect(field)
    }
}
/** The most values that are kept for a name. */
const MOST_KNOWN = 200

/** Characters of the JSON of an object of the corpus that is taken; a few have megabytes. */
const LONGEST = 10_000

/** The deepest level of what is generated from a schema. */
const DEEPEST = 7

/**
 * Writes resources: those of the conformance corpus, and generated from the schemas of their kinds, each with up to three
 * changes at the bounds of a schema.
 */
export function objectWriter(schemas: ReadonlyMap<string, ReleaseSchema>, seed: number): () => KindObject {
  const random = randomOf(seed)
  const corpus = worlds()
    .map(({ object }) => object)
    .filter((object) => JSON.stringify(object).length < LONGEST)
  for (const object of corpus) collect(object.spec)
  const kinds = [...schemas.keys()]
  return () => {
    const given = corpus[random.below(corpus.length)] ?? {}
    const kind = random.random() < 0.5 ? (given.kind as string) : (kinds[random.below(kinds.length)] ?? '')
    const schema = specOf(schemas.get(kind))
    let spec = kind === given.kind ? given.spec : generated(random, schema, '', 0)
    for (let left = random.below(4); left > 0; left--) spec = changed(random, schema, spec, 'spec')
    const metadata = { name: 'example', namespace: 'default' }
    const object = { apiVersion: `${DEFAULT_API_GROUP}/${API_VERSION}`, kind, metadata, spec }
    return { kind, object: JSON.parse(JSON.stringify(object)) as KindObject['object'] }
  }
}

const specOf = (schema: ReleaseSchema | undefined): ReleaseSchema => schema?.properties?.spec ?? {}

/** A value of the type of the schema: as others have it in a field of that name, or made of its keywords. */
function generated(of: Random, schema: ReleaseSchema, name: string, depth: number): unknown {
  const { random, below, some } = of
  const values = known.get(name) ?? []
  if (values.length > 0 && random() < 0.5) return values[below(values.length)]
  switch (schema.type) {
    case 'object':
      return generatedObject(of, schema, depth)
    case 'array':
      return depth > DEEPEST ? [] : some(2, () => generated(of, schema.items ?? {}, name, depth + 1))
    case 'string':
      return generatedText(of, schema)
    case 'integer':
    case 'number':
      return generatedNumber(of, schema)
    case 'boolean':
      return random() < 0.5
    default:
      return of.pick<unknown>(['a', 1, true, {}, []])
  }
}

function generatedObject(of: Random, schema: ReleaseSchema, depth: number): object {
  const { properties = {}, required = [], additionalProperties: more } = schema
  const chance = depth > DEEPEST ? 0 : 0.4
  const fields = Object.entries(properties)
    .filter(([name]) => of.random() < (required.includes(name) ? 0.97 : chance))
    .map(([name, field]) => [name, generated(of, field, name, depth + 1)] as const)
  const entries =
    typeof more === 'object' && depth <= DEEPEST
      ? of.some(
          2,
          (i) => [of.pick(['a', 'b-c', 'x.y', 'É']) + String(i), generated(of, more, '', depth + 1)] as const,
        )
      : []
  return Object.fromEntries([...fields, ...entries])
}

const TEXTS = [
  ...[
    '',
    'a',
    'okta',
    'a b',
    'A_b',
    '-',
    'https://auth.example.com',
    'http://localhost:8080',
    'https://a/b?c=d',
    'ftp://x',
  ],
  ...[
    '1h',
    '7d',
    '1h30m',
    '0s',
    '-1s',
    'arn:aws:iam::123456789012:role/reader',
    'eu-central-1',
    'X-Api-Key',
    'true',
    '${A}',
    'é😀',
  ],
] as unknown as readonly [string, ...string[]]

function generatedText({ random, pick, below }: Random, schema: ReleaseSchema): string {
  const { enum: values, minLength = 0, maxLength } = schema
  if (values !== undefined && random() < 0.9) return String(values[below(values.length)])
  const text = pick(TEXTS)
  if (random() < 0.1 && maxLength !== undefined) return text.padEnd(maxLength + below(2), 'x')
  return random() < 0.8 ? text.padEnd(minLength, 'x') : text
}

function generatedNumber({ random, pick, below }: Random, schema: ReleaseSchema): number {
  const { minimum = 0, maximum = minimum + 10 } = schema
  if (random() < 0.7) return minimum + below(Math.min(maximum - minimum, 1e6) + 1)
  return pick([
    minimum - 1,
    maximum + 1,
    0,
    -1,
    1.5,
    2 ** 31 - 1,
    2 ** 31,
    -(2 ** 31),
    -(2 ** 31) - 1,
    2 ** 53,
    1e6,
  ])
}

/** The value with something in it changed. */
function changed(of: Random, schema: ReleaseSchema, value: unknown, name: string): unknown {
  const { random, below } = of
  const keys = Array.isArray(value) ? [...value.keys()] : isObject(value) ? Object.keys(value) : []
  if (keys.length === 0 || random() < 0.2) return otherValue(of, schema, value, name)
  const key = keys[below(keys.length)] ?? ''
  if (Array.isArray(value)) {
    const items = value as readonly unknown[]
    const inner = changed(of, itemOf(schema) ?? {}, items[Number(key)], name)
    return items.with(Number(key), inner)
  }
  const holder = value as Readonly<Record<string, unknown>>
  const field = fieldOf(schema, String(key)) ?? {}
  return { ...holder, [key]: changed(of, field, holder[key], String(key)) }
}

/** Another value in place of one: of another type, at a bound of the schema, or with a part more or less. */
function otherValue(of: Random, schema: ReleaseSchema, value: unknown, name: string): unknown {
  const { random, pick, below } = of
  if (random() < 0.12) return pick<unknown>(['', 'a', 1, 0, -1, 1.5, true, {}, [], [null], null, { a: null }])
  if (random() < 0.12) return generated(of, schema, name, 3)
  if (random() < 0.08) return undefined
  if (typeof value === 'string') return otherText(of, schema, value)
  if (typeof value === 'number') return generatedNumber(of, schema)
  if (Array.isArray(value)) return otherList(of, schema, value, name)
  if (isObject(value)) return otherObject(of, schema, value)
  return below(2) === 0 ? !(value as boolean) : generated(of, schema, name, 3)
}

function otherText(of: Random, schema: ReleaseSchema, text: string): string {
  const { minLength = 0, maxLength = 300 } = schema
  return of.pick<() => string>([
    () => '',
    () => `${text} x`,
    () => text.slice(0, Math.max(minLength - 1, 0)),
    () => text.slice(0, minLength),
    () => text.slice(0, maxLength).padEnd(maxLength, 'x'),
    () => text.padEnd(maxLength + 1, 'x'),
    () =>
      text
        .slice(0, maxLength - 1)
        .padEnd(maxLength, 'é')
        .replace(/.$/u, '😀'),
    () => text.toUpperCase(),
    () => `${text}\n`,
    () => generatedText(of, schema),
  ])()
}

function otherList(of: Random, schema: ReleaseSchema, list: readonly unknown[], name: string): unknown[] {
  const { minItems = 0, maxItems = 20 } = schema
  const item = (i: number) => list[i % list.length] ?? generated(of, schema.items ?? {}, name, 4)
  const several = (count: number) =>
    Array.from({ length: Math.min(count, 70) }, (_, i) =>
      of.random() < 0.1 ? item(i) : distinct(item(i), i),
    )
  return of.pick<() => unknown[]>([
    () => [],
    () => [...list, ...list],
    () => [...list, generated(of, schema.items ?? {}, name, 3)],
    () => list.slice(1),
    () => [...list, null],
    () => several(Math.max(minItems - 1, 0)),
    () => several(maxItems),
    () => several(maxItems + 1),
  ])()
}

function otherObject(of: Random, schema: ReleaseSchema, object: Readonly<Record<string, unknown>>): object {
  const { properties = {}, maxProperties = 20 } = schema
  const names = Object.keys(object)
  const fields = Object.keys(properties)
  const some = names[of.below(names.length)] ?? 'a'
  const field = fields[of.below(fields.length)] ?? 'a'
  return of.pick<() => object>([
    () => ({}),
    () => Object.fromEntries(Object.entries(object).filter(([name]) => name !== some)),
    () => ({ ...object, [field]: generated(of, properties[field] ?? {}, field, 3) }),
    () => ({ ...object, [field]: generated(of, properties[field] ?? {}, field, 3) }),
    () => ({ ...object, [some]: null }),
    () => ({ ...object, unknownField: 'x' }),
    () => ({
      ...object,
      ...Object.fromEntries(
        Array.from({ length: Math.min(maxProperties, 70) }, (_, i) => [`k${i}`, object[some] ?? 'x']),
      ),
    }),
  ])()
}
