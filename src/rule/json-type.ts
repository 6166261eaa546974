/** The JSON type, shown in place of a mistyped value, which may be a pasted secret. */
export function jsonType(value: unknown): string {
  if (value === null || value === undefined) return 'null'
  if (Array.isArray(value)) return 'array'
  return typeof value === 'number' && Number.isInteger(value) ? 'integer' : typeof value
}
