import {
  bool,
  bytes,
  double,
  duration,
  dyn,
  int,
  list,
  map,
  nullType,
  parameter,
  string,
  timestamp,
  typeType,
  uint,
} from './types.ts'
import type { Type } from './types.ts'

/** One signature of a CEL function. */
export interface Overload {
  readonly name: string
  /** Whether the first argument is a receiver: `text.size()`. */
  readonly method: boolean
  readonly args: readonly Type[]
  readonly result: Type
  /** Whether the signature has type parameters. */
  readonly generic: boolean
  /**
   * Whether the signature compares numbers of two different types. Only cel-go 0.32 allows this, in and after the
   * first loop of a macro.
   */
  readonly mixedNumbers: boolean
}

const A = parameter(0)
const B = parameter(1)
const listOfA = list(A)
const mapOfAB = map(A, B)

function overload(name: string, method: boolean, args: readonly Type[], result: Type): Overload {
  const generic = args.some((type) => type.kind === 'parameter' || type.args.length > 0)
  return { name, method, args, result, generic, mixedNumbers: false }
}

function global(name: string, args: readonly Type[], result: Type): Overload {
  return overload(name, false, args, result)
}

function method(name: string, args: readonly Type[], result: Type): Overload {
  return overload(name, true, args, result)
}

function comparisons(name: string): Overload[] {
  const same = (type: Type) => global(name, [type, type], bool)
  const number = (left: Type) => [
    same(left),
    ...[double, int, uint]
      .filter((right) => right !== left)
      .map((right) => ({ ...global(name, [left, right], bool), mixedNumbers: true })),
  ]
  return [
    same(bool),
    ...[int, uint, double].flatMap(number),
    ...[string, bytes, timestamp, duration].map(same),
  ]
}

function conversions(name: string, result: Type, from: readonly Type[]): Overload[] {
  return from.map((type) => global(name, [type], result))
}

function sizes(declare: typeof global): Overload[] {
  return [bytes, listOfA, mapOfAB, string].map((type) => declare('size', [type], int))
}

function dateParts(name: string): Overload[] {
  return [method(name, [timestamp], int), method(name, [timestamp, string], int)]
}

function timeParts(name: string): Overload[] {
  return [...dateParts(name), method(name, [duration], int)]
}

/**
 * The standard definitions (CEL language definition, "List of Standard Definitions"), in the order of cel-go's default
 * environment: the first signature that fits binds the type variables of the call.
 */
export const overloads: readonly Overload[] = [
  global('_==_', [A, A], bool),
  global('_!=_', [A, A], bool),
  ...['_<_', '_<=_', '_>_', '_>=_'].flatMap(comparisons),
  global('_&&_', [bool, bool], bool),
  global('_||_', [bool, bool], bool),
  global('!_', [bool], bool),
  global('@not_strictly_false', [bool], bool),
  global('_?_:_', [bool, A, A], A),
  ...[bytes, double, duration].map((type) => global('_+_', [type, type], type)),
  global('_+_', [duration, timestamp], timestamp),
  global('_+_', [timestamp, duration], timestamp),
  ...[int, listOfA, string, uint].map((type) => global('_+_', [type, type], type)),
  ...[double, duration, int].map((type) => global('_-_', [type, type], type)),
  global('_-_', [timestamp, duration], timestamp),
  global('_-_', [timestamp, timestamp], duration),
  global('_-_', [uint, uint], uint),
  ...[double, int, uint].map((type) => global('_*_', [type, type], type)),
  ...[double, int, uint].map((type) => global('_/_', [type, type], type)),
  ...[int, uint].map((type) => global('_%_', [type, type], type)),
  ...[double, int].map((type) => global('-_', [type], type)),
  global('_[_]', [listOfA, int], A),
  global('_[_]', [mapOfAB, A], B),
  global('@in', [A, listOfA], bool),
  global('@in', [A, mapOfAB], bool),
  ...sizes(global),
  ...sizes(method),
  ...['contains', 'startsWith', 'endsWith', 'matches'].map((name) => method(name, [string, string], bool)),
  global('matches', [string, string], bool),
  ...conversions('bool', bool, [bool, string]),
  ...conversions('bytes', bytes, [bytes, string]),
  ...conversions('double', double, [double, int, string, uint]),
  ...conversions('int', int, [int, double, duration, string, timestamp, uint]),
  ...conversions('uint', uint, [uint, double, int, string]),
  ...conversions('string', string, [string, bool, bytes, double, duration, int, timestamp, uint]),
  ...conversions('timestamp', timestamp, [timestamp, int, string]),
  ...conversions('duration', duration, [duration, string]),
  global('dyn', [A], dyn),
  global('type', [A], typeType(A)),
  ...['getFullYear', 'getMonth', 'getDayOfYear', 'getDayOfMonth', 'getDate', 'getDayOfWeek'].flatMap(
    dateParts,
  ),
  ...['getHours', 'getMinutes', 'getSeconds', 'getMilliseconds'].flatMap(timeParts),
]

/** Functions of cel-go's strings extension: the API server has them in CEL rules of CRDs, but matchers do not. */
export const STRING_FUNCTIONS: readonly Overload[] = [
  ...['lowerAscii', 'upperAscii'].map((name) => method(name, [string], string)),
  method('split', [string, string], list(string)),
]

/** The names of types as values in an expression, such as `int` in `type(x) == int`; each name has its own type. */
export const typeNames: ReadonlyMap<string, Type> = new Map(
  [bool, int, uint, double, string, bytes, nullType, timestamp, duration]
    .map((type): [string, Type] => [type.kind, typeType(type)])
    .concat([
      ['list', typeType(list(dyn))],
      ['map', typeType(map(dyn, dyn))],
      ['type', typeType(typeType())],
    ]),
)

/** The variables available to a matcher. */
export const variables: ReadonlyMap<string, Type> = new Map([['claims', map(string, dyn)]])

const noOverloads: readonly Overload[] = []

// The signatures by function name, then by an index computed from the number of arguments and whether it is a method.
const overloadIndex = new Map<string, (Overload[] | undefined)[]>()
for (const one of overloads) {
  const slots = overloadIndex.get(one.name) ?? []
  overloadIndex.set(one.name, slots)
  const slot = slotOf(one.method, one.args.length)
  slots[slot] = [...(slots[slot] ?? []), one]
}

function slotOf(isMethod: boolean, argCount: number): number {
  return argCount * 2 + (isMethod ? 1 : 0)
}

/** The signatures for a call with this name and number of arguments; `argCount` includes the receiver of a method. */
export function overloadsOf(name: string, isMethod: boolean, argCount: number): readonly Overload[] {
  return overloadIndex.get(name)?.[slotOf(isMethod, argCount)] ?? noOverloads
}

/** Whether the standard definitions have a function or operator with this name. */
export function isFunction(name: string): boolean {
  return overloadIndex.has(name)
}
