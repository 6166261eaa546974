import { kindNamed } from '../kinds/index.ts'
import type { Kind } from '../kinds/kind.ts'
import { type Cluster, emptyCluster, type ObjectName } from '../rule/cluster.ts'
import { pathText, type Segment } from '../rule/path.ts'
import { isObject, type Resource } from '../rule/resource.ts'
import { ALONE, check, type Surroundings } from './check.ts'
import { deepEqual } from './deep-equal.ts'
import { defaultsBetween } from './between-defaults.ts'
import { type Change, completed, defaultsFor } from './defaults.ts'
import type { Finding } from './finding.ts'
import { ADMITTED, type Confirmed, judge, type Verdict } from './judge.ts'
import { mayHoldPlaceholders, type Placeholder, placeholdersIn, unresolved } from './placeholder.ts'
import type { Settings } from './settings.ts'
import { ANYTHING, type Contents, outside, shape } from './shape.ts'
import { withObject } from './with-object.ts'
import type { World } from './world.ts'

/** One request to store an object, whoever it comes from: the API server, a file, a test. */
export interface Submission {
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT'
  readonly group: string
  readonly kind: string
  readonly namespace: string
  /** Empty while the API server has not made one. */
  readonly name: string
  readonly subResource: string
  /** Nothing will be stored. */
  readonly dryRun: boolean
  /** Who asks. */
  readonly user: string
  /** The object as submitted; may have any JSON type. */
  readonly object: unknown
  /** The stored object on UPDATE and DELETE. */
  readonly oldObject: unknown
  /** What is known of the object without looking into it again. */
  readonly contents?: Contents
}

/** What the engine depends on beside the submission. */
export interface Engine {
  readonly group: string
  readonly settings: Settings
  /** The other objects; absent where nothing is known of them. */
  readonly world?: World | undefined
  /** Audience that /mutate writes for tokens of service accounts; none when empty (decision 4). */
  readonly serviceAccountAudience?: string
}

/**
 * Judges a submission: pure, synchronous, never throws on any JSON. `confirmed` says which of the other objects have
 * just been read from the API server; without it the view is taken for the truth. `tried` puts into the view what is
 * about to be applied with it.
 */
export function validate(
  submission: Submission,
  engine: Engine,
  confirmed?: Confirmed,
  tried?: (cluster: Cluster) => Cluster,
): Verdict {
  if (passesFreely(submission)) return ADMITTED
  const kind = kindOf(submission, engine)
  if (kind === undefined) return { ...ADMITTED, warnings: [registrationTooWide(submission)] }
  const { operation, object, oldObject, namespace, name } = submission
  const judging = { namespace, settings: engine.settings, dryRun: submission.dryRun, confirmed }
  const around = surroundings(engine.world, { kind: kind.kind, name }, namespace, confirmed)
  if (operation === 'DELETE') {
    return judge({ findings: findingsOnDelete(kind, oldObject, around), value: () => oldObject }, judging)
  }
  const old = operation === 'UPDATE' && isObject(oldObject) ? oldObject : undefined
  const found = (cluster: Cluster) =>
    findingsIn(kind, object, { ...around, cluster, old: () => readable(kind, old) }, submission.contents)
  const findings = disagreement(submission).concat(found(around.cluster))
  const beside = tried === undefined ? undefined : () => found(tried(around.cluster))
  const value = () => completed(kind, object, namespace)
  return judge({ findings, value }, { ...judging, tried: beside }, () =>
    old === undefined
      ? undefined
      : { findings: findingsIn(kind, old, around), value: () => completed(kind, old, namespace) },
  )
}

function surroundings(
  world: World | undefined,
  self: ObjectName,
  namespace: string,
  confirmed: Confirmed | undefined,
): Surroundings {
  const cluster: Cluster = world === undefined ? emptyCluster : world.in(namespace)
  return { cluster: confirmed === undefined ? cluster : confirmed.with(cluster), self }
}

/** The stored object as rules read it; most rules never look, so it is shaped only for the few objects that change. */
function readable(kind: Kind, old: unknown): Resource | undefined {
  return old === undefined ? undefined : shape(kind, old).resource
}

/** The defaults to add to the submitted object (decisions 23 to 26); none when it must not be touched. */
export function mutate(submission: Submission, engine: Engine): readonly Change[] {
  if (passesFreely(submission) || submission.operation === 'DELETE') return []
  const kind = kindOf(submission, engine)
  if (kind === undefined || !isObject(submission.object)) return []
  if (disagreement(submission).length > 0) return []
  const { object, namespace, name, contents } = submission
  const { mistyped, resource } = shape(kind, object, contents)
  if (mistyped || resource === undefined) return []
  const { world, group, serviceAccountAudience = '' } = engine
  const own = defaultsFor(kind, object, namespace)
  if (world === undefined) return own
  const cluster = withObject(world.in(namespace), { kind: kind.kind, name }, resource)
  return [...own, ...defaultsBetween(kind.kind, resource, { cluster, group, name, serviceAccountAudience })]
}

/** Everything found in one object among the others; severities are those of the rules. */
export function findingsIn(
  kind: Kind,
  value: unknown,
  around: Surroundings = ALONE,
  contents: Contents = ANYTHING,
): readonly Finding[] {
  const { findings, resource } = shape(kind, value, contents)
  if (resource === undefined) return findings
  const all = check(kind, resource, including(resource, around), findings)
  const { text } = contents
  if (text !== undefined && !mayHoldPlaceholders(text)) return all
  return [...all, ...placeholdersIn(kind, resource).map(unresolved)]
}

/**
 * As `findingsIn`, before deployment: a value with a placeholder in it is not judged, and nothing that rests on it is
 * reported; the placeholders are returned instead (decision 28).
 */
export function findingsBeforeDeployment(
  kind: Kind,
  value: unknown,
  around: Surroundings = ALONE,
): { readonly findings: readonly Finding[]; readonly placeholders: readonly Placeholder[] } {
  const placeholders = isObject(value) ? placeholdersIn(kind, value) : []
  const found = (unknown: readonly (readonly Segment[])[]) => {
    const { findings, resource } = shape(kind, value, ANYTHING, unknown)
    return resource ? check(kind, resource, including(resource, around), findings) : findings
  }
  const findings = found(placeholders.map(({ at }) => at))
  const maps = placeholders.flatMap(({ at, members }) => (members === undefined ? [] : [at]))
  if (maps.length === 0) return { findings, placeholders }
  // Which members a map will have is not known; those that have a name are judged by themselves.
  const members = placeholders.flatMap((placeholder) => placeholder.members ?? [placeholder.at])
  const named = outside(members, found(members))
  const elsewhere = new Set(outside(maps, named))
  const whole = new Set(maps.map(pathText))
  const ofMembers = named.filter(
    (finding) => !elsewhere.has(finding) && !whole.has(pathText(finding.error.at)),
  )
  return { findings: [...findings, ...ofMembers], placeholders }
}

/** What is to be said when an object goes. */
export function findingsOnDelete(kind: Kind, value: unknown, around: Surroundings): readonly Finding[] {
  const { resource } = shape(kind, value)
  return resource === undefined ? [] : check(kind, resource, around, [], 'delete')
}

/** What a rule judges is part of what it sees. */
function including(resource: Resource, around: Surroundings): Surroundings {
  const { cluster, self } = around
  return cluster === emptyCluster ? around : { ...around, cluster: withObject(cluster, self, resource) }
}

function kindOf({ group, kind }: Submission, engine: Engine): Kind | undefined {
  return group === engine.group ? kindNamed.get(kind) : undefined
}

/**
 * What is admitted unjudged: a metadata-only update must never wedge a finalizer or a storage migration, and what is
 * being deleted only needs to go (decision 8).
 */
function passesFreely({ operation, subResource, object, oldObject }: Submission): boolean {
  if (operation === 'CONNECT' || subResource !== '') return true
  if (operation === 'DELETE') return false
  if (!isObject(object)) return false
  if (isObject(object.metadata) && typeof object.metadata.deletionTimestamp === 'string') return true
  return operation === 'UPDATE' && isObject(oldObject) && deepEqual(object.spec, oldObject.spec)
}

/** A crafted review can name one kind and hold another; the registered one decides, and the object must agree. */
function disagreement({ group, kind, object }: Submission): Finding[] {
  if (!isObject(object)) return []
  const { apiVersion, kind: given } = object
  const findings: Finding[] = []
  const disagree = (field: string, value: string, detail: string) =>
    findings.push({
      id: 'request-kind-agrees',
      severity: 'error',
      error: { type: 'invalid', at: [field], value, detail },
    })
  if (typeof given === 'string' && given !== kind)
    disagree('kind', given, `must be '${kind}' as the request says`)
  if (typeof apiVersion === 'string' && !apiVersion.startsWith(`${group}/`)) {
    disagree('apiVersion', apiVersion, `must be of the group '${group}' as the request says`)
  }
  return findings
}

function registrationTooWide({ group, kind }: Submission): Finding {
  const detail = `this webhook does not know ${kind || 'this kind'} of the group '${group}'; its registration is too wide`
  return {
    id: 'registration-covers-known-kinds',
    severity: 'warning',
    error: { type: 'advice', at: [], detail },
  }
}
