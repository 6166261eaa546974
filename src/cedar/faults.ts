import type { CedarExpr, CedarOperator, EntityName, Variable } from './ast.ts'

/** Where a value comes from, for messages. */
export interface Origin {
  readonly of: Variable
  readonly name: string
}

/** Something in a policy that does not do what it says. */
export type Fault =
  /** A comparison with an entity that no request of the family has. */
  | {
      readonly kind: 'entity'
      readonly variable: Variable
      readonly relation: '==' | 'in'
      readonly entity: EntityName
    }
  | { readonly kind: 'type'; readonly variable: Variable; readonly type: string }
  /** An attribute that no request of the family has: asked for with `has`, or read. */
  | { readonly kind: 'missing'; readonly origin: Origin; readonly isRead: boolean }
  /** An attribute that some requests lack is read without `has`. */
  | { readonly kind: 'unguarded'; readonly origin: Origin; readonly key: string }
  /** A number of JSON is compared with a whole number. */
  | {
      readonly kind: 'number'
      readonly origin: Origin | undefined
      readonly operator: CedarOperator | 'contains'
      readonly value: bigint | undefined
    }
  /** A value is of another type than the operation needs, or than what it is compared with. */
  | {
      readonly kind: 'value'
      readonly origin: Origin | undefined
      readonly variable: Variable | undefined
      readonly operation: string
      readonly types: number
      /** Whether it is compared, which never fails. */
      readonly isCompared: boolean
      /** What stands on the other side, where it is a text. */
      readonly text: string | undefined
    }
  /** A text that `decimal` does not take. */
  | { readonly kind: 'literal'; readonly name: string; readonly text: string }

/** A fault with the expression in which it is. */
export type FaultNote = (fault: Fault, at: CedarExpr) => void
