import { jsonKey, type Segment } from '../rule/path.ts'
import { fieldOf, type ReleaseSchema, schemaAt } from './schema.ts'

/** A constraint of the specification that a value breaks: a JSON Schema keyword and the place of the value. */
export interface Broken {
  readonly keyword: string
  readonly at: readonly Segment[]
  readonly value: unknown
}

/**
 * Whether a release takes the value nevertheless. Only constraints that releases are known to share or to drop are
 * compared: required fields, enums and lengths. A field that the release does not know is not taken: it is dropped.
 */
export function allows(schema: ReleaseSchema, { keyword, at, value }: Broken): boolean {
  if (keyword === 'required') return mayLack(schema, at)
  const node = schemaAt(schema, at)
  if (node === undefined) return false
  switch (keyword) {
    case 'enum':
      return node.enum === undefined || node.enum.includes(value)
    case 'minItems':
      return Array.isArray(value) && value.length >= (node.minItems ?? 0)
    case 'minLength':
      return typeof value === 'string' && lengthOf(value) >= (node.minLength ?? 0) && matches(node, value)
    case 'maxLength':
      return typeof value === 'string' && lengthOf(value) <= (node.maxLength ?? Infinity)
    default:
      return false
  }
}

/** Whether the release knows the field and does not require it. */
function mayLack(schema: ReleaseSchema, at: readonly Segment[]): boolean {
  const holder = schemaAt(schema, at.slice(0, -1))
  const key = String(jsonKey(at.at(-1) ?? ''))
  if (holder === undefined || fieldOf(holder, key) === undefined) return false
  return holder.required?.includes(key) !== true
}

/** An empty text that a pattern or an enum refuses is refused all the same. */
const matches = ({ pattern, enum: values }: ReleaseSchema, value: string): boolean =>
  (pattern === undefined || value !== '' || /^\^?\(?.*\)?[*?]\$?$/.test(pattern)) &&
  (values === undefined || values.includes(value))

/** Code points, as the API server counts them. */
const lengthOf = (text: string): number => [...text].length
