import type { TSchema } from 'typebox'
import { jsonKey, keyOfToken, type Segment } from '../rule/index.ts'

/** A node of a JSON schema: its fields, and the keywords that are checked. */
export interface SchemaNode {
  readonly type?: string | readonly string[]
  readonly open?: boolean
  readonly newer?: boolean
  readonly since?: string
  readonly properties?: Readonly<Record<string, SchemaNode>>
  readonly additionalProperties?: SchemaNode
  readonly items?: SchemaNode
  readonly enum?: readonly unknown[]
  readonly required?: readonly string[]
  readonly pattern?: string
  readonly format?: string
  readonly minItems?: number
  readonly minimum?: number
  readonly maximum?: number
}

/** The schema of a field or map value; undefined when the schema does not declare the field. */
export function fieldOf(node: SchemaNode | undefined, key: string): SchemaNode | undefined {
  const { properties, additionalProperties } = node ?? {}
  return properties !== undefined && Object.hasOwn(properties, key) ? properties[key] : additionalProperties
}

/** Whether the key belongs to a map, whose keys the user chooses. */
export const isKeyOfMap = (node: SchemaNode | undefined, key: string): boolean =>
  node?.additionalProperties !== undefined &&
  !(node.properties !== undefined && Object.hasOwn(node.properties, key))

/** The schema of the value at a path. */
export function nodeAt(schema: SchemaNode, at: readonly Segment[]): SchemaNode | undefined {
  let node: SchemaNode | undefined = schema
  for (const segment of at) {
    const key = jsonKey(segment)
    node = typeof key === 'number' ? node?.items : fieldOf(node, key)
  }
  return node
}

/** The segments of a JSON pointer into a value of the schema. */
export function segmentsOfPointer(schema: TSchema, pointer: string): Segment[] {
  const keys: (string | number)[] = []
  let node: SchemaNode | undefined = schema
  for (const token of pointer.split('/').slice(1)) {
    const key = keyOfToken(token)
    keys.push(node?.items === undefined ? key : Number(key))
    node = node?.items ?? fieldOf(node, key)
  }
  return segmentsOf(schema, keys)
}

/** The segments of a path of names and list indexes: the schema shows which name is the key of a map. */
export function segmentsOf(schema: TSchema, keys: readonly (string | number)[]): Segment[] {
  let node: SchemaNode | undefined = schema
  return keys.map((key): Segment => {
    const holder: SchemaNode | undefined = node
    node = typeof key === 'number' ? holder?.items : fieldOf(holder, key)
    return typeof key === 'number' || isField(holder, key) ? key : { key }
  })
}

/** Whether a key is a field, not a map key: the schema lists it or, outside maps, it looks like a field name. */
function isField(holder: SchemaNode | undefined, key: string): boolean {
  if (holder?.properties !== undefined && Object.hasOwn(holder.properties, key)) return true
  return holder?.additionalProperties === undefined && /^[A-Za-z_]\w*$/.test(key)
}
