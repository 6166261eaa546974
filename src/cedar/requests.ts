import type { EntityName, Variable } from './ast.ts'

/** The types of values, as bits of a set. */
export const TYPE = {
  boolean: 1,
  long: 2,
  string: 4,
  decimal: 8,
  ip: 16,
  datetime: 32,
  duration: 64,
  set: 128,
  record: 256,
  entity: 512,
} as const
/** Values that JSON becomes: its numbers are decimals. */
export const JSON_TYPES = TYPE.boolean | TYPE.string | TYPE.decimal | TYPE.set | TYPE.record
export const ANY = 1023
export const ORDERED = TYPE.long | TYPE.datetime | TYPE.duration

/** An attribute of the requests of a family. */
export interface Attribute {
  readonly presence: 'always' | 'maybe' | 'never'
  readonly types: number
  /** What is one and the same in several places, such as a claim of the principal and of the context, has one key. */
  readonly key: string
}

/** A family of requests. */
export interface Requests {
  attribute(of: Variable, name: string): Attribute
  typeOf(variable: Variable): string
  /** Whether the entity of a request is this one. */
  is(variable: Variable, entity: EntityName): 'always' | 'maybe' | 'never'
  /** Whether it is this one, or belongs to it. */
  isIn(variable: Variable, entity: EntityName): 'always' | 'maybe' | 'never'
}
