import { ANNOTATIONS } from '../kinds/fields.ts'
import { API_VERSION, DEFAULT_API_GROUP, KINDS } from '../kinds/index.ts'
import type { Kind } from '../kinds/kind.ts'
import type { GeneratedFile } from './generated-file.ts'
import { alternativesOf } from './schema-fields.ts'
import { mapSchema, ordered, type SchemaNode } from './schema-tree.ts'

const DRAFT = 'http://json-schema.org/draft-07/schema#'
const ORDER = ['$schema', 'title', 'description', 'type', 'required', 'properties']
const VERSIONS = [API_VERSION, 'v1alpha1'].map((version) => `${DEFAULT_API_GROUP}/${version}`)

const RANGES: Readonly<Record<string, readonly [number, number]>> = {
  int32: [-(2 ** 31), 2 ** 31 - 1],
  int64: [-(2 ** 63), 2 ** 63],
}

/** schemas/KIND.json: for editors, Ajv and CI. */
export function* jsonSchemas(): Iterable<GeneratedFile> {
  for (const kind of KINDS) {
    yield { path: `schemas/${kind.kind}.json`, text: `${JSON.stringify(jsonSchema(kind), null, 2)}\n` }
  }
}

function jsonSchema({ kind, schema }: Kind): SchemaNode {
  const { properties, required = [], ...root } = mapSchema(schema, plain)
  const description = `API group and version of this resource. ${VERSIONS[1]} is deprecated.`
  return ordered(
    {
      ...root,
      $schema: DRAFT,
      required: ['apiVersion', 'kind', 'metadata', ...required],
      properties: {
        ...properties,
        apiVersion: { description, type: 'string', enum: VERSIONS },
        kind: { ...properties?.kind, const: kind },
      },
    },
    ORDER,
  )
}

/** Standard JSON Schema: without our annotations and formats that only we know. */
function plain(node: SchemaNode): SchemaNode {
  const kept = Object.entries(node).filter(([key]) => !(ANNOTATIONS as readonly string[]).includes(key))
  const conditions = [...alternatives(node), ...pairs(node)]
  return ordered(
    {
      ...Object.fromEntries(kept),
      ...range(node),
      ...(conditions.length === 0 ? {} : { allOf: conditions }),
    },
    ORDER,
  )
}

function range({ format, minimum, maximum }: SchemaNode): SchemaNode {
  const bounds = RANGES[String(format)]
  if (bounds === undefined) return {}
  return { format: undefined, minimum: minimum ?? bounds[0], maximum: maximum ?? bounds[1] }
}

/** Decision 3: one of the fields must be there. */
function alternatives(node: SchemaNode): SchemaNode[] {
  return Object.keys(node.properties ?? {}).flatMap((field) => {
    const others = alternativesOf(node, field)
    return others.length === 0 ? [] : [{ anyOf: [field, ...others].map((name) => ({ required: [name] })) }]
  })
}

/**
 * The object that belongs to a value of `type` is required with it. Where types choose between several objects
 * (decision 12, upstream providers), none may be there with another type.
 */
function pairs({ properties = {} }: SchemaNode): SchemaNode[] {
  const values = (properties.type?.enum ?? []) as readonly string[]
  const paired = values.flatMap((value) => {
    const field = [value, `${value}Config`].find((name) => properties[name]?.type === 'object')
    return field === undefined ? [] : [{ value, field }]
  })
  return paired.flatMap(({ value, field }) => {
    const chosen = { properties: { type: { const: value } } }
    return [
      { if: { required: ['type'], ...chosen }, then: { required: [field] } },
      ...(paired.length > 1 ? [{ if: { required: [field] }, then: chosen }] : []),
    ]
  })
}
