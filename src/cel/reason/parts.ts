import { Failure, type Result, typeOf, Uint, type Value } from '../evaluate/values.ts'
import type { Literal } from './solver.ts'
import type { Over, ValuePlace, ClaimsWorld } from './world.ts'

/**
 * The condition under which an expression is true, and the condition under which it is false. Neither holds when the
 * evaluation fails or the result is not a bool.
 */
export interface Truth {
  readonly yes: Literal
  readonly no: Literal
}

/**
 * A possible value of an expression, and the condition under which it has this value. The conditions of an expression's
 * cases exclude each other.
 */
export interface Case {
  readonly guard: Literal
  readonly value: ValuePart
}

export type ValuePart =
  | { readonly is: 'value'; readonly value: Result }
  | { readonly is: 'text'; readonly place: ValuePlace }
  /** A concatenation of strings: constants, and claims that are strings. */
  | { readonly is: 'sum'; readonly pieces: readonly (string | ValuePlace)[] }
  | Measure
  | ListPart
  /** A map that is written in the expression, with known keys; some values may be unknown. */
  | { readonly is: 'record'; readonly entries: ReadonlyMap<string | bigint, ValuePart> }
  | { readonly is: 'tuple'; readonly items: readonly ValuePart[] }
  /** A concatenation of lists. */
  | { readonly is: 'joined'; readonly lists: readonly ValuePart[] }
  | { readonly is: 'map'; readonly place: ValuePlace }
  | { readonly is: 'truth'; readonly truth: Truth }
  /** A value of which at most the type is known; with `fails`, its evaluation may also fail. */
  | { readonly is: 'unknown'; readonly type: string | undefined; readonly fails: boolean }

/** A number of unknown value: `least(bound)` is the condition for `>= bound`, `more(bound)` for `> bound`. */
export interface Measure {
  readonly is: 'measure'
  readonly type: 'double' | 'int'
  /** Where in the claims the number is read; undefined for a computed number. */
  readonly place?: ValuePlace
  readonly least: (bound: number) => Literal
  readonly more: (bound: number) => Literal
}

/**
 * The elements of a list in the claims (or the keys of a map there) that meet the condition `of`; `item` describes one
 * element.
 */
export interface ListPart {
  readonly is: 'list'
  readonly place: ValuePlace
  readonly over: Over
  readonly of: Literal
  readonly item: Binding
}

/**
 * The value of a CEL variable: a known value, an element of the list that a macro iterates over, or the possible values
 * of an expression.
 */
export type Binding =
  | { readonly is: 'value'; readonly value: Value }
  | { readonly is: 'place'; readonly world: ClaimsWorld }
  | {
      readonly is: 'cases'
      readonly world: ClaimsWorld
      readonly cases: () => readonly Case[]
      readonly id: number
    }

/**
 * Binds a CEL variable to the possible values of an expression; each binding gets its own id, even for the same name.
 */
export const standingFor = (world: ClaimsWorld, cases: () => readonly Case[]): Binding => ({
  is: 'cases',
  world,
  cases,
  id: world.nextId(),
})

export type Scope = ReadonlyMap<string, Binding>

/**
 * Thrown when a test in a matcher cannot be translated into a formula, for example because it has too many possible
 * values.
 */
export class NotModelled extends Error {}

const LONGEST_COUNT = 2_000
/** The most elements of a list that are handled one by one; a longer list is not analysed. */
export const MOST_UNROLLED = 200
export const FAILED = { is: 'value', value: new Failure('it fails') } as const

export const constant = (value: Result): ValuePart & { readonly is: 'value' } => ({ is: 'value', value })
export const unknown = (type: string | undefined): ValuePart => ({ is: 'unknown', type, fails: true })
export const mayFail = (part: ValuePart): boolean => part.is === 'unknown' && part.fails
export const isFailed = (part: ValuePart): boolean => part.is === 'value' && part.value instanceof Failure

/** The given cases, each under the additional condition `guard`. */
export const under = (world: ClaimsWorld, guard: Literal, cases: readonly Case[]): Case[] =>
  cases.map((each) => ({ guard: world.and(guard, each.guard), value: each.value }))

/** Applies `use` to the value of each case; the results hold only under the condition of that case. */
export const through = (
  world: ClaimsWorld,
  cases: readonly Case[],
  use: (value: ValuePart) => readonly Case[],
): readonly Case[] => cases.flatMap(({ guard, value }) => under(world, guard, use(value)))

export function tuple(items: readonly ValuePart[]): ValuePart {
  if (items.some(mayFail)) return unknown('list')
  const values = items.flatMap((item) =>
    item.is === 'value' && !(item.value instanceof Failure) ? [item.value] : [],
  )
  if (values.length === items.length) return constant(values)
  return { is: 'tuple', items }
}

/** The concatenation of two texts; undefined unless both consist of constants and claims. */
export function sumOf(a: ValuePart, b: ValuePart): ValuePart | undefined {
  const [left, right] = [piecesOf(a), piecesOf(b)]
  if (left === undefined || right === undefined) return undefined
  const pieces = [...left, ...right].filter((piece) => piece !== '')
  const [first] = pieces
  return pieces.length === 1 && typeof first === 'object'
    ? { is: 'text', place: first }
    : { is: 'sum', pieces }
}

function piecesOf(part: ValuePart): readonly (string | ValuePlace)[] | undefined {
  if (part.is === 'sum') return part.pieces
  if (part.is === 'text') return [part.place]
  return part.is === 'value' && typeof part.value === 'string' ? [part.value] : undefined
}

export function opposite(part: ValuePart): ValuePart {
  if (part.is === 'truth') return { is: 'truth', truth: { yes: part.truth.no, no: part.truth.yes } }
  return part.is === 'value' && typeof part.value === 'boolean' ? constant(!part.value) : part
}

export function truthOf(world: ClaimsWorld, part: ValuePart): Truth {
  if (part.is === 'truth') return part.truth
  const value = part.is === 'value' ? part.value : undefined
  return { yes: value === true ? world.true : world.false, no: value === false ? world.true : world.false }
}

/** CEL's `&&` of all operands (`any` below is `||`): one operand can decide the result, even if another fails. */
export const all = (world: ClaimsWorld, truths: readonly Truth[]): Truth => ({
  yes: world.and(...truths.map(({ yes }) => yes)),
  no: world.or(...truths.map(({ no }) => no)),
})

export const any = (world: ClaimsWorld, truths: readonly Truth[]): Truth => ({
  yes: world.or(...truths.map(({ yes }) => yes)),
  no: world.and(...truths.map(({ no }) => no)),
})

export function one(world: ClaimsWorld, truths: readonly Truth[]): Truth {
  let [zero, single] = [world.true, world.false]
  for (const { yes, no } of truths) {
    single = world.or(world.and(single, no), world.and(zero, yes))
    zero = world.and(zero, no)
  }
  const whole = world.and(...truths.map(({ yes, no }) => world.or(yes, no)))
  return { yes: world.and(whole, single), no: world.and(whole, -single) }
}

export function typeOfPart(part: ValuePart): string | undefined {
  switch (part.is) {
    case 'value':
      return part.value instanceof Failure ? undefined : typeOf(part.value)
    case 'text':
    case 'sum':
      return 'string'
    case 'measure':
    case 'unknown':
      return part.type
    case 'list':
    case 'tuple':
    case 'joined':
      return 'list'
    case 'map':
    case 'record':
      return 'map'
    case 'truth':
      return 'bool'
  }
}

/** The text of a string value; empty for any other value. */
export const textOf = (value: Result): string => (typeof value === 'string' ? value : '')

export const isNumeric = (type: string): boolean => type === 'double' || type === 'int' || type === 'uint'

export function numberOf(value: Result): number | undefined {
  if (typeof value === 'number') return value
  if (typeof value === 'bigint') return Number(value)
  return value instanceof Uint ? Number(value.value) : undefined
}

/** The value as a list index; undefined when it cannot be one. */
export function indexOf(value: Result): number | undefined {
  const place = numberOf(value)
  return place !== undefined && Number.isInteger(place) && place >= 0 ? place : undefined
}

export function numberAt(world: ClaimsWorld, place: ValuePlace): Measure {
  return {
    is: 'measure',
    type: 'double',
    place,
    least: (bound) => world.above(place, bound, false),
    more: (bound) => world.above(place, bound, true),
  }
}

/**
 * Makes a comparison throw NotModelled for bounds beyond 2^53: doubles have gaps there, so comparing doubles differs
 * from comparing integers.
 */
export const exact =
  (compare: (bound: number) => Literal) =>
  (bound: number): Literal => {
    if (Math.abs(bound) > Number.MAX_SAFE_INTEGER) throw new NotModelled('a large number')
    return compare(bound)
  }

/** An integer of unknown value, such as the size of a list: `atLeast(least)` is the condition for `>= least`. */
export function counted(world: ClaimsWorld, atLeast: (least: number) => Literal): ValuePart {
  const least = (bound: number): Literal => {
    const whole = Math.ceil(bound)
    if (whole <= 0) return world.true
    if (whole > LONGEST_COUNT) throw new NotModelled('a large count')
    return atLeast(whole)
  }
  return { is: 'measure', type: 'int', least, more: (bound) => least(Math.floor(bound) + 1) }
}

/** Merges cases with the same scalar value by OR of their conditions; merges the cases that fail in the same way. */
export function merged(world: ClaimsWorld, cases: readonly Case[]): readonly Case[] {
  world.budget.spend(cases.length / 4)
  const simple = new Map<string, Literal[]>()
  const rest: Case[] = []
  const values = new Map<string, ValuePart>()
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
      const guards = simple.get(key)
      if (guards === undefined) simple.set(key, [each.guard])
      else guards.push(each.guard)
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
