import { API_VERSION, kindNamed } from '../kinds/index.ts'
import type { Kind } from '../kinds/kind.ts'
import type { Cluster, ObjectName } from '../rule/cluster.ts'
import { isObject, type Resource } from '../rule/resource.ts'
import type { Surroundings } from './check.ts'
import { deepEqual } from './deep-equal.ts'
import { defaultsBetween } from './between-defaults.ts'
import { type Change, completed, defaultsFor } from './defaults.ts'
import type { Finding } from './finding.ts'
import { findingsBeforeDeployment, findingsIn, findingsOnDelete } from './findings.ts'
import { type Confirmed, judge, NO_FINDINGS, type Verdict } from './judge.ts'
import type { Placeholder } from './placeholder.ts'
import { type Settings, severityByPlace } from './settings.ts'
import { type Contents, shape } from './shape.ts'
import { unknownFields } from './unknown-fields.ts'
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

/** An object to judge outside of an admission review. */
interface Given {
  readonly namespace: string
  readonly group: string
  readonly object: unknown
  /** What is stored now; absent where nothing is. */
  readonly oldObject?: unknown
}

/** An object of a file as a submission: an update where there is an old object, else a creation. */
export const submissionOf = (
  { kind, name }: ObjectName,
  { namespace, group, object, oldObject }: Given,
): Submission => ({
  operation: oldObject === undefined ? 'CREATE' : 'UPDATE',
  group,
  kind,
  namespace,
  name,
  subResource: '',
  dryRun: false,
  user: '',
  object,
  oldObject,
})

/** A stored object as a submission that changes nothing. */
export const storedSubmission = (self: ObjectName, given: Omit<Given, 'oldObject'>): Submission =>
  submissionOf(self, { ...given, oldObject: given.object })

/** What the judgement of a submission depends on beside it. */
export interface Situation {
  readonly group: string
  readonly settings: Settings
  /**
   * `admission` (the default): the object is about to be stored. `before deployment`: it stands in a file, tools may still
   * fill in its placeholders, and no API server has dropped its unknown fields. `stored`: it stands in the cluster.
   */
  readonly phase?: 'admission' | 'before deployment' | 'stored'
  /** Before deployment: placeholders count as they stand, and unknown fields are errors. */
  readonly strict?: boolean
  /** The other objects; absent where nothing is known of them. */
  readonly world?: World | undefined
  /** Before deployment: the other objects as they are now, beside which the stored object is judged. */
  readonly worldNow?: World | undefined
  /** A view of the world from the namespace that further reviews share, until the world changes; a new one by default. */
  readonly view?: Cluster
  /** Which of the other objects have just been read from the API server; without it the world is taken for the truth. */
  readonly confirmed?: Confirmed | undefined
  /** Audience that /mutate writes for tokens of service accounts; none when empty (decision 4). */
  readonly serviceAccountAudience?: string
}

/** What a review comes to. */
export interface Outcome extends Verdict {
  /** Before deployment: the values that were not judged. */
  readonly placeholders: readonly Placeholder[]
}

const ADMITTED: Outcome = { ...NO_FINDINGS, placeholders: [] }

/** Judges a submission: pure, synchronous, never throws on any JSON. Every front end calls this function, and no other. */
export function judgeSubmission(submission: Submission, situation: Situation): Outcome {
  const { phase = 'admission', settings } = situation
  if (phase === 'admission' && passesFreely(submission)) return ADMITTED
  const kind = kindOf(submission, situation)
  if (kind === undefined) return { ...ADMITTED, warnings: [registrationTooWide(submission)] }
  const { operation, object, oldObject, namespace, name, dryRun } = submission
  const around = surroundings(kind, submission, situation)
  const judging = { namespace, settings, dryRun, confirmed: situation.confirmed }
  if (operation === 'DELETE') {
    const judged = { findings: findingsOnDelete(kind, oldObject, around), value: () => oldObject }
    return { ...judge(judged, judging), placeholders: [] }
  }
  const old = operation === 'UPDATE' && isObject(oldObject) ? oldObject : undefined
  const stored = () => (phase === 'stored' ? around.cluster?.get(kind.kind, name) : readable(kind, old))
  const { findings, placeholders } = found(kind, submission, situation, { ...around, old: stored })
  const completedOf = (value: unknown) => () => completed(kind, value, namespace)
  const verdict = judge({ findings, value: completedOf(object) }, judging, () => {
    if (old === undefined || phase === 'stored') return undefined
    const { worldNow, strict = false } = situation
    const beside =
      worldNow === undefined ? around : surroundings(kind, submission, { ...situation, world: worldNow })
    const unknown = phase === 'before deployment' ? unknownIn(kind, old, strict) : []
    return { findings: [...findingsIn(kind, old, beside), ...unknown], value: completedOf(old) }
  })
  return { ...verdict, placeholders }
}

/** Everything found in the object of a submission that its phase asks for. */
function found(
  kind: Kind,
  submission: Submission,
  { phase, strict = false }: Situation,
  around: Surroundings,
): { readonly findings: readonly Finding[]; readonly placeholders: readonly Placeholder[] } {
  const { object, contents } = submission
  const { findings, placeholders } =
    phase === 'before deployment' && !strict
      ? findingsBeforeDeployment(kind, object, around)
      : { findings: findingsIn(kind, object, around, contents), placeholders: [] }
  const others =
    phase === 'before deployment'
      ? [...otherVersion(object, strict), ...unknownIn(kind, object, strict)]
      : phase === 'stored'
        ? []
        : disagreement(submission)
  return { findings: [...others, ...findings], placeholders }
}

/** The unknown fields of an object in a file; errors where that is strict. */
function unknownIn(kind: Kind, object: unknown, strict: boolean): readonly Finding[] {
  const unknown = unknownFields(kind, object)
  return strict ? unknown.map((finding) => ({ ...finding, severity: 'error' })) : unknown
}

function surroundings(
  { kind }: Kind,
  { namespace, name }: Submission,
  { world, view, confirmed, phase, settings }: Situation,
): Surroundings {
  const cluster = view ?? world?.in(namespace)
  return {
    cluster: cluster && confirmed ? confirmed.with(cluster) : cluster,
    self: { kind, name },
    isStored: phase === 'stored',
    severityOf: severityByPlace(settings, namespace),
  }
}

/** The stored object as rules read it; most rules never look, so it is shaped only for the few objects that change. */
function readable(kind: Kind, old: unknown): Resource | undefined {
  return old === undefined ? undefined : shape(kind, old).resource
}

/** The defaults to add to the submitted object (decisions 23 to 26); none when it must not be touched. */
export function mutate(submission: Submission, situation: Situation): readonly Change[] {
  if (passesFreely(submission) || submission.operation === 'DELETE') return []
  const kind = kindOf(submission, situation)
  if (kind === undefined || !isObject(submission.object)) return []
  if (disagreement(submission).length > 0) return []
  const { object, namespace, name, contents } = submission
  const { mistyped, resource } = shape(kind, object, contents)
  if (mistyped || resource === undefined) return []
  const { world, group, serviceAccountAudience = '' } = situation
  const own = defaultsFor(kind, object, namespace)
  // Of what is not kept nobody knows which provider it would agree on.
  if (!world?.knowsWholeNamespace(namespace)) return own
  const cluster = withObject(world.in(namespace), { kind: kind.kind, name }, resource)
  return [...own, ...defaultsBetween(kind.kind, resource, { cluster, group, name, serviceAccountAudience })]
}

function kindOf({ group, kind }: Submission, situation: Situation): Kind | undefined {
  return group === situation.group ? kindNamed.get(kind) : undefined
}

/**
 * What is admitted unjudged: a metadata-only update must never wedge a finalizer or a storage migration, and what is
 * being deleted only needs to go (decision 8).
 */
export function passesFreely({ operation, subResource, object, oldObject }: Submission): boolean {
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

/** A file may still name an older version, or one that there never was. */
function otherVersion(object: unknown, strict: boolean): Finding[] {
  const version = String(isObject(object) ? object.apiVersion : '').split('/')[1]
  if (version === API_VERSION) return []
  const served = version === 'v1alpha1'
  const state = served ? 'is deprecated' : 'is not a version of these resources'
  const detail = `${version} ${state}; checked as ${API_VERSION}; write ${API_VERSION}`
  const severity = strict && !served ? 'error' : 'warning'
  return [{ id: 'api-version-current', severity, error: { type: 'advice', at: ['apiVersion'], detail } }]
}
