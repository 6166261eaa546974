/** The value of a field as Go's encoding/json reads it: the last member with this name, ignoring case. */
export function goField(of: object, name: string): unknown {
  const key = Object.keys(of).findLast((each) => each.toLowerCase() === name)
  return key === undefined ? undefined : (of as Readonly<Record<string, unknown>>)[key]
}
