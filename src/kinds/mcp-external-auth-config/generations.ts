import type { CelGoVersion } from '../../cel/index.ts'

/**
 * How the gateways of a generation of releases choose a role (toolhive: pkg/auth/awssts/role_mapper.go and go.mod of
 * the tags).
 */
export interface RoleSelection {
  /**
   * How the gateway searches `claim`: with CEL's `in` over the role claim as it is, or in a list. For `asList` a text
   * counts as a list of one; with a role claim of another type a caller whom no matcher matches gets no role, not even
   * the fallback.
   */
  readonly roleClaim: 'asItIs' | 'asList'
  readonly celGo: CelGoVersion
}

/** Consecutive releases that choose in the same way: minor versions of 0.x, both included. */
export interface Generation extends RoleSelection {
  readonly first: number
  readonly last: number
}

/** Release 0.63 is the newest whose source was read. */
export const NEWEST: Generation = { first: 59, last: Infinity, roleClaim: 'asList', celGo: '0.33' }

/** Release 0.49 is missing: its source could not be read. */
export const GENERATIONS: readonly Generation[] = [
  { first: 0, last: 48, roleClaim: 'asItIs', celGo: '0.32' },
  { first: 50, last: 58, roleClaim: 'asList', celGo: '0.32' },
  NEWEST,
]
