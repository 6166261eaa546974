/** The claims of a caller, as JSON values by name. */
export type Claims = Readonly<Record<string, unknown>>

/** The CEL expression that reads a claim: `claims.sub`. */
export function claimPath(name: string): string {
  return /^[A-Za-z_]\w*$/.test(name) ? `claims.${name}` : `claims[${JSON.stringify(name)}]`
}

/** The name of a claim, or the default claim if the name is empty, as in ToolHive. */
export function filledOr(name: string | undefined, fallback: string): string {
  return name === undefined || name === '' ? fallback : name
}
