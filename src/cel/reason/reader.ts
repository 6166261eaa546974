import { type Call, type Comprehension, type Expr, type Ident, type Select } from '../ast.ts'
import { overloadsOf } from '../declarations.ts'
import { evaluate } from '../evaluate/evaluate.ts'
import {
  CelMap,
  Failure,
  fromJson,
  isList,
  type Result,
  TypeName,
  Uint,
  type Value,
} from '../evaluate/values.ts'
import type { CelGoVersion, SettledCalls } from '../index.ts'
import {
  boolOf,
  contained,
  equality,
  ordered,
  type Reading,
  size,
  textTest,
  wholeNumber,
} from './comparisons.ts'
import { closedTest, FAILING, MOST_HOISTED, NO, replaced, YES } from './closed.ts'
import { type Macro, macroOf, type MapMacro } from './macros.ts'
import { printed } from './print.ts'
import type { Literal } from './solver.ts'
import {
  all,
  any,
  type Binding,
  type Case,
  FAILED,
  indexOf,
  is,
  isFailed,
  isNumeric,
  type ListPart,
  merged,
  MOST_UNROLLED,
  numberAt,
  one,
  opposite,
  Outside,
  type Part,
  type Scope,
  standingFor,
  sumOf,
  type Truth,
  truthOf,
  tuple,
  typeOfPart,
  unknown,
} from './parts.ts'
import { claimsIn, constantsIn, namesIn, shown } from './spelling.ts'
import { isText } from './texts.ts'
import { type Guess, type Over, type Place, type World } from './world.ts'

const MOST_CASES = 150

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

class Reader implements Reading {
  readonly world: World
  readonly #around: Around
  #touched = new Set<Place>()

  constructor(world: World, around: Around) {
    this.world = world
    this.#around = around
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
      if (!(error instanceof Outside)) throw error
      return [{ guard: this.world.true, value: unknown(undefined) }]
    }
  }

  #guess(
    expr: Expr,
    guard: Literal,
    { type, fails }: Part & { readonly is: 'unknown' },
    places: readonly Place[],
  ): Truth {
    const world = this.world
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
        claims: claimsIn(expr),
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
      if (binding.is === 'cases' || (binding.is === 'place' && binding.world !== this.world)) return 'unknown'
      variables.set(name, binding.is === 'value' ? binding.value : value)
    }
    const result = evaluate(expr, {
      claims: this.#around.claims ? value : new CelMap(true),
      variables,
      ...this.#around.matcher,
      spend: (cost) => this.world.budget.spend(cost / 4),
    })
    return typeof result === 'boolean' ? result : undefined
  }

  /** The cases of an expression whose value is used: a bool is true, false or failed. Throws Outside. */
  #values(expr: Expr): readonly Case[] {
    const world = this.world
    return this.#cases(expr).flatMap(({ guard, value }) => {
      const isOpen = value.is === 'unknown' && value.type === 'bool'
      if (value.is !== 'truth' && !isOpen) return [{ guard, value }]
      const { yes, no } = value.is === 'truth' ? value.truth : this.#guess(expr, guard, value, [])
      return [
        { guard: world.and(guard, yes), value: is(true) },
        { guard: world.and(guard, no), value: is(false) },
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
        return this.always(is(expr.type === 'uint' ? new Uint(expr.value) : expr.value))
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
        return this.#comprehension(expr)
    }
  }

  always(value: Part): readonly Case[] {
    return [{ guard: this.world.true, value }]
  }

  #map(expr: Expr & { readonly kind: 'map' }): readonly Case[] {
    const parts = expr.entries.flatMap(({ key, value }) => [key, value])
    return this.#product(parts, (values) =>
      this.always(
        values.every((each) => each.is === 'value')
          ? is(this.computed(expr, parts, values))
          : (recordOf(values) ?? { is: 'unknown', type: 'map', fails: true }),
      ),
    )
  }

  #ident({ name, absolute }: Ident): readonly Case[] {
    const local = absolute ? undefined : this.#around.scope.get(name)
    if (local?.is === 'value') return this.always(is(local.value))
    if (local !== undefined) {
      if (local.world !== this.world) throw new Outside('a variable of another list')
      return local.is === 'cases' ? local.cases() : this.at(this.world.root)
    }
    if (name !== 'claims') return this.always(is(new TypeName(name)))
    if (!this.#around.claims) throw new Outside('claims in a list')
    return this.at(this.world.root)
  }

  /** The cases of the value at a place, by its form. */
  at(place: Place): readonly Case[] {
    this.#touched.add(place)
    const world = this.world
    const { forms } = place
    const cases: readonly (readonly [Literal, () => Part])[] = [
      [forms.absent, () => FAILED],
      [forms.null, () => is(null)],
      [forms.false, () => is(false)],
      [forms.true, () => is(true)],
      [forms.number, () => numberAt(world, place)],
      [forms.string, () => ({ is: 'text', place })],
      [forms.list, () => this.allOf(place, 'list')],
      [forms.map, () => ({ is: 'map', place })],
    ]
    return cases
      .filter(([guard]) => guard !== world.false)
      .map(([guard, value]) => ({ guard, value: value() }))
  }

  allOf(place: Place, over: Over): ListPart {
    const elements = this.world.elements(place, over)
    return { is: 'list', place, over, of: elements.true, item: { is: 'place', world: elements } }
  }

  #select(expr: Select): readonly Case[] {
    if (isProtobufName(expr, this.#around.scope))
      return this.always(is(new TypeName(`google.protobuf.${expr.field}`)))
    return this.#through(this.#values(expr.operand), (holder) =>
      expr.testOnly ? this.#has(expr, holder) : this.#member(expr, holder, is(expr.field)),
    )
  }

  #has(expr: Select, holder: Part): readonly Case[] {
    if (isFailed(holder)) return this.always(FAILED)
    if (holder.is === 'map') {
      const { forms } = this.part(holder.place, expr.field)
      return this.always({ is: 'truth', truth: { yes: -forms.absent, no: forms.absent } })
    }
    if (holder.is === 'value') return this.always(is(this.computed(expr, [expr.operand], [holder])))
    if (holder.is === 'unknown') return this.always(unknown('bool'))
    if (holder.is === 'record') return this.always(is(holder.entries.has(expr.field)))
    return this.always(holder.is === 'list' || holder.is === 'tuple' ? FAILED : is(false))
  }

  part(place: Place, key: string | number): Place {
    this.#touched.delete(place)
    const part = this.world.part(place, key)
    this.#touched.add(part)
    return part
  }

  /** The value of `holder.key` and of `holder[key]`. */
  #member(expr: Expr, holder: Part, key: Part): readonly Case[] {
    if (isFailed(holder) || isFailed(key)) return this.always(FAILED)
    if (key.is !== 'value') return this.#memberOfAny(holder, key)
    const { value } = key
    switch (holder.is) {
      case 'map':
        return typeof value === 'string' ? this.at(this.part(holder.place, value)) : this.always(FAILED)
      case 'list': {
        const index = indexOf(value)
        if (index === undefined) return this.always(FAILED)
        if (
          holder.over !== 'list' ||
          holder.item.is !== 'place' ||
          holder.of !== holder.item.world.true ||
          index > MOST_UNROLLED
        )
          return this.always(unknown(undefined))
        return this.at(this.part(holder.place, index))
      }
      case 'tuple': {
        const index = indexOf(value)
        return this.always((index === undefined ? undefined : holder.items[index]) ?? FAILED)
      }
      case 'value': {
        const index: Call = { ...PLAIN_CALL, name: '_[_]', args: [expr, expr] }
        return this.always(is(this.computed(index, index.args, [holder, key], true)))
      }
      case 'record':
        return this.always(
          typeof value === 'string' || typeof value === 'bigint'
            ? (holder.entries.get(value) ?? FAILED)
            : unknown(undefined),
        )
      case 'unknown':
        return this.always(unknown(undefined))
      default:
        return this.always(FAILED)
    }
  }

  /** The value of `holder[key]` for a key that is not known: one of those that there are, or a failure. */
  #memberOfAny(holder: Part, key: Part): readonly Case[] {
    const [type, keyType] = [typeOfPart(holder), typeOfPart(key)]
    const open = this.always(unknown(undefined))
    if (type === undefined || keyType === undefined) return open
    if (type !== 'list' && type !== 'map') return this.always(FAILED)
    if (['list', 'map', 'null_type'].includes(keyType)) return this.always(FAILED)
    if (type === 'list' && !isNumeric(keyType)) return this.always(FAILED)
    if (holder.is === 'map') return keyType === 'string' ? open : this.always(FAILED)
    const members = membersOf(holder)
    if (members === undefined || members.length > MOST_UNROLLED) return open
    const world = this.world
    const found = members.map(({ key: each, value }) => ({ is: equality(this, key, is(each)), value }))
    if (found.some((each) => each.is.is === 'unknown')) return open
    const cases = found.map((each): Case => ({ guard: truthOf(world, each.is).yes, value: each.value }))
    return [...cases, { guard: -world.or(...cases.map(({ guard }) => guard)), value: FAILED }]
  }

  #call(expr: Call): readonly Case[] {
    if (['_&&_', '_||_', '!_'].includes(expr.name))
      return this.always({ is: 'truth', truth: this.truth(expr) })
    if (expr.name === '_?_:_') return this.#conditional(expr)
    if (expr.name === '@not_strictly_false') throw new Outside('a loop on its own')
    const operands = expr.target === undefined ? expr.args : [expr.target, ...expr.args]
    return this.#product(operands, (args) => this.#applied(expr, operands, args))
  }

  #conditional({ args: [test, yes, no] }: Call): readonly Case[] {
    if (test === undefined || yes === undefined || no === undefined) return []
    const world = this.world
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
    const world = this.world
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
    const world = this.world
    return cases.flatMap(({ guard, value }) =>
      use(value).map((each) => ({ guard: world.and(guard, each.guard), value: each.value })),
    )
  }

  /** The result over values that are all known, as the evaluator has it. */
  computed(
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
      spend: (cost) => this.world.budget.spend(cost / 4),
    })
  }

  #applied(expr: Call, operands: readonly Expr[], args: readonly Part[]): readonly Case[] {
    const settled = this.#around.matcher.settled.get(expr)
    const types = args.map(typeOfPart)
    if (settled?.some((type, i) => types[i] !== undefined && types[i] !== type) === true)
      return this.always(FAILED)
    if (settled?.some((_, i) => types[i] === undefined) === true) return this.always(unknown(undefined))
    if (args.every((each) => each.is === 'value')) return this.always(is(this.computed(expr, operands, args)))
    const [a = FAILED, b = FAILED] = args
    switch (expr.name) {
      case '_==_':
        return this.always(equality(this, a, b))
      case '_!=_':
        return this.always(opposite(equality(this, a, b)))
      case '_<_':
      case '_<=_':
      case '_>_':
      case '_>=_':
        return this.always(ordered(this, expr.name, a, b))
      case '@in':
        return this.always(contained(this, a, b))
      case '_[_]':
        return this.#member(expr, a, b)
      case 'dyn':
        return this.always(a)
      case 'type': {
        const type = typeOfPart(a)
        const fails = a.is === 'unknown' && a.fails
        return this.always(type === undefined || fails ? unknown('type') : is(new TypeName(type)))
      }
      case 'startsWith':
      case 'endsWith':
      case 'contains':
      case 'matches':
        return this.always(textTest(this, expr.name, a, b))
      case 'size':
        return this.always(size(this, a))
      case '_+_': {
        const sum = sumOf(a, b)
        if (sum !== undefined) return this.always(sum)
        if (types.every((type) => type === 'list') && !args.some(({ is: kind }) => kind === 'unknown'))
          return this.always({ is: 'joined', lists: args.flatMap(listsOf) })
        break
      }
      case 'bool':
        if (types[0] === 'string')
          return this.always(boolOf(this, a, (value) => this.computed(expr, operands, [value])))
        break
      case 'int':
        return wholeNumber(this, a)
      case 'double':
      case 'string':
        if (types[0] === expr.name) return this.always(a)
    }
    return this.always(this.#byType(expr, types))
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
        (expr.name === '_+_' && ['string', 'list'].some((name) => types.every((type) => type === name))))
    return { is: 'unknown', type: isOne ? first : undefined, fails: !never }
  }

  /** A reader of the elements of a list. */
  inList({ place, over }: ListPart, scope: Scope = this.#around.scope): Reader {
    const elements = this.world.elements(place, over)
    return new Reader(elements, { ...this.#around, claims: false, scope, guesses: guessesOf(elements) })
  }

  #comprehension(loop: Comprehension): readonly Case[] {
    const macro = macroOf(loop)
    if (macro === undefined) throw new Outside('a loop of another kind')
    return this.#through(this.#values(loop.range), (range) => this.#over(loop, macro, range))
  }

  #over(loop: Comprehension, macro: Macro, range: Part): readonly Case[] {
    if (range.is === 'unknown') {
      const isOpen = range.type === undefined || ['list', 'map', 'string', 'bytes'].includes(range.type)
      return this.always(isOpen ? unknown(macro.type) : FAILED)
    }
    if (range.is === 'map') return this.#overList(loop, macro, this.allOf(range.place, 'keys'))
    if (range.is === 'list') return this.#overList(loop, macro, range)
    if (range.is === 'text') return this.#overText(macro, range.place)
    if (range.is === 'joined') return this.#overJoined(loop, macro, range.lists)
    if (range.is === 'sum') return this.always(unknown(macro.type))
    if (range.is === 'measure' || range.is === 'truth') return this.always(FAILED)
    const items = this.#itemsOf(range)
    if (items === undefined) return this.always(FAILED)
    if (items.length > MOST_UNROLLED) throw new Outside('a long list')
    return this.#unrolled(loop, macro, items)
  }

  /** cel-go 0.33 takes an empty text for an empty list. */
  #overText(macro: Macro, place: Place): readonly Case[] {
    if (this.#around.matcher.celGo !== '0.33') return this.always(FAILED)
    const empty = this.world.text(place, isText(''))
    const result = { all: is(true), exists: is(false), one: is(false), map: is([]) }[macro.name]
    return [
      { guard: empty, value: result },
      { guard: -empty, value: FAILED },
    ]
  }

  /** Only `exists` and `all` of several lists are put together of those of each. */
  #overJoined(loop: Comprehension, macro: Macro, lists: readonly Part[]): readonly Case[] {
    if (macro.name !== 'exists' && macro.name !== 'all') return this.always(unknown(macro.type))
    const world = this.world
    const truths = lists.map((list): Truth => {
      const cases = this.#over(loop, macro, list).map(({ guard, value }) => {
        if (value.is === 'unknown') throw new Outside('a list that is not understood')
        const { yes, no } = truthOf(world, value)
        return { yes: world.and(guard, yes), no: world.and(guard, no) }
      })
      return {
        yes: world.or(...cases.map(({ yes }) => yes)),
        no: world.or(...cases.map(({ no }) => no)),
      }
    })
    return this.always({ is: 'truth', truth: { exists: any, all }[macro.name](world, truths) })
  }

  #itemsOf(range: Part): readonly Part[] | undefined {
    if (range.is === 'tuple') return range.items
    if (range.is === 'record') return [...range.entries.keys()].map(is)
    if (range.is !== 'value' || range.value instanceof Failure) return undefined
    const { value } = range
    if (isList(value)) return value.map(is)
    if (value instanceof CelMap) return Array.from(value.entries(), ([key]) => is(key))
    const isEmpty = value === '' || (value instanceof Uint8Array && value.length === 0)
    return isEmpty && this.#around.matcher.celGo === '0.33' ? [] : undefined
  }

  #unrolled(loop: Comprehension, macro: Macro, items: readonly Part[]): readonly Case[] {
    const world = this.world
    const readers = items.map((item) => {
      const binding: Binding =
        item.is === 'value' && !(item.value instanceof Failure)
          ? { is: 'value', value: item.value }
          : standingFor(world, () => this.always(item))
      return this.#bound(loop.iterVar, binding)
    })
    if (macro.name === 'map') return this.#unrolledMap(macro, readers)
    const truths = readers.map((reader) => this.#shared(reader, () => reader.truth(macro.test)))
    return this.always({ is: 'truth', truth: { all, exists: any, one }[macro.name](world, truths) })
  }

  #bound(name: string, binding: Binding): Reader {
    return new Reader(this.world, {
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
    const world = this.world
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

  #overList(loop: Comprehension, macro: Macro, range: ListPart, hoisted = 0): readonly Case[] {
    const world = this.world
    const closed = hoisted < MOST_HOISTED ? closedTest(macro.test, loop.iterVar) : undefined
    if (closed !== undefined && macro.test !== undefined) {
      const { yes, no } = this.truth(closed)
      const { test } = macro
      const under = (guard: Literal, value: Expr) =>
        guard === world.false
          ? []
          : this.#overList(loop, { ...macro, test: replaced(test, closed, value) }, range, hoisted + 1).map(
              (each) => ({ guard: world.and(guard, each.guard), value: each.value }),
            )
      return [...under(yes, YES), ...under(no, NO), ...under(world.and(-yes, -no), FAILING)]
    }
    const elements = world.elements(range.place, range.over)
    const some = (of: Literal, least = 1) =>
      world.atLeast(range.place, least, elements.and(range.of, of), range.over)
    const reader = this.inList(range, new Map([...this.#around.scope, [loop.iterVar, range.item]]))
    if (macro.name === 'map') return this.#mapped(macro, range, reader)
    const { yes, no } = reader.truth(macro.test)
    if (macro.name === 'exists')
      return this.always({ is: 'truth', truth: { yes: some(yes), no: -some(-no) } })
    if (macro.name === 'all') return this.always({ is: 'truth', truth: { yes: -some(-yes), no: some(no) } })
    const whole = -some(elements.and(-yes, -no))
    const single = world.and(some(yes), -some(yes, 2))
    return this.always({
      is: 'truth',
      truth: { yes: world.and(whole, single), no: world.and(whole, -single) },
    })
  }

  #mapped(macro: MapMacro, range: ListPart, reader: Reader): readonly Case[] {
    const world = this.world
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

/** The map as far as it is known; undefined where its keys are not. */
function recordOf(values: readonly Part[]): Part | undefined {
  const entries = new Map<string | bigint, Part>()
  for (let i = 0; i < values.length; i += 2) {
    const [key, value] = [values[i], values[i + 1]]
    if (key?.is !== 'value' || value === undefined) return undefined
    if (typeof key.value !== 'string' && typeof key.value !== 'bigint') return undefined
    entries.set(key.value, value)
  }
  return entries.size * 2 === values.length ? { is: 'record', entries } : undefined
}

const listsOf = (part: Part): readonly Part[] => (part.is === 'joined' ? part.lists : [part])

/** The members of a list or a map that is known as far as its keys; undefined for another one. */
function membersOf(holder: Part): readonly { readonly key: Value; readonly value: Part }[] | undefined {
  if (holder.is === 'tuple') return holder.items.map((value, i) => ({ key: BigInt(i), value }))
  if (holder.is === 'record') return Array.from(holder.entries, ([key, value]) => ({ key, value }))
  if (holder.is !== 'value' || holder.value instanceof Failure) return undefined
  if (holder.value instanceof CelMap)
    return Array.from(holder.value.entries(), ([key, value]) => ({ key, value: is(value) }))
  if (!isList(holder.value)) return undefined
  return holder.value.map((value, i) => ({ key: BigInt(i), value: is(value) }))
}

const PLAIN_CALL = { kind: 'call', offset: 0, height: 0, target: undefined } as const

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
