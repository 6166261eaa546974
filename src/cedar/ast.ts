/** A Cedar policy, reduced to the parts that its evaluation needs. */
export interface CedarPolicy {
  readonly effect: 'permit' | 'forbid'
  /**
   * The scope: each expression must be true before the conditions are evaluated; undefined for a variable without a
   * constraint.
   */
  readonly scope: Readonly<Record<'principal' | 'action' | 'resource', CedarExpr | undefined>>
  readonly conditions: readonly PolicyCondition[]
}

export interface PolicyCondition {
  readonly kind: 'when' | 'unless'
  readonly expr: CedarExpr
}

export interface EntityName {
  /** The entity type with its namespaces: `Tool`, `App::Tool`. */
  readonly type: string
  readonly id: string
}

export type Variable = 'principal' | 'action' | 'resource' | 'context'
export type CedarOperator = '==' | '!=' | '<' | '<=' | '>' | '>='

/**
 * A Cedar expression. A chain of `&&`, `||`, `+`, `-` or `*` is one node with a list of operands, so that long chains
 * do not nest.
 */
export type CedarExpr =
  | { readonly kind: 'boolean'; readonly value: boolean }
  | { readonly kind: 'long'; readonly value: bigint }
  | { readonly kind: 'string'; readonly value: string }
  | { readonly kind: 'entity'; readonly entity: EntityName }
  | { readonly kind: 'variable'; readonly name: Variable }
  | { readonly kind: 'set'; readonly items: readonly CedarExpr[] }
  | { readonly kind: 'record'; readonly entries: readonly (readonly [string, CedarExpr])[] }
  | { readonly kind: 'and' | 'or' | 'arithmetic'; readonly items: readonly CedarExpr[] }
  | { readonly kind: 'not' | 'negate'; readonly of: CedarExpr }
  | {
      readonly kind: 'comparison'
      readonly operator: CedarOperator
      readonly left: CedarExpr
      readonly right: CedarExpr
    }
  | { readonly kind: 'in'; readonly left: CedarExpr; readonly right: CedarExpr }
  | { readonly kind: 'is'; readonly of: CedarExpr; readonly type: string; readonly in: CedarExpr | undefined }
  | { readonly kind: 'if'; readonly test: CedarExpr; readonly then: CedarExpr; readonly else: CedarExpr }
  | { readonly kind: 'has' | 'attribute'; readonly of: CedarExpr; readonly name: string }
  | { readonly kind: 'like'; readonly of: CedarExpr; readonly pattern: string }
  | { readonly kind: 'call'; readonly name: string; readonly args: readonly CedarExpr[] }

/** The direct subexpressions, in the order of their evaluation. */
export function partsOf(expr: CedarExpr): readonly CedarExpr[] {
  switch (expr.kind) {
    case 'set':
    case 'and':
    case 'or':
    case 'arithmetic':
      return expr.items
    case 'record':
      return expr.entries.map(([, value]) => value)
    case 'not':
    case 'negate':
    case 'has':
    case 'attribute':
    case 'like':
      return [expr.of]
    case 'comparison':
    case 'in':
      return [expr.left, expr.right]
    case 'is':
      return expr.in === undefined ? [expr.of] : [expr.of, expr.in]
    case 'if':
      return [expr.test, expr.then, expr.else]
    case 'call':
      return expr.args
    default:
      return []
  }
}
