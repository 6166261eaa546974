import type { Expr } from '../ast.ts'
import type { Result } from '../evaluate/values.ts'
import type { CelGoVersion, SettledCalls } from '../checker.ts'
import type { Binding, Case, ListPart, ValuePart, Scope, Truth } from './parts.ts'
import type { Over, ValuePlace, ClaimsWorld } from './world.ts'

/** Results of compiling a matcher that its translation into solver literals needs. */
export interface CompiledExpr {
  readonly settled: SettledCalls
  readonly celGo: CelGoVersion
}

/** The most possible values that an expression may have. */
export const MOST_CASES = 150

/** Translates CEL expressions into literals of one ClaimsWorld, with the variables in scope. */
export interface Reading {
  readonly world: ClaimsWorld
  readonly scope: Scope
  readonly matcher: CompiledExpr
  truth(expr: Expr): Truth
  /** The possible values of an expression; for a bool: true, false and a failure. Throws NotModelled. */
  values(expr: Expr): readonly Case[]
  /** The possible values of a place, one for each JSON type that it may have. */
  at(place: ValuePlace): readonly Case[]
  /** The place of a map's member, or of a list's element. */
  memberAt(place: ValuePlace, key: string | number): ValuePlace
  /** The result of the evaluator for operands that are all known. */
  computed(
    expr: Expr,
    parts: readonly Expr[],
    values: readonly (ValuePart & { readonly is: 'value' })[],
    unsettled?: boolean,
  ): Result
  always(value: ValuePart): readonly Case[]
  allOf(place: ValuePlace, over: Over): ListPart
  /** A reader for expressions about the elements of a list; `variable` is the name of an element in them. */
  inList(list: ListPart, variable?: string): Reading
  /** A reader with one more variable in scope. */
  bound(variable: string, binding: Binding): Reading
}
