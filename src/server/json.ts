const DEEPEST = 1_000

/** A body that is no JSON that the API server could have sent; the message is for the caller. */
export class BodyError extends Error {}

/** Parses a body; throws BodyError when it is no JSON, nested over 1,000 levels, or holds a number out of range. */
export function parseBody(text: string): unknown {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new BodyError('the body is not JSON')
  }
  inspect(value, 0)
  return value
}

function inspect(value: unknown, depth: number): void {
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new BodyError('a number is out of the range of a 64-bit float')
  } else if (typeof value === 'object' && value !== null) {
    if (depth >= DEEPEST) throw new BodyError(`the body is nested over ${DEEPEST} levels deep`)
    if (Array.isArray(value)) for (const item of value) inspect(item, depth + 1)
    else for (const key in value) inspect((value as Record<string, unknown>)[key], depth + 1)
  }
}
