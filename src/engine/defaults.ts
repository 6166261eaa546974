import type { Kind } from '../kinds/kind.ts'
import { changedAt, isObject, type Segment, setOwn, valueAt } from '../rule/index.ts'

/** A change of one field by /mutate; without a value the field is removed. */
export interface FieldChange {
  readonly at: readonly Segment[]
  readonly value?: unknown
}

/** Which defaults /mutate writes (decision 23). To GitOps tools a default in a list item is drift of the whole list. */
export type WrittenDefaults = 'all' | 'outside-lists' | 'off'

/** Whether the field is inside an item of a list. */
export const isInList = ({ at }: FieldChange): boolean => at.some((segment) => typeof segment === 'number')

/** The defaults of a schema; parts of the schema without defaults are left out. */
export interface SchemaDefaults {
  readonly value?: unknown
  readonly from?: readonly string[]
  readonly create: boolean
  readonly properties: readonly (readonly [string, SchemaDefaults])[]
  readonly items?: SchemaDefaults
  readonly values?: SchemaDefaults
}

interface Node {
  readonly default?: unknown
  readonly defaultFrom?: string
  readonly create?: boolean
  readonly properties?: Readonly<Record<string, Node>>
  readonly items?: Node
  readonly additionalProperties?: Node
}

const defaultsOf = new Map<Kind, SchemaDefaults | undefined>()

/**
 * The documented defaults that are missing in the object (decision 23), outermost first: the value for a missing object
 * includes the defaults of its fields. The object has the JSON types of its schema. `namespace` may be '' when not
 * known.
 */
export function defaultsFor(kind: Kind, object: object, namespace: string): FieldChange[] {
  const defaults = schemaDefaults(kind)
  const added: FieldChange[] = []
  const source = { metadata: { ...(namespace === '' ? {} : { namespace }) } }
  if (defaults !== undefined) complete(defaults, object, [], source, added)
  return added
}

/** The defaults of the schema of a kind; undefined when it has none. */
export function schemaDefaults(kind: Kind): SchemaDefaults | undefined {
  if (!defaultsOf.has(kind)) defaultsOf.set(kind, readNode(kind.schema))
  return defaultsOf.get(kind)
}

function readNode({
  default: value,
  defaultFrom,
  create = false,
  ...node
}: Node): SchemaDefaults | undefined {
  const properties = Object.entries(node.properties ?? {}).flatMap(([name, property]) => {
    const defaults = readNode(property)
    return defaults === undefined ? [] : [[name, defaults] as const]
  })
  const items = node.items && readNode(node.items)
  const values = node.additionalProperties && readNode(node.additionalProperties)
  if (value === undefined && defaultFrom === undefined && properties.length === 0 && !items && !values)
    return undefined
  return {
    ...(value === undefined ? {} : { value }),
    ...(defaultFrom === undefined ? {} : { from: defaultFrom.split('.') }),
    create,
    properties,
    ...(items && { items }),
    ...(values && { values }),
  }
}

/** Adds to `added` the missing fields below `at`, a shared stack of segments that is copied only for such a field. */
function complete(
  { properties, items, values }: SchemaDefaults,
  value: unknown,
  at: Segment[],
  source: unknown,
  added: FieldChange[],
): void {
  const step = (segment: Segment, defaults: SchemaDefaults, field: unknown) => {
    at.push(segment)
    complete(defaults, field, at, source, added)
    at.pop()
  }
  if (Array.isArray(value)) {
    if (items !== undefined) for (let i = 0; i < value.length; i++) step(i, items, value[i])
    return
  }
  if (!isObject(value)) return
  for (const [name, defaults] of properties) {
    const field = Object.hasOwn(value, name) ? value[name] : undefined
    if (field !== undefined && field !== null) {
      step(name, defaults, field)
      continue
    }
    const written = initial(defaults, source)
    if (written !== undefined) added.push({ at: [...at, name], value: written })
  }
  if (values !== undefined) for (const key of Object.keys(value)) step({ key }, values, value[key])
}

/** The value for an absent field: its default, an object with the defaults inside, or undefined. */
export function initial(defaults: SchemaDefaults, source: unknown): unknown {
  if (defaults.value !== undefined) return copyOf(defaults.value)
  if (defaults.from !== undefined) return valueAt(source, defaults.from)
  if (!defaults.create) return undefined
  const fields = defaults.properties.map(([name, property]) => [name, initial(property, source)] as const)
  return Object.fromEntries(fields.filter(([, field]) => field !== undefined))
}

/** A copy of a default value, which is a plain value or a list of plain values. */
function copyOf(value: unknown): unknown {
  return Array.isArray(value) ? [...(value as unknown[])] : value
}

/** The value with its missing defaults added; unchanged when it is not an object. */
export const completed = (kind: Kind, value: unknown, namespace: string): unknown =>
  isObject(value) ? withChanges(value, defaultsFor(kind, value, namespace)) : value

/** A copy of the object with the changes; unchanged parts are shared with the original, which is not changed. */
export function withChanges<T extends object>(object: T, changes: readonly FieldChange[]): T {
  return changedAt(object, changes, (holder, key, { value }) => {
    if (value === undefined) Reflect.deleteProperty(holder, key)
    else setOwn(holder, key, value)
  }) as T
}
