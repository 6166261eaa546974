/** The value of a field as Go's encoding/json finds it: the last one of the name, in whatever case. */
export function goField(of: object, name: string): unknown {
  const key = Object.keys(of).findLast((each) => each.toLowerCase() === name)
  return key === undefined ? undefined : (of as Readonly<Record<string, unknown>>)[key]
}
