import type { Call, Comprehension, Expr, Ident, Select } from '../ast.ts'
import { overloadsOf } from '../declarations.ts'
import { evaluate } from '../evaluate/evaluate.ts'
import { regularExpression } from '../evaluate/functions.ts'
import {
  CelMap,
  Failure,
  fromJson,
  isList,
  Instant,
  type Result,
  Span,
  TypeName,
  typeOf,
  Uint,
  type Value,
} from '../evaluate/values.ts'
import type { CelGoVersion, SettledCalls } from '../index.ts'
import { type Macro, macroOf, type MapMacro } from './macros.ts'
import { printed } from './print.ts'
import type { Literal } from './solver.ts'
import { contains, endsWith, isAtLeast, isBefore, isText, matches, startsWith } from './texts.ts'
import { type Guess, type Over, type Place, type World } from './world.ts'

/** When an expression is true and when it is false; neither when it fails or is not a bool. */
export interface Truth {
  readonly yes: Literal
  readonly no: Literal
}

/** A value as far as it is known, and when it is that. The guards of the cases of an expression exclude each other. */
interface Case {
  readonly guard: Literal
  readonly value: Part
}

type Part =
  | { readonly is: 'value'; readonly value: Result }
  | { readonly is: 'text'; readonly place: Place }
  | Measure
  | ListPart
  | { readonly is: 'tuple'; readonly items: readonly Part[] }
  | { readonly is: 'map'; readonly place: Place }
  | { readonly is: 'truth'; readonly truth: Truth }
  /** Nothing is known but perhaps its type. */
  | { readonly is: 'unknown'; readonly type: string | undefined; readonly fails: boolean }

/** A number of which is known which bounds it exceeds. */
interface Measure {
  readonly is: 'measure'
  readonly type: 'double' | 'int'
  /** The claim that it is, if it is one. */
  readonly place?: Place
  readonly least: (bound: number) => Literal
  readonly more: (bound: number) => Literal
}

/** The elements of a list, or the keys of a map, that satisfy `of`, each as `item` makes it. */
interface ListPart {
  readonly is: 'list'
  readonly place: Place
  readonly over: Over
  readonly of: Literal
  readonly item: Binding
}

/** What a variable of a comprehension stands for. */
type Binding =
  | { readonly is: 'value'; readonly value: Value }
  | { readonly is: 'place'; readonly world: World }
  | {
      readonly is: 'cases'
      readonly world: World
      readonly cases: () => readonly Case[]
      readonly id: number
    }

let bindings = 0

/** A variable that stands for what another expression gives; each is another one, however it is spelled. */
const standingFor = (world: World, cases: () => readonly Case[]): Binding => ({
  is: 'cases',
  world,
  cases,
  id: bindings++,
})

type Scope = ReadonlyMap<string, Binding>

/** Thrown for a part that reads outside of its world, or that has too many cases. */
class Outside extends Error {}

const MOST_CASES = 150
const MOST_UNROLLED = 200
const LONGEST_COUNT = 2_000
const FAILED = { is: 'value', value: new Failure('it fails') } as const

export interface Matcher {
  readonly settled: SettledCalls
  readonly celGo: CelGoVersion
}

/** Reads an expression over `claims` as literals of a world whose root is the claims. */
export function read(world: World, expr: Expr, matcher: Matcher): Truth {
  return new Reader(world, { claims: true, scope: new Map(), matcher, guesses: guessesOf(world) }).truth(expr)
}

const known = new WeakMap<World, Map<string, Guess>>()

/** Parts that are not understood, by what is written: the same text asks the same. */
function guessesOf(world: World): Map<string, Guess> {
  const guesses = known.get(world) ?? new Map<string, Guess>()
  known.set(world, guesses)
  return guesses
}

interface Around {
  /** Whether `claims` is the root of the world. */
  readonly claims: boolean
  readonly scope: Scope
  readonly matcher: Matcher
  readonly guesses: Map<string, Guess>
}

class Reader {
  readonly #world: World
  readonly #around: Around
  #touched = new Set<Place>()

  constructor(world: World, around: Around) {
    this.#world = world
    this.#around = around
  }

  truth(expr: Expr): Truth {
    const world = this.#world
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
      if (expr.name === '_!=_' && !this.#around.matcher.settled.has(expr)) {
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

  /** An expression that is no operator of logic: its cases, and a guess where these are not understood. */
  #leaf(expr: Expr): Truth {
    const outer = this.#touched
    this.#touched = new Set()
    const cases = this.#casesOrUnknown(expr)
    const places = [...this.#touched]
    this.#touched = outer
    for (const place of places) outer.add(place)
    const world = this.#world
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
      if (!(error instanceof Outside)) throw error
      return [{ guard: this.#world.true, value: unknown(undefined) }]
    }
  }

  #guess(
    expr: Expr,
    guard: Literal,
    { type, fails }: Part & { readonly is: 'unknown' },
    places: readonly Place[],
  ): Truth {
    const world = this.#world
    if (type !== undefined && type !== 'bool') return { yes: world.false, no: world.false }
    const { scope, matcher, guesses } = this.#around
    const text = shown(expr, scope, matcher.settled)
    let guess = guesses.get(text)
    if (guess === undefined) {
      guess = {
        yes: world.variable(),
        no: world.variable(true),
        guards: [],
        places: places.length === 0 ? [world.root] : places,
        text: printed(expr),
        hints: constantsIn(expr),
        evaluate: (root) => this.#evaluated(expr, root),
      }
      guesses.set(text, guess)
      world.guess(guess)
    }
    if (!fails) world.clause([-guard, guess.yes, guess.no])
    guess.guards.push(guard)
    return { yes: guess.yes, no: guess.no }
  }

  #evaluated(expr: Expr, root: unknown): boolean | undefined | 'unknown' {
    if (!this.#around.claims && namesIn(expr).has('claims')) return 'unknown'
    const variables = new Map<string, Value>()
    const value = fromJson(root)
    for (const [name, binding] of this.#around.scope) {
      if (binding.is === 'cases' || (binding.is === 'place' && binding.world !== this.#world))
        return 'unknown'
      variables.set(name, binding.is === 'value' ? binding.value : value)
    }
    const result = evaluate(expr, {
      claims: this.#around.claims ? value : new CelMap(true),
      variables,
      ...this.#around.matcher,
      spend: (cost) => this.#world.budget.spend(cost / 4),
    })
    return typeof result === 'boolean' ? result : undefined
  }

  /** The cases of an expression whose value is used: a bool is true, false or failed. Throws Outside. */
  #values(expr: Expr): readonly Case[] {
    const world = this.#world
    return this.#cases(expr).flatMap(({ guard, value }) => {
      if (value.is !== 'truth') return [{ guard, value }]
      const { yes, no } = value.truth
      return [
        { guard: world.and(guard, yes), value: is(true) },
        { guard: world.and(guard, no), value: is(false) },
        { guard: world.and(guard, -yes, -no), value: FAILED },
      ].filter((each) => each.guard !== world.false)
    })
  }

  #cases(expr: Expr): readonly Case[] {
    this.#world.budget.spend(2)
    return merged(this.#world, this.#unmerged(expr))
  }

  #unmerged(expr: Expr): readonly Case[] {
    switch (expr.kind) {
      case 'literal':
        return this.#always(is(expr.type === 'uint' ? new Uint(expr.value) : expr.value))
      case 'ident':
        return this.#ident(expr)
      case 'select':
        return this.#select(expr)
      case 'call':
        return this.#call(expr)
      case 'list':
        return this.#product(expr.elements, (items) => this.#always(tuple(items)))
      case 'map':
        return this.#map(expr)
      case 'message':
        return this.#always(FAILED)
      case 'comprehension':
        return this.#comprehension(expr)
    }
  }

  #always(value: Part): readonly Case[] {
    return [{ guard: this.#world.true, value }]
  }

  #map(expr: Expr & { readonly kind: 'map' }): readonly Case[] {
    const parts = expr.entries.flatMap(({ key, value }) => [key, value])
    return this.#product(parts, (values) =>
      this.#always(
        values.every((each) => each.is === 'value')
          ? is(this.#computed(expr, parts, values))
          : { is: 'unknown', type: 'map', fails: true },
      ),
    )
  }

  #ident({ name, absolute }: Ident): readonly Case[] {
    const local = absolute ? undefined : this.#around.scope.get(name)
    if (local?.is === 'value') return this.#always(is(local.value))
    if (local !== undefined) {
      if (local.world !== this.#world) throw new Outside('a variable of another list')
      return local.is === 'cases' ? local.cases() : this.#at(this.#world.root)
    }
    if (name !== 'claims') return this.#always(is(new TypeName(name)))
    if (!this.#around.claims) throw new Outside('claims in a list')
    return this.#at(this.#world.root)
  }

  /** The cases of the value at a place, by its form. */
  #at(place: Place): readonly Case[] {
    this.#touched.add(place)
    const world = this.#world
    const { forms } = place
    const cases: readonly (readonly [Literal, () => Part])[] = [
      [forms.absent, () => FAILED],
      [forms.null, () => is(null)],
      [forms.false, () => is(false)],
      [forms.true, () => is(true)],
      [forms.number, () => numberAt(world, place)],
      [forms.string, () => ({ is: 'text', place })],
      [forms.list, () => this.#allOf(place, 'list')],
      [forms.map, () => ({ is: 'map', place })],
    ]
    return cases
      .filter(([guard]) => guard !== world.false)
      .map(([guard, value]) => ({ guard, value: value() }))
  }

  #allOf(place: Place, over: Over): ListPart {
    const elements = this.#world.elements(place, over)
    return { is: 'list', place, over, of: elements.true, item: { is: 'place', world: elements } }
  }

  #select(expr: Select): readonly Case[] {
    if (isProtobufName(expr, this.#around.scope))
      return this.#always(is(new TypeName(`google.protobuf.${expr.field}`)))
    return this.#through(this.#values(expr.operand), (holder) =>
      expr.testOnly ? this.#has(expr, holder) : this.#member(expr, holder, is(expr.field)),
    )
  }

  #has(expr: Select, holder: Part): readonly Case[] {
    if (isFailed(holder)) return this.#always(FAILED)
    if (holder.is === 'map') {
      const { forms } = this.#part(holder.place, expr.field)
      return this.#always({ is: 'truth', truth: { yes: -forms.absent, no: forms.absent } })
    }
    if (holder.is === 'value') return this.#always(is(this.#computed(expr, [expr.operand], [holder])))
    if (holder.is === 'unknown') return this.#always(unknown('bool'))
    return this.#always(holder.is === 'list' || holder.is === 'tuple' ? FAILED : is(false))
  }

  #part(place: Place, key: string | number): Place {
    this.#touched.delete(place)
    const part = this.#world.part(place, key)
    this.#touched.add(part)
    return part
  }

  /** The value of `holder.key` and of `holder[key]`. */
  #member(expr: Expr, holder: Part, key: Part): readonly Case[] {
    if (isFailed(holder) || isFailed(key)) return this.#always(FAILED)
    if (key.is !== 'value') {
      const isOpen = ['map', 'list', 'tuple', 'value', 'unknown'].includes(holder.is)
      return this.#always(isOpen ? unknown(undefined) : FAILED)
    }
    const { value } = key
    switch (holder.is) {
      case 'map':
        return typeof value === 'string' ? this.#at(this.#part(holder.place, value)) : this.#always(FAILED)
      case 'list': {
        const index = indexOf(value)
        if (index === undefined) return this.#always(FAILED)
        if (
          holder.over !== 'list' ||
          holder.item.is !== 'place' ||
          holder.of !== holder.item.world.true ||
          index > MOST_UNROLLED
        )
          return this.#always(unknown(undefined))
        return this.#at(this.#part(holder.place, index))
      }
      case 'tuple': {
        const index = indexOf(value)
        return this.#always((index === undefined ? undefined : holder.items[index]) ?? FAILED)
      }
      case 'value': {
        const index: Call = { ...PLAIN_CALL, name: '_[_]', args: [expr, expr] }
        return this.#always(is(this.#computed(index, index.args, [holder, key], true)))
      }
      case 'unknown':
        return this.#always(unknown(undefined))
      default:
        return this.#always(FAILED)
    }
  }

  #call(expr: Call): readonly Case[] {
    if (['_&&_', '_||_', '!_'].includes(expr.name))
      return this.#always({ is: 'truth', truth: this.truth(expr) })
    if (expr.name === '_?_:_') return this.#conditional(expr)
    if (expr.name === '@not_strictly_false') throw new Outside('a loop on its own')
    const operands = expr.target === undefined ? expr.args : [expr.target, ...expr.args]
    return this.#product(operands, (args) => this.#applied(expr, operands, args))
  }

  #conditional({ args: [test, yes, no] }: Call): readonly Case[] {
    if (test === undefined || yes === undefined || no === undefined) return []
    const world = this.#world
    const truth = this.truth(test)
    const under = (guard: Literal, expr: Expr) =>
      guard === world.false
        ? []
        : this.#cases(expr).map((each) => ({ guard: world.and(guard, each.guard), value: each.value }))
    return [
      ...under(truth.yes, yes),
      ...under(truth.no, no),
      { guard: world.and(-truth.yes, -truth.no), value: FAILED },
    ]
  }

  /** The cases of all parts together; where one fails, the whole fails. */
  #product(exprs: readonly Expr[], use: (values: readonly Part[]) => readonly Case[]): readonly Case[] {
    const world = this.#world
    let rows: { readonly guard: Literal; readonly values: readonly Part[] }[] = [
      { guard: world.true, values: [] },
    ]
    const failed: Literal[] = []
    for (const expr of exprs) {
      const cases = this.#values(expr)
      rows = rows.flatMap(({ guard, values }) =>
        cases.flatMap((each) => {
          const both = world.and(guard, each.guard)
          if (both === world.false) return []
          if (!isFailed(each.value)) return [{ guard: both, values: [...values, each.value] }]
          failed.push(both)
          return []
        }),
      )
      if (rows.length > MOST_CASES) throw new Outside('too many cases')
    }
    const cases = rows.flatMap(({ guard, values }) =>
      use(values).map((each) => ({ guard: world.and(guard, each.guard), value: each.value })),
    )
    return [...cases, { guard: world.or(...failed), value: FAILED }]
  }

  #through(cases: readonly Case[], use: (value: Part) => readonly Case[]): readonly Case[] {
    const world = this.#world
    return cases.flatMap(({ guard, value }) =>
      use(value).map((each) => ({ guard: world.and(guard, each.guard), value: each.value })),
    )
  }

  /** The result over values that are all known, as the evaluator has it. */
  #computed(
    expr: Expr,
    parts: readonly Expr[],
    values: readonly (Part & { readonly is: 'value' })[],
    unsettled = false,
  ): Result {
    const { settled, celGo } = this.#around.matcher
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
      spend: (cost) => this.#world.budget.spend(cost / 4),
    })
  }

  #applied(expr: Call, operands: readonly Expr[], args: readonly Part[]): readonly Case[] {
    const settled = this.#around.matcher.settled.get(expr)
    const types = args.map(typeOfPart)
    if (settled?.some((type, i) => types[i] !== undefined && types[i] !== type) === true)
      return this.#always(FAILED)
    if (settled?.some((_, i) => types[i] === undefined) === true) return this.#always(unknown(undefined))
    if (args.every((each) => each.is === 'value'))
      return this.#always(is(this.#computed(expr, operands, args)))
    const [a = FAILED, b = FAILED] = args
    switch (expr.name) {
      case '_==_':
        return this.#always(this.#equal(a, b))
      case '_!=_':
        return this.#always(opposite(this.#equal(a, b)))
      case '_<_':
      case '_<=_':
      case '_>_':
      case '_>=_':
        return this.#always(this.#ordered(expr.name, a, b))
      case '@in':
        return this.#always(this.#contained(a, b))
      case '_[_]':
        return this.#member(expr, a, b)
      case 'dyn':
        return this.#always(a)
      case 'type': {
        const type = typeOfPart(a)
        const fails = a.is === 'unknown' && a.fails
        return this.#always(type === undefined || fails ? unknown('type') : is(new TypeName(type)))
      }
      case 'startsWith':
      case 'endsWith':
      case 'contains':
      case 'matches':
        return this.#always(this.#textTest(expr.name, a, b))
      case 'size':
        return this.#always(this.#size(a))
      case 'int':
        return this.#int(a)
      case 'double':
      case 'string':
        if (types[0] === expr.name) return this.#always(a)
    }
    return this.#always(this.#byType(expr, types))
  }

  /** What the types of the arguments tell: a call that no signature takes fails. */
  #byType(expr: Call, types: readonly (string | undefined)[]): Part {
    const fitting = overloadsOf(expr.name, expr.target !== undefined, types.length).filter(({ args }) =>
      args.every(
        ({ kind }, i) =>
          kind === 'parameter' || types[i] === undefined || types[i] === kind || kind === 'dyn',
      ),
    )
    if (fitting.length === 0) return FAILED
    const results = new Set(fitting.map(({ result }) => result.kind))
    const [first] = results
    const isOne = results.size === 1 && first !== 'parameter' && first !== 'dyn'
    const never =
      /^_[-+*/]_$/.test(expr.name) &&
      (types.every((type) => type === 'double') ||
        (expr.name === '_+_' && types.every((type) => type === 'string')))
    return { is: 'unknown', type: isOne ? first : undefined, fails: !never }
  }

  #equal(a: Part, b: Part): Part {
    const world = this.#world
    if (a.is === 'value' && b.is !== 'value') return this.#equal(b, a)
    if (a.is === 'value' && b.is === 'value') {
      const call: Call = { ...PLAIN_CALL, name: '_==_', args: [NOTHING, NOTHING] }
      return is(this.#computed(call, call.args, [a, b], true))
    }
    const [left, right] = [typeOfPart(a), typeOfPart(b)]
    if (left === undefined || right === undefined) return unknown('bool')
    const fails = [a, b].some((each) => each.is === 'unknown' && each.fails)
    if (left !== right && !(isNumeric(left) && isNumeric(right))) return fails ? unknown('bool') : is(false)
    const holds = b.is === 'value' ? this.#equals(a, b.value) : this.#same(a, b)
    if (holds === undefined) return { is: 'unknown', type: 'bool', fails }
    return { is: 'truth', truth: { yes: holds, no: world.not(holds) } }
  }

  /** When two parts of one type are equal. */
  #same(a: Part, b: Part): Literal | undefined {
    const world = this.#world
    if ((a.is === 'text' || a.is === 'map') && b.is === a.is && a.place === b.place) return world.true
    if (
      a.is === 'measure' &&
      b.is === 'measure' &&
      a.place !== undefined &&
      a.place === b.place &&
      a.type === b.type
    )
      return world.true
    if (a.is === 'tuple' && b.is === 'tuple') {
      if (a.items.length !== b.items.length) return world.false
      return this.#allEqual(a.items.map((item, i) => this.#equal(item, b.items[i] ?? FAILED)))
    }
    return undefined
  }

  #allEqual(parts: readonly Part[]): Literal | undefined {
    const literals = parts.map((each) => (each.is === 'unknown' ? undefined : truthOf(this.#world, each).yes))
    return literals.includes(undefined) ? undefined : this.#world.and(...(literals as Literal[]))
  }

  /** When a part equals a value of its type. */
  #equals(part: Part, value: Result): Literal | undefined {
    const world = this.#world
    if (part.is === 'text') return world.text(part.place, isText(textOf(value)))
    if (part.is === 'measure') {
      const bound = numberOf(value)
      return bound === undefined ? undefined : world.and(part.least(bound), -part.more(bound))
    }
    if (part.is === 'map' && value instanceof CelMap) return this.#equalsMap(part.place, value)
    if (value instanceof Failure || !isList(value)) return undefined
    if (part.is === 'tuple') {
      if (part.items.length !== value.length) return world.false
      return this.#allEqual(part.items.map((item, i) => this.#equal(item, is(value[i] ?? null))))
    }
    if (part.is !== 'list') return undefined
    if (value.length === 0) return -world.atLeast(part.place, 1, part.of, part.over)
    if (
      part.over !== 'list' ||
      part.item.is !== 'place' ||
      part.of !== part.item.world.true ||
      value.length > 20
    )
      return undefined
    const items = value.map((item, i) => this.#equalsAt(this.#part(part.place, i), item))
    if (items.includes(undefined)) return undefined
    return world.and(
      world.atLeast(part.place, value.length, part.of),
      -world.atLeast(part.place, value.length + 1, part.of),
      ...(items as Literal[]),
    )
  }

  #equalsMap(place: Place, value: CelMap): Literal | undefined {
    const world = this.#world
    const keys = world.elements(place, 'keys')
    const members = Array.from(value.entries(), ([key, member]) =>
      typeof key === 'string' ? this.#equalsAt(this.#part(place, key), member) : world.false,
    )
    if (members.includes(undefined) || members.length > 20) return undefined
    return world.and(
      world.atLeast(place, members.length, keys.true, 'keys'),
      -world.atLeast(place, members.length + 1, keys.true, 'keys'),
      ...(members as Literal[]),
    )
  }

  #equalsAt(place: Place, value: Value): Literal | undefined {
    const world = this.#world
    const found = this.#at(place).map(({ guard, value: part }) => {
      const equal = isFailed(part) ? is(false) : this.#equal(part, is(value))
      return equal.is === 'unknown' ? undefined : world.and(guard, truthOf(world, equal).yes)
    })
    return found.includes(undefined) ? undefined : world.or(...(found as Literal[]))
  }

  #ordered(name: '_<_' | '_<=_' | '_>_' | '_>=_', a: Part, b: Part): Part {
    const world = this.#world
    if (a.is === 'value' && b.is !== 'value') return this.#ordered(FLIPPED[name], b, a)
    const [left, right] = [typeOfPart(a), typeOfPart(b)]
    if (left === undefined || right === undefined) return unknown('bool')
    if (left !== right && !(isNumeric(left) && isNumeric(right))) {
      const isNaN = b.is === 'value' && Number.isNaN(b.value)
      return isNaN ? unknown('bool') : FAILED
    }
    if (['list', 'map', 'type', 'null_type'].includes(left)) return FAILED
    const fails = [a, b].some((each) => each.is === 'unknown' && each.fails)
    const other: Part = { is: 'unknown', type: 'bool', fails }
    if (b.is !== 'value' || b.value instanceof Failure) return other
    let literal: Literal
    if (a.is === 'text') {
      const [before, same] = [isBefore(textOf(b.value)), isText(textOf(b.value))].map((test) =>
        world.text(a.place, test),
      ) as [Literal, Literal]
      if (name === '_<_') literal = before
      else if (name === '_>=_') literal = -before
      else literal = name === '_<=_' ? world.or(before, same) : -world.or(before, same)
    } else if (a.is === 'measure') {
      const bound = numberOf(b.value)
      if (bound === undefined) return other
      if (Number.isNaN(bound)) return is(false)
      if (name === '_<_') literal = -a.least(bound)
      else if (name === '_>=_') literal = a.least(bound)
      else literal = name === '_<=_' ? -a.more(bound) : a.more(bound)
    } else return other
    return { is: 'truth', truth: { yes: literal, no: -literal } }
  }

  #contained(value: Part, holder: Part): Part {
    const world = this.#world
    switch (holder.is) {
      case 'map':
        if (value.is !== 'value') return unknown('bool')
        if (typeof value.value !== 'string')
          return value.value instanceof Uint8Array ? unknown('bool') : is(false)
        return {
          is: 'truth',
          truth: {
            yes: -this.#part(holder.place, value.value).forms.absent,
            no: this.#part(holder.place, value.value).forms.absent,
          },
        }
      case 'list': {
        if (value.is !== 'value' || value.value instanceof Failure)
          return { is: 'unknown', type: 'bool', fails: value.is === 'unknown' }
        const elements = world.elements(holder.place, holder.over)
        const inside = this.#inList(holder)
        const equal = inside.#within(holder.item, is(value.value))
        if (equal === undefined) return { is: 'unknown', type: 'bool', fails: false }
        const some = world.atLeast(holder.place, 1, elements.and(holder.of, equal), holder.over)
        return { is: 'truth', truth: { yes: some, no: -some } }
      }
      case 'tuple':
        return this.#inAny(value, holder.items)
      case 'value':
        if (holder.value instanceof Failure) return FAILED
        if (isList(holder.value)) return this.#inAny(value, holder.value.map(is))
        if (holder.value instanceof CelMap && value.is === 'text') {
          const keys = Array.from(holder.value.entries(), ([key]) => is(key))
          return this.#inAny(value, keys)
        }
        return holder.value instanceof CelMap ? unknown('bool') : FAILED
      case 'unknown':
        return holder.type === undefined || holder.type === 'list' || holder.type === 'map'
          ? unknown('bool')
          : FAILED
      default:
        return FAILED
    }
  }

  #inAny(value: Part, items: readonly Part[]): Part {
    const world = this.#world
    if (items.length > MOST_UNROLLED) return unknown('bool')
    const equal = items.map((item) => this.#equal(value, item))
    if (equal.some((each) => each.is === 'unknown')) return unknown('bool')
    const yes = world.or(...equal.map((each) => truthOf(world, each).yes))
    return { is: 'truth', truth: { yes, no: -yes } }
  }

  /** A reader of the elements of a list. */
  #inList({ place, over }: ListPart, scope: Scope = this.#around.scope): Reader {
    const elements = this.#world.elements(place, over)
    return new Reader(elements, { ...this.#around, claims: false, scope, guesses: guessesOf(elements) })
  }

  /** When what a variable stands for equals a value. */
  #within(item: Binding, value: Part): Literal | undefined {
    const world = this.#world
    const cases = item.is === 'cases' ? item.cases() : this.#at(world.root)
    const found = cases.map((each) => {
      const equal = isFailed(each.value) ? is(false) : this.#equal(each.value, value)
      return equal.is === 'unknown' ? undefined : world.and(each.guard, truthOf(world, equal).yes)
    })
    return found.includes(undefined) ? undefined : world.or(...(found as Literal[]))
  }

  #textTest(name: 'startsWith' | 'endsWith' | 'contains' | 'matches', a: Part, b: Part): Part {
    const world = this.#world
    const [left, right] = [typeOfPart(a), typeOfPart(b)]
    if ((left ?? 'string') !== 'string' || (right ?? 'string') !== 'string') return FAILED
    const fails =
      [a, b].some((each) => each.is === 'unknown' && each.fails) || left === undefined || right === undefined
    const other: Part = { is: 'unknown', type: 'bool', fails: fails || name === 'matches' }
    if (a.is === 'value' && b.is === 'text' && name !== 'matches') {
      const parts = partsOf(name, textOf(a.value))
      if (parts === undefined) return other
      return this.#inAny(b, parts.map(is))
    }
    if (a.is !== 'text' || b.is !== 'value') return other
    const wanted = textOf(b.value)
    if (name === 'matches' && regularExpression(wanted) instanceof Failure) return FAILED
    const test = { startsWith, endsWith, contains, matches }[name](wanted)
    if (test === undefined) return { is: 'unknown', type: 'bool', fails: false }
    const literal = world.text(a.place, test)
    return { is: 'truth', truth: { yes: literal, no: -literal } }
  }

  #size(part: Part): Part {
    const world = this.#world
    switch (part.is) {
      case 'text':
        return counted(world, (least) => world.text(part.place, isAtLeast(least)))
      case 'list':
        return counted(world, (least) => world.atLeast(part.place, least, part.of, part.over))
      case 'tuple':
        return is(BigInt(part.items.length))
      case 'map':
        return this.#size(this.#allOf(part.place, 'keys'))
      case 'unknown':
        return { is: 'unknown', type: 'int', fails: true }
      default:
        return FAILED
    }
  }

  #int(part: Part): readonly Case[] {
    const world = this.#world
    if (part.is === 'measure' && part.type === 'int') return this.#always(part)
    if (part.is !== 'measure' || part.place === undefined) {
      const type = typeOfPart(part)
      const isOpen =
        type === undefined ||
        ['string', 'double', 'uint', 'int', 'google.protobuf.Timestamp', 'google.protobuf.Duration'].includes(
          type,
        )
      return this.#always(isOpen ? unknown('int') : FAILED)
    }
    const fits = world.and(-part.least(2 ** 63), part.more(-(2 ** 63)))
    // The whole part is at least n when the number is, and below 1 also when it is above n - 1.
    const least = (bound: number): Literal => {
      const whole = Math.ceil(bound)
      return whole > 0 ? part.least(whole) : part.more(whole - 1)
    }
    const whole: Part = {
      is: 'measure',
      type: 'int',
      least: exact(least),
      more: exact((bound) => least(Math.floor(bound) + 1)),
    }
    return [
      { guard: fits, value: whole },
      { guard: world.not(fits), value: FAILED },
    ]
  }

  #comprehension(loop: Comprehension): readonly Case[] {
    const macro = macroOf(loop)
    if (macro === undefined) throw new Outside('a loop of another kind')
    return this.#through(this.#values(loop.range), (range) => this.#over(loop, macro, range))
  }

  #over(loop: Comprehension, macro: Macro, range: Part): readonly Case[] {
    if (range.is === 'unknown') {
      const isOpen = range.type === undefined || ['list', 'map', 'string', 'bytes'].includes(range.type)
      return this.#always(isOpen ? unknown(macro.type) : FAILED)
    }
    if (range.is === 'map') return this.#overList(loop, macro, this.#allOf(range.place, 'keys'))
    if (range.is === 'list') return this.#overList(loop, macro, range)
    if (range.is === 'text') return this.#overText(macro, range.place)
    if (range.is === 'measure' || range.is === 'truth') return this.#always(FAILED)
    const items = this.#itemsOf(range)
    if (items === undefined) return this.#always(FAILED)
    if (items.length > MOST_UNROLLED) throw new Outside('a long list')
    return this.#unrolled(loop, macro, items)
  }

  /** cel-go 0.33 takes an empty text for an empty list. */
  #overText(macro: Macro, place: Place): readonly Case[] {
    if (this.#around.matcher.celGo !== '0.33') return this.#always(FAILED)
    const empty = this.#world.text(place, isText(''))
    const result = { all: is(true), exists: is(false), one: is(false), map: is([]) }[macro.name]
    return [
      { guard: empty, value: result },
      { guard: -empty, value: FAILED },
    ]
  }

  #itemsOf(range: Part): readonly Part[] | undefined {
    if (range.is === 'tuple') return range.items
    if (range.is !== 'value' || range.value instanceof Failure) return undefined
    const { value } = range
    if (isList(value)) return value.map(is)
    if (value instanceof CelMap) return Array.from(value.entries(), ([key]) => is(key))
    const isEmpty = value === '' || (value instanceof Uint8Array && value.length === 0)
    return isEmpty && this.#around.matcher.celGo === '0.33' ? [] : undefined
  }

  #unrolled(loop: Comprehension, macro: Macro, items: readonly Part[]): readonly Case[] {
    const world = this.#world
    const readers = items.map((item) => {
      const binding: Binding =
        item.is === 'value' && !(item.value instanceof Failure)
          ? { is: 'value', value: item.value }
          : standingFor(world, () => this.#always(item))
      return this.#bound(loop.iterVar, binding)
    })
    if (macro.name === 'map') return this.#unrolledMap(macro, readers)
    const truths = readers.map((reader) => this.#shared(reader, () => reader.truth(macro.test)))
    return this.#always({ is: 'truth', truth: { all, exists: any, one }[macro.name](world, truths) })
  }

  #bound(name: string, binding: Binding): Reader {
    return new Reader(this.#world, {
      ...this.#around,
      scope: new Map([...this.#around.scope, [name, binding]]),
    })
  }

  /** Notes the places that another reader of this world reads. */
  #shared<T>(reader: Reader, read: () => T): T {
    const result = read()
    for (const place of reader.#touched) this.#touched.add(place)
    return result
  }

  #unrolledMap(macro: MapMacro, readers: readonly Reader[]): readonly Case[] {
    const world = this.#world
    let rows: { readonly guard: Literal; readonly items: readonly Part[] }[] = [
      { guard: world.true, items: [] },
    ]
    const failed: Literal[] = []
    for (const reader of readers) {
      const [test, items] = this.#shared(reader, () => [
        macro.test === undefined ? { yes: world.true, no: world.false } : reader.truth(macro.test),
        reader.#values(macro.item),
      ])
      rows = rows.flatMap(({ guard, items: before }) => {
        failed.push(world.and(guard, -test.yes, -test.no))
        return [
          { guard: world.and(guard, test.no), items: before },
          ...items.flatMap((each) => {
            const taken = world.and(guard, test.yes, each.guard)
            if (!isFailed(each.value)) return [{ guard: taken, items: [...before, each.value] }]
            failed.push(taken)
            return []
          }),
        ].filter((row) => row.guard !== world.false)
      })
      if (rows.length > MOST_CASES) throw new Outside('too many cases')
    }
    const cases = rows.map(({ guard, items }): Case => ({ guard, value: tuple(items) }))
    return [...cases, { guard: world.or(...failed), value: FAILED }]
  }

  #overList(loop: Comprehension, macro: Macro, range: ListPart): readonly Case[] {
    const world = this.#world
    const elements = world.elements(range.place, range.over)
    const some = (of: Literal, least = 1) =>
      world.atLeast(range.place, least, elements.and(range.of, of), range.over)
    const reader = this.#inList(range, new Map([...this.#around.scope, [loop.iterVar, range.item]]))
    if (macro.name === 'map') return this.#mapped(macro, range, reader)
    const { yes, no } = reader.truth(macro.test)
    if (macro.name === 'exists')
      return this.#always({ is: 'truth', truth: { yes: some(yes), no: -some(-no) } })
    if (macro.name === 'all') return this.#always({ is: 'truth', truth: { yes: -some(-yes), no: some(no) } })
    const whole = -some(elements.and(-yes, -no))
    const single = world.and(some(yes), -some(yes, 2))
    return this.#always({
      is: 'truth',
      truth: { yes: world.and(whole, single), no: world.and(whole, -single) },
    })
  }

  #mapped(macro: MapMacro, range: ListPart, reader: Reader): readonly Case[] {
    const world = this.#world
    const elements = world.elements(range.place, range.over)
    const test =
      macro.test === undefined ? { yes: elements.true, no: elements.false } : reader.truth(macro.test)
    const cases = reader.#values(macro.item)
    if (cases.some(({ value }) => value.is === 'unknown'))
      throw new Outside('elements that are not understood')
    const fails = elements.or(...cases.filter(({ value }) => isFailed(value)).map(({ guard }) => guard))
    const failing = elements.and(
      range.of,
      elements.or(elements.and(-test.yes, -test.no), elements.and(test.yes, fails)),
    )
    const some = world.atLeast(range.place, 1, failing, range.over)
    const isSame = macro.item.kind === 'ident' && macro.test !== undefined
    const item: Binding = isSame ? range.item : standingFor(elements, () => cases)
    const value: ListPart = {
      is: 'list',
      place: range.place,
      over: range.over,
      of: elements.and(range.of, test.yes),
      item,
    }
    return [
      { guard: -some, value },
      { guard: some, value: FAILED },
    ]
  }
}

const is = (value: Result): Part & { readonly is: 'value' } => ({ is: 'value', value })
const unknown = (type: string | undefined): Part => ({ is: 'unknown', type, fails: true })
const isFailed = (part: Part): boolean => part.is === 'value' && part.value instanceof Failure

function tuple(items: readonly Part[]): Part {
  const values = items.flatMap((item) =>
    item.is === 'value' && !(item.value instanceof Failure) ? [item.value] : [],
  )
  if (values.length === items.length) return is(values)
  return { is: 'tuple', items }
}

function opposite(part: Part): Part {
  if (part.is === 'truth') return { is: 'truth', truth: { yes: part.truth.no, no: part.truth.yes } }
  return part.is === 'value' && typeof part.value === 'boolean' ? is(!part.value) : part
}

function truthOf(world: World, part: Part): Truth {
  if (part.is === 'truth') return part.truth
  const value = part.is === 'value' ? part.value : undefined
  return { yes: value === true ? world.true : world.false, no: value === false ? world.true : world.false }
}

/** One side that decides is enough, whatever the other side is (CEL language definition, "Logical Operators"). */
const all = (world: World, truths: readonly Truth[]): Truth => ({
  yes: world.and(...truths.map(({ yes }) => yes)),
  no: world.or(...truths.map(({ no }) => no)),
})

const any = (world: World, truths: readonly Truth[]): Truth => ({
  yes: world.or(...truths.map(({ yes }) => yes)),
  no: world.and(...truths.map(({ no }) => no)),
})

function one(world: World, truths: readonly Truth[]): Truth {
  let [zero, single] = [world.true, world.false]
  for (const { yes, no } of truths) {
    single = world.or(world.and(single, no), world.and(zero, yes))
    zero = world.and(zero, no)
  }
  const whole = world.and(...truths.map(({ yes, no }) => world.or(yes, no)))
  return { yes: world.and(whole, single), no: world.and(whole, -single) }
}

function typeOfPart(part: Part): string | undefined {
  switch (part.is) {
    case 'value':
      return part.value instanceof Failure ? undefined : typeOf(part.value)
    case 'text':
      return 'string'
    case 'measure':
    case 'unknown':
      return part.type
    case 'list':
    case 'tuple':
      return 'list'
    case 'map':
      return 'map'
    case 'truth':
      return 'bool'
  }
}

/** A value that is known to be a text. */
const textOf = (value: Result): string => (typeof value === 'string' ? value : '')

const isNumeric = (type: string): boolean => type === 'double' || type === 'int' || type === 'uint'

function numberOf(value: Result): number | undefined {
  if (typeof value === 'number') return value
  if (typeof value === 'bigint') return Number(value)
  return value instanceof Uint ? Number(value.value) : undefined
}

/** The place in a list; undefined for what is none. */
function indexOf(value: Result): number | undefined {
  const place = numberOf(value)
  return place !== undefined && Number.isInteger(place) && place >= 0 ? place : undefined
}

function numberAt(world: World, place: Place): Measure {
  return {
    is: 'measure',
    type: 'double',
    place,
    least: (bound) => world.above(place, bound, false),
    more: (bound) => world.above(place, bound, true),
  }
}

/** Beyond 2^53 doubles have gaps, in which the comparison of whole numbers is not theirs. */
const exact =
  (compare: (bound: number) => Literal) =>
  (bound: number): Literal => {
    if (Math.abs(bound) > Number.MAX_SAFE_INTEGER) throw new Outside('a large number')
    return compare(bound)
  }

/** A count of which is known whether it is at least so much. */
function counted(world: World, atLeast: (least: number) => Literal): Part {
  const least = (bound: number): Literal => {
    const whole = Math.ceil(bound)
    if (whole <= 0) return world.true
    if (whole > LONGEST_COUNT) throw new Outside('a large count')
    return atLeast(whole)
  }
  return { is: 'measure', type: 'int', least, more: (bound) => least(Math.floor(bound) + 1) }
}

const FLIPPED = { '_<_': '_>_', '_<=_': '_>=_', '_>_': '_<_', '_>=_': '_<=_' } as const
const LONGEST_HOLDER = 40

/** All texts of which the text is a test: those that it starts with, ends with or contains. */
function partsOf(name: 'startsWith' | 'endsWith' | 'contains', text: string): string[] | undefined {
  const characters = Array.from(text)
  const { length } = characters
  if (length > (name === 'contains' ? 16 : LONGEST_HOLDER)) return undefined
  const parts = new Set<string>()
  for (let first = 0; first <= length; first++) {
    for (let end = first; end <= length; end++) {
      if ((name === 'startsWith' && first > 0) || (name === 'endsWith' && end < length)) continue
      parts.add(characters.slice(first, end).join(''))
    }
  }
  return [...parts]
}

/** Cases with the same simple value become one. */
function merged(world: World, cases: readonly Case[]): readonly Case[] {
  const simple = new Map<string, Literal[]>()
  const rest: Case[] = []
  const values = new Map<string, Part>()
  for (const each of cases) {
    if (each.guard === world.false) continue
    const { value } = each
    const key =
      value.is === 'value' && (value.value instanceof Failure || typeof value.value !== 'object')
        ? value.value instanceof Failure
          ? 'failed'
          : `${typeof value.value} ${Object.is(value.value, -0) ? '-0' : String(value.value)}`
        : undefined
    if (key === undefined) rest.push(each)
    else {
      simple.set(key, [...(simple.get(key) ?? []), each.guard])
      values.set(key, value)
    }
  }
  return [
    ...rest,
    ...Array.from(simple, ([key, guards]) => ({
      guard: world.or(...guards),
      value: values.get(key) ?? FAILED,
    })),
  ]
}

const PLAIN_CALL = { kind: 'call', offset: 0, height: 0, target: undefined } as const
const NOTHING: Expr = { kind: 'literal', type: 'null_type', value: null, offset: 0, height: 0 }

/** The expression over other operands. */
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

/** `google.protobuf.Timestamp`, which no variable begins with. */
function isProtobufName({ operand }: Select, scope: Scope): boolean {
  if (operand.kind !== 'select' || operand.operand.kind !== 'ident') return false
  const { name, absolute } = operand.operand
  return name === 'google' && operand.field === 'protobuf' && (absolute || !scope.has(name))
}

/** The expression in one spelling: variables as what they stand for. */
function shown(expr: Expr, scope: Scope, settled: SettledCalls): string {
  const part = (each: Expr) => shown(each, scope, settled)
  switch (expr.kind) {
    case 'literal':
      return shownValue(expr.type === 'uint' ? new Uint(expr.value) : expr.value)
    case 'ident': {
      const binding = expr.absolute ? undefined : scope.get(expr.name)
      if (binding?.is === 'value') return shownValue(binding.value)
      if (binding?.is === 'place') return `@${binding.world.id}`
      return binding?.is === 'cases' ? `@@${binding.id}` : `${expr.absolute ? '.' : ''}${expr.name}`
    }
    case 'select':
      return `${expr.testOnly ? 'has ' : ''}${part(expr.operand)}.${JSON.stringify(expr.field)}`
    case 'call': {
      const types = settled.get(expr)
      const args = [...(expr.target === undefined ? [] : [expr.target]), ...expr.args].map(part)
      return `${expr.name}(${args.join(', ')})${types === undefined ? '' : ` as ${types.join()}`}`
    }
    case 'list':
      return `[${expr.elements.map(part).join(', ')}]`
    case 'map':
      return `{${expr.entries.map(({ key, value }) => `${part(key)}: ${part(value)}`).join(', ')}}`
    case 'message':
      return `${expr.name}{}`
    case 'comprehension': {
      const inner = new Map(scope)
      inner.delete(expr.iterVar)
      inner.delete(expr.accuVar)
      const within = [expr.init, expr.step, expr.result].map((each) => shown(each, inner, settled))
      return `loop ${expr.iterVar} of ${part(expr.range)}: ${within.join('; ')}`
    }
  }
}

function shownValue(value: Value): string {
  if (isList(value)) return `[${value.map(shownValue).join(', ')}]`
  if (value instanceof CelMap)
    return `{${Array.from(value.entries(), ([key, item]) => `${shownValue(key)}: ${shownValue(item)}`).join(', ')}}`
  if (value instanceof Uint) return `${value.value}u`
  if (value instanceof Uint8Array) return `b[${value.join()}]`
  if (value instanceof Instant) return `timestamp(${value.nanoseconds}, ${value.offset})`
  if (value instanceof Span) return `duration(${value.nanoseconds})`
  if (value instanceof TypeName) return `type(${value.name})`
  if (typeof value === 'string') return JSON.stringify(value)
  return typeof value === 'number' ? `${Object.is(value, -0) ? '-0' : value}d` : String(value)
}

/** The names in an expression. */
function namesIn(expr: Expr, names = new Set<string>()): Set<string> {
  if (expr.kind === 'ident') names.add(expr.name)
  for (const part of subexpressions(expr)) namesIn(part, names)
  return names
}

/** The constants of an expression, as JSON: values to try. */
function constantsIn(expr: Expr): unknown[] {
  if (expr.kind !== 'literal') return subexpressions(expr).flatMap(constantsIn)
  return expr.value instanceof Uint8Array || expr.value === null ? [] : [expr.value]
}

function subexpressions(expr: Expr): readonly Expr[] {
  switch (expr.kind) {
    case 'literal':
    case 'ident':
      return []
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
