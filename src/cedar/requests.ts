import type { EntityName, Variable } from './ast.ts'

/** The types of Cedar values, as bits, so that a number can stand for a set of types. */
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
/** The possible types of a Cedar value that is converted from JSON; a JSON number becomes a decimal. */
export const JSON_TYPES = TYPE.boolean | TYPE.string | TYPE.decimal | TYPE.set | TYPE.record
export const ANY = 1023
export const ORDERED = TYPE.long | TYPE.datetime | TYPE.duration

/** An attribute of the principal, resource or context in a family of requests (`Requests`). */
export interface Attribute {
  readonly presence: 'always' | 'maybe' | 'never'
  readonly types: number
  /** Identifies the value: a claim has the same key in the principal and in the context. */
  readonly key: string
}

/** A family of requests for which a policy is evaluated once, such as all calls of tools. */
export interface Requests {
  attribute(of: Variable, name: string): Attribute
  typeOf(variable: Variable): string
  /** Whether the principal, action or resource of the requests is this entity. */
  is(variable: Variable, entity: EntityName): 'always' | 'maybe' | 'never'
  /** Whether the principal, action or resource is this entity, or a descendant of it. */
  isIn(variable: Variable, entity: EntityName): 'always' | 'maybe' | 'never'
}
