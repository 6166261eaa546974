import { TYPE } from './requests.ts'

/** For each Cedar extension function or method, the types of its arguments and of its result, as bits of `TYPE`. */
export const EXTENSIONS: ReadonlyMap<string, readonly [takes: readonly number[], gives: number]> = new Map(
  extensions(),
)

function* extensions(): Iterable<[string, readonly [takes: readonly number[], gives: number]]> {
  for (const name of ['lessThan', 'lessThanOrEqual', 'greaterThan', 'greaterThanOrEqual'])
    yield [name, [[TYPE.decimal, TYPE.decimal], TYPE.boolean]]
  for (const name of ['isIpv4', 'isIpv6', 'isLoopback', 'isMulticast'])
    yield [name, [[TYPE.ip], TYPE.boolean]]
  for (const name of ['toDays', 'toHours', 'toMinutes', 'toSeconds', 'toMilliseconds'])
    yield [name, [[TYPE.duration], TYPE.long]]
  for (const name of ['ip', 'decimal', 'datetime', 'duration'] as const)
    yield [name, [[TYPE.string], TYPE[name]]]
  yield ['isInRange', [[TYPE.ip, TYPE.ip], TYPE.boolean]]
  yield ['toDate', [[TYPE.datetime], TYPE.datetime]]
  yield ['toTime', [[TYPE.datetime], TYPE.duration]]
  yield ['offset', [[TYPE.datetime, TYPE.duration], TYPE.datetime]]
  yield ['durationSince', [[TYPE.datetime, TYPE.datetime], TYPE.duration]]
}

/** Whether the Cedar function `decimal` accepts the text. */
export const isDecimal = (text: string): boolean => DECIMAL.test(text)
const DECIMAL = /^[+-]?\d{1,15}\.\d{1,4}$/
