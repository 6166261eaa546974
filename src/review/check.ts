import type { Kind } from '../kinds/kind.ts'
import { type Cluster, emptyCluster, type ObjectName } from '../rule/cluster.ts'
import { type Path, pathTo, type Segment, valueAt } from '../rule/path.ts'
import { isObject, type Resource } from '../rule/resource.ts'
import type { Context, Rule } from '../rule/rule.ts'
import { andMore, type Finding, MOST_FINDINGS } from './finding.ts'

interface Place {
  readonly segments: readonly Segment[]
  readonly path: Path<unknown>
  readonly rules: readonly Rule[]
}

/** What the rules see beside the resource itself. */
export interface Surroundings {
  /** With the resource in it. */
  readonly cluster: Cluster
  readonly self: ObjectName
  /** The stored resource, on an update; every part has the right JSON type. */
  readonly old?: () => Resource | undefined
}

/** A resource on its own. */
export const ALONE: Surroundings = { cluster: emptyCluster, self: { kind: '', name: '' } }

/** Which rules run: those of a write, of them those about other objects, or those of a deletion. */
const SELECTIONS = {
  write: ({ when }: Rule) => when === undefined,
  between: ({ when, reads }: Rule) => when === undefined && reads.length > 0,
  delete: ({ when }: Rule) => when === 'delete',
}
export type Selection = keyof typeof SELECTIONS

const placesOf = {
  write: new Map<Kind, readonly Place[]>(),
  between: new Map<Kind, readonly Place[]>(),
  delete: new Map<Kind, readonly Place[]>(),
}

/** The rules of a kind and of its parts, with where each set applies; worked out once a kind. */
function places(kind: Kind, selection: Selection): readonly Place[] {
  let found = placesOf[selection].get(kind)
  if (found === undefined) {
    found = [{ at: [], part: kind }, ...kind.parts].map(({ at, part }) => ({
      segments: at,
      path: pathTo<unknown>(at),
      rules: part.rules.filter(SELECTIONS[selection]),
    }))
    placesOf[selection].set(kind, found)
  }
  return found
}

/**
 * Runs the rules of the kind on a resource whose parts all have the right JSON types; answers with what was found
 * before and now. A rule that throws becomes a warning that carries the failure (decision 20).
 */
export function check(
  kind: Kind,
  resource: Resource,
  { cluster, self, old }: Surroundings,
  before: readonly Finding[] = [],
  selection: Selection = 'write',
): readonly Finding[] {
  const findings = [...before]
  for (const { segments, path, rules } of places(kind, selection)) {
    const value = segments.length === 0 ? resource : valueAt(resource, segments)
    if (!isObject(value)) continue
    const context = { path, cluster, self, old: () => valueAt(old?.(), segments) }
    for (const rule of rules) runRule(rule, value, context, findings)
  }
  return findings
}

function runRule(
  { id, severity, check: run }: Rule,
  value: object,
  context: Context<unknown>,
  findings: Finding[],
): void {
  try {
    const first = findings.length
    for (const error of run(value, context)) {
      const finding = { id, severity, error }
      if (findings.length - first === MOST_FINDINGS) {
        findings.push(andMore(finding))
        break
      }
      findings.push(finding)
    }
  } catch (failure) {
    const error = {
      type: 'advice',
      at: [],
      detail: 'internal error: this check did not run, please report it',
    } as const
    findings.push({ id, severity: 'warning', error, failure })
  }
}
