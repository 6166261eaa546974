import type { Budget } from '../../rule/index.ts'

/** A CEL value at run time (CEL language definition, "Values"); an int is a bigint, a double is a number. */
export type Value =
  | null
  | boolean
  | bigint
  | number
  | string
  | Uint
  | Uint8Array
  | Instant
  | Span
  | TypeName
  | CelMap
  | readonly Value[]

/** The result of a CEL evaluation that fails. It propagates like a value until an operator such as `||` absorbs it. */
export class Failure {
  readonly message: string

  constructor(message: string) {
    this.message = message
  }
}

export type Result = Value | Failure

/** Thrown where cel-go panics: the whole evaluation fails, and no operator can absorb it. */
export class Aborted extends Error {}

export class Uint {
  readonly value: bigint

  constructor(value: bigint) {
    this.value = value
  }
}

/** A timestamp in nanoseconds since 1970, and the UTC offset in minutes with which it is printed. */
export class Instant {
  readonly nanoseconds: bigint
  readonly offset: number

  constructor(nanoseconds: bigint, offset: number) {
    this.nanoseconds = nanoseconds
    this.offset = offset
  }
}

/** A duration in nanoseconds. */
export class Span {
  readonly nanoseconds: bigint

  constructor(nanoseconds: bigint) {
    this.nanoseconds = nanoseconds
  }
}

export class TypeName {
  readonly name: string

  constructor(name: string) {
    this.name = name
  }
}

/**
 * A CEL map. As in cel-go, 1, 1u and 1.0 are three different keys; a look-up of an int or uint tries both of these
 * types, and a look-up of a whole double all three.
 */
export class CelMap {
  /** Whether the map comes from an object in the claims, and not from a map literal in the expression. */
  readonly ofClaims: boolean
  readonly #entries = new Map<unknown, readonly [Value, Value]>()

  constructor(ofClaims = false) {
    this.ofClaims = ofClaims
  }

  get size(): number {
    return this.#entries.size
  }

  set(key: Value, value: Value): void {
    this.#entries.set(identity(key), [key, value])
  }

  get(key: Value): Value | undefined {
    for (const each of spellings(key)) {
      const found = this.#entries.get(identity(each))
      if (found !== undefined) return found[1]
    }
    return undefined
  }

  entries(): Iterable<readonly [Value, Value]> {
    return this.#entries.values()
  }
}

/** The key of a JavaScript Map for a CEL key: lists and maps by identity, other values by type and value. */
function identity(key: Value): unknown {
  if (key instanceof Uint) return `uint ${key.value}`
  if (key instanceof Instant) return `timestamp ${key.nanoseconds}`
  if (key instanceof Span) return `duration ${key.nanoseconds}`
  if (key instanceof TypeName) return `type ${key.name}`
  if (typeof key === 'string') return `string ${key}`
  return Number.isNaN(key) ? Symbol('NaN') : key
}

function spellings(key: Value): Value[] {
  if (typeof key === 'bigint') return [key, new Uint(key)]
  if (key instanceof Uint) return [key, key.value]
  if (typeof key === 'number' && Number.isInteger(key)) return [key, BigInt(key), new Uint(BigInt(key))]
  return [key]
}

/** The name of a value's type, as `type(x)` returns it. */
export function typeOf(value: Value): string {
  switch (typeof value) {
    case 'boolean':
      return 'bool'
    case 'bigint':
      return 'int'
    case 'number':
      return 'double'
    case 'string':
      return 'string'
    default:
      return typeOfObject(value)
  }
}

function typeOfObject(value: Exclude<Value, boolean | bigint | number | string>): string {
  if (value === null) return 'null_type'
  if (value instanceof CelMap) return 'map'
  if (value instanceof Uint) return 'uint'
  if (value instanceof Uint8Array) return 'bytes'
  if (value instanceof Instant) return 'google.protobuf.Timestamp'
  if (value instanceof Span) return 'google.protobuf.Duration'
  return value instanceof TypeName ? 'type' : 'list'
}

const WORDS: Readonly<Record<string, string>> = {
  null_type: 'null',
  double: 'a number',
  bool: 'a boolean',
  int: 'an int',
  'google.protobuf.Timestamp': 'a timestamp',
  'google.protobuf.Duration': 'a duration',
}

/** The type of a value with an article, for messages: `a string`. */
export function described(value: Value): string {
  const type = typeOf(value)
  return WORDS[type] ?? `a ${type}`
}

/** Converts a JSON value as toolhive does for CEL: every number becomes a double. */
export function fromJson(value: unknown): Value {
  if (Array.isArray(value)) return value.map(fromJson)
  if (typeof value === 'object' && value !== null) {
    const map = new CelMap(true)
    for (const [key, member] of Object.entries(value)) map.set(key, fromJson(member))
    return map
  }
  return value as null | boolean | number | string
}

export function isList(value: Value): value is readonly Value[] {
  return Array.isArray(value)
}

/**
 * Called with the cost that cel-go counts, and with the work of this implementation in budget units, by default a
 * quarter of the cost. Throws when either sum exceeds its limit.
 */
export type Spend = (cost: number, work?: number) => void

/** A `Spend` that takes the work of an evaluation from a budget, and does not limit the cost that cel-go counts. */
export const spendingFrom =
  (budget: Budget): Spend =>
  (cost, work = cost / 4) =>
    budget.spend(work)

/**
 * Equality as the CEL language definition has it: numbers are equal by value, across number types; other values are
 * equal only to values of their own type.
 */
export function equal(a: Value, b: Value, spend: Spend): boolean {
  spend(1 / 64)
  const [x, y] = [numeric(a), numeric(b)]
  if (x !== undefined && y !== undefined) return order(x, y) === 0
  if (isList(a)) {
    if (!isList(b) || a.length !== b.length) return false
    return a.every((item, i) => equal(item, b[i] ?? null, spend))
  }
  if (a instanceof CelMap) return b instanceof CelMap && equalMaps(a, b, spend)
  if (a instanceof Uint8Array)
    return b instanceof Uint8Array && a.length === b.length && a.every((byte, i) => byte === b[i])
  if (a instanceof Instant) return b instanceof Instant && a.nanoseconds === b.nanoseconds
  if (a instanceof Span) return b instanceof Span && a.nanoseconds === b.nanoseconds
  if (a instanceof TypeName) return b instanceof TypeName && a.name === b.name
  return a === b
}

function equalMaps(a: CelMap, b: CelMap, spend: Spend): boolean {
  if (a.size !== b.size) return false
  for (const [key, value] of a.entries()) {
    const other = b.get(key)
    if (other === undefined || !equal(value, other, spend)) return false
  }
  return true
}

const numeric = (value: Value): bigint | number | undefined => {
  if (typeof value === 'bigint' || typeof value === 'number') return value
  return value instanceof Uint ? value.value : undefined
}

/** The order of two values: negative, 0 or positive; NaN when one is NaN; undefined when they cannot be ordered. */
export function compare(a: Value, b: Value): number | undefined {
  const [x, y] = [numeric(a), numeric(b)]
  if (x !== undefined && y !== undefined) return order(x, y)
  if (typeof a === 'string' && typeof b === 'string') return compareTexts(a, b)
  if (typeof a === 'boolean' && typeof b === 'boolean') return Number(a) - Number(b)
  if (a instanceof Instant && b instanceof Instant) return order(a.nanoseconds, b.nanoseconds)
  if (a instanceof Span && b instanceof Span) return order(a.nanoseconds, b.nanoseconds)
  if (a instanceof Uint8Array && b instanceof Uint8Array) return compareBytes(a, b)
  return undefined
}

/** Orders two numbers: as in cel-go, an integer is converted to a double when the other number is a double. */
function order(a: bigint | number, b: bigint | number): number {
  if (typeof a !== typeof b) return order(Number(a), Number(b))
  if (a < b) return -1
  if (a > b) return 1
  return a === b ? 0 : NaN
}

/** Orders two texts by code points, which is also the order of their UTF-8 bytes in Go. */
function compareTexts(a: string, b: string): number {
  let i = 0
  while (i < a.length && a.charCodeAt(i) === b.charCodeAt(i)) i++
  if (isLowSurrogate(a, i) || isLowSurrogate(b, i)) i--
  return order(a.codePointAt(i) ?? -1, b.codePointAt(i) ?? -1)
}

const isLowSurrogate = (text: string, i: number) => i > 0 && (text.charCodeAt(i) & 0xfc00) === 0xdc00

function compareBytes(a: Uint8Array, b: Uint8Array): number {
  let i = 0
  while (i < a.length && a[i] === b[i]) i++
  return order(a[i] ?? -1, b[i] ?? -1)
}
