import type { Kind } from '../kinds/kind.ts'
import type { Release } from '../release/index.ts'
import type { Cluster, Finding, Severity } from '../rule/index.ts'
import { type RulesAt, rulesOf, type Selection } from './rules.ts'
import type { ClusterState } from '../state/index.ts'
import type { WrittenDefaults } from './defaults.ts'
import { isAbout, readVersion } from './yielding.ts'
import { type Settings, severityByPlace } from './settings.ts'

/** What a verdict depends on besides the judged object. No field is optional: each has a value for "not known". */
export interface World {
  readonly group: string
  readonly settings: Settings
  /** The operator release with the schemas of its CRDs; when it is not known, the specification alone decides. */
  readonly release: Release | 'specification'
  /** The other objects of the cluster, which rules look up. */
  readonly state: ClusterState | 'no cluster'
  readonly defaults: Completion
}

/** Which defaults /mutate writes. */
export interface Completion {
  readonly written: WrittenDefaults
  /** The default audience of service account tokens; when empty, /mutate writes no audience (decision 4). */
  readonly serviceAccountAudience: string
}

/** All defaults except the audience of service account tokens, which depends on the setup of the cluster. */
export const ALL_DEFAULTS: Completion = { written: 'all', serviceAccountAudience: '' }

/** A `World`, with values that are derived from it only one time for all verdicts. */
export interface Prepared {
  readonly world: World
  readonly installed: Release | undefined
  /** The operator version for rules, concluded from the CRDs if need be; undefined when no release is known. */
  readonly version: string | undefined
  readonly state: ClusterState | undefined
  /** The objects of a namespace: the same `Cluster` until one of them changes, so that verdicts share its cache. */
  shared(namespace: string): Cluster | undefined
  /** The rules for a kind that apply to the release, with the paths of the fields that they judge. */
  rulesOf(kind: Kind, selection: Selection): readonly RulesAt[]
  /**
   * Gives the severity of each finding in a namespace; undefined when all findings of a rule have the same severity,
   * because no setting names a path.
   */
  severityIn(namespace: string): ((finding: Finding) => Severity) | undefined
}

export function prepare(world: World): Prepared {
  const { settings, release, state } = world
  const installed = release === 'specification' ? undefined : release
  const rules = { write: new Map<Kind, readonly RulesAt[]>(), delete: new Map<Kind, readonly RulesAt[]>() }
  return {
    world,
    installed,
    ...known(state, readVersion(installed)),
    rulesOf: (kind, selection) => {
      const before = rules[selection].get(kind)
      if (before !== undefined) return before
      const about = rulesOf(kind, selection).map(({ at, rules }) => ({
        at,
        rules: rules.filter(({ id }) => isAbout(id, installed)),
      }))
      rules[selection].set(kind, about)
      return about
    },
    severityIn: (namespace) => severityByPlace(settings, namespace),
  }
}

/** A copy of `prepared` with which rules look up the other objects in `state`. */
export const beside = (prepared: Prepared, state: World['state']): Prepared => ({
  ...prepared,
  world: { ...prepared.world, state },
  ...known(state, prepared.version),
})

function known(
  given: World['state'],
  version: string | undefined,
): Pick<Prepared, 'state' | 'shared' | 'version'> {
  if (given === 'no cluster') return { state: undefined, shared: () => undefined, version }
  let last: { readonly namespace: string; readonly changes: number; readonly cluster: Cluster } | undefined
  const shared = (namespace: string): Cluster => {
    const changes = given.changes(namespace)
    if (last?.namespace !== namespace || last.changes !== changes)
      last = { namespace, changes, cluster: given.in(namespace, version) }
    return last.cluster
  }
  return { state: given, shared, version }
}
