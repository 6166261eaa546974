import type { TSchema } from 'typebox'

/** A node of a schema as plain JSON Schema, with the keywords that contain schemas. */
export interface SchemaTree {
  readonly [keyword: string]: unknown
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, SchemaTree>>
  readonly additionalProperties?: SchemaTree
  readonly items?: SchemaTree
  readonly required?: readonly string[]
  readonly description?: string | undefined
  readonly format?: string | undefined
  readonly rePattern?: string | undefined
  readonly defaultFrom?: string | undefined
}

/** Rebuilds a schema from the leaves to the root: `change` gets each node after its children were changed. */
export function mapSchema(schema: TSchema, change: (node: SchemaTree) => SchemaTree): SchemaTree {
  const node = schema as SchemaTree
  const inner: Record<string, unknown> = { ...node }
  if (node.properties !== undefined) {
    inner.properties = Object.fromEntries(
      Object.entries(node.properties).map(([name, property]) => [
        name,
        mapSchema(property as TSchema, change),
      ]),
    )
  }
  if (node.items !== undefined) inner.items = mapSchema(node.items, change)
  if (node.additionalProperties !== undefined) {
    inner.additionalProperties = mapSchema(node.additionalProperties, change)
  }
  return change(inner)
}

/** The node with the keywords in `first` before the others, in this order, and without undefined keywords. */
export function ordered(node: SchemaTree, first: readonly string[]): SchemaTree {
  const keys = [...first.filter((key) => key in node), ...Object.keys(node).filter((k) => !first.includes(k))]
  return Object.fromEntries(keys.filter((key) => node[key] !== undefined).map((key) => [key, node[key]]))
}
