import type { Kind } from '../kinds/kind.ts'
import type { Release } from '../release/index.ts'
import type { Cluster, Finding, Severity } from '../rule/index.ts'
import { type RulesAt, rulesOf, type Selection } from './rules.ts'
import type { ClusterState } from '../state/index.ts'
import type { WrittenDefaults } from './defaults.ts'
import { isAbout, readVersion } from './yielding.ts'
import { type Settings, severityByPlace } from './settings.ts'

/** Everything beside the object that a judgement depends on. No field is optional: each has a value for "not known". */
export interface World {
  readonly group: string
  readonly settings: Settings
  /** The schemas of the operator's CRDs; when they are not known, the specification alone decides. */
  readonly release: Release | 'specification'
  /** The objects that rules look up beside the judged one. */
  readonly state: ClusterState | 'no cluster'
  readonly defaults: Completion
}

/** Which defaults /mutate writes. */
export interface Completion {
  readonly written: WrittenDefaults
  /** The audience of service account tokens; when empty, none is written (decision 4). */
  readonly serviceAccountAudience: string
}

/** All defaults that do not depend on the setup of the cluster. */
export const ALL_DEFAULTS: Completion = { written: 'all', serviceAccountAudience: '' }

/** A world with values that are computed from it once. */
export interface Prepared {
  readonly world: World
  readonly installed: Release | undefined
  /** The release of the operator as rules read it: see `readVersion`. */
  readonly version: string | undefined
  readonly state: ClusterState | undefined
  /** The objects of a namespace: the same `Cluster` until one of them changes, so that judgements share its memo. */
  shared(namespace: string): Cluster | undefined
  /** The rules of a kind that apply to the release, with their paths. */
  rulesOf(kind: Kind, selection: Selection): readonly RulesAt[]
  /**
   * The severity of each finding in a namespace; undefined when no setting makes it differ between findings of a rule.
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

/** The same world with other objects. */
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
