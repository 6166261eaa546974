import { isObject } from '../rule/index.ts'
import { defaultsBetween } from './defaults-between.ts'
import { type FieldChange, defaultsFor, isInList } from './defaults.ts'
import { isLeftOut } from './ignored.ts'
import { overlay } from '../state/index.ts'
import { shape } from '../shape/index.ts'
import { disagreement, kindOfSubmission, passesFreely, type Submission } from './submission.ts'
import type { Prepared } from './world.ts'

/** The defaults that /mutate adds to the submitted object (decisions 23 to 26); none when it must stay as it is. */
export function complete(prepared: Prepared, submission: Submission): readonly FieldChange[] {
  const { written } = prepared.world.defaults
  if (written === 'off') return []
  const changes = missing(prepared, submission)
  return written === 'all' ? changes : changes.filter((change) => !isInList(change))
}

function missing(
  { world, state, version, installed: release }: Prepared,
  submission: Submission,
): readonly FieldChange[] {
  const { group, settings, defaults } = world
  const { object, namespace, name, contents, operation } = submission
  if (passesFreely(submission) || operation === 'DELETE') return []
  const kind = kindOfSubmission(submission, group)
  if (kind === undefined || !isObject(object)) return []
  if (isLeftOut(settings, namespace) || disagreement(submission).length > 0) return []
  const { mistyped, resource } = shape(kind, object, contents)
  if (mistyped || resource === undefined) return []
  const own = defaultsFor(kind, object, namespace)
  // While the cache lacks objects, no default that depends on other objects is written: with the missing objects the
  // default of `subjectProviderName` may be another provider.
  if (!state?.knowsWholeNamespace(namespace)) return own
  const cluster = overlay(state.in(namespace, version), { kind: kind.kind, name }, resource)
  const { serviceAccountAudience } = defaults
  const known = { cluster, group, name, serviceAccountAudience, release }
  return [...own, ...defaultsBetween(kind.kind, resource, known)]
}
