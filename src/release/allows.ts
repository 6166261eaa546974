import { jsonKey, type Segment } from '../rule/index.ts'
import { breaksRule, refusals } from './refused.ts'
import { fieldOf, type ReleaseSchema, schemaAt } from './schema.ts'

/** A violated constraint of the project's specification: a JSON Schema keyword, and the value with its path. */
export interface Broken {
  readonly keyword: string
  readonly at: readonly Segment[]
  readonly value: unknown
  /** The object that contains the value. */
  readonly holder?: unknown
}

/** The keywords of JSON Schema, beside `required`, that releases apply differently from the specification. */
const COMPARED: ReadonlySet<string> = new Set(['enum', 'minItems', 'minLength', 'maxLength'])

/**
 * Whether a release accepts a value that violates a constraint of the specification. False for a field that the release
 * does not have, because the API server drops it.
 */
export function allows(schema: ReleaseSchema, { keyword, at, value, holder }: Broken): boolean {
  if (keyword === 'required') return mayLack(schema, at, holder)
  const node = COMPARED.has(keyword) ? schemaAt(schema, at) : undefined
  if (node === undefined || [...refusals(node, value)].length > 0) return false
  const around = keyword === 'enum' ? undefined : schemaAt(schema, at.slice(0, -1))
  return around === undefined || !breaksRule(around, holder)
}

/** Whether the field at this path may be absent: the release has it, and no `required` or CEL rule demands it. */
function mayLack(schema: ReleaseSchema, at: readonly Segment[], value: unknown): boolean {
  const holder = schemaAt(schema, at.slice(0, -1))
  const key = String(jsonKey(at.at(-1) ?? ''))
  if (holder === undefined || fieldOf(holder, key) === undefined) return false
  return holder.required?.includes(key) !== true && !breaksRule(holder, value)
}
