/**
 * The syntax tree of a CEL expression, after the expansion of macros (CEL language definition, "Syntax" and "Macros").
 * `offset` is the UTF-16 index in the source to which an error message about the node refers: the first character of a
 * literal, name or list, the operator of a call, the dot of a selection.
 * `height` counts levels as cel-go does; the parser limits it, so that later passes may recurse.
 */
export type Expr = LiteralExpr | Ident | Select | Call | ListExpr | MapExpr | Message | Comprehension

interface Node {
  readonly offset: number
  readonly height: number
}

export type LiteralExpr = Node & { readonly kind: 'literal' } & (
    | { readonly type: 'int' | 'uint'; readonly value: bigint }
    | { readonly type: 'double'; readonly value: number }
    | { readonly type: 'string'; readonly value: string }
    | { readonly type: 'bytes'; readonly value: Uint8Array }
    | { readonly type: 'bool'; readonly value: boolean }
    | { readonly type: 'null_type'; readonly value: null }
  )

/** `absolute`: the name has a leading dot, so a comprehension variable of this name does not hide it. */
export interface Ident extends Node {
  readonly kind: 'ident'
  readonly name: string
  readonly absolute: boolean
}

/** `operand.field`; with `testOnly`, the test `has(operand.field)`. */
export interface Select extends Node {
  readonly kind: 'select'
  readonly operand: Expr
  readonly field: string
  readonly testOnly: boolean
}

/** Operators are calls too, with the names in the standard definitions: `_&&_`, `_[_]`, `@in`, `_?_:_`, … */
export interface Call extends Node {
  readonly kind: 'call'
  readonly name: string
  readonly target: Expr | undefined
  readonly args: readonly Expr[]
}

export interface ListExpr extends Node {
  readonly kind: 'list'
  readonly elements: readonly Expr[]
}

export interface MapEntry {
  readonly key: Expr
  readonly value: Expr
}

export interface MapExpr extends Node {
  readonly kind: 'map'
  readonly entries: readonly MapEntry[]
}

/** `package.Name{field: value}`; `name` has no leading dot. */
export interface Message extends Node {
  readonly kind: 'message'
  readonly name: string
  readonly fields: readonly { readonly name: string; readonly value: Expr }[]
}

/** A loop over `range`: `accuVar` is `init` at first, then `step` while `condition` holds; returns `result`. */
export interface Comprehension extends Node {
  readonly kind: 'comprehension'
  readonly iterVar: string
  readonly range: Expr
  readonly accuVar: string
  readonly init: Expr
  readonly condition: Expr
  readonly step: Expr
  readonly result: Expr
}

const NONE: readonly Expr[] = []

/** The direct subexpressions of an expression. */
export function subexpressions(expr: Expr): readonly Expr[] {
  switch (expr.kind) {
    case 'literal':
    case 'ident':
      return NONE
    case 'select':
      return [expr.operand]
    case 'call':
      return expr.target === undefined ? expr.args : [expr.target, ...expr.args]
    case 'list':
      return expr.elements
    case 'map':
      return expr.entries.flatMap(({ key, value }) => [key, value])
    case 'message':
      return expr.fields.map(({ value }) => value)
    case 'comprehension':
      return [expr.range, expr.init, expr.condition, expr.step, expr.result]
  }
}
