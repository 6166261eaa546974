import type { Kind } from '../kinds/kind.ts'
import type { Cluster } from '../rule/cluster.ts'
import { type Path, pathTo, type Segment, valueAt } from '../rule/path.ts'
import { isObject, type Resource } from '../rule/resource.ts'
import type { Rule } from '../rule/rule.ts'
import { andMore, type Finding, MOST_FINDINGS } from './finding.ts'

interface Place {
  readonly segments: readonly Segment[]
  readonly path: Path<never>
  readonly rules: readonly Rule[]
}

const placesOf = new Map<Kind, readonly Place[]>()

/** The rules of a kind and of its parts, with where each set applies; worked out once a kind. */
function places(kind: Kind): readonly Place[] {
  let found = placesOf.get(kind)
  if (found === undefined) {
    found = [{ at: [], part: kind }, ...kind.parts].map(({ at, part }) => ({
      segments: at,
      path: pathTo<never>(at),
      rules: part.rules,
    }))
    placesOf.set(kind, found)
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
  cluster: Cluster,
  before: readonly Finding[] = [],
): readonly Finding[] {
  const findings = [...before]
  for (const { segments, path, rules } of places(kind)) {
    const value = segments.length === 0 ? resource : valueAt(resource, segments)
    if (!isObject(value)) continue
    const context = { path, cluster }
    for (const rule of rules) runRule(rule, value, context, findings)
  }
  return findings
}

function runRule(
  { id, severity, check: run }: Rule,
  value: object,
  context: { path: Path<never>; cluster: Cluster },
  findings: Finding[],
): void {
  try {
    const first = findings.length
    for (const error of run(value, context)) {
      if (findings.length - first === MOST_FINDINGS) {
        findings.push(andMore(id, severity))
        break
      }
      findings.push({ id, severity, error })
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
