import type { Call, Expr, Ident, Select } from '../ast.ts'
import { evaluate } from '../evaluate/evaluate.ts'
import {
  CelMap,
  Failure,
  fromJson,
  type Result,
  spendingFrom,
  TypeName,
  Uint,
  type Value,
} from '../evaluate/values.ts'
import { applied } from './calls.ts'
import { comprehension } from './loops.ts'
import { has, member, recordOf } from './members.ts'
import {
  all,
  any,
  type Binding,
  type Case,
  FAILED,
  constant,
  isFailed,
  type ListPart,
  merged,
  numberAt,
  NotModelled,
  type ValuePart,
  type Scope,
  through,
  type Truth,
  truthOf,
  tuple,
  under,
  unknown,
} from './parts.ts'
import { printed } from './print.ts'
import { type CompiledExpr, MOST_CASES, type Reading } from './reading.ts'
import type { Literal } from './solver.ts'
import { claimsIn, constantsIn, namesIn, shown } from './spelling.ts'
import type { Over, ValuePlace, ClaimsWorld } from './world.ts'

/** Translates a CEL expression over `claims` into two literals of the solver: one for true, and one for false. */
export function read(world: ClaimsWorld, expr: Expr, matcher: CompiledExpr): Truth {
  return new Reader(world, { claims: true, scope: new Map(), matcher }).truth(expr)
}

interface Around {
  /** Whether the formula is about `claims` as a whole; in a loop it is about an element of a list. */
  readonly claims: boolean
  readonly scope: Scope
  readonly matcher: CompiledExpr
}

class Reader implements Reading {
  readonly world: ClaimsWorld
  readonly scope: Scope
  readonly matcher: CompiledExpr
  readonly #around: Around
  /** The places in the claims, such as `claims.sub`, that the current expression has read. */
  #touched: Set<ValuePlace>

  constructor(world: ClaimsWorld, around: Around, touched = new Set<ValuePlace>()) {
    this.world = world
    this.#around = around
    this.scope = around.scope
    this.matcher = around.matcher
    this.#touched = touched
  }

  truth(expr: Expr): Truth {
    const world = this.world
    if (expr.kind === 'call') {
      const [first, second, third] = expr.args
      if (first !== undefined && second !== undefined) {
        if (expr.name === '_&&_') return all(world, [this.truth(first), this.truth(second)])
        if (expr.name === '_||_') return any(world, [this.truth(first), this.truth(second)])
        if (expr.name === '_?_:_' && third !== undefined) {
          const [test, yes, no] = [this.truth(first), this.truth(second), this.truth(third)]
          return {
            yes: world.or(world.and(test.yes, yes.yes), world.and(test.no, no.yes)),
            no: world.or(world.and(test.yes, yes.no), world.and(test.no, no.no)),
          }
        }
      }
      if (expr.name === '_!=_' && !this.matcher.settled.has(expr)) {
        const { yes, no } = this.truth({ ...expr, name: '_==_' })
        return { yes: no, no: yes }
      }
      if (expr.name === '!_' && first !== undefined) {
        const { yes, no } = this.truth(first)
        return { yes: no, no: yes }
      }
    }
    return this.#leaf(expr)
  }

  /**
   * Translates an expression other than `&&`, `||`, `?:` and `!` by its possible values. If these are not known, the
   * solver may choose true, false or a failure (`Guess`).
   */
  #leaf(expr: Expr): Truth {
    const outer = this.#touched
    this.#touched = new Set()
    const cases = this.#casesOrUnknown(expr)
    const places = [...this.#touched]
    this.#touched = outer
    for (const place of places) outer.add(place)
    const world = this.world
    const yes: Literal[] = []
    const no: Literal[] = []
    for (const { guard, value } of cases) {
      const truth = value.is === 'unknown' ? this.#guess(expr, guard, value, places) : truthOf(world, value)
      yes.push(world.and(guard, truth.yes))
      no.push(world.and(guard, truth.no))
    }
    return { yes: world.or(...yes), no: world.or(...no) }
  }

  #casesOrUnknown(expr: Expr): readonly Case[] {
    try {
      return this.#cases(expr)
    } catch (error) {
      if (!(error instanceof NotModelled)) throw error
      return [{ guard: this.world.true, value: unknown(undefined) }]
    }
  }

  #guess(
    expr: Expr,
    guard: Literal,
    { type, fails }: ValuePart & { readonly is: 'unknown' },
    places: readonly ValuePlace[],
  ): Truth {
    const world = this.world
    if (type !== undefined && type !== 'bool') return { yes: world.false, no: world.false }
    const { scope, matcher } = this.#around
    const text = shown(expr, scope, matcher.settled)
    world.budget.spend(text.length / 16)
    let guess = world.guessed.get(text)
    if (guess === undefined) {
      guess = {
        yes: world.variable(),
        no: world.variable(true),
        guards: [],
        places: places.length === 0 ? [world.root] : places,
        text: printed(expr),
        hints: constantsIn(expr),
        claims: claimsIn(expr),
        evaluate: (root) => this.#evaluated(expr, root),
      }
      world.guessed.set(text, guess)
      world.guess(guess)
    }
    if (!fails) world.clause([-guard, guess.yes, guess.no])
    guess.guards.push(guard)
    return { yes: guess.yes, no: guess.no }
  }

  #evaluated(expr: Expr, root: unknown): boolean | undefined | 'unknown' {
    this.world.budget.spend(2)
    if (!this.#around.claims && namesIn(expr, this.world.budget).has('claims')) return 'unknown'
    const variables = new Map<string, Value>()
    const value = fromJson(root)
    for (const [name, binding] of this.scope) {
      if (binding.is === 'cases' || (binding.is === 'place' && binding.world !== this.world)) return 'unknown'
      variables.set(name, binding.is === 'value' ? binding.value : value)
    }
    const result = evaluate(expr, {
      claims: this.#around.claims ? value : new CelMap(true),
      variables,
      ...this.matcher,
      spend: spendingFrom(this.world.budget),
    })
    return typeof result === 'boolean' ? result : undefined
  }

  values(expr: Expr): readonly Case[] {
    const world = this.world
    return this.#cases(expr).flatMap(({ guard, value }) => {
      const isOpen = value.is === 'unknown' && value.type === 'bool'
      if (value.is !== 'truth' && !isOpen) return [{ guard, value }]
      const { yes, no } = value.is === 'truth' ? value.truth : this.#guess(expr, guard, value, [])
      return [
        { guard: world.and(guard, yes), value: constant(true) },
        { guard: world.and(guard, no), value: constant(false) },
        { guard: world.and(guard, -yes, -no), value: FAILED },
      ].filter((each) => each.guard !== world.false)
    })
  }

  #cases(expr: Expr): readonly Case[] {
    this.world.budget.spend(2)
    return merged(this.world, this.#unmerged(expr))
  }

  #unmerged(expr: Expr): readonly Case[] {
    switch (expr.kind) {
      case 'literal':
        return this.always(constant(expr.type === 'uint' ? new Uint(expr.value) : expr.value))
      case 'ident':
        return this.#ident(expr)
      case 'select':
        return this.#select(expr)
      case 'call':
        return this.#call(expr)
      case 'list':
        return this.#product(expr.elements, (items) => this.always(tuple(items)))
      case 'map':
        return this.#map(expr)
      case 'message':
        return this.always(FAILED)
      case 'comprehension':
        return comprehension(this, expr)
    }
  }

  always(value: ValuePart): readonly Case[] {
    return [{ guard: this.world.true, value }]
  }

  #map(expr: Expr & { readonly kind: 'map' }): readonly Case[] {
    const parts = expr.entries.flatMap(({ key, value }) => [key, value])
    return this.#product(parts, (values) =>
      this.always(
        values.every((each) => each.is === 'value')
          ? constant(this.computed(expr, parts, values))
          : (recordOf(values) ?? { is: 'unknown', type: 'map', fails: true }),
      ),
    )
  }

  #ident({ name, absolute }: Ident): readonly Case[] {
    const local = absolute ? undefined : this.scope.get(name)
    if (local?.is === 'value') return this.always(constant(local.value))
    if (local !== undefined) {
      if (local.world !== this.world) throw new NotModelled('a variable of another list')
      return local.is === 'cases' ? local.cases() : this.at(this.world.root)
    }
    if (name !== 'claims') return this.always(constant(new TypeName(name)))
    if (!this.#around.claims) throw new NotModelled('claims in a list')
    return this.at(this.world.root)
  }

  at(place: ValuePlace): readonly Case[] {
    this.#touched.add(place)
    const world = this.world
    const { forms } = place
    const cases: readonly (readonly [Literal, () => ValuePart])[] = [
      [forms.absent, () => FAILED],
      [forms.null, () => constant(null)],
      [forms.false, () => constant(false)],
      [forms.true, () => constant(true)],
      [forms.number, () => numberAt(world, place)],
      [forms.string, () => ({ is: 'text', place })],
      [forms.list, () => this.allOf(place, 'list')],
      [forms.map, () => ({ is: 'map', place })],
    ]
    return cases
      .filter(([guard]) => guard !== world.false)
      .map(([guard, value]) => ({ guard, value: value() }))
  }

  allOf(place: ValuePlace, over: Over): ListPart {
    const elements = this.world.elements(place, over)
    return { is: 'list', place, over, of: elements.true, item: { is: 'place', world: elements } }
  }

  #select(expr: Select): readonly Case[] {
    if (isProtobufName(expr, this.scope))
      return this.always(constant(new TypeName(`google.protobuf.${expr.field}`)))
    return through(this.world, this.values(expr.operand), (holder) =>
      expr.testOnly ? has(this, expr, holder) : member(this, expr, holder, constant(expr.field)),
    )
  }

  memberAt(place: ValuePlace, key: string | number): ValuePlace {
    this.#touched.delete(place)
    const part = this.world.memberAt(place, key)
    this.#touched.add(part)
    return part
  }

  #call(expr: Call): readonly Case[] {
    if (['_&&_', '_||_', '!_'].includes(expr.name))
      return this.always({ is: 'truth', truth: this.truth(expr) })
    if (expr.name === '_?_:_') return this.#conditional(expr)
    if (expr.name === '@not_strictly_false') throw new NotModelled('a loop on its own')
    const operands = expr.target === undefined ? expr.args : [expr.target, ...expr.args]
    return this.#product(operands, (args) => applied(this, expr, operands, args))
  }

  #conditional({ args: [test, yes, no] }: Call): readonly Case[] {
    if (test === undefined || yes === undefined || no === undefined) return []
    const world = this.world
    const truth = this.truth(test)
    const branch = (guard: Literal, expr: Expr) =>
      guard === world.false ? [] : under(world, guard, this.#cases(expr))
    return [
      ...branch(truth.yes, yes),
      ...branch(truth.no, no),
      { guard: world.and(-truth.yes, -truth.no), value: FAILED },
    ]
  }

  /** Calls `use` with all combinations of the expressions' possible values; a combination with a failed value fails. */
  #product(exprs: readonly Expr[], use: (values: readonly ValuePart[]) => readonly Case[]): readonly Case[] {
    const world = this.world
    let rows: { readonly guard: Literal; readonly values: ValuePart[] }[] = [
      { guard: world.true, values: [] },
    ]
    const failed: Literal[] = []
    for (const expr of exprs) {
      const cases = this.values(expr)
      const [only] = cases
      if (only !== undefined && cases.length === 1 && only.guard === world.true && !isFailed(only.value)) {
        for (const { values } of rows) values.push(only.value)
        continue
      }
      rows = rows.flatMap(({ guard, values }) =>
        cases.flatMap((each) => {
          const both = world.and(guard, each.guard)
          if (both === world.false) return []
          if (!isFailed(each.value)) return [{ guard: both, values: [...values, each.value] }]
          failed.push(both)
          return []
        }),
      )
      if (rows.length > MOST_CASES) throw new NotModelled('too many cases')
      world.budget.spend(rows.reduce((sum, { values }) => sum + values.length, rows.length) / 16)
    }
    const cases = rows.flatMap(({ guard, values }) => under(world, guard, use(values)))
    return [...cases, { guard: world.or(...failed), value: FAILED }]
  }

  computed(
    expr: Expr,
    parts: readonly Expr[],
    values: readonly (ValuePart & { readonly is: 'value' })[],
    unsettled = false,
  ): Result {
    const { settled, celGo } = this.matcher
    const variables = new Map<string, Value>()
    const names = parts.map((_, i): Ident => {
      const value = values[i]?.value ?? null
      const name = `#${i}`
      if (!(value instanceof Failure)) variables.set(name, value)
      return { kind: 'ident', name, absolute: false, offset: 0, height: 0 }
    })
    const over = withOperands(expr, names)
    const types = expr.kind === 'call' && !unsettled ? settled.get(expr) : undefined
    return evaluate(over, {
      claims: new CelMap(true),
      variables,
      settled: types === undefined || over.kind !== 'call' ? new Map() : new Map([[over, types]]),
      celGo,
      spend: spendingFrom(this.world.budget),
    })
  }

  inList({ place, over, item }: ListPart, variable?: string): Reader {
    const elements = this.world.elements(place, over)
    const scope = variable === undefined ? this.scope : new Map([...this.scope, [variable, item]])
    return new Reader(elements, { ...this.#around, claims: false, scope })
  }

  bound(variable: string, binding: Binding): Reader {
    const scope = new Map([...this.scope, [variable, binding]])
    return new Reader(this.world, { ...this.#around, scope }, this.#touched)
  }
}

/** A copy of the expression with the given operands instead of its own. */
function withOperands(expr: Expr, operands: readonly Expr[]): Expr {
  if (expr.kind === 'call') {
    return expr.target === undefined
      ? { ...expr, args: operands }
      : { ...expr, target: operands[0], args: operands.slice(1) }
  }
  if (expr.kind === 'select') return { ...expr, operand: operands[0] ?? expr.operand }
  if (expr.kind === 'map') {
    const entries = expr.entries.map((entry, i) => ({
      key: operands[i * 2] ?? entry.key,
      value: operands[i * 2 + 1] ?? entry.value,
    }))
    return { ...expr, entries }
  }
  return expr
}

/** Whether a selection names a type, such as `google.protobuf.Timestamp`: false when a variable is named `google`. */
function isProtobufName({ operand }: Select, scope: Scope): boolean {
  if (operand.kind !== 'select' || operand.operand.kind !== 'ident') return false
  const { name, absolute } = operand.operand
  return name === 'google' && operand.field === 'protobuf' && (absolute || !scope.has(name))
}
