/** The claims of a caller, as JSON values by name. */
export type Claims = Readonly<Record<string, unknown>>

/** How a matcher reads the claim: `claims.sub`. */
export function claimPath(name: string): string {
  return /^[A-Za-z_]\w*$/.test(name) ? `claims.${name}` : `claims[${JSON.stringify(name)}]`
}

/** The name, or the default when it is empty, as ToolHive reads it. */
export function filledOr(name: string | undefined, fallback: string): string {
  return name === undefined || name === '' ? fallback : name
}
