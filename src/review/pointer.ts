import type { TSchema } from 'typebox'
import type { Segment } from '../rule/path.ts'

interface Node {
  readonly properties?: Readonly<Record<string, Node>>
  readonly additionalProperties?: Node
  readonly items?: Node
}

/** The segments of a JSON pointer into a value of the schema. */
export function segmentsOfPointer(schema: TSchema, pointer: string): Segment[] {
  const tokens = pointer.split('/').slice(1)
  return segmentsOf(
    schema,
    tokens.map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~')),
  )
}

/** The segments of a path of plain keys: the schema tells a list index and a map key from a field. */
export function segmentsOf(schema: TSchema, keys: readonly string[]): Segment[] {
  let node: Node | undefined = schema
  return keys.map((key) => {
    const { properties, additionalProperties, items }: Node = node ?? {}
    if (items !== undefined) {
      node = items
      return Number(key)
    }
    if (properties !== undefined && Object.hasOwn(properties, key)) {
      node = properties[key]
      return key
    }
    node = additionalProperties
    return additionalProperties === undefined ? key : { key }
  })
}
