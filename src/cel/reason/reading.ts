import type { Expr } from '../ast.ts'
import type { Result } from '../evaluate/values.ts'
import type { CelGoVersion, SettledCalls } from '../checker.ts'
import type { Binding, Case, ListPart, ValuePart, Scope, Truth } from './parts.ts'
import type { Over, ValuePlace, ClaimsWorld } from './world.ts'

/** The results of compiling a matcher that are needed to translate it into literals of the solver. */
export interface CompiledExpr {
  readonly settled: SettledCalls
  readonly celGo: CelGoVersion
}

/** The most possible values (`Case`) of an expression that is translated to a formula for the solver. */
export const MOST_CASES = 150

/** Translates CEL expressions into literals of the solver (`ClaimsWorld`), with the variables in scope. */
export interface Reading {
  readonly world: ClaimsWorld
  readonly scope: Scope
  readonly matcher: CompiledExpr
  truth(expr: Expr): Truth
  /** The possible values of an expression; for a bool: true, false and a failure. Throws NotModelled. */
  values(expr: Expr): readonly Case[]
  /** The possible values at a place in the claims, one for each JSON type that the value there may have. */
  at(place: ValuePlace): readonly Case[]
  /** The place of a member of the map, or of an element of the list, that is at `place`. */
  memberAt(place: ValuePlace, key: string | number): ValuePlace
  /** The result of the CEL evaluator for an expression whose operands are all known. */
  computed(
    expr: Expr,
    parts: readonly Expr[],
    values: readonly (ValuePart & { readonly is: 'value' })[],
    unsettled?: boolean,
  ): Result
  always(value: ValuePart): readonly Case[]
  allOf(place: ValuePlace, over: Over): ListPart
  /** A reader for expressions about the elements of a list; `variable` is the name of the loop variable. */
  inList(list: ListPart, variable?: string): Reading
  /** A reader with one more variable in scope. */
  bound(variable: string, binding: Binding): Reading
}
