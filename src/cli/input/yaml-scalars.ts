/**
 * Parses scalars as kubectl does: a port of resolve.go of go.yaml.in/yaml/v2 2.4.3 (used by sigs.k8s.io/yaml 1.6.0),
 * with the conversions of map keys to JSON by sigs.k8s.io/yaml.
 */
import type { ScalarValue } from './nodes.ts'
import { goFloat } from '../../rule/index.ts'

/** A YAML scalar: its tag in the long form (`tag:yaml.org,2002:int`) or empty, and its content. */
export interface ScalarText {
  readonly tag: string
  /** Whether the content determines the type: the scalar is neither quoted nor a block scalar. */
  readonly implicit: boolean
  readonly text: string
}

/**
 * A YAML scalar with its type in Go. An `int` fits int64, a `uint` only uint64; a timestamp remains text, and is a
 * separate type only with an explicit `!!timestamp`.
 */
export type Resolved =
  | { readonly type: 'null' }
  | { readonly type: 'bool'; readonly value: boolean }
  | { readonly type: 'int' | 'uint'; readonly value: bigint }
  | { readonly type: 'float'; readonly value: number }
  | { readonly type: 'str' | 'timestamp' | 'other'; readonly value: string }

const yamlTag = 'tag:yaml.org,2002:'
const resolvable = new Set(['', 'str', 'bool', 'int', 'float', 'null', 'timestamp'])

const words = new Map<string, Resolved>()
const define = (resolved: Resolved, ...texts: string[]) => texts.forEach((text) => words.set(text, resolved))
define({ type: 'bool', value: true }, 'y', 'Y', 'yes', 'Yes', 'YES', 'true', 'True', 'TRUE', 'on', 'On', 'ON')
define({ type: 'bool', value: false }, 'n', 'N', 'no', 'No', 'NO')
define({ type: 'bool', value: false }, 'false', 'False', 'FALSE', 'off', 'Off', 'OFF')
define({ type: 'null' }, '', '~', 'null', 'Null', 'NULL')
define({ type: 'float', value: NaN }, '.nan', '.NaN', '.NAN')
define({ type: 'float', value: Infinity }, '.inf', '.Inf', '.INF', '+.inf', '+.Inf', '+.INF')
define({ type: 'float', value: -Infinity }, '-.inf', '-.Inf', '-.INF')

/**
 * The Go value of a YAML scalar. Throws an Error that describes the mismatch when the content does not fit an explicit
 * tag.
 */
export function resolveScalar(scalar: ScalarText): Resolved {
  const { tag, implicit, text } = scalar
  if (tag === '' && !implicit) return { type: 'str', value: text }
  const name = tag.startsWith(yamlTag) ? tag.slice(yamlTag.length) : tag === '' ? '' : 'other'
  if (name === 'binary') return { type: 'str', value: decodeBase64(text) }
  if (!resolvable.has(name)) return { type: 'other', value: text }
  if (name === 'str') return { type: 'str', value: text }
  const resolved = resolveText(text, name === '' || name === 'timestamp')
  if (name === '' || typeName(resolved) === name) return resolved
  if (name === 'float' && resolved.type === 'int') return { type: 'float', value: Number(resolved.value) }
  throw new Error(`cannot read ${JSON.stringify(text)} (${typeName(resolved)}) as !!${name}`)
}

const typeName = (resolved: Resolved): string => (resolved.type === 'uint' ? 'int' : resolved.type)

/** The value of a plain scalar without a tag, with the type that its characters determine. */
function resolveText(text: string, timestamps: boolean): Resolved {
  const asString: Resolved = { type: 'str', value: text }
  const first = text.charCodeAt(0)
  // As in Go, the first character decides: a digit or sign, a dot, or the first letter of a word such as `true`.
  if (first === 0x2e) return words.get(text) ?? dottedFloat(text) ?? asString
  if ((first >= 0x30 && first <= 0x39) || first === 0x2b || first === 0x2d) {
    const word = words.get(text)
    if (word) return word
    if (timestamps && isTimestamp(text)) return { type: 'timestamp', value: text }
    return signedOrDigit(text.replaceAll('_', '')) ?? asString
  }
  return words.get(text) ?? asString
}

const dottedPattern = /^\.[0-9](?:_?[0-9])*(?:[eE][-+]?[0-9](?:_?[0-9])*)?$/
const floatPattern = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/

/** The value of a number that begins with a dot. Go parses it with its own syntax: underscores only between digits. */
function dottedFloat(text: string): Resolved | undefined {
  return dottedPattern.test(text) ? float(text.replaceAll('_', '')) : undefined
}

/** Parses a float64; undefined when it is out of range, because Go then keeps the text. */
function float(text: string): Resolved | undefined {
  const value = Number(text)
  return Number.isFinite(value) ? { type: 'float', value } : undefined
}

/** The value of a number that begins with a digit or a sign; the underscores are already removed. */
function signedOrDigit(text: string): Resolved | undefined {
  const integer = parseInteger(text)
  if (integer !== undefined) return integer
  if (floatPattern.test(text)) return float(text)
  // Go also accepts "0b" with a sign after it.
  const signed = /^0b([-+])([01]+)$/.exec(text)
  return signed ? parseInteger(`${signed[1]}0b${signed[2]}`) : undefined
}

const integerPattern = /^([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]([0-7]+)|0([0-7]+)|(0|[1-9][0-9]*))$/

const maxInt64 = 2n ** 63n - 1n
const maxUint64 = 2n ** 64n - 1n

/** Parses an integer as Go's strconv.ParseInt, then ParseUint, both with base 0; undefined when both would fail. */
function parseInteger(text: string): Resolved | undefined {
  const match = integerPattern.exec(text)
  if (!match) return undefined
  const [, sign, hex, binary, octal, leadingZero, decimal] = match
  const digits = hex ?? binary ?? octal ?? leadingZero ?? decimal ?? ''
  const prefix = hex ? '0x' : binary ? '0b' : octal || leadingZero ? '0o' : ''
  // A number with more than 64 digits after leading zeros does not fit uint64, so it need not be parsed.
  if (digits.replace(/^0+/, '').length > 64) return undefined
  const magnitude = BigInt(prefix + digits)
  const value = sign === '-' ? -magnitude : magnitude
  if (value >= -maxInt64 - 1n && value <= maxInt64) return { type: 'int', value }
  return sign === '' && value <= maxUint64 ? { type: 'uint', value } : undefined
}

const datePattern =
  /^([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})(?:([Tt]| +)([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})([.,][0-9]+)?(Z|[-+][0-9]{2}:[0-9]{2})?)?$/

/** Whether Go's time.Parse accepts the text in one of the four layouts of goyaml.v2. */
function isTimestamp(text: string): boolean {
  const match = datePattern.exec(text)
  if (!match) return false
  const [, year, month, day, separator, hour, minute, second, , zone] = match
  if (separator !== undefined && separator.startsWith(' ') !== (zone === undefined)) return false
  const days = new Date(Date.UTC(2000 + (Number(year) % 400), Number(month), 0)).getUTCDate()
  const monthFits = Number(month) >= 1 && Number(month) <= 12
  const dayFits = Number(day) >= 1 && Number(day) <= days
  return (
    monthFits && dayFits && Number(hour ?? 0) < 24 && Number(minute ?? 0) < 60 && Number(second ?? 0) < 60
  )
}

const base64Pattern = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/** Decodes the base64 text of a YAML `!!binary` to the text that Go's JSON encoder makes of its bytes. */
function decodeBase64(text: string): string {
  const clean = text.replace(/[\r\n]/g, '')
  if (!base64Pattern.test(clean)) throw new Error('!!binary holds text that is not base64')
  return decodeUtf8(Uint8Array.from(atob(clean), (byte) => byte.charCodeAt(0)))
}

const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Decodes UTF-8 as Go's JSON encoder does: every invalid byte becomes a replacement character. */
function decodeUtf8(bytes: Uint8Array): string {
  const parts: string[] = []
  for (let index = 0; index < bytes.length;) {
    const length = sequenceLength(bytes[index] ?? 0)
    try {
      parts.push(strictUtf8.decode(bytes.subarray(index, index + length)))
      index += length
    } catch {
      parts.push('\ufffd')
      index++
    }
  }
  return parts.join('')
}

/** The number of bytes in the UTF-8 of a character, by its first byte. */
const sequenceLength = (first: number): number => (first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4)

/** A resolved scalar as JSON data. Integers beyond 2^53 become the nearest number; a float may be infinite. */
export function jsonScalar(resolved: Resolved): ScalarValue {
  switch (resolved.type) {
    case 'null':
      return null
    case 'int':
    case 'uint':
      return Number(resolved.value)
    case 'float':
      // Go prints -0.0 as "-0", and then parses that as the integer 0.
      return resolved.value === 0 ? 0 : resolved.value
    default:
      return resolved.value
  }
}

/** The JSON member name for a scalar that is a map key. Throws an Error for null, and for an integer beyond int64. */
export function jsonKey(resolved: Resolved): string {
  switch (resolved.type) {
    case 'null':
      throw new Error('a key cannot be null')
    case 'uint':
      throw new Error(`the key ${resolved.value} does not fit a 64-bit integer`)
    case 'float':
      return formatFloat32(resolved.value)
    default:
      return String(resolved.value)
  }
}

/** Works as Go's strconv.FormatFloat(value, 'g', -1, 32), with YAML's names for infinite values and NaN. */
function formatFloat32(value: number): string {
  const single = Math.fround(value)
  if (Number.isNaN(single)) return '.nan'
  if (!Number.isFinite(single)) return single > 0 ? '.inf' : '-.inf'
  if (single === 0) return Object.is(single, -0) ? '-0' : '0'
  return goFloat(shortest(single))
}

/** The shortest digits that are parsed as this float32 again, in exponent form. */
function shortest(single: number): string {
  for (let digits = 0; digits < 9; digits++) {
    const text = single.toExponential(digits)
    if (Math.fround(Number(text)) === single) return text
  }
  return single.toExponential(9)
}
