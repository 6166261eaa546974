import { parseDuration } from '../../rule/index.ts'
import { plainDouble } from './doubles.ts'
import { Failure, Instant, type Result, Span } from './values.ts'

const SECOND = 1_000_000_000n
const MINUTE = 60_000
const EARLIEST = -62_135_596_800n
const LATEST = 253_402_300_799n
const INT64 = 1n << 63n

/**
 * A timestamp; a Failure outside of 0001-01-01 to 9999-12-31 UTC. `offset` is the UTC offset, in minutes, of the text
 * from which the timestamp was parsed.
 */
function instant(nanoseconds: bigint, offset = 0): Result {
  const seconds = floorDivide(nanoseconds, SECOND)
  if (seconds < EARLIEST || seconds > LATEST) return new Failure('the timestamp is out of range')
  return new Instant(nanoseconds, offset)
}

/** A duration in nanoseconds; a Failure when it exceeds int64. */
export function span(nanoseconds: bigint): Result {
  if (nanoseconds < -INT64 || nanoseconds >= INT64) return new Failure('the duration is out of range')
  return new Span(nanoseconds)
}

/** The timestamp plus a duration. As in Go, the result has the UTC offset of the timestamp. */
export const later = ({ nanoseconds, offset }: Instant, by: Span): Result =>
  instant(nanoseconds + by.nanoseconds, offset)

/** The timestamp minus a duration. cel-go first negates the duration, which fails for the lowest int64. */
export function earlier(from: Instant, by: Span): Result {
  const turned = span(-by.nanoseconds)
  return turned instanceof Span ? later(from, turned) : turned
}

/**
 * The duration from one timestamp to another. As in cel-go, the difference of their whole seconds must also fit int64
 * when converted to nanoseconds.
 */
export function between(from: Instant, to: Instant): Result {
  const seconds = span((secondsOf(to) - secondsOf(from)) * SECOND)
  return seconds instanceof Span ? span(to.nanoseconds - from.nanoseconds) : seconds
}

/** Whole seconds since 1970, rounded down. */
export const secondsOf = ({ nanoseconds }: Instant): bigint => floorDivide(nanoseconds, SECOND)

/** The timestamp this many seconds after 1970; a Failure outside of the years 1 to 9999. */
export const instantOfSeconds = (seconds: bigint): Result => instant(seconds * SECOND)

function floorDivide(a: bigint, b: bigint): bigint {
  const quotient = a / b
  return a % b < 0n ? quotient - 1n : quotient
}

const RFC_3339 =
  /^(\d{4})-(\d\d)-(\d\d)T([01]\d|2[0-3]):([0-5]\d):([0-5]\d)(?:\.(\d+))?(?:Z|([+-])([01]\d|2[0-3]):([0-5]\d))$/

/** Parses an RFC 3339 timestamp; a Failure for any other text. */
export function parseInstant(text: string): Result {
  const failure = new Failure('the text is not a timestamp such as 2026-01-31T12:00:00Z')
  const match = RFC_3339.exec(text)
  if (match === null) return failure
  const [year = 0, month = 0, day = 0, hours = 0, minutes = 0, seconds = 0] = match.slice(1, 7).map(Number)
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return failure
  date.setUTCHours(hours, minutes, seconds)
  const offset = (match[8] === '-' ? -1 : 1) * (Number(match[9] ?? 0) * 60 + Number(match[10] ?? 0))
  const whole = BigInt(date.getTime() / 1000 - offset * 60)
  return instant(whole * SECOND + BigInt((match[7] ?? '').slice(0, 9).padEnd(9, '0')), offset)
}

/** Prints a timestamp as Go's `time.RFC3339Nano`, with the UTC offset of the text that it was parsed from. */
export function printInstant(value: Instant): string {
  const { nanoseconds, offset } = value
  const seconds = secondsOf(value)
  const local = new Date(Number(seconds) * 1000 + offset * MINUTE)
  const [, monthToSecond = ''] = /^[+-]?\d+([^.\d][^.]*)\./.exec(local.toISOString()) ?? []
  const year = String(local.getUTCFullYear()).padStart(4, '0')
  return `${year}${monthToSecond}${fraction(nanoseconds - seconds * SECOND)}${printOffset(offset)}`
}

function printOffset(offset: number): string {
  if (offset === 0) return 'Z'
  const minutes = Math.abs(offset)
  const two = (value: number) => String(value).padStart(2, '0')
  return `${offset < 0 ? '-' : '+'}${two(Math.trunc(minutes / 60))}:${two(minutes % 60)}`
}

/**
 * Prints a duration in seconds, such as `1.5s`. As in cel-go, the duration is first converted to a double, so long
 * durations lose digits.
 */
export function printSpan({ nanoseconds }: Span): string {
  return `${plainDouble(Number(nanoseconds / SECOND) + Number(nanoseconds % SECOND) / 1e9)}s`
}

function fraction(nanoseconds: bigint): string {
  const digits = String(nanoseconds)
    .padStart(9, '0')
    .replace(/^(\d*[1-9])?0*$/, '$1')
  return digits === '' ? '' : `.${digits}`
}

/** Parses a duration as Go's `time.ParseDuration` does; a Failure for any other text. */
export function parseSpan(text: string): Result {
  const nanoseconds = parseDuration(text)
  return nanoseconds === undefined
    ? new Failure('the text is not a duration such as 1h30m')
    : new Span(nanoseconds)
}

/** The parts of a date by getter name; each function gets a Date whose UTC parts are those of the wanted time zone. */
const DATE_PARTS: readonly (readonly [string, (date: Date) => number])[] = [
  ['getFullYear', (date) => date.getUTCFullYear()],
  ['getMonth', (date) => date.getUTCMonth()],
  ['getDayOfYear', dayOfYear],
  ['getDayOfMonth', (date) => date.getUTCDate() - 1],
  ['getDate', (date) => date.getUTCDate()],
  ['getDayOfWeek', (date) => date.getUTCDay()],
  ['getHours', (date) => date.getUTCHours()],
  ['getMinutes', (date) => date.getUTCMinutes()],
  ['getSeconds', (date) => date.getUTCSeconds()],
  ['getMilliseconds', (date) => date.getUTCMilliseconds()],
]

function dayOfYear(date: Date): number {
  const first = new Date(date)
  first.setUTCMonth(0, 1)
  return Math.round((date.getTime() - first.getTime()) / 86_400_000)
}

/** The CEL getters of a timestamp, such as `getHours`; their argument is the name or the UTC offset of a time zone. */
export const datePart: ReadonlyMap<string, (value: Instant, zone: string) => Result> = new Map(
  DATE_PARTS.map(([name, part]) => [
    name,
    (value, zone) => {
      const date = inZone(new Date(Number(floorDivide(value.nanoseconds, 1_000_000n))), zone)
      return date instanceof Failure ? date : BigInt(part(date))
    },
  ]),
)

/**
 * The CEL getters of a duration, such as `getMinutes`; each returns the whole duration in its unit. As in Go, hours,
 * minutes and seconds are computed as doubles.
 */
export const spanPart: ReadonlyMap<string, (value: Span) => Result> = new Map([
  ['getHours', inUnits(3600n * SECOND)],
  ['getMinutes', inUnits(60n * SECOND)],
  ['getSeconds', inUnits(SECOND)],
  ['getMilliseconds', ({ nanoseconds }: Span) => nanoseconds / 1_000_000n],
])

function inUnits(unit: bigint): (value: Span) => bigint {
  return ({ nanoseconds }) =>
    BigInt(Math.trunc(Number(nanoseconds / unit) + Number(nanoseconds % unit) / Number(unit)))
}

function inZone(date: Date, zone: string): Date | Failure {
  const offset = zone.includes(':') ? offsetOf(zone) : ianaOffset(date, zone)
  return offset === undefined
    ? new Failure(`there is no time zone '${zone.slice(0, 40)}'`)
    : new Date(date.getTime() + offset)
}

function offsetOf(zone: string): number | undefined {
  const [, sign, hours, minutes] = /^([+-]?)(\d+):\+?(\d+)$/.exec(zone) ?? []
  if (Number(hours ?? 24) > 23 || Number(minutes ?? 60) > 59) return undefined
  return (sign === '-' ? -MINUTE : MINUTE) * (Number(hours) * 60 + Number(minutes))
}

/**
 * The UTC offset of a time zone in milliseconds; undefined for an unknown zone. A name in lower case is unknown, as in
 * Go, which uses the names of time zones as file names.
 */
function ianaOffset(date: Date, zone: string): number | undefined {
  if (zone === '' || zone === 'Local') return 0
  if (zone === zone.toLowerCase()) return undefined
  try {
    const format = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      hourCycle: 'h23',
      era: 'short',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    })
    const parts = new Map(format.formatToParts(date).map(({ type, value }) => [type, value]))
    const number = (type: Intl.DateTimeFormatPartTypes) => Number(parts.get(type))
    const local = new Date(0)
    const year = parts.get('era') === 'BC' ? 1 - number('year') : number('year')
    local.setUTCFullYear(year, number('month') - 1, number('day'))
    local.setUTCHours(number('hour'), number('minute'), number('second'), date.getUTCMilliseconds())
    return local.getTime() - date.getTime()
  } catch {
    return undefined
  }
}
