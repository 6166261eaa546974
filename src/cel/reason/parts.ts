import { Failure, type Result, typeOf, Uint, type Value } from '../evaluate/values.ts'
import type { Literal } from './solver.ts'
import type { Over, ValuePlace, ClaimsWorld } from './world.ts'

/** When an expression is true and when it is false; neither when it fails or is not a bool. */
export interface Truth {
  readonly yes: Literal
  readonly no: Literal
}

/** A value as far as it is known, and when it is that. The guards of the cases of an expression exclude each other. */
export interface Case {
  readonly guard: Literal
  readonly value: ValuePart
}

export type ValuePart =
  | { readonly is: 'value'; readonly value: Result }
  | { readonly is: 'text'; readonly place: ValuePlace }
  /** A text that is made of several. */
  | { readonly is: 'sum'; readonly pieces: readonly (string | ValuePlace)[] }
  | Measure
  | ListPart
  /** A map that the expression writes, of which not every value is known. */
  | { readonly is: 'record'; readonly entries: ReadonlyMap<string | bigint, ValuePart> }
  | { readonly is: 'tuple'; readonly items: readonly ValuePart[] }
  /** Lists after each other. */
  | { readonly is: 'joined'; readonly lists: readonly ValuePart[] }
  | { readonly is: 'map'; readonly place: ValuePlace }
  | { readonly is: 'truth'; readonly truth: Truth }
  /** Nothing is known but perhaps its type. */
  | { readonly is: 'unknown'; readonly type: string | undefined; readonly fails: boolean }

/** A number of which is known which bounds it exceeds. */
export interface Measure {
  readonly is: 'measure'
  readonly type: 'double' | 'int'
  /** The claim that it is, if it is one. */
  readonly place?: ValuePlace
  readonly least: (bound: number) => Literal
  readonly more: (bound: number) => Literal
}

/** The elements of a list, or the keys of a map, that satisfy `of`, each mapped by `item`. */
export interface ListPart {
  readonly is: 'list'
  readonly place: ValuePlace
  readonly over: Over
  readonly of: Literal
  readonly item: Binding
}

/** The value of a variable of a comprehension. */
export type Binding =
  | { readonly is: 'value'; readonly value: Value }
  | { readonly is: 'place'; readonly world: ClaimsWorld }
  | {
      readonly is: 'cases'
      readonly world: ClaimsWorld
      readonly cases: () => readonly Case[]
      readonly id: number
    }

/** A variable whose value is another expression. Two of them are different, even when they are spelled alike. */
export const standingFor = (world: ClaimsWorld, cases: () => readonly Case[]): Binding => ({
  is: 'cases',
  world,
  cases,
  id: world.nextId(),
})

export type Scope = ReadonlyMap<string, Binding>

/** Thrown for a part that has no formula here: it reads outside of its list, is of another kind, or has too many cases. */
export class NotModelled extends Error {}

const LONGEST_COUNT = 2_000
/** The longest list of which each element is read. */
export const MOST_UNROLLED = 200
export const FAILED = { is: 'value', value: new Failure('it fails') } as const

export const constant = (value: Result): ValuePart & { readonly is: 'value' } => ({ is: 'value', value })
export const unknown = (type: string | undefined): ValuePart => ({ is: 'unknown', type, fails: true })
export const isFailed = (part: ValuePart): boolean => part.is === 'value' && part.value instanceof Failure

/** The cases, each only where the guard holds. */
export const under = (world: ClaimsWorld, guard: Literal, cases: readonly Case[]): Case[] =>
  cases.map((each) => ({ guard: world.and(guard, each.guard), value: each.value }))

/** The cases that follow from each case. */
export const through = (
  world: ClaimsWorld,
  cases: readonly Case[],
  use: (value: ValuePart) => readonly Case[],
): readonly Case[] => cases.flatMap(({ guard, value }) => under(world, guard, use(value)))

export function tuple(items: readonly ValuePart[]): ValuePart {
  const values = items.flatMap((item) =>
    item.is === 'value' && !(item.value instanceof Failure) ? [item.value] : [],
  )
  if (values.length === items.length) return constant(values)
  return { is: 'tuple', items }
}

/** Two texts after each other; undefined where a text is not known as pieces. */
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

/** One side that decides is enough, whatever the other side is (CEL language definition, "Logical Operators"). */
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

/** A value that is known to be a text. */
export const textOf = (value: Result): string => (typeof value === 'string' ? value : '')

export const isNumeric = (type: string): boolean => type === 'double' || type === 'int' || type === 'uint'

export function numberOf(value: Result): number | undefined {
  if (typeof value === 'number') return value
  if (typeof value === 'bigint') return Number(value)
  return value instanceof Uint ? Number(value.value) : undefined
}

/** The index in a list; undefined for a value that is not an index. */
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

/** Beyond 2^53 doubles have gaps, in which the comparison of whole numbers is not theirs. */
export const exact =
  (compare: (bound: number) => Literal) =>
  (bound: number): Literal => {
    if (Math.abs(bound) > Number.MAX_SAFE_INTEGER) throw new NotModelled('a large number')
    return compare(bound)
  }

/** A count of which is known whether it is at least so much. */
export function counted(world: ClaimsWorld, atLeast: (least: number) => Literal): ValuePart {
  const least = (bound: number): Literal => {
    const whole = Math.ceil(bound)
    if (whole <= 0) return world.true
    if (whole > LONGEST_COUNT) throw new NotModelled('a large count')
    return atLeast(whole)
  }
  return { is: 'measure', type: 'int', least, more: (bound) => least(Math.floor(bound) + 1) }
}

/** Cases with the same simple value become one. */
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
