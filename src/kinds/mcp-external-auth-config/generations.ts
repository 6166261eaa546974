import type { CelGoVersion } from '../../cel/index.ts'

/** How the gateways of some releases choose a role (toolhive: pkg/auth/awssts/role_mapper.go and go.mod of the tags). */
export interface RoleSelection {
  /**
   * How the gateway searches `claim`: by CEL's `in` over the role claim as it is, or in a list. For a list a text counts as a
   * list of one; a claim of any other type gives no role where no matcher matches, not even the fallback.
   */
  readonly roleClaim: 'asItIs' | 'asList'
  readonly celGo: CelGoVersion
}

/** Consecutive releases that choose in the same way: minor versions of 0.x, both included. */
export interface Generation extends RoleSelection {
  readonly first: number
  readonly last: number
}

/** Newest release read: 0.63. */
export const NEWEST: Generation = { first: 59, last: Infinity, roleClaim: 'asList', celGo: '0.33' }

/** Release 0.49 is missing: its source could not be read. */
export const GENERATIONS: readonly Generation[] = [
  { first: 0, last: 48, roleClaim: 'asItIs', celGo: '0.32' },
  { first: 50, last: 58, roleClaim: 'asList', celGo: '0.32' },
  NEWEST,
]
