const DEEPEST = 1_000

/** A body that is no JSON that the API server could have sent; the message is for the caller. */
export class BodyError extends Error {}

/** A parsed body, and what a look at all of it has shown. */
export interface Body {
  readonly value: unknown
  readonly nulls: number
  /** Whether its text has a character that every placeholder begins with, plain or as an escape. */
  readonly mayHoldPlaceholders: boolean
}

/** Parses a body; throws BodyError when it is no JSON, nested over 1,000 levels, or holds a number out of range. */
export function parseBody(text: string): Body {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new BodyError('the body is not JSON')
  }
  return {
    value,
    nulls: inspect(value, 0),
    mayHoldPlaceholders: PLACEHOLDER_SIGNS.some((sign) => text.includes(sign)),
  }
}

const PLACEHOLDER_SIGNS = ['$', '<', '{{', '\\u00']

/** Walks the whole value once and counts its nulls. */
function inspect(value: unknown, depth: number): number {
  if (typeof value === 'string') return 0
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new BodyError('a number is out of the range of a 64-bit float')
    return 0
  }
  if (typeof value !== 'object') return 0
  if (value === null) return 1
  if (depth >= DEEPEST) throw new BodyError(`the body is nested over ${DEEPEST} levels deep`)
  let nulls = 0
  if (Array.isArray(value)) for (let i = 0; i < value.length; i++) nulls += inspect(value[i], depth + 1)
  else for (const key in value) nulls += inspect((value as Record<string, unknown>)[key], depth + 1)
  return nulls
}
