/** The type of a CEL expression: a walk over its tree that unifies types, and tells what does not fit. */

import type { Call, Comprehension, Expr, Ident, MapExpr, Message, Select } from './ast.ts'
import { isFunction, overloadsOf, typeNames, variables } from './declarations.ts'
import type { Overload } from './declarations.ts'
import { functionHint, shorten, variableHint } from './hints.ts'
import {
  bool,
  bytes,
  display,
  double,
  dyn,
  errorType,
  int,
  list,
  map,
  nullType,
  string,
  uint,
  variable,
} from './types.ts'
import type { Type } from './types.ts'
import { TooComplex, Unifier } from './unifier.ts'

export interface Problem {
  /** UTF-16 index in the source. */
  readonly offset: number
  readonly message: string
}

export type CheckResult =
  { readonly ok: true; readonly type: string } | { readonly ok: false; readonly problems: readonly Problem[] }

/** Most problems that are told about one expression. */
export const maxProblems = 20

// More than are told, because they are found in another order than that of the source.
const maxCollected = 200

interface Check {
  readonly unifier: Unifier
  /** The variables of the comprehensions around the place that is checked. */
  readonly scope: Map<string, Type>
  loops: number
  readonly problems: { readonly offset: number; readonly tell: () => string }[]
}

const literalTypes = { int, uint, double, string, bytes, bool, null_type: nullType }

/**
 * Type-checks an expression over `claims: map(string, dyn)` and the standard definitions (CEL language definition,
 * "Gradual Type Checking"). Gives the type of the result, or the problems in the order of the source. Never throws.
 */
export function check(expr: Expr): CheckResult {
  const state: Check = { unifier: new Unifier(), scope: new Map(), loops: 0, problems: [] }
  try {
    const type = typeOf(state, expr)
    if (state.problems.length === 0) return { ok: true, type: display(type) }
  } catch (error) {
    if (!(error instanceof TooComplex)) throw error
    const problem = { offset: expr.offset, message: 'the types of this expression are too large to check' }
    return { ok: false, problems: [problem] }
  }
  const problems = state.problems
    .toSorted((one, other) => one.offset - other.offset)
    .slice(0, maxProblems)
    .map(({ offset, tell }) => ({ offset, message: tell() }))
  return { ok: false, problems }
}

function report(state: Check, offset: number, tell: () => string): Type {
  if (state.problems.length < maxCollected) state.problems.push({ offset, tell })
  return errorType
}

function typeOf(state: Check, expr: Expr): Type {
  switch (expr.kind) {
    case 'literal':
      return literalTypes[expr.type]
    case 'ident':
      return typeOfIdent(state, expr)
    case 'select':
      return typeOfSelect(state, expr)
    case 'call':
      return typeOfCall(state, expr)
    case 'list':
      return list(typeOfAll(state, expr.elements) ?? variable())
    case 'map':
      return typeOfMap(state, expr)
    case 'message':
      return typeOfMessage(state, expr)
    case 'comprehension':
      return typeOfComprehension(state, expr)
  }
}

function typeOfAll(state: Check, elements: readonly Expr[]): Type | undefined {
  let type: Type | undefined
  for (const element of elements) type = state.unifier.join(type, typeOf(state, element))
  return type
}

function lookUp(state: Check, { name, absolute }: Ident): Type | undefined {
  const local = state.loops === 0 || absolute ? undefined : state.scope.get(name)
  return local ?? variables.get(name) ?? typeNames.get(name)
}

function typeOfIdent(state: Check, ident: Ident): Type {
  const type = lookUp(state, ident)
  if (type !== undefined) return type
  if (state.problems.length >= maxCollected) return errorType
  const inScope = [...state.scope.keys()]
  return report(state, ident.offset, () => {
    return `undeclared reference to '${shorten(ident.name)}'${variableHint(ident.name, inScope)}`
  })
}

/** A chain of selections is walked from its root in a loop: it may be the dotted name of a type. */
function typeOfSelect(state: Check, outermost: Select): Type {
  const chain: Select[] = []
  let root: Expr = outermost
  while (root.kind === 'select') {
    chain.push(root)
    root = root.operand
  }
  chain.reverse()
  const named =
    root.kind === 'ident' && lookUp(state, root) === undefined ? dottedType(root, chain) : undefined
  let type = named?.type ?? typeOf(state, root)
  for (const select of chain.slice(named?.length ?? 0)) type = typeOfField(state, select, type)
  return type
}

function dottedType(root: Ident, chain: readonly Select[]): { type: Type; length: number } | undefined {
  let name = root.name
  for (const [index, select] of chain.slice(0, 2).entries()) {
    if (select.testOnly) return undefined
    name += `.${select.field}`
    const type = typeNames.get(name)
    if (type !== undefined) return { type, length: index + 1 }
  }
  return undefined
}

function typeOfField(state: Check, select: Select, operandType: Type): Type {
  const operand = state.unifier.resolve(operandType)
  const field = fieldType(state, operand)
  if (field === undefined) {
    report(state, select.offset, () => `type '${display(operand)}' does not support field selection`)
  }
  return select.testOnly ? bool : (field ?? errorType)
}

function fieldType(state: Check, operand: Type): Type | undefined {
  switch (operand.kind) {
    case 'map':
      return operand.args[1]
    case 'dyn':
    case 'error':
      return operand
    case 'variable':
      state.unifier.bind(operand, dyn)
      return dyn
    default:
      return undefined
  }
}

function typeOfMap(state: Check, { entries }: MapExpr): Type {
  let key: Type | undefined
  let value: Type | undefined
  for (const entry of entries) {
    key = state.unifier.join(key, typeOf(state, entry.key))
    value = state.unifier.join(value, typeOf(state, entry.value))
  }
  return map(key ?? variable(), value ?? variable())
}

/** Which messages cel-go knows, and their fields, is not known here: `google.protobuf` ones count as dyn. */
function typeOfMessage(state: Check, message: Message): Type {
  for (const field of message.fields) typeOf(state, field.value)
  if (/^google\.protobuf\.\w+$/.test(message.name)) return dyn
  return report(state, message.offset, () => {
    return `undeclared reference to '${shorten(message.name)}' (there are no message types here)`
  })
}

function typeOfCall(state: Check, call: Call): Type {
  if (call.name === '_&&_' || call.name === '_||_') return typeOfLogical(state, call)
  const types: Type[] = []
  if (call.target !== undefined) types.push(typeOf(state, call.target))
  for (const arg of call.args) types.push(typeOf(state, arg))
  if (isImpossibleIndex(call)) {
    return report(state, call.offset, () => 'a list or map cannot be indexed with null or bytes')
  }
  const result = resultOf(state, call, types)
  return result ?? report(state, call.offset, () => describeMismatch(call, types))
}

function typeOfLogical(state: Check, call: Call): Type {
  for (const arg of call.args) expectType(state, arg, bool)
  return bool
}

function expectType(state: Check, expr: Expr, wanted: Type): void {
  const type = typeOf(state, expr)
  if (state.unifier.assign(type, wanted)) return
  report(state, expr.offset, () => `expected type '${display(wanted)}' but found '${display(type)}'`)
}

// cel-go's type check lets these pass; making the program then fails.
function isImpossibleIndex({ name, args }: Call): boolean {
  const index = args[1]
  return (
    name === '_[_]' && index?.kind === 'literal' && (index.type === 'null_type' || index.type === 'bytes')
  )
}

/** The result type over all signatures that fit: dyn when they differ; undefined when none fits. */
function resultOf(state: Check, call: Call, types: readonly Type[]): Type | undefined {
  // Without variables to bind, nothing after the first dyn matters.
  const closed = !types.some((type) => type.open)
  let result: Type | undefined
  for (const overload of overloadsOf(call.name, call.target !== undefined, types.length)) {
    if (overload.loopOnly && state.loops === 0) continue
    const next = applyOverload(state.unifier, overload, types)
    if (next === undefined) continue
    if (result === undefined) result = next
    else if (!state.unifier.equal(next, state.unifier.settle(result))) result = dyn
    if (closed && result === dyn) break
  }
  return result
}

function applyOverload(unifier: Unifier, overload: Overload, types: readonly Type[]): Type | undefined {
  if (!mayFit(types, overload.args)) return undefined
  if (!overload.generic) return unifier.assignAll(types, overload.args) ? overload.result : undefined
  const made: Type[] = []
  const args = unifier.instantiateAll(overload.args, made)
  if (!unifier.assignAll(types, args)) return undefined
  return unifier.settle(unifier.instantiate(overload.result, made))
}

/** The short way to say no, before anything is made: two types that are known and of different kinds. */
function mayFit(types: readonly Type[], wanted: readonly Type[]): boolean {
  let index = 0
  for (const { kind } of types) {
    const want = wanted[index++]?.kind
    if (kind !== want && !FITTING.has(kind) && want !== 'parameter') return false
  }
  return true
}

/** Kinds of types that go with some of another kind. */
const FITTING: ReadonlySet<Type['kind']> = new Set(['dyn', 'error', 'null_type', 'variable'])

function typeOfComprehension(state: Check, loop: Comprehension): Type {
  const element = elementType(state, loop.range)
  const accu = typeOf(state, loop.init)
  const { scope } = state
  const outerAccu = scope.get(loop.accuVar)
  const outerIter = scope.get(loop.iterVar)
  scope.set(loop.accuVar, accu)
  scope.set(loop.iterVar, element)
  state.loops++
  expectType(state, loop.condition, bool)
  expectType(state, loop.step, accu)
  restore(scope, loop.iterVar, outerIter)
  const result = state.unifier.resolve(typeOf(state, loop.result))
  restore(scope, loop.accuVar, outerAccu)
  state.loops--
  return result.kind === 'variable' ? dyn : result
}

function restore(scope: Map<string, Type>, name: string, type: Type | undefined): void {
  if (type === undefined) scope.delete(name)
  else scope.set(name, type)
}

function elementType(state: Check, range: Expr): Type {
  const type = state.unifier.resolve(typeOf(state, range))
  switch (type.kind) {
    case 'list':
    case 'map':
      return type.args[0] ?? dyn
    case 'dyn':
    case 'error':
      return dyn
    case 'variable':
      state.unifier.bind(type, dyn)
      return dyn
    default:
      return report(
        state,
        range.offset,
        () => `cannot loop over '${display(type)}' (only over a list or a map)`,
      )
  }
}

function describeMismatch(call: Call, types: readonly Type[]): string {
  const { name } = call
  if (!isFunction(name)) return `undeclared reference to '${shorten(name)}'${functionHint(name)}`
  const shown = types.map((type) => display(type))
  return `found no matching overload for ${showCall(call, shown)}${formHint(call, types)}`
}

/** A call with types in place of its arguments. */
function showCall({ name, target }: Call, types: readonly string[]): string {
  const [first, second, third] = types
  if (name === '_[_]') return `${first}[${second}]`
  if (name === '_?_:_') return `${first} ? ${second} : ${third} (both results must have the same type)`
  const symbol = name.replace(/^[@_]|_$/g, '')
  if (/^[@_]/.test(name)) return `${first} ${symbol} ${second}`
  if (name.endsWith('_')) return `${symbol}${first}`
  return target === undefined
    ? `${name}(${types.join(', ')})`
    : `${first}.${name}(${types.slice(1).join(', ')})`
}

/** For a function that exists, but in the other form: receiver.f(x) against f(receiver, x). */
function formHint({ name, target }: Call, types: readonly Type[]): string {
  if (overloadsOf(name, target === undefined, types.length).length === 0) return ''
  if (overloadsOf(name, target !== undefined, types.length).length > 0) return ''
  return target === undefined ? ` (write x.${name}(…))` : ` (write ${name}(x))`
}
