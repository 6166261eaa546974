import {
  CelMap,
  Failure,
  Instant,
  isList,
  type Result,
  Span,
  TypeName,
  Uint,
  type Value,
} from '../../src/cel/evaluate/values.ts'

/** A result in the format in which test/golden/record-cel-values prints the results of cel-go. */
export function printed(result: Result): string {
  if (result instanceof Failure) return 'error'
  return typeof result === 'object' && result !== null ? printedObject(result) : printedScalar(result)
}

function printedScalar(value: null | boolean | bigint | number | string): string {
  if (typeof value === 'string') return quoted(value)
  return typeof value === 'number' ? printedDouble(value) : String(value)
}

function printedObject(value: Exclude<Value, null | boolean | bigint | number | string>): string {
  if (value instanceof Uint) return `${value.value}u`
  if (value instanceof Uint8Array) return `bytes(${Buffer.from(value).toString('hex')})`
  if (value instanceof Instant) return `timestamp(${printedSeconds(value.nanoseconds)})`
  if (value instanceof Span) return `duration(${value.nanoseconds})`
  if (value instanceof TypeName) return `type(${value.name})`
  if (isList(value)) return `[${value.map(printed).join(', ')}]`
  return `{${printedEntries(value).join(', ')}}`
}

function printedEntries(map: CelMap): string[] {
  const entries = Array.from(
    map.entries(),
    ([key, member]) => `${printed(key)}: ${Number.isNaN(key) ? '?' : printed(member)}`,
  )
  return entries.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
}

/** The string as Go's encoding/json writes it: with U+2028 and U+2029 escaped. */
function quoted(text: string): string {
  return JSON.stringify(text).replace(/[\u2028\u2029]/g, (c) => `\\u${c.charCodeAt(0).toString(16)}`)
}

function printedDouble(value: number): string {
  if (Number.isNaN(value)) return 'NaN'
  if (!Number.isFinite(value)) return value < 0 ? '-Inf' : '+Inf'
  if (Object.is(value, -0)) return '-0e+00'
  return value.toExponential().replace(/e([+-])(\d)$/, 'e$10$2')
}

function printedSeconds(nanoseconds: bigint): string {
  const rest = BigInt.asUintN(64, ((nanoseconds % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n)
  return `${(nanoseconds - rest) / 1_000_000_000n}.${String(rest).padStart(9, '0')}`
}
