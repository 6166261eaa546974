/** Makes the findings of one object: from its schema, from the rules for its kind, and about placeholders. */

import type { Kind } from '../kinds/kind.ts'
import {
  type Cluster,
  emptyCluster,
  type Finding,
  isObject,
  pathText,
  type Resource,
  type Segment,
  type Steps,
} from '../rule/index.ts'
import { ALONE, check, type Surroundings } from './rules.ts'
import {
  type FindPlaceholder,
  mayHoldPlaceholders,
  type Placeholder,
  placeholdersIn,
  unresolved,
} from '../documents/index.ts'
import { ANYTHING, type Contents, outside, shape } from '../shape/index.ts'
import { overlay } from '../state/index.ts'

/** The findings in one object, judged together with the other objects, with the severities of the rules. */
export function* findingsIn(
  kind: Kind,
  value: unknown,
  around: Surroundings = ALONE,
  contents: Contents = ANYTHING,
): Steps<readonly Finding[]> {
  const { findings, resource } = shape(kind, value, contents)
  if (around.isLarge) yield
  if (resource === undefined) return findings
  const cluster = including(resource, around)
  const all = yield* check(kind, resource, cluster, around, findings)
  const { text } = contents
  if (text !== undefined && !mayHoldPlaceholders(text)) return all
  return [...all, ...placeholdersIn(kind, resource).map(unresolved)]
}

/**
 * The findings in an object before its deployment: values with placeholders are not judged, and no finding depends on
 * them. The placeholders are returned instead (decision 28).
 */
export function* findingsBeforeDeployment(
  kind: Kind,
  value: unknown,
  around: Surroundings = ALONE,
  own?: FindPlaceholder,
): Steps<{ readonly findings: readonly Finding[]; readonly placeholders: readonly Placeholder[] }> {
  const placeholders = isObject(value) ? placeholdersIn(kind, value, own) : []
  const places = placeholders.map(({ at }) => at)
  const findings = yield* findingsWithout(kind, value, around, places)
  const maps = placeholders.flatMap(({ at, members }) => (members === undefined ? [] : [at]))
  if (maps.length === 0) return { findings, placeholders }
  // A map key with a placeholder stands for unknown members; the members with plain keys are judged as usual.
  const members = placeholders.flatMap((placeholder) => placeholder.members ?? [placeholder.at])
  const named = outside(members, yield* findingsWithout(kind, value, around, members))
  const elsewhere = new Set(outside(maps, named))
  const whole = new Set(maps.map(pathText))
  const ofMembers = named.filter(
    (finding) => !elsewhere.has(finding) && !whole.has(pathText(finding.error.at)),
  )
  return { findings: [...findings, ...ofMembers], placeholders }
}

/** The findings of an object; the values at the paths in `unknown` are not judged. */
function* findingsWithout(
  kind: Kind,
  value: unknown,
  around: Surroundings,
  unknown: readonly (readonly Segment[])[],
): Steps<readonly Finding[]> {
  const { findings, resource } = shape(kind, value, ANYTHING, unknown)
  return resource ? yield* check(kind, resource, including(resource, around), around, findings) : findings
}

/** The findings of an object that is about to be deleted. */
export function* findingsOnDelete(
  kind: Kind,
  value: unknown,
  around: Surroundings,
): Steps<readonly Finding[]> {
  const { resource } = shape(kind, value)
  return resource === undefined
    ? []
    : yield* check(kind, resource, around.cluster ?? emptyCluster(), around, [], 'delete')
}

/** The other objects together with the judged one, as rules see them. */
function including(resource: Resource, { cluster, self, isStored }: Surroundings): Cluster {
  if (cluster === undefined) return emptyCluster()
  return isStored ? cluster : overlay(cluster, self, resource)
}
