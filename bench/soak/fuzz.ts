/**
 * Sends reviews that were changed at random, a process of its own. Arguments: the port, how many, how many a second, the
 * seed. Its answer is how often each status came, and the answers that no body may get.
 */
import fc from 'fast-check'
import { KINDS } from '../../src/kinds/index.ts'
import { resources } from '../../test/support/arbitrary.ts'
import { reviewOf } from '../../test/support/review.ts'
import { mixedReviews, roleMappingReviews } from '../reviews.ts'
import { type Answer, call, callerOf, pace, randomNumbers } from './calls.ts'

export interface Fuzzed {
  readonly sent: number
  readonly statuses: Readonly<Record<string, number>>
  readonly faults: readonly string[]
}

/** A verdict; a body that cannot be read, is too long, or of another type. */
const ALLOWED = [200, 400, 413, 415]
const AT_A_TIME = 32
const MOST_FAULTS = 20
/** Objects made from each kind's schema. */
const OF_A_KIND = 150

const [port = '', count = '', rate = '', seed = ''] = process.argv.slice(2)
const random = randomNumbers(Number(seed))
const below = (end: number) => Math.floor(random() * end)
const one = <T>(values: readonly T[]): T => values[below(values.length)] as T

const made = KINDS.flatMap((kind) =>
  fc
    .sample(resources(kind, { wrong: 10 }), { numRuns: OF_A_KIND, seed: Number(seed) })
    .map((object, i) =>
      JSON.stringify(
        reviewOf(object, i % 2 === 0 ? {} : { operation: 'UPDATE', oldObject: { ...object, spec: {} } }),
      ),
    ),
)
const texts = [...mixedReviews(), ...made, ...roleMappingReviews()]
const bodies = texts.map((text) => Buffer.from(text))

/** Values that programs read wrongly. */
const VALUES: readonly unknown[] = [
  ...[null, true, 0, -0, 1.5, 2 ** 53, -(2 ** 63), 1e308, '', ' ', '\u0000', '\ud800', 'x'.repeat(5_000)],
  ...[
    [],
    {},
    [[[[]]]],
    { a: { b: { c: {} } } },
    JSON.parse('{"__proto__":{"x":1}}') as unknown,
    '${NAME}',
    '<ID>',
    '{{ a }}',
  ],
  ...['https://[::1', 'http://127.1', 'arn:aws:iam::1:role/x', '9999999999h', '1h1h', '^(a+)+$', '=1+1'],
  ...['claims.a == "b"', 'claims.groups.exists(g, g == "x")', '"x".matches("(a|b){1,50}")', 'a'.repeat(300)],
  ...['permit(principal,action,resource);', 'permit(principal == User::"a", action, resource) when {true};'],
]
const BYTES = [
  ...[
    '{',
    '}',
    '[',
    ']',
    '"',
    ',',
    ':',
    '\\',
    '\u0000',
    '\\u',
    '\\ud800',
    '[[[[[[[[',
    '-',
    '1e999',
    '1E-999',
  ],
  ...['9'.repeat(400), 'null', 'true', '"kind":', '"object":null,', '"uid":7,', '\u{1f600}', '// x', '/*'],
].map((text) => Buffer.from(text))
const NOT_UTF8 = Buffer.from([0xff, 0xfe, 0xc0, 0x80, 0xed, 0xa0, 0x80])

type Change = (body: Buffer) => Buffer

/** Another value in the place of one of the object's. */
const otherValue: Change = (body) => {
  const review = JSON.parse(body.toString()) as unknown
  const { object } = (review as { request: { object: unknown } }).request
  for (let left = 1 + below(3); left > 0; left--) {
    let at = (random() < 0.9 && object !== null ? object : review) as Record<string, unknown>
    for (;;) {
      const key = one(Object.keys(at))
      const value = at[key]
      const isDeep = typeof value === 'object' && value !== null && Object.keys(value).length > 0
      if (isDeep && random() < 0.9) at = value as Record<string, unknown>
      else {
        if (random() < 0.15) Reflect.deleteProperty(at, key)
        else at[key] = structuredClone(one(VALUES))
        break
      }
    }
  }
  return Buffer.from(JSON.stringify(review))
}

const place = (body: Buffer) => below(body.length + 1)
/** Bytes in the place of `removed` bytes. */
const splice = (body: Buffer, at: number, removed: number, added: Buffer) =>
  Buffer.concat([body.subarray(0, at), added, body.subarray(at + removed)])

const CHANGES: readonly Change[] = [
  otherValue,
  otherValue,
  otherValue,
  otherValue,
  (body) => body,
  (body) => {
    const changed = Buffer.from(body)
    for (let left = 1 + below(8); left > 0; left--) changed[below(changed.length)] = below(256)
    return changed
  },
  (body) => body.subarray(0, place(body)),
  (body) => splice(body, place(body), 1 + below(60), NOT_UTF8.subarray(0, below(NOT_UTF8.length))),
  (body) => splice(body, place(body), 0, one(BYTES)),
  (body) => {
    const at = place(body)
    return splice(body, at, 0, body.subarray(at, at + 1 + below(2_000)))
  },
  (body) => Buffer.concat([body.subarray(0, place(body)), one(bodies).subarray(place(body))]),
]

function problemWith({ status, text }: Answer): string | undefined {
  if (!ALLOWED.includes(status)) return `${status}: ${text}`
  if (status !== 200) return undefined
  const { response } = JSON.parse(text) as { response?: { uid?: unknown; allowed?: unknown } }
  return typeof response?.allowed === 'boolean' && typeof response.uid === 'string' ? undefined : text
}

const statuses: Record<string, number> = {}
const faults: string[] = []
let sent = 0
let isOver = false
process.on('disconnect', () => process.exit())
process.on('message', () => (isOver = true))
const caller = callerOf(Number(port), '127.0.0.2')
await pace(
  { rate: Number(rate), most: AT_A_TIME, count: Number(count) },
  async () => {
    const body = one(CHANGES)(one(bodies))
    const answer = await call(caller, random() < 0.7 ? '/validate' : '/mutate', body)
    sent += 1
    statuses[answer.status] = (statuses[answer.status] ?? 0) + 1
    const problem = problemWith(answer)
    if (problem !== undefined && faults.length < MOST_FAULTS)
      faults.push(`${problem.slice(0, 300)} for ${body.toString('base64').slice(0, 4_000)}`)
  },
  () => isOver,
)
process.send?.({ sent, statuses, faults } satisfies Fuzzed, () => process.exit())
