import type { CelGoVersion } from '../../cel/index.ts'
import { compareReleases } from '../../rule/index.ts'

/**
 * How vMCP and the proxies of an operator release choose a caller's role. Sources: pkg/auth/awssts/role_mapper.go of
 * toolhive, and the version of cel-go in its go.mod, at the tag of the release.
 */
export interface RoleSelection {
  /**
   * How vMCP or a proxy looks for the `claim` of a role mapping in the role claim of a token. `asItIs`: by CEL's
   * `in`. `asList`: in a list, to which a single string is converted; when the role claim is neither a list nor a
   * string, a caller whom no matcher matches gets no role, not even the fallback role.
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

/** The operator releases that contain each version of cel-go, for messages. */
export const RELEASES_WITH: Readonly<Record<CelGoVersion, string>> = {
  '0.32': `up to 0.${NEWEST.first - 1}`,
  '0.33': `from 0.${NEWEST.first}`,
}

/** The version of cel-go in an operator release such as `0.55`. */
export const celGoOf = (release: string): CelGoVersion =>
  compareReleases(release, `0.${NEWEST.first}`) < 0 ? '0.32' : '0.33'
