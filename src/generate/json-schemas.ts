import { ConfigurationSchema } from '../configuration/file-schema.ts'
import { ANNOTATIONS } from '../kinds/fields.ts'
import { API_VERSION, DEFAULT_API_GROUP, KINDS } from '../kinds/index.ts'
import type { Kind } from '../kinds/kind.ts'
import { patternDetail } from '../kinds/pattern-advice.ts'
import type { GeneratedFile } from './generated-file.ts'
import { alternativesOf } from '../kinds/schema-fields.ts'
import { mapSchema, ordered, type SchemaTree } from '../kinds/schema-tree.ts'

const DRAFT = 'http://json-schema.org/draft-07/schema#'
const ORDER = ['$schema', 'title', 'description', 'type', 'required', 'properties']
const VERSIONS = [API_VERSION, 'v1alpha1'].map((version) => `${DEFAULT_API_GROUP}/${version}`)

const RANGES: Readonly<Record<string, readonly [number, number]>> = {
  int32: [-(2 ** 31), 2 ** 31 - 1],
  int64: [-(2 ** 63), 2 ** 63],
}

/**
 * schemas/KIND.json: standard JSON Schema, for Ajv and CI. schemas/vmcp.json: all kinds, for editors.
 * schemas/vmcp-admission.json: the configuration file.
 */
export function* jsonSchemas(): Iterable<GeneratedFile> {
  const text = (schema: SchemaTree) => `${JSON.stringify(schema, null, 2)}\n`
  for (const kind of KINDS) yield { path: `schemas/${kind.kind}.json`, text: text(jsonSchema(kind)) }
  yield { path: 'schemas/vmcp.json', text: text(editorSchema()) }
  yield {
    path: 'schemas/vmcp-admission.json',
    text: text({ $schema: DRAFT, ...(ConfigurationSchema as object) }),
  }
}

/**
 * A schema for files with several documents: applies to each document the schema of its kind, and accepts documents of
 * other kinds and groups. Contains `patternErrorMessage`, the text that editors show instead of a pattern; it is not a
 * keyword of JSON Schema, so strict validators would refuse it in the schema of a kind.
 */
function editorSchema(): SchemaTree {
  const ours = { type: 'string', pattern: `^${DEFAULT_API_GROUP.replaceAll('.', '\\.')}/` }
  const isOf = ({ kind }: Kind) => ({
    required: ['apiVersion', 'kind'],
    properties: { apiVersion: ours, kind: { const: kind } },
  })
  const definitions = KINDS.map((kind) => {
    const schema = mapSchema(jsonSchema(kind), withPatternText)
    return [kind.kind, ordered({ ...schema, $schema: undefined }, ORDER)]
  })
  const known = (description: string, values: readonly string[]) => ({
    description,
    type: 'string',
    anyOf: [{ enum: values }, {}],
  })
  return {
    $schema: DRAFT,
    title: 'Authentication resources of vMCP',
    description: 'Picks the schema by apiVersion and kind. Documents of other kinds are not judged.',
    type: 'object',
    properties: {
      apiVersion: known('API group and version of the resource.', VERSIONS.slice(0, 1)),
      kind: known(
        'Kind of the resource.',
        KINDS.map(({ kind }) => kind),
      ),
    },
    allOf: KINDS.map((kind) => ({ if: isOf(kind), then: { $ref: `#/definitions/${kind.kind}` } })),
    definitions: Object.fromEntries(definitions) as SchemaTree,
  }
}

function withPatternText(node: SchemaTree): SchemaTree {
  if (typeof node.pattern !== 'string') return node
  return { ...node, patternErrorMessage: patternDetail(node.pattern) }
}

function jsonSchema({ kind, schema }: Kind): SchemaTree {
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

/** Standard JSON Schema: without our own annotations, and without formats that only our validators know. */
function plain(node: SchemaTree): SchemaTree {
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

function range({ format, minimum, maximum }: SchemaTree): SchemaTree {
  const bounds = RANGES[String(format)]
  if (bounds === undefined) return {}
  return { format: undefined, minimum: minimum ?? bounds[0], maximum: maximum ?? bounds[1] }
}

/** JSON Schema that requires at least one of the fields that can replace each other (decision 3). */
function alternatives(node: SchemaTree): SchemaTree[] {
  return Object.keys(node.properties ?? {}).flatMap((field) => {
    const others = alternativesOf(node, field)
    return others.length === 0 ? [] : [{ anyOf: [field, ...others].map((name) => ({ required: [name] })) }]
  })
}

/**
 * JSON Schema that requires the object that belongs to the value of `type`. If each type has its own object (decision
 * 12, upstream providers), it forbids the other objects.
 */
function pairs({ properties = {} }: SchemaTree): SchemaTree[] {
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
