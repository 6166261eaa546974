/** Doubles as Go reads and prints them. */

import { goFloat } from '../../rule/index.ts'

const HEXADECIMAL = /^([+-]?)0x([\da-f]*)(?:\.([\da-f]*))?p([+-]?\d+)$/i

/** Works as Go's `strconv.ParseFloat`; undefined when the text is not a number, or is a number that is too large. */
export function parseDouble(text: string): number | undefined {
  if (/^nan$/i.test(text)) return NaN
  if (/^[+-]?inf(?:inity)?$/i.test(text)) return text.startsWith('-') ? -Infinity : Infinity
  const value = /^[+-]?0x/i.test(text) ? parseHexadecimal(text) : parseDecimal(text)
  return value !== undefined && Number.isFinite(value) ? value : undefined
}

function parseDecimal(text: string): number | undefined {
  const digits = text.replace(/(?<=\d)_(?=\d)/g, '')
  return /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i.test(digits) ? Number(digits) : undefined
}

/** Parses a hexadecimal number such as `0x1.8p3`. Go requires the exponent, and allows an underscore after `0x`. */
function parseHexadecimal(text: string): number | undefined {
  const match = HEXADECIMAL.exec(text.replace(/(?<=[\da-fx])_(?=[\da-f])/gi, ''))
  const [, sign, whole = '', part = '', power = ''] = match ?? []
  if (match === null || whole + part === '') return undefined
  const value = scaled(BigInt(`0x${whole}${part}`), Number(power) - 4 * part.length)
  return sign === '-' ? -value : value
}

/** The double nearest to `integer * 2 ** power`; if two are equally near, the even one. */
function scaled(integer: bigint, power: number): number {
  if (integer === 0n) return 0
  const top = integer.toString(2).length + power
  if (top > 1024) return Infinity
  if (top < -1074) return 0
  // The exponent of the last bit: a double has 53 bits, but no bit below 2 ** -1074.
  const last = Math.max(top - 53, -1074)
  const dropped = last - power
  if (dropped <= 0) return Number(integer << BigInt(-dropped)) * 2 ** last
  const kept = integer >> BigInt(dropped)
  const twiceRest = (integer - (kept << BigInt(dropped))) * 2n
  const unit = 1n << BigInt(dropped)
  const up = twiceRest > unit || (twiceRest === unit && kept % 2n === 1n)
  return Number(up ? kept + 1n : kept) * 2 ** last
}

/** Works as Go's `strconv.FormatFloat(v, 'g', -1, 64)`. */
export function printDouble(value: number): string {
  if (Number.isNaN(value)) return 'NaN'
  if (!Number.isFinite(value)) return value < 0 ? '-Inf' : '+Inf'
  if (Object.is(value, -0)) return '-0'
  return goFloat(value.toExponential())
}

/** Works as Go's `strconv.FormatFloat(v, 'f', -1, 64)`: without an exponent. Only for values below 1e21. */
export function plainDouble(value: number): string {
  const [, sign = '', first = '', rest = '', exponent = ''] =
    /^(-?)(\d)\.?(\d*)e-(\d+)$/.exec(value.toExponential()) ?? []
  return exponent === '' ? String(value) : `${sign}0.${'0'.repeat(Number(exponent) - 1)}${first}${rest}`
}
