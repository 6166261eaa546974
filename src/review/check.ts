import type { Kind } from '../kinds/kind.ts'
import type { Cluster, ObjectName } from '../rule/cluster.ts'
import { type Path, pathTo, type Segment, valueAt } from '../rule/path.ts'
import { isObject, type Resource } from '../rule/resource.ts'
import type { Context, Rule, Severity } from '../rule/rule.ts'
import { andMore, type Finding, MOST_FINDINGS } from './finding.ts'

interface Place {
  readonly segments: readonly Segment[]
  readonly path: Path<unknown>
  readonly rules: readonly Rule[]
}

/** What the rules see beside the resource itself. */
export interface Surroundings {
  /** The other objects; undefined where nothing is known of them. */
  readonly cluster: Cluster | undefined
  /** Whether they hold the resource already, as it is stored. */
  readonly isStored?: boolean
  readonly self: ObjectName
  /** The stored resource, on an update; every part has the right JSON type. */
  readonly old?: () => Resource | undefined
  /** What a finding is worth at its place; as its rule says when absent. */
  readonly severityOf?: ((finding: Finding) => Severity) | undefined
}

/** A resource on its own. */
export const ALONE: Surroundings = { cluster: undefined, self: { kind: '', name: '' } }

/** Which rules run: those of a write, or those of a deletion. */
const SELECTIONS = {
  write: ({ when }: Rule) => when === undefined,
  delete: ({ when }: Rule) => when === 'delete',
}
export type Selection = keyof typeof SELECTIONS

const placesOf = {
  write: new Map<Kind, readonly Place[]>(),
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
 * before and now. `cluster` holds the resource. A rule that throws becomes a warning that carries the failure (decision 20).
 */
export function check(
  kind: Kind,
  resource: Resource,
  cluster: Cluster,
  { self, old, severityOf }: Surroundings,
  before: readonly Finding[] = [],
  selection: Selection = 'write',
): readonly Finding[] {
  const findings = [...before]
  for (const { segments, path, rules } of places(kind, selection)) {
    const value = segments.length === 0 ? resource : valueAt(resource, segments)
    if (!isObject(value)) continue
    const context = { path, cluster, self, old: () => valueAt(old?.(), segments) }
    for (const rule of rules) runRule(rule, value, context, findings, severityOf)
  }
  return findings
}

function runRule(
  { id, severity, check: run }: Rule,
  value: object,
  context: Context<unknown>,
  findings: Finding[],
  severityOf: Surroundings['severityOf'],
): void {
  try {
    const counts = new Map<Severity, number>()
    for (const error of run(value, context)) {
      const finding = { id, severity, error }
      const weight = severityOf?.(finding) ?? severity
      const count = (counts.get(weight) ?? 0) + 1
      counts.set(weight, count)
      if (count <= MOST_FINDINGS) findings.push(finding)
      else if (count === MOST_FINDINGS + 1) findings.push(andMore(finding))
      // Further on there may be one that is worth more.
      if (count > MOST_FINDINGS && (severityOf === undefined || weight === 'error')) break
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
