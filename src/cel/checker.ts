/** The type checker of CEL expressions: walks the tree, unifies types, and reports type errors. */

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
  resolve,
  string,
  uint,
  variable,
} from './types.ts'
import type { Type } from './types.ts'
import { TooComplex, Unifier } from './unifier.ts'
import type { CelGoVersion } from './unifier.ts'

export type { CelGoVersion }

export interface CheckProblem {
  /** Index in the source of the expression, in UTF-16 code units. */
  readonly offset: number
  readonly message: string
}

/**
 * The argument types of calls whose signature cel-go selects during compilation: the evaluation of such a call fails
 * when an argument has another type.
 */
export type SettledCalls = ReadonlyMap<Call, readonly string[]>

export type CheckResult = {
  /** Whether the other version of cel-go (0.32 or 0.33) may give a different result. */
  readonly dependsOnVersion: boolean
  readonly settled: SettledCalls
} & (
  | { readonly ok: true; readonly type: string }
  | { readonly ok: false; readonly problems: readonly CheckProblem[] }
)

/** The most problems that are reported for one expression. */
export const maxProblems = 20

// The most problems that are collected. More than are reported, because they are not found in the order of the source.
const maxCollected = 200

interface Told {
  readonly offset: number
  readonly tell: () => string
}

interface Check {
  readonly version: CelGoVersion
  readonly unifier: Unifier
  /** The types of the loop variables in scope. */
  scope: Map<string, Type> | undefined
  /** Functions that expressions may call, in addition to those of the CEL language definition. */
  readonly functions: readonly Overload[]
  /** Whether cel-go 0.32 may compare numbers of different types: in and after the first loop (`all`, `map`). */
  mixedNumbers: boolean
  dependsOnVersion: boolean
  /** Created on demand, because few matchers have a call whose signature is selected during compilation. */
  settled: Map<Call, readonly string[]> | undefined
  readonly problems: Told[]
  /**
   * Types that must not be CEL's `type` (the type of type names such as `int`) once all type variables are bound:
   * cel-go could not plan the program.
   */
  readonly noTypeName: (Told & { readonly type: Type })[]
  /** Problems, besides `noTypeName`, in expressions that pass the type check but that cel-go cannot plan. */
  readonly unplannable: Told[]
}

const NOTHING_SETTLED: ReadonlyMap<Call, readonly string[]> = new Map()

const literalTypes = { int, uint, double, string, bytes, bool, null_type: nullType }

/**
 * Type-checks an expression over `claims: map(string, dyn)` and the standard definitions (CEL language definition,
 * "Gradual Type Checking") as a version of cel-go does. Also finds expressions that pass this check, but from which
 * cel-go cannot plan a program. Returns the type of the result, or the problems in the order of the source. `further`
 * has more variables, `functions` more functions. Never throws.
 */
export function check(
  expr: Expr,
  version: CelGoVersion,
  further?: ReadonlyMap<string, Type>,
  functions: readonly Overload[] = [],
): CheckResult {
  const state: Check = {
    version,
    unifier: new Unifier(version),
    scope: further === undefined ? undefined : new Map(further),
    functions,
    mixedNumbers: false,
    dependsOnVersion: false,
    settled: undefined,
    problems: [],
    noTypeName: [],
    unplannable: [],
  }
  const result = checked(state, expr)
  const dependsOnVersion = state.dependsOnVersion || state.unifier.comparedTypeNames
  return { ...result, dependsOnVersion, settled: state.settled ?? NOTHING_SETTLED }
}

type Checked =
  | { readonly ok: true; readonly type: string }
  | { readonly ok: false; readonly problems: readonly CheckProblem[] }

function checked(state: Check, expr: Expr): Checked {
  let told: readonly Told[] = state.problems
  try {
    const type = typeOf(state, expr)
    state.unifier.countBound()
    if (told.length === 0) told = programProblems(state)
    if (told.length === 0) return { ok: true, type: display(type) }
  } catch (error) {
    if (!(error instanceof TooComplex)) throw error
    const message = 'the types of this expression are too large: cel-go would take too long to compile it'
    return { ok: false, problems: [{ offset: expr.offset, message }] }
  }
  const problems = told
    .toSorted((one, other) => one.offset - other.offset)
    .slice(0, maxProblems)
    .map(({ offset, tell }) => ({ offset, message: tell() }))
  return { ok: false, problems }
}

/** The problems in an expression that passes the type check, but from which cel-go cannot plan a program. */
function programProblems({ unplannable, noTypeName }: Check): Told[] {
  return [...unplannable, ...noTypeName.filter(({ type }) => resolve(type).kind === 'type')]
}

function report(state: Check, offset: number, tell: () => string): Type {
  if (state.problems.length < maxCollected) state.problems.push({ offset, tell })
  return errorType
}

function typeOf(state: Check, expr: Expr): Type {
  const type = typeOfNode(state, expr)
  state.unifier.count(type)
  return type
}

function typeOfNode(state: Check, expr: Expr): Type {
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

/** The type of the loop variable with this name; a name with a leading dot is never a loop variable. */
function localOf({ scope }: Check, { name, absolute }: Ident): Type | undefined {
  return absolute ? undefined : scope?.get(name)
}

function typeOfIdent(state: Check, ident: Ident): Type {
  const { name, offset } = ident
  const local = localOf(state, ident)
  if (local !== undefined) {
    if (mayBeTypeName(local) && !typeNames.has(name)) {
      const tell = () => `'${shorten(name)}' stands for the name of a type, which a loop variable cannot`
      state.noTypeName.push({ offset, tell, type: local })
    }
    return local
  }
  const variableType = variables.get(name)
  if (variableType !== undefined) return variableType
  const typeName = typeNames.get(name)
  if (typeName !== undefined) {
    if (ident.absolute && state.scope?.has(name)) reportHidden(state, offset, name)
    return typeName
  }
  if (state.problems.length >= maxCollected) return errorType
  const inScope = [...(state.scope?.keys() ?? [])]
  return report(state, offset, () => {
    return `undeclared reference to '${shorten(name)}'${variableHint(name, inScope)}`
  })
}

/** Whether the type is the type of a type name such as `int`, or a type variable that may be bound to such a type. */
function mayBeTypeName(type: Type): boolean {
  const { kind } = resolve(type)
  return kind === 'type' || kind === 'variable'
}

/** Reports a type name with a leading dot that equals the name of a loop variable: cel-go 0.32 cannot find the type. */
function reportHidden(state: Check, offset: number, name: string): void {
  state.dependsOnVersion = true
  if (state.version !== '0.32') return
  state.unplannable.push({
    offset,
    tell: () => `a loop variable hides the type ${name}, give it another name`,
  })
}

/** Walks a chain of selections from its root in a loop, because it may be the dotted name of a type. */
function typeOfSelect(state: Check, outermost: Select): Type {
  const chain: Select[] = []
  let root: Expr = outermost
  while (root.kind === 'select') {
    chain.push(root)
    root = root.operand
  }
  chain.reverse()
  const named = root.kind === 'ident' ? dottedType(state, root, chain) : undefined
  let type = named?.type ?? typeOf(state, root)
  for (let index = named?.length ?? 0; index < chain.length; index++) {
    const select = chain[index] ?? outermost
    type = typeOfField(state, select, type)
    if (select !== outermost) state.unifier.count(type)
  }
  return type
}

/** The first names in dotted type names: `google`. */
const PACKAGES: ReadonlySet<string> = new Set(
  Array.from(typeNames.keys(), (name) => name.slice(0, Math.max(0, name.indexOf('.')))),
)

function dottedType(
  state: Check,
  root: Ident,
  chain: readonly Select[],
): { type: Type; length: number } | undefined {
  if (!PACKAGES.has(root.name) || localOf(state, root) !== undefined) return undefined
  let name = root.name
  for (const [index, select] of chain.slice(0, 2).entries()) {
    if (select.testOnly) return undefined
    name += `.${select.field}`
    const type = typeNames.get(name)
    if (type === undefined) continue
    if (state.scope?.has(root.name)) reportHidden(state, select.offset, name)
    return { type, length: index + 1 }
  }
  return undefined
}

function typeOfField(state: Check, select: Select, operandType: Type): Type {
  const operand = state.unifier.settle(operandType)
  const field = fieldType(state, operand)
  if (field === undefined) {
    report(state, select.offset, () => `type '${display(operand)}' does not support field selection`)
  }
  return select.testOnly ? bool : state.unifier.settle(field ?? errorType)
}

function fieldType(state: Check, operand: Type): Type | undefined {
  switch (operand.kind) {
    case 'map':
      return operand.args[1]
    case 'dyn':
    case 'error':
      return dyn
    case 'variable':
      state.unifier.assign(dyn, operand)
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

/** The type of a message: dyn for `google.protobuf`, because the fields of its messages are not known here. */
function typeOfMessage(state: Check, message: Message): Type {
  for (const field of message.fields) typeOf(state, field.value)
  if (/^google\.protobuf\.\w+$/.test(message.name)) return dyn
  return report(state, message.offset, () => {
    return `undeclared reference to '${shorten(message.name)}' (there are no message types here)`
  })
}

function typeOfCall(state: Check, call: Call): Type {
  // As in cel-go, the receiver comes last: the order determines the types to which type variables are bound.
  const argTypes: Type[] = []
  for (const arg of call.args) argTypes.push(typeOf(state, arg))
  if (call.name === '_&&_' || call.name === '_||_') return typeOfLogical(state, call, argTypes)
  const types = call.target === undefined ? argTypes : [typeOf(state, call.target), ...argTypes]
  if (call.name === '_[_]') noteConstantIndex(state, call, argTypes[1])
  const result = resultOf(state, call, types)
  return result ?? report(state, call.offset, () => describeMismatch(call, types))
}

function typeOfLogical(state: Check, { args }: Call, types: readonly Type[]): Type {
  let index = 0
  for (const arg of args) {
    const type = types[index++] ?? errorType
    if (!state.unifier.assign(type, bool)) reportType(state, arg, bool, type)
  }
  return bool
}

/** Reports a problem unless the type of the expression can be used as the wanted type. */
function expectType(state: Check, expr: Expr, wanted: Type): void {
  const type = typeOf(state, expr)
  if (!state.unifier.assign(wanted, type)) reportType(state, expr, wanted, type)
}

function reportType(state: Check, { offset }: Expr, wanted: Type, type: Type): void {
  report(state, offset, () => `expected type '${display(wanted)}' but found '${display(type)}'`)
}

/** Records an index that is a constant null, bytes or type: from such an expression cel-go cannot plan a program. */
function noteConstantIndex(state: Check, call: Call, type: Type | undefined): void {
  const index = call.args[1]
  if (index === undefined || type === undefined) return
  const { offset } = call
  const tell = () => 'a list or map cannot be indexed with null, bytes or the name of a type'
  if (index.kind === 'literal' && (index.type === 'null_type' || index.type === 'bytes')) {
    state.unplannable.push({ offset, tell })
  }
  if (index.kind === 'ident' && mayBeTypeName(type)) state.noTypeName.push({ offset, tell, type })
  if (index.kind === 'select' && isDottedType(state, index)) state.unplannable.push({ offset, tell })
}

function isDottedType(state: Check, select: Select): boolean {
  const chain = [select]
  let root = select.operand
  for (; root.kind === 'select'; root = root.operand) chain.unshift(root)
  return root.kind === 'ident' && dottedType(state, root, chain)?.length === chain.length
}

/** The signatures that may apply to a call, by name and number of arguments. */
function candidates({ functions }: Check, { name, target }: Call, argCount: number): readonly Overload[] {
  const standard = overloadsOf(name, target !== undefined, argCount)
  const further = functions.filter(
    (each) => each.name === name && each.method === (target !== undefined) && each.args.length === argCount,
  )
  return further.length === 0 ? standard : [...standard, ...further]
}

/** The common result type of all signatures that fit the arguments: dyn when they differ; undefined when none fits. */
function resultOf(state: Check, call: Call, types: readonly Type[]): Type | undefined {
  if (isPlainTest(call.name, types)) return bool
  // When no argument has type variables and the result is dyn, further signatures cannot change the result type.
  let closed = true
  for (const { open } of types) if (open) closed = false
  let result: Type | undefined
  let only: Overload | undefined
  let fitting = 0
  for (const overload of candidates(state, call, types.length)) {
    if (overload.mixedNumbers && ((closed && result !== undefined) || !mayMixNumbers(state, overload, types)))
      continue
    const next = applyOverload(state.unifier, overload, types)
    if (next === undefined) continue
    fitting++
    only ??= overload
    if (result === undefined) result = next
    else if (result !== dyn && !state.unifier.equal(next, result)) result = dyn
    if (closed && result === dyn) break
  }
  const isKnown = () => types.every((type) => type.kind !== 'dyn')
  if (only !== undefined && fitting === 1 && isSettledEarly(call.name) && (!closed || isKnown())) {
    state.settled ??= new Map()
    state.settled.set(
      call,
      only.args.map(({ kind }) => kind),
    )
  }
  return result
}

/**
 * Whether a call needs no search for a signature, as most calls: no operand has type variables, and the call is `==`
 * or `!=` of comparable types without parameters, or `in` with a right operand of type dyn.
 */
function isPlainTest(name: string, types: readonly Type[]): boolean {
  const [one, other] = types
  if (one === undefined || other === undefined || one.open || other.open) return false
  if (name === '@in') return other.kind === 'dyn'
  if (name !== '_==_' && name !== '_!=_') return false
  if (one.args.length > 0 || other.args.length > 0) return false
  return one.kind === 'dyn' || other.kind === 'dyn' || (one.kind === other.kind && one.kind !== 'type')
}

/**
 * Whether cel-go selects the signature of the function during compilation, as for conversions and getters of times.
 * The type of `claims.a["b"]` is unknown until the first signature binds it, so `int(claims.a["b"])` accepts only an
 * int. A known type may also differ from the type of the value: in `(claims.a + ["b"]).map(x, int(x))` the checker
 * takes x for a string, whatever the claim contains. The signatures of all other functions are selected during
 * evaluation, by the types of the values.
 */
const isSettledEarly = (name: string) =>
  !name.startsWith('_') && /^[a-z]/.test(name) && !SETTLED_LATE.has(name)
const SETTLED_LATE: ReadonlySet<string> = new Set(['size', 'dyn', 'type'])

/** Whether a call may use this signature for numbers of two different types, which only cel-go 0.32 allows. */
function mayMixNumbers(state: Check, overload: Overload, types: readonly Type[]): boolean {
  if (!state.mixedNumbers || !mayFit(types, overload.args)) return false
  state.dependsOnVersion = true
  return state.version === '0.32'
}

function applyOverload(unifier: Unifier, overload: Overload, types: readonly Type[]): Type | undefined {
  if (!mayFit(types, overload.args)) return undefined
  if (!overload.generic) return unifier.assignAll(types, overload.args) ? overload.result : undefined
  const made: Type[] = []
  const args = unifier.instantiateAll(overload.args, made)
  if (!unifier.assignAll(types, args)) return undefined
  return unifier.settle(unifier.instantiate(overload.result, made))
}

/** A quick test of a signature: false when an argument has a known type of another kind than its parameter. */
function mayFit(types: readonly Type[], wanted: readonly Type[]): boolean {
  let index = 0
  for (const { kind } of types) {
    const want = wanted[index++]?.kind
    if (kind !== want && !FITTING.has(kind) && want !== 'parameter') return false
  }
  return true
}

/** Kinds of types that fit even where another kind is wanted. */
const FITTING: ReadonlySet<Type['kind']> = new Set(['dyn', 'error', 'null_type', 'variable'])

function typeOfComprehension(state: Check, loop: Comprehension): Type {
  const rangeType = typeOf(state, loop.range)
  const accu = typeOf(state, loop.init)
  const element = elementType(state, loop.range, rangeType)
  const scope = (state.scope ??= new Map<string, Type>())
  const outerAccu = scope.get(loop.accuVar)
  const outerIter = scope.get(loop.iterVar)
  scope.set(loop.accuVar, accu)
  scope.set(loop.iterVar, element)
  // From here on, in this loop and in all that is checked later, cel-go 0.32 compares numbers of different types.
  state.mixedNumbers = true
  expectType(state, loop.condition, bool)
  expectType(state, loop.step, accu)
  restore(scope, loop.iterVar, outerIter)
  const result = state.unifier.settle(typeOf(state, loop.result))
  restore(scope, loop.accuVar, outerAccu)
  return result
}

function restore(scope: Map<string, Type>, name: string, type: Type | undefined): void {
  if (type === undefined) scope.delete(name)
  else scope.set(name, type)
}

function elementType(state: Check, range: Expr, rangeType: Type): Type {
  const type = state.unifier.settle(rangeType)
  switch (type.kind) {
    case 'list':
    case 'map':
      return type.args[0] ?? dyn
    case 'dyn':
    case 'error':
      return dyn
    case 'variable':
      state.unifier.assign(dyn, type)
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
  return `found no matching overload for ${showCall(call, shown)}${numberHint(call, types)}${formHint(call, types)}`
}

/** A call as text, with the types of its arguments. */
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

const NUMBERS: ReadonlySet<Type['kind']> = new Set(['int', 'uint', 'double'])

/** A hint to convert an operand, if the operator has numbers of different types; otherwise empty. */
function numberHint({ name }: Call, types: readonly Type[]): string {
  const isOperator = /^_[^[?]+_$/.test(name)
  if (!isOperator || !types.every((type) => NUMBERS.has(resolve(type).kind))) return ''
  return ' (convert one, as in double(x))'
}

/** A hint for a function that exists only in the other form, `x.f(…)` or `f(x, …)`; otherwise empty. */
function formHint({ name, target }: Call, types: readonly Type[]): string {
  if (overloadsOf(name, target === undefined, types.length).length === 0) return ''
  if (overloadsOf(name, target !== undefined, types.length).length > 0) return ''
  return target === undefined ? ` (write x.${name}(…))` : ` (write ${name}(x))`
}
