import type { TSchema } from 'typebox'
import type { Segment } from '../rule/path.ts'

interface Node {
  readonly properties?: Readonly<Record<string, Node>>
  readonly additionalProperties?: Node
  readonly items?: Node
}

/** The segments of a JSON pointer into a value of the schema: the schema tells a map key from a field. */
export function segmentsOfPointer(schema: TSchema, pointer: string): Segment[] {
  let node: Node | undefined = schema
  return pointer
    .split('/')
    .slice(1)
    .map((token) => {
      const key = token.replaceAll('~1', '/').replaceAll('~0', '~')
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
