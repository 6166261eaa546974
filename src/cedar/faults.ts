import type { CedarExpr, CedarOperator, EntityName, Variable } from './ast.ts'

/** The attribute from which a value comes, for messages. */
export interface Origin {
  readonly of: Variable
  readonly name: string
}

/** A mistake in a policy: a part of it does not do what it says, for a family of requests (see `Requests`). */
export type Fault =
  /** A comparison with an entity that no request of the family has. */
  | {
      readonly kind: 'entity'
      readonly variable: Variable
      readonly relation: '==' | 'in'
      readonly entity: EntityName
    }
  | { readonly kind: 'type'; readonly variable: Variable; readonly type: string }
  /** An attribute that no request of the family has; `isRead`: it is read, not only tested with `has`. */
  | { readonly kind: 'missing'; readonly origin: Origin; readonly isRead: boolean }
  /** An attribute that some requests lack is read without `has`. */
  | { readonly kind: 'unguarded'; readonly origin: Origin; readonly key: string }
  /** A number from JSON, which is a decimal, is compared with a whole number. */
  | {
      readonly kind: 'number'
      readonly origin: Origin | undefined
      readonly operator: CedarOperator | 'contains'
      readonly value: bigint | undefined
    }
  /** A value has another type than the operation needs, or than the value that it is compared with. */
  | {
      readonly kind: 'value'
      readonly origin: Origin | undefined
      readonly variable: Variable | undefined
      readonly operation: string
      readonly types: number
      /** Whether the values are only compared for equality, which never fails. */
      readonly isCompared: boolean
      /** The other operand, where it is a string literal. */
      readonly text: string | undefined
    }
  /** The function `decimal` refuses the text. */
  | { readonly kind: 'literal'; readonly name: string; readonly text: string }

/** Called with each fault, and with the expression that has it. */
export type FaultNote = (fault: Fault, at: CedarExpr) => void
