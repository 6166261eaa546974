import fc from 'fast-check'
import { KINDS } from '../../src/kinds/index.ts'
import { resources } from '../../test/support/arbitrary.ts'
import { reviewOf } from '../../test/support/review.ts'
import { mixedReviews, roleMappingReviews } from '../reviews.ts'
import { randomNumbers } from './calls.ts'

/** Objects made from each kind's schema. */
const OF_A_KIND = 150

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

export interface FuzzedBody {
  readonly path: '/validate' | '/mutate'
  readonly body: Buffer
}

/** Reviews that were changed at random, which follow from a seed. */
export function* fuzzedBodies(seed: number): Generator<FuzzedBody, never> {
  const random = randomNumbers(seed)
  const below = (end: number) => Math.floor(random() * end)
  const one = <T>(values: readonly T[]): T => values[below(values.length)] as T

  const made = KINDS.flatMap((kind) =>
    fc
      .sample(resources(kind, { wrong: 10 }), { numRuns: OF_A_KIND, seed: seed })
      .map((object, i) =>
        JSON.stringify(
          reviewOf(object, i % 2 === 0 ? {} : { operation: 'UPDATE', oldObject: { ...object, spec: {} } }),
        ),
      ),
  )
  const texts = [...mixedReviews(), ...made, ...roleMappingReviews()]
  const bodies = texts.map((text) => Buffer.from(text))

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

  for (;;) yield { body: one(CHANGES)(one(bodies)), path: random() < 0.7 ? '/validate' : '/mutate' }
}
