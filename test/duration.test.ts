import t from 'tap'
import { parseDuration } from '../src/rule/duration.ts'

/** Results in nanoseconds recorded from `time.ParseDuration` of Go 1.26; undefined where it returns an error. */
const recorded: readonly (readonly [text: string, nanoseconds: bigint | undefined])[] = [
  ['', undefined],
  ['0', 0n],
  ['-', undefined],
  ['+', undefined],
  ['1', undefined],
  ['1h', 3600000000000n],
  ['1h30m', 5400000000000n],
  ['168h', 604800000000000n],
  ['7d', undefined],
  ['1.5h', 5400000000000n],
  ['.5s', 500000000n],
  ['5.s', 5000000000n],
  ['.s', undefined],
  ['-1s', -1000000000n],
  ['+1s', 1000000000n],
  ['0s', 0n],
  ['00h', 0n],
  ['1us', 1000n],
  ['1µs', 1000n],
  ['1μs', 1000n],
  ['1ns', 1n],
  ['1ms', 1000000n],
  ['1 s', undefined],
  ['1S', undefined],
  ['1e3s', undefined],
  ['1h1h', 7200000000000n],
  ['1_0s', undefined],
  ['2562047h47m16.854775807s', 9223372036854775807n],
  ['2562047h47m16.854775808s', undefined],
  ['-2562047h47m16.854775808s', -9223372036854775808n],
  ['-2562047h47m16.854775809s', undefined],
  ['2562048h', undefined],
  ['9223372036854775807ns', 9223372036854775807n],
  ['9223372036854775808ns', undefined],
  ['-9223372036854775808ns', -9223372036854775808n],
  ['92233720368547758080ns', undefined],
  ['0000000000000000000000000000001h', 3600000000000n],
  ['0.9ns', 0n],
  ['0.1ns', 0n],
  ['0.999999999s', 999999999n],
  ['0.3333333333333333333h', 1200000000000n],
  ['0.9223372036854775808h', 3320413933267n],
  ['0.9223372036854775809h', 3320413933267n],
  ['0.99999999999999999999999999h', 3600000000000n],
  ['0.0000000000003h', 1n],
  ['0.00000000000027777777777777777777h', 1n],
  ['1.000000000000000000000000000000000001h', 3600000000000n],
  ['3.6e3s', undefined],
  ['153722867m16.9s', undefined],
  ['0.1h0.1m0.1s0.1ms0.1us0.1ns', 366100100100n],
  ['1h-1m', undefined],
  ['1..5h', undefined],
  ['1.5.5h', undefined],
  ['106751d', undefined],
  ['9223372036.854775807s', 9223372036854775807n],
  ['9223372036.854775808s', undefined],
  ['１h', undefined],
  ['1h\n', undefined],
  ['1м', undefined],
]

t.test('every duration is read as Go reads it', async (t) => {
  for (const [text, expected] of recorded) t.equal(parseDuration(text), expected, JSON.stringify(text))
})

t.test('a long text takes linear time', async (t) => {
  const size = 7 * 1024 * 1024
  t.equal(parseDuration(`${'0'.repeat(size)}1h`), 3_600_000_000_000n)
  t.equal(parseDuration('9'.repeat(size)), undefined)
  t.equal(parseDuration(`0.${'0'.repeat(size)}1h`), 0n)
  t.equal(parseDuration('1ns'.repeat(size / 4)), BigInt(size / 4))
})
