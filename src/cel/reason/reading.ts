import type { Expr } from '../ast.ts'
import type { Result } from '../evaluate/values.ts'
import type { CelGoVersion, SettledCalls } from '../checker.ts'
import type { Binding, Case, ListPart, ValuePart, Scope, Truth } from './parts.ts'
import type { Over, ValuePlace, ClaimsWorld } from './world.ts'

/** The facts about an expression that compiling it gave. */
export interface CompiledExpr {
  readonly settled: SettledCalls
  readonly celGo: CelGoVersion
}

/** The most cases that one expression may have. */
export const MOST_CASES = 150

/** Reads expressions over the places of one world, with variables. */
export interface Reading {
  readonly world: ClaimsWorld
  readonly scope: Scope
  readonly matcher: CompiledExpr
  truth(expr: Expr): Truth
  /** The cases of an expression whose value is used: a bool is true, false or failed. Throws NotModelled. */
  values(expr: Expr): readonly Case[]
  /** The cases of the value at a place, by its form. */
  at(place: ValuePlace): readonly Case[]
  /** The place of a member or an element. */
  memberAt(place: ValuePlace, key: string | number): ValuePlace
  /** The result over values that are all known, as the evaluator has it. */
  computed(
    expr: Expr,
    parts: readonly Expr[],
    values: readonly (ValuePart & { readonly is: 'value' })[],
    unsettled?: boolean,
  ): Result
  always(value: ValuePart): readonly Case[]
  allOf(place: ValuePlace, over: Over): ListPart
  /** A reader of the elements of a list; with a variable, of expressions that name it. */
  inList(list: ListPart, variable?: string): Reading
  /** A reader of this world with one more variable. */
  bound(variable: string, binding: Binding): Reading
}
