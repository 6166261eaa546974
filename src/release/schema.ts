import { jsonKey, type Segment } from '../rule/index.ts'

/** A structural schema (apiextensions.k8s.io/v1) of a CRD, with the keywords that this project reads. */
export interface ReleaseSchema {
  readonly type?: string
  readonly format?: string
  readonly properties?: Readonly<Record<string, ReleaseSchema>>
  readonly additionalProperties?: ReleaseSchema | boolean
  readonly items?: ReleaseSchema
  readonly required?: readonly string[]
  readonly enum?: readonly unknown[]
  readonly pattern?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly minProperties?: number
  readonly maxProperties?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly nullable?: boolean
  readonly default?: unknown
  readonly 'x-kubernetes-int-or-string'?: boolean
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean
  readonly 'x-kubernetes-list-type'?: string
  readonly 'x-kubernetes-list-map-keys'?: readonly string[]
  readonly 'x-kubernetes-validations'?: readonly ValidationRule[]
}

/** A CEL rule over `self` (KEP-2876). */
export interface ValidationRule {
  readonly rule: string
  readonly message?: string
  /** When true, `oldSelf` is an optional value, and the rule also runs when nothing is stored. */
  readonly optionalOldSelf?: boolean
}

const KEYWORDS: ReadonlySet<string> = new Set([
  ...['type', 'format', 'required', 'enum', 'pattern', 'minLength', 'maxLength', 'minItems', 'maxItems'],
  ...['minProperties', 'maxProperties', 'minimum', 'maximum', 'nullable', 'default'],
  'x-kubernetes-int-or-string',
  ...['x-kubernetes-preserve-unknown-fields', 'x-kubernetes-list-type', 'x-kubernetes-list-map-keys'],
  'x-kubernetes-validations',
])

/** The schema without descriptions and other keywords that this project never reads. */
export function compared(schema: ReleaseSchema): ReleaseSchema {
  const { properties, items, additionalProperties } = schema
  return {
    ...Object.fromEntries(Object.entries(schema).filter(([keyword]) => KEYWORDS.has(keyword))),
    ...(properties && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, field]) => [name, compared(field)]),
      ),
    }),
    ...(items && { items: compared(items) }),
    ...(additionalProperties !== undefined && {
      additionalProperties:
        typeof additionalProperties === 'object' ? compared(additionalProperties) : additionalProperties,
    }),
  }
}

/** A schema that accepts any value. */
export const ANYTHING: ReleaseSchema = { 'x-kubernetes-preserve-unknown-fields': true }

/** The schema of a field of an object or of a value of a map; undefined when the API server drops the field. */
export function fieldOf(schema: ReleaseSchema, key: string): ReleaseSchema | undefined {
  const { properties, additionalProperties: more } = schema
  if (properties !== undefined && Object.hasOwn(properties, key)) return properties[key]
  if (typeof more === 'object') return more
  return more === true || schema['x-kubernetes-preserve-unknown-fields'] === true ? ANYTHING : undefined
}

/** The schema of the value at a path; undefined when the API server drops the value. */
export function schemaAt(root: ReleaseSchema, at: readonly Segment[]): ReleaseSchema | undefined {
  let schema: ReleaseSchema | undefined = root
  for (const segment of at) {
    if (schema === undefined || schema === ANYTHING) return schema
    const key = jsonKey(segment)
    schema = typeof key === 'number' ? itemOf(schema) : fieldOf(schema, key)
  }
  return schema
}

/** The schema of an item of a list; undefined when the API server drops the items. */
export const itemOf = ({ items, ...schema }: ReleaseSchema): ReleaseSchema | undefined =>
  items ?? (schema['x-kubernetes-preserve-unknown-fields'] === true ? ANYTHING : undefined)
