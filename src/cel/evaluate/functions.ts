/** The functions and operators of CEL's standard library, one definition for each signature. */

import { OutOfBudget } from '../../rule/index.ts'
import {
  between,
  datePart,
  earlier,
  instantOfSeconds,
  later,
  parseInstant,
  parseSpan,
  printInstant,
  printSpan,
  secondsOf,
  span,
  spanPart,
} from './time.ts'
import { parseDouble, printDouble } from './doubles.ts'
import { isFound } from './patterns.ts'
import {
  Aborted,
  CelMap,
  compare,
  described,
  equal,
  Failure,
  Instant,
  isList,
  type Result,
  type Spend,
  Span,
  TypeName,
  typeOf,
  Uint,
  type Value,
} from './values.ts'

const INT64 = 1n << 63n
const UINT64 = 1n << 64n

/**
 * The next three constants: how many elements or characters one unit of cost pays for when they are read, when a
 * pattern is matched (both as in cel-go, common/cost.go), and when they are copied.
 */
const TEXT_PER_UNIT = 10
const PATTERN_PER_UNIT = 4
const COPIED_PER_UNIT = 64

/** The cost of reading two CEL values up to the length of the shorter one. */
function costOfBoth(a: Value, b: Value): number {
  return Math.min(sizeOf(a), sizeOf(b)) / TEXT_PER_UNIT
}

/** The cost of reading value `a` once for every `partPerUnit` characters or elements of value `b`. */
function costOfProduct(a: Value, b: Value, partPerUnit = PATTERN_PER_UNIT): number {
  return Math.ceil((sizeOf(a) + 1) / TEXT_PER_UNIT) * Math.ceil(sizeOf(b) / partPerUnit)
}

function sizeOf(value: Value): number {
  if (typeof value === 'string' || isList(value) || value instanceof Uint8Array) return value.length
  return value instanceof CelMap ? value.size : 1
}

/** Characters of a text that can be read for one unit of a work budget. */
const TEXT_PER_WORK = 64
export const lengthOfText = (value: Value): number => (typeof value === 'string' ? value.length : 0)

/** Longest text that an expression may build, in UTF-16 code units. */
const LONGEST_TEXT = 1 << 20
/**
 * Most elements of a list that an expression may build: an array larger than the heap of a thread would end the
 * process.
 */
const LONGEST_LIST = 1 << 20

interface ValueNamed {
  bool: boolean
  int: bigint
  uint: Uint
  double: number
  string: string
  bytes: Uint8Array
  list: readonly Value[]
  map: CelMap
  'google.protobuf.Timestamp': Instant
  'google.protobuf.Duration': Span
}

type ArgsOf<Signature> = Signature extends `${string}(${infer Types})` ? ValuesNamed<Types> : never
type ValuesNamed<Types> = Types extends `${infer First}, ${infer Rest}`
  ? [...ValuesNamed<First>, ...ValuesNamed<Rest>]
  : Types extends keyof ValueNamed
    ? [ValueNamed[Types]]
    : never

const overloads = new Map<string, (args: never, spend: Spend) => Result>()

/** Defines a CEL function for one signature, in the notation of the CEL language definition: `size(string)`. */
function define<const Signature extends string>(
  signature: Signature,
  run: (args: ArgsOf<Signature>, spend: Spend) => Result,
): void {
  overloads.set(signature, run)
}

/** Calls the CEL function for the arguments' types (CEL language definition, "List of Standard Definitions"). */
export function call(name: string, args: readonly Value[], spend: Spend): Result {
  const [a = null, b = null] = args
  switch (name) {
    case '_==_':
      spend(costOfBoth(a, b))
      return equal(a, b, spend)
    case '_!=_':
      spend(costOfBoth(a, b))
      return !equal(a, b, spend)
    case '_<_':
    case '_<=_':
    case '_>_':
    case '_>=_':
      spend(costOfBoth(a, b))
      return ordered(name, a, b, ORDERS[name])
    case '@in':
      return contained(a, b, spend)
    case 'dyn':
      return a
    case 'type':
      return new TypeName(typeOf(a))
  }
  spend(0, (lengthOfText(a) + lengthOfText(b)) / TEXT_PER_WORK)
  const run = overloads.get(`${name}(${args.map(typeOf).join(', ')})`)
  if (run !== undefined) return run(args as never, spend)
  // cel-go also charges for a call that no signature fits; this is the most that any function costs.
  spend(costOfProduct(a, b))
  return noOverload(name, args)
}

const ORDERS = {
  '_<_': (order: number) => order < 0,
  '_<=_': (order: number) => order <= 0,
  '_>_': (order: number) => order > 0,
  '_>=_': (order: number) => order >= 0,
}

function ordered(name: string, a: Value, b: Value, test: (order: number) => boolean): Result {
  const order = compare(a, b)
  // Like cel-go, tests for NaN first: a comparison with NaN is false, whatever the type of the right operand.
  if ((Number.isNaN(a) || Number.isNaN(b)) && compare(a, a) !== undefined) return false
  return order === undefined ? noOverload(name, [a, b]) : test(order)
}

function contained(value: Value, holder: Value, spend: Spend): Result {
  spend(sizeOf(holder))
  if (isList(holder)) return holder.some((item) => equal(item, value, spend))
  if (holder instanceof CelMap) {
    // For `b"x" in m` cel-go panics if `m` is a map literal that is not empty. If `m` is in the claims, the result is
    // false.
    if (value instanceof Uint8Array && !holder.ofClaims && holder.size > 0)
      throw new Aborted('bytes cannot be the key of a map')
    return holder.get(value) !== undefined
  }
  return new Failure(`\`in\` needs a list or a map, and finds ${described(holder)}`)
}

/** The failure of a CEL call whose arguments fit no signature. */
function noOverload(name: string, args: readonly Value[]): Failure {
  const symbol = name.replace(/^[@_]|_$/g, '')
  const [first = '', second = ''] = args.map(described)
  if (/^_.*_$/.test(name)) return new Failure(`\`${symbol}\` does not take ${first} and ${second}`)
  return new Failure(`\`${symbol}\` does not take ${args.map(described).join(' and ')}`)
}

function checkedInt(value: bigint): Result {
  return value < -INT64 || value >= INT64 ? new Failure('integer overflow') : value
}

function checkedUint(value: bigint): Result {
  return value < 0n || value >= UINT64 ? new Failure('unsigned integer overflow') : new Uint(value)
}

const ARITHMETIC = {
  '_+_': [(a: bigint, b: bigint) => a + b, (a: number, b: number) => a + b],
  '_-_': [(a: bigint, b: bigint) => a - b, (a: number, b: number) => a - b],
  '_*_': [(a: bigint, b: bigint) => a * b, (a: number, b: number) => a * b],
  '_/_': [(a: bigint, b: bigint) => a / b, (a: number, b: number) => a / b],
} as const

for (const [name, [exact, float]] of Object.entries(ARITHMETIC)) {
  const divides = name === '_/_'
  define(`${name}(int, int)`, ([a, b]) =>
    divides && b === 0n ? new Failure('division by zero') : checkedInt(exact(a, b)),
  )
  define(`${name}(uint, uint)`, ([a, b]) =>
    divides && b.value === 0n ? new Failure('division by zero') : checkedUint(exact(a.value, b.value)),
  )
  define(`${name}(double, double)`, ([a, b]) => float(a, b))
}
define('_%_(int, int)', ([a, b]) => {
  if (b === 0n) return new Failure('modulus by zero')
  return a === -INT64 && b === -1n ? new Failure('integer overflow') : a % b
})
define('_%_(uint, uint)', ([a, b]) =>
  b.value === 0n ? new Failure('modulus by zero') : new Uint(a.value % b.value),
)
define('-_(int)', ([a]) => checkedInt(-a))
define('-_(double)', ([a]) => -a)
define('-_(google.protobuf.Duration)', ([a]) => span(-a.nanoseconds))
define('!_(bool)', ([a]) => !a)

define('_+_(string, string)', ([a, b], spend) => {
  if (a.length + b.length > LONGEST_TEXT) return new Failure('the text grows beyond 1 MiB')
  spend((a.length + b.length) / TEXT_PER_UNIT)
  return a + b
})
define('_+_(bytes, bytes)', ([a, b], spend) => {
  if (a.length + b.length > LONGEST_TEXT) return new Failure('the bytes grow beyond 1 MiB')
  spend((a.length + b.length) / TEXT_PER_UNIT)
  const joined = new Uint8Array(a.length + b.length)
  joined.set(a)
  joined.set(b, a.length)
  return joined
})
define('_+_(list, list)', ([a, b], spend) => {
  if (a.length + b.length > LONGEST_LIST) throw new OutOfBudget('a list that is too long')
  spend((a.length + b.length) / COPIED_PER_UNIT)
  return [...a, ...b]
})

/** The work of looking up a time zone, in units of a work budget. */
const ZONE_WORK = 80

const TIME = 'google.protobuf.Timestamp'
const SPAN = 'google.protobuf.Duration'
define(`_+_(${SPAN}, ${SPAN})`, ([a, b]) => span(a.nanoseconds + b.nanoseconds))
define(`_+_(${TIME}, ${SPAN})`, ([a, b]) => later(a, b))
define(`_+_(${SPAN}, ${TIME})`, ([a, b]) => later(b, a))
define(`_-_(${SPAN}, ${SPAN})`, ([a, b]) => span(a.nanoseconds - b.nanoseconds))
define(`_-_(${TIME}, ${SPAN})`, ([a, b]) => earlier(a, b))
define(`_-_(${TIME}, ${TIME})`, ([a, b]) => between(b, a))
for (const [name, part] of datePart) {
  define(`${name}(${TIME})`, ([value]) => part(value, ''))
  define(`${name}(${TIME}, string)`, ([value, zone], spend) => {
    spend(0, ZONE_WORK)
    return part(value, zone)
  })
}
for (const [name, part] of spanPart) define(`${name}(${SPAN})`, ([value]) => part(value))

define('size(string)', ([text], spend) => {
  spend(text.length / COPIED_PER_UNIT)
  let count = 0n
  for (const character of text) if (character !== '') count++
  return count
})
define('size(bytes)', ([bytes]) => BigInt(bytes.length))
define('size(list)', ([list]) => BigInt(list.length))
define('size(map)', ([map]) => BigInt(map.size))

define('startsWith(string, string)', ([text, part], spend) => {
  spend(part.length / TEXT_PER_UNIT)
  return text.startsWith(part)
})
define('endsWith(string, string)', ([text, part], spend) => {
  spend(part.length / TEXT_PER_UNIT)
  return text.endsWith(part)
})
define('contains(string, string)', ([text, part], spend) => {
  spend(costOfProduct(text, part, TEXT_PER_UNIT))
  return text.includes(part)
})
const asciiOnly = (text: string, change: (ascii: string) => string) => text.replaceAll(/[A-Za-z]+/g, change)
define('lowerAscii(string)', ([text]) => asciiOnly(text, (ascii) => ascii.toLowerCase()))
define('upperAscii(string)', ([text]) => asciiOnly(text, (ascii) => ascii.toUpperCase()))
define('split(string, string)', ([text, separator]) =>
  separator === '' ? Array.from(text) : text.split(separator),
)
define('matches(string, string)', ([text, pattern], spend) => {
  spend(costOfProduct(text, pattern))
  return isFound(pattern, text, (work) => spend(0, work))
})

/**
 * Parses digits with or without a sign. It reads only 21 digits: a number over 20 digits fits no CEL type, so its exact
 * value does not matter.
 */
function wholeNumber(text: string): bigint {
  const digits = text.replace(/^[+-]?0*/, '').slice(0, 21)
  return text.startsWith('-') ? -BigInt(digits) : BigInt(digits)
}

const unfit = (type: string) => new Failure(`the text is not ${type === 'int' ? 'an' : 'a'} ${type}`)

define('bool(bool)', ([a]) => a)
define('bool(string)', ([text]) => {
  if (/^(?:1|t|T|true|TRUE|True)$/.test(text)) return true
  return /^(?:0|f|F|false|FALSE|False)$/.test(text) ? false : unfit('bool')
})
define('bytes(bytes)', ([a]) => a)
define('bytes(string)', ([text], spend) => {
  spend(text.length / TEXT_PER_UNIT)
  return new TextEncoder().encode(text)
})
define('double(double)', ([a]) => a)
define('double(int)', ([a]) => Number(a))
define('double(uint)', ([a]) => Number(a.value))
define('double(string)', ([text]) => parseDouble(text) ?? unfit('double'))
define('int(int)', ([a]) => a)
define('int(uint)', ([a]) => checkedInt(a.value))
define('int(double)', ([a]) =>
  // As in cel-go, the double -2^63 does not convert, although it equals the lowest int.
  Math.abs(a) < 2 ** 63 ? BigInt(Math.trunc(a)) : new Failure('integer overflow'),
)
define('int(string)', ([text]) => (/^[+-]?\d+$/.test(text) ? checkedInt(wholeNumber(text)) : unfit('int')))
define(`int(${TIME})`, ([a]) => secondsOf(a))
define(`int(${SPAN})`, ([a]) => a.nanoseconds)
define('uint(uint)', ([a]) => a)
define('uint(int)', ([a]) => checkedUint(a))
define('uint(double)', ([a]) =>
  a >= 0 && a < 2 ** 64 ? new Uint(BigInt(Math.trunc(a))) : new Failure('unsigned integer overflow'),
)
define('uint(string)', ([text]) => (/^\d+$/.test(text) ? checkedUint(wholeNumber(text)) : unfit('uint')))
define('string(string)', ([a]) => a)
define('string(bool)', ([a]) => String(a))
define('string(int)', ([a]) => String(a))
define('string(uint)', ([a]) => String(a.value))
define('string(double)', ([a]) => printDouble(a))
define('string(bytes)', ([bytes], spend) => {
  spend(bytes.length / TEXT_PER_UNIT)
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return new Failure('the bytes are no UTF-8')
  }
})
define(`string(${TIME})`, ([a]) => printInstant(a))
define(`string(${SPAN})`, ([a]) => printSpan(a))
define(`timestamp(${TIME})`, ([a]) => a)
define('timestamp(string)', ([text]) => parseInstant(text))
define('timestamp(int)', ([seconds]) => instantOfSeconds(seconds))
define(`duration(${SPAN})`, ([a]) => a)
define('duration(string)', ([text]) => parseSpan(text))
