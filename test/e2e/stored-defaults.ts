/**
 * The parts that a stored value has in addition to the submitted one, by the path of the outermost new part. Throws
 * when a submitted part is missing or different, because a default never replaces anything.
 */
export function additions(submitted: unknown, stored: unknown, path: string): Record<string, unknown> {
  if (submitted === stored) return {}
  if (submitted === undefined) return { [path]: stored }
  if (!isHolder(submitted) || !isHolder(stored)) {
    throw new Error(`${path} was ${JSON.stringify(submitted)} and is ${JSON.stringify(stored)}`)
  }
  const keys = new Set([...Object.keys(submitted), ...Object.keys(stored)])
  const inside = [...keys].map((key) => {
    const place = Array.isArray(stored) ? `${path}[${key}]` : `${path}.${key}`
    return additions(submitted[key], stored[key], place)
  })
  return Object.assign({}, ...inside) as Record<string, unknown>
}

function isHolder(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
