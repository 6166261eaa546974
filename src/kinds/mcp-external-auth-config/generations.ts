import type { CelGoVersion } from '../../cel/index.ts'

/**
 * How vMCP and the proxies of some releases choose a role (toolhive: pkg/auth/awssts/role_mapper.go, and go.mod of the
 * tags).
 */
export interface RoleSelection {
  /**
   * How a gateway looks for the `claim` of a role mapping in the role claim of a token. `asItIs`: by CEL's `in`.
   * `asList`: in a list, to which a single text is converted; when the role claim has another type, a caller whom no
   * matcher matches gets no role, not even the fallback.
   */
  readonly roleClaim: 'asItIs' | 'asList'
  readonly celGo: CelGoVersion
}

/** Consecutive operator releases (0.`first` to 0.`last`, both included) that choose a caller's role in the same way. */
export interface Generation extends RoleSelection {
  readonly first: number
  readonly last: number
}

/** Release 0.63 is the newest whose source code was examined. */
export const NEWEST: Generation = { first: 59, last: Infinity, roleClaim: 'asList', celGo: '0.33' }

/** Release 0.49 is missing because its source code was not available. */
export const GENERATIONS: readonly Generation[] = [
  { first: 0, last: 48, roleClaim: 'asItIs', celGo: '0.32' },
  { first: 50, last: 58, roleClaim: 'asList', celGo: '0.32' },
  NEWEST,
]
