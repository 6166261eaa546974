/** A Cedar policy as its evaluation sees it. */
export interface Policy {
  readonly effect: 'permit' | 'forbid'
  /** What the policy is about; each must hold before the conditions are evaluated. */
  readonly scope: Readonly<Record<'principal' | 'action' | 'resource', Expr | undefined>>
  readonly conditions: readonly Condition[]
}

export interface Condition {
  readonly kind: 'when' | 'unless'
  readonly expr: Expr
}

export interface EntityName {
  /** With its namespaces: `Tool`, `App::Tool`. */
  readonly type: string
  readonly id: string
}

export type Variable = 'principal' | 'action' | 'resource' | 'context'
export type Comparison = '==' | '!=' | '<' | '<=' | '>' | '>='

/** Chains of `&&`, `||`, `+`, `-` and `*` are lists, so that only brackets nest. */
export type Expr =
  | { readonly kind: 'boolean'; readonly value: boolean }
  | { readonly kind: 'long'; readonly value: bigint }
  | { readonly kind: 'string'; readonly value: string }
  | { readonly kind: 'entity'; readonly entity: EntityName }
  | { readonly kind: 'variable'; readonly name: Variable }
  | { readonly kind: 'set'; readonly items: readonly Expr[] }
  | { readonly kind: 'record'; readonly entries: readonly (readonly [string, Expr])[] }
  | { readonly kind: 'and' | 'or' | 'arithmetic'; readonly items: readonly Expr[] }
  | { readonly kind: 'not' | 'negate'; readonly of: Expr }
  | {
      readonly kind: 'comparison'
      readonly operator: Comparison
      readonly left: Expr
      readonly right: Expr
    }
  | { readonly kind: 'in'; readonly left: Expr; readonly right: Expr }
  | { readonly kind: 'is'; readonly of: Expr; readonly type: string; readonly in: Expr | undefined }
  | { readonly kind: 'if'; readonly test: Expr; readonly then: Expr; readonly else: Expr }
  | { readonly kind: 'has' | 'attribute'; readonly of: Expr; readonly name: string }
  | { readonly kind: 'like'; readonly of: Expr; readonly pattern: string }
  | { readonly kind: 'call'; readonly name: string; readonly args: readonly Expr[] }
