import type { Call, Comprehension, Expr, Ident, MapExpr, Select } from '../ast.ts'
import type { CelGoVersion, SettledCalls } from '../checker.ts'
import { call, lengthOfText } from './functions.ts'
import {
  Aborted,
  CelMap,
  described,
  Failure,
  isList,
  type Result,
  type Spend,
  TypeName,
  typeOf,
  Uint,
  type Value,
} from './values.ts'

export interface Situation {
  readonly claims: Value
  /** Variables in addition to `claims`, by name; none by default. */
  readonly variables?: ReadonlyMap<string, Value>
  readonly settled: SettledCalls
  readonly celGo: CelGoVersion
  readonly spend: Spend
}

/** The state of an evaluation, with the variables in scope. */
interface Evaluation extends Situation {
  readonly scope: Map<string, Result>
}

/**
 * Evaluates a type-checked expression over `claims` (CEL language definition, "Evaluation") with the same results as
 * cel-go. Calls `spend` with at least the cost that cel-go counts. Throws only OutOfBudget and what `spend` throws.
 */
export function evaluate(expr: Expr, situation: Situation): Result {
  try {
    return run({ ...situation, scope: new Map(situation.variables) }, expr)
  } catch (error) {
    if (error instanceof Aborted) return new Failure(error.message)
    throw error
  }
}

/** The costs in cel-go for each kind of node (common/cost.go), without the extra cost of calls with large arguments. */
const COSTS: Readonly<Record<Expr['kind'], number>> = {
  literal: 0,
  ident: 1,
  select: 1,
  call: 1,
  list: 10,
  map: 30,
  message: 40,
  comprehension: 0,
}

/** The work of visiting one node of the tree, in units of a budget. */
const NODE_WORK = 1 / 8

/** The cost of a node in cel-go: one more for a path that does not begin with a name, as in `[1][0]` or `f(x).y`. */
function costOf(expr: Expr): number {
  const holder = isPath(expr) ? (expr.kind === 'select' ? expr.operand : expr.args[0]) : undefined
  return COSTS[expr.kind] + Number(holder !== undefined && holder.kind !== 'ident' && !isPath(holder))
}

const isPath = (expr: Expr): expr is Select | Call =>
  expr.kind === 'select' || (expr.kind === 'call' && expr.name === '_[_]')

function run(evaluation: Evaluation, expr: Expr): Result {
  evaluation.spend(expr.kind === 'literal' ? 0 : costOf(expr), NODE_WORK)
  switch (expr.kind) {
    case 'literal':
      return expr.type === 'uint' ? new Uint(expr.value) : expr.value
    case 'ident':
      return runIdent(evaluation, expr)
    case 'select':
      return runSelect(evaluation, expr)
    case 'call':
      return runCall(evaluation, expr)
    case 'list':
      return runAll(evaluation, expr.elements)
    case 'map':
      return runMap(evaluation, expr)
    case 'message':
      return new Failure(`${expr.name} is not evaluated here`)
    case 'comprehension':
      return runComprehension(evaluation, expr)
  }
}

/** The values of all expressions, or the first failure. */
function runAll(evaluation: Evaluation, exprs: readonly Expr[]): Value[] | Failure {
  const values: Value[] = []
  for (const expr of exprs) {
    const value = run(evaluation, expr)
    if (value instanceof Failure) return value
    values.push(value)
  }
  return values
}

function runIdent({ scope, claims }: Evaluation, { name, absolute }: Ident): Result {
  const local = absolute ? undefined : scope.get(name)
  if (local !== undefined) return local
  return name === 'claims' ? claims : new TypeName(name)
}

function runSelect(evaluation: Evaluation, select: Select): Result {
  const type = dottedType(evaluation, select)
  if (type !== undefined) return type
  const operand = run(evaluation, select.operand)
  if (operand instanceof Failure) return operand
  if (!select.testOnly) return member(select, operand, select.field)
  if (isList(operand)) return new Failure(`${pathOf(select.operand)} is a list, without fields`)
  return operand instanceof CelMap && operand.get(select.field) !== undefined
}

/** The type that a name such as `google.protobuf.Timestamp` means; undefined for other expressions. */
function dottedType({ scope }: Evaluation, { operand, field }: Select): TypeName | undefined {
  if (operand.kind !== 'select' || operand.operand.kind !== 'ident') return undefined
  const { name, absolute } = operand.operand
  if (name !== 'google' || operand.field !== 'protobuf' || (!absolute && scope.has(name))) return undefined
  return new TypeName(`google.protobuf.${field}`)
}

/** The value of `holder.key` and of `holder[key]`. */
function member(expr: Expr, holder: Value, key: Value): Result {
  if (isList(holder)) return item(expr, holder, key)
  if (!isIndex(key)) return new Failure(`${described(key)} is not an index`)
  const value = holder instanceof CelMap ? holder.get(key) : undefined
  if (value !== undefined) return value
  if (holder instanceof CelMap) return new Failure(`there is no ${pathOf(expr)}`)
  return new Failure(`there is no ${pathOf(expr)}: it would be in ${described(holder)}`)
}

const isIndex = (key: Value) => typeof key !== 'object' || key instanceof Uint || key instanceof TypeName

function item(expr: Expr, list: readonly Value[], index: Value): Result {
  const place = index instanceof Uint ? index.value : index
  const whole = typeof place === 'bigint' || (typeof place === 'number' && Number.isInteger(place))
  if (!whole) return new Failure(`a list has no ${pathOf(expr)}: an index is a whole number`)
  const value = list[Number(place)]
  return value === undefined ? new Failure(`there is no ${pathOf(expr)}`) : value
}

const LONGEST_PATH = 80

/** The source text of a path such as `claims.a.b`, for messages. */
function pathOf(expr: Expr): string {
  const path = written(expr)
  return path.length <= LONGEST_PATH ? path : `${path.slice(0, LONGEST_PATH).toWellFormed()}…`
}

function written(expr: Expr): string {
  if (expr.kind === 'ident') return expr.name
  if (expr.kind === 'select') {
    const plain = /^[A-Za-z_]\w*$/.test(expr.field)
    return `${written(expr.operand)}${plain ? `.${expr.field}` : `[${JSON.stringify(expr.field)}]`}`
  }
  const [holder, key] = expr.kind === 'call' && expr.name === '_[_]' ? expr.args : []
  if (holder === undefined || key === undefined) return '(…)'
  if (key.kind !== 'literal') return `${written(holder)}[…]`
  return `${written(holder)}[${typeof key.value === 'string' ? JSON.stringify(key.value) : String(key.value)}]`
}

function runCall(evaluation: Evaluation, expr: Call): Result {
  const [first, second, third] = expr.args
  if (first !== undefined && second !== undefined) {
    if (expr.name === '_&&_') return logical(evaluation, '&&', false, first, second)
    if (expr.name === '_||_') return logical(evaluation, '||', true, first, second)
    if (expr.name === '_?_:_' && third !== undefined) return conditional(evaluation, first, second, third)
  }
  if (expr.name === '@not_strictly_false' && first !== undefined) return run(evaluation, first) !== false
  const operands = expr.target === undefined ? expr.args : [expr.target, ...expr.args]
  const args = runAll(evaluation, operands)
  if (args instanceof Failure) return args
  const settled = evaluation.settled.get(expr)
  if (settled?.some((type, i) => typeOf(args[i] ?? null) !== type)) return unsettled(expr.name, settled, args)
  if (expr.name !== '_[_]') return call(expr.name, args, evaluation.spend)
  const [holder = null, key = null] = args
  evaluation.spend(0, lengthOfText(key) / 64)
  return member(expr, holder, key)
}

function unsettled(
  name: string,
  [wanted = '']: readonly string[],
  [found = null]: readonly Value[],
): Failure {
  return new Failure(
    `\`${name}\` takes only the type ${wanted} here and finds ${described(found)}: write dyn(…) around the argument`,
  )
}

/**
 * Evaluates `&&` or `||`: one operand with the value `decisive` decides, even if another fails (CEL language
 * definition, "Logical Operators").
 */
function logical(
  evaluation: Evaluation,
  symbol: string,
  decisive: boolean,
  first: Expr,
  second: Expr,
): Result {
  const left = run(evaluation, first)
  if (left === decisive) return decisive
  const right = run(evaluation, second)
  if (right === decisive) return decisive
  for (const side of [left, right]) {
    if (side instanceof Failure) return side
    if (typeof side !== 'boolean') return new Failure(`\`${symbol}\` does not take ${described(side)}`)
  }
  return !decisive
}

function conditional(evaluation: Evaluation, condition: Expr, yes: Expr, no: Expr): Result {
  const test = run(evaluation, condition)
  if (test instanceof Failure) return test
  if (typeof test !== 'boolean') return new Failure(`\`? :\` does not take ${described(test)} as condition`)
  return run(evaluation, test ? yes : no)
}

function runMap(evaluation: Evaluation, { entries }: MapExpr): Result {
  const map = new CelMap()
  for (const entry of entries) {
    const pair = runAll(evaluation, [entry.key, entry.value])
    if (pair instanceof Failure) return pair
    const [key = null, value = null] = pair
    if (key instanceof Uint8Array) throw new Aborted('bytes cannot be the key of a map')
    evaluation.spend(0, lengthOfText(key) / 64)
    map.set(key, value)
  }
  return map
}

function runComprehension(evaluation: Evaluation, loop: Comprehension): Result {
  const { scope } = evaluation
  const elements = elementsOf(run(evaluation, loop.range), evaluation.celGo)
  if (elements instanceof Failure) return elements
  const outer = [loop.accuVar, loop.iterVar].map((name) => [name, scope.get(name)] as const)
  let accumulated = run(evaluation, loop.init)
  for (const element of elements) {
    scope.set(loop.accuVar, accumulated)
    scope.set(loop.iterVar, element)
    if (run(evaluation, loop.condition) === false) break
    accumulated = takeStep(evaluation, loop, accumulated)
  }
  restore(scope, outer)
  scope.set(loop.accuVar, accumulated)
  const result = run(evaluation, loop.result)
  restore(scope, outer)
  return result
}

/** Runs one step of a loop. A step of `map` or `filter` appends to the list that the loop builds, without a copy. */
function takeStep(evaluation: Evaluation, loop: Comprehension, accumulated: Result): Result {
  const appended = Array.isArray(accumulated) ? appendedIn(evaluation, loop) : undefined
  if (appended === undefined) return run(evaluation, loop.step)
  if (appended instanceof Failure) return appended
  ;(accumulated as Value[]).push(...appended)
  return accumulated
}

/**
 * The values that a step of `map` or `filter` appends: none when the condition of `filter` is false; undefined for
 * steps of other macros.
 */
function appendedIn(evaluation: Evaluation, { step, accuVar }: Comprehension): Value[] | Failure | undefined {
  if (step.kind !== 'call') return undefined
  const [test, append = step] = step.name === '_?_:_' ? step.args : []
  const [accumulator, elements] = append.kind === 'call' ? append.args : []
  if (accumulator?.kind !== 'ident' || accumulator.name !== accuVar || elements?.kind !== 'list')
    return undefined
  evaluation.spend(COSTS.call + COSTS.ident + COSTS.list, NODE_WORK)
  const wanted = test === undefined ? true : run(evaluation, test)
  if (wanted instanceof Failure) return wanted
  if (typeof wanted !== 'boolean') return new Failure(`\`filter\` does not take ${described(wanted)} as test`)
  return wanted ? runAll(evaluation, elements.elements) : []
}

function elementsOf(range: Result, celGo: CelGoVersion): Iterable<Value> | Failure {
  if (range instanceof Failure || isList(range)) return range
  if (range instanceof CelMap) return Array.from(range.entries(), ([key]) => key)
  // cel-go 0.33 loops over an empty string or empty bytes without an error, because it checks the type later.
  const isEmpty = range === '' || (range instanceof Uint8Array && range.length === 0)
  if (isEmpty && celGo === '0.33') return []
  return new Failure(`a loop goes over a list or a map, and not over ${described(range)}`)
}

function restore(
  scope: Map<string, Result>,
  variables: readonly (readonly [string, Result | undefined])[],
): void {
  for (const [name, value] of variables) {
    if (value === undefined) scope.delete(name)
    else scope.set(name, value)
  }
}
