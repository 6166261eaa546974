import formats from 'ajv-formats/dist/formats.js'

const { validate: dateTime } = formats.fullFormats['date-time'] as { validate: (text: string) => boolean }
const INT32 = 2 ** 31
const INT64 = 2 ** 63

/**
 * The formats of our schemas. int64 ends at ±2^63 as in the API server; JSON numbers beyond ±2^53 have lost their last
 * digits when they are parsed (decision 17).
 */
export const FORMATS = {
  'date-time': { validate: isDateTime },
  int32: { type: 'number', validate: (value: number) => value >= -INT32 && value < INT32 },
  int64: { type: 'number', validate: (value: number) => value >= -INT64 && value <= INT64 },
} as const

const DATE_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/

/**
 * Whether the text is RFC 3339 as Go's `time.RFC3339` reads it: a capital T and Z, an offset with a colon, no space, no
 * leap second. The pattern of the whole form is tested first: ajv-formats splits a text at every T, and would take
 * hours for millions of them.
 */
function isDateTime(text: string): boolean {
  return DATE_TIME.test(text) && !text.includes(':60') && dateTime(text)
}
