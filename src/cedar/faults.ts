import type { CedarExpr, CedarOperator, EntityName, Variable } from './ast.ts'

/** The attribute from which a value was read, for messages. */
export interface Origin {
  readonly of: Variable
  readonly name: string
}

/** A mistake in a policy: an expression has no effect or fails, for a family of requests such as all calls of tools. */
export type Fault =
  /** A comparison with an entity that does not occur in any of the evaluated requests. */
  | {
      readonly kind: 'entity'
      readonly variable: Variable
      readonly relation: '==' | 'in'
      readonly entity: EntityName
    }
  | { readonly kind: 'type'; readonly variable: Variable; readonly type: string }
  /** An attribute that none of the evaluated requests has. `isRead`: it is read, not only tested with `has`. */
  | { readonly kind: 'missing'; readonly origin: Origin; readonly isRead: boolean }
  /** An attribute that is read without `has`, although some requests lack it. */
  | { readonly kind: 'unguarded'; readonly origin: Origin; readonly key: string }
  /** A comparison of a JSON number, which is a decimal in Cedar, with a whole number. */
  | {
      readonly kind: 'number'
      readonly origin: Origin | undefined
      readonly operator: CedarOperator | 'contains'
      readonly value: bigint | undefined
    }
  /** A value whose type differs from the type that the operation needs, or from the type of the other operand. */
  | {
      readonly kind: 'value'
      readonly origin: Origin | undefined
      readonly variable: Variable | undefined
      readonly operation: string
      readonly types: number
      /** Whether the value is only compared for equality, which never fails. */
      readonly isCompared: boolean
      /** The other operand of the operation, when this operand is a string literal. */
      readonly text: string | undefined
    }
  /** A text that the function `decimal` refuses. */
  | { readonly kind: 'literal'; readonly name: string; readonly text: string }

/** Called with each fault, and with the expression that contains it. */
export type FaultNote = (fault: Fault, at: CedarExpr) => void
