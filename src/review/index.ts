import { API_VERSION, kindNamed } from '../kinds/index.ts'
import type { Kind } from '../kinds/kind.ts'
import { Budget } from '../rule/budget.ts'
import type { Cluster, ObjectName } from '../rule/cluster.ts'
import type { FieldError, Fix } from '../rule/field-error.ts'
import { isObject, type Resource } from '../rule/resource.ts'
import { atOnce, type Steps } from '../rule/steps.ts'
import { JUDGEMENT, type Surroundings } from './check.ts'
import { deepEqual } from './deep-equal.ts'
import { defaultsBetween } from './between-defaults.ts'
import { type Change, completed, defaultsFor, isInList, type WrittenDefaults } from './defaults.ts'
import type { Finding } from './finding.ts'
import { findingsBeforeDeployment, findingsIn, findingsOnDelete } from './findings.ts'
import { type Confirmed, judgeBeside, NO_FINDINGS, type Verdict } from './judge.ts'
import type { FindPlaceholder } from './own-placeholders.ts'
import type { Placeholder } from './placeholder.ts'
import { ignoresIn, isLeftOut, withAnnotationProblems, withoutIgnored } from './ignored.ts'
import { type Ignore, type Settings, severityByPlace } from './settings.ts'
import { type Contents, shape } from './shape.ts'
import { type NewerField, unknownFields } from './unknown-fields.ts'
import { overlay } from './overlay.ts'
import type { ClusterState } from './cluster-state.ts'
import type { Release } from '../release/release.ts'
import { metadataFindings } from './metadata.ts'
import { folded, refusedBy, yielding } from './release.ts'

/** One request to store or delete an object: from the API server, a file or a test. */
export interface Submission {
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT'
  readonly group: string
  readonly kind: string
  readonly namespace: string
  /** Empty when the API server will make it from `generateName`. */
  readonly name: string
  readonly subResource: string
  /** The API server will store nothing. */
  readonly dryRun: boolean
  /** The name of the user who sends the request; empty outside of admission. */
  readonly user: string
  /** The object as submitted; may have any JSON type. */
  readonly object: unknown
  /** The stored object on UPDATE and DELETE. */
  readonly oldObject: unknown
  /** What the reader of the object already knows of it, so that nothing searches it again. */
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

/** What the verdict on a submission depends on beside it. */
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
  /** What the operator's CRDs take, where they are known. */
  readonly release?: Release | undefined
  /** The other objects; absent where nothing is known of them. */
  readonly state?: ClusterState | undefined
  /** Before deployment: the other objects as they are now, beside which the stored object is judged. */
  readonly stateNow?: ClusterState | undefined
  /** `state.in(namespace)`, for several reviews to share until the state changes; made for the review when absent. */
  readonly cluster?: Cluster
  /** Which of the other objects have just been read from the API server; without it the cluster state is taken for the truth. */
  readonly confirmed?: Confirmed | undefined
  /** Before deployment: placeholders beside those that are known. */
  readonly placeholders?: FindPlaceholder | undefined
  /** Before deployment: the ignores in comments. */
  readonly ignores?: readonly Ignore[]
  /** Which defaults /mutate writes; all when absent. */
  readonly defaults?: WrittenDefaults
  /** Audience that /mutate writes for tokens of service accounts; none when empty (decision 4). */
  readonly serviceAccountAudience?: string
}

/** The result of a review. */
export interface Outcome extends Verdict {
  /** Before deployment: the values with a placeholder, which are not judged (decision 28). */
  readonly placeholders: readonly Placeholder[]
  /** Before deployment, where no release is known: the fields that only some releases of the operator have. */
  readonly newerFields: readonly NewerField[]
  /** Units of the budget that the judgement spent, of the submitted and the stored object together. */
  readonly spent: number
}

const NOTHING_TO_SAY = { placeholders: [], newerFields: [], spent: 0 } as const
const ADMITTED: Outcome = { ...NO_FINDINGS, ...NOTHING_TO_SAY }

/**
 * Judges a submission: pure, synchronous, never throws on any JSON. Every front end judges through this function. The
 * findings carry field paths; their severities are those of the settings and the ratchet (decisions 7 to 9).
 */
export function judgeSubmission(submission: Submission, situation: Situation): Outcome {
  return atOnce(judging(submission, situation))
}

/** Characters of a body from which on its objects are gone through in steps. */
const LARGE = 64 * 1024

/** As `judgeSubmission`, in steps between which a server answers others. */
export function* judging(submission: Submission, situation: Situation): Steps<Outcome> {
  const { phase = 'admission', settings, release } = situation
  if (phase === 'admission' && passesFreely(submission)) return ADMITTED
  if (isLeftOut(settings, submission.namespace)) return ADMITTED
  const kind = kindOf(submission, situation)
  if (kind === undefined) return { ...ADMITTED, warnings: [registrationTooWide(submission)] }
  const { operation, object, oldObject, namespace, name, dryRun } = submission
  const { ignores, problems } = ignoresIn(operation === 'DELETE' ? oldObject : object, situation.group)
  const withIgnores = <V extends Verdict>(verdict: V): V => {
    const self = { kind: kind.kind, namespace, name }
    const all = [...(situation.ignores ?? []), ...ignores]
    return withAnnotationProblems(withoutIgnored(verdict, self, settings, all), problems, situation)
  }
  const budgets = [new Budget(JUDGEMENT), new Budget(JUDGEMENT)] as const
  const spent = () => budgets.reduce((sum, budget) => sum + budget.spent, 0)
  const isLarge = (submission.contents?.text?.length ?? 0) >= LARGE
  const around = { ...surroundings(kind, submission, situation), isLarge, budget: budgets[0] }
  const context = { namespace, settings, dryRun, confirmed: situation.confirmed }
  if (operation === 'DELETE') {
    const judged = { findings: yield* findingsOnDelete(kind, oldObject, around), value: () => oldObject }
    return { ...withIgnores(yield* judgeBeside(judged, context)), ...NOTHING_TO_SAY, spent: spent() }
  }
  const old = operation === 'UPDATE' && isObject(oldObject) ? oldObject : undefined
  const stored = () => (phase === 'stored' ? around.cluster?.get(kind.kind, name) : readable(kind, old))
  const { findings, ...told } = yield* found(kind, submission, situation, { ...around, old: stored })
  const completedOf = (value: unknown) => () => completed(kind, value, namespace)
  const verdict = yield* judgeBeside({ findings, value: completedOf(object) }, context, function* () {
    if (old === undefined || phase === 'stored') return undefined
    const { stateNow } = situation
    const beside =
      stateNow === undefined ? around : surroundings(kind, submission, { ...situation, state: stateNow })
    const findings = yield* findingsIn(kind, old, { ...beside, isLarge, budget: budgets[1] })
    const before = yielding(findings, { kind: kind.kind, value: old, release })
    const ofFile = phase === 'before deployment' ? refusedInFile(kind, old, before, situation) : []
    return { findings: [...before, ...ofFile], value: completedOf(old) }
  })
  const kept = withIgnores(verdict)
  const isNews = phase !== 'admission' || operation === 'CREATE'
  return { ...(isNews ? kept : withoutAdvice(kept)), ...told, spent: spent() }
}

/** Advice is told at the creation, and not again at every update. */
const withoutAdvice = (verdict: Verdict): Verdict => ({
  ...verdict,
  warnings: verdict.warnings.filter(({ severity }) => severity !== 'advice'),
})

/** The findings in the object of a submission, and what is told beside them; its phase decides which checks run. */
function* found(
  kind: Kind,
  submission: Submission,
  situation: Situation,
  around: Surroundings,
): Steps<{ readonly findings: readonly Finding[] } & Pick<Outcome, 'placeholders' | 'newerFields'>> {
  const { object, contents } = submission
  const { phase, strict = false, release } = situation
  const { findings, placeholders } =
    phase === 'before deployment' && !strict
      ? yield* findingsBeforeDeployment(kind, object, around, situation.placeholders)
      : { findings: yield* findingsIn(kind, object, around, contents), placeholders: [] }
  const yielded = yielding(findings, { kind: kind.kind, value: object, release })
  if (phase !== 'before deployment') {
    const others = phase === 'stored' ? [] : disagreement(submission)
    return { findings: [...others, ...yielded], placeholders: [], newerFields: [] }
  }
  const { findings: unknown, newer } = unknownIn(kind, object, situation)
  const stored = submission.operation === 'UPDATE' ? submission.oldObject : undefined
  const refused = refusedBy(object, { kind: kind.kind, release, stored, placeholders, known: yielded })
  const others = [
    ...otherVersion(object, strict),
    ...metadataFindings(object, { strict, placeholders: situation.placeholders }),
    ...unknown,
  ]
  return { findings: [...others, ...folded(yielded, refused)], placeholders, newerFields: newer }
}

/** What the API server would refuse in a stored object if it came from a file, beside the findings that are known. */
function refusedInFile(kind: Kind, old: unknown, known: readonly Finding[], situation: Situation) {
  const { release } = situation
  const context = { kind: kind.kind, release, stored: undefined, placeholders: [], known }
  return [...unknownIn(kind, old, situation).findings, ...refusedBy(old, context)]
}

/** The unknown fields of an object in a file: errors where that is strict, and where the release is known. */
function unknownIn(kind: Kind, object: unknown, { strict = false, release }: Situation) {
  const { findings, newer } = unknownFields(kind, object, release)
  const severity = strict || release?.schemas.has(kind.kind) === true ? 'error' : 'warning'
  return { findings: findings.map((finding): Finding => ({ ...finding, severity })), newer }
}

function surroundings(
  { kind }: Kind,
  { namespace, name }: Submission,
  { state, cluster: shared, confirmed, phase, settings }: Situation,
): Surroundings {
  const cluster = shared ?? state?.in(namespace)
  return {
    cluster: cluster && confirmed ? confirmed.with(cluster) : cluster,
    self: { kind, name },
    isStored: phase === 'stored',
    severityOf: severityByPlace(settings, namespace),
  }
}

/** The stored object as rules read it; shaped when a rule asks for it, which few do. */
function readable(kind: Kind, old: unknown): Resource | undefined {
  return old === undefined ? undefined : shape(kind, old).resource
}

/** The defaults that /mutate adds to the submitted object (decisions 23 to 26); none when it must stay as it is. */
export function mutate(submission: Submission, situation: Situation): readonly Change[] {
  const { defaults = 'all' } = situation
  if (defaults === 'off') return []
  const changes = missingDefaults(submission, situation)
  return defaults === 'all' ? changes : changes.filter((change) => !isInList(change))
}

function missingDefaults(submission: Submission, situation: Situation): readonly Change[] {
  if (passesFreely(submission) || submission.operation === 'DELETE') return []
  const kind = kindOf(submission, situation)
  if (kind === undefined || !isObject(submission.object)) return []
  if (isLeftOut(situation.settings, submission.namespace)) return []
  if (disagreement(submission).length > 0) return []
  const { object, namespace, name, contents } = submission
  const { mistyped, resource } = shape(kind, object, contents)
  if (mistyped || resource === undefined) return []
  const { state, group, serviceAccountAudience = '' } = situation
  const own = defaultsFor(kind, object, namespace)
  // An object that is not kept may choose another subject provider.
  if (!state?.knowsWholeNamespace(namespace)) return own
  const cluster = overlay(state.in(namespace), { kind: kind.kind, name }, resource)
  return [...own, ...defaultsBetween(kind.kind, resource, { cluster, group, name, serviceAccountAudience })]
}

function kindOf({ group, kind }: Submission, situation: Situation): Kind | undefined {
  return group === situation.group ? kindNamed.get(kind) : undefined
}

/**
 * Whether a submission is admitted without a review (decision 8): a change of metadata alone must never block a finalizer
 * or a storage migration, and an object that is being deleted must be able to go.
 */
export function passesFreely({ operation, subResource, object, oldObject }: Submission): boolean {
  if (operation === 'CONNECT' || subResource !== '') return true
  if (operation === 'DELETE') return false
  if (!isObject(object)) return false
  if (isObject(object.metadata) && typeof object.metadata.deletionTimestamp === 'string') return true
  return operation === 'UPDATE' && isObject(oldObject) && deepEqual(object.spec, oldObject.spec)
}

/** A crafted AdmissionReview can name one kind and hold another: `request.kind` decides, and the object must agree. */
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

/** A file may name `v1alpha1`, or a version that never existed (decision 1). */
function otherVersion(object: unknown, strict: boolean): Finding[] {
  const [group, version] = String(isObject(object) ? object.apiVersion : '').split('/')
  if (version === API_VERSION) return []
  const served = version === 'v1alpha1'
  const state = served ? 'is deprecated' : 'is not a version of these resources'
  const detail = `${version} ${state}; checked as ${API_VERSION}; write ${API_VERSION}`
  const severity = served ? 'advice' : strict ? 'error' : 'warning'
  const at = ['apiVersion']
  const current = `${String(group)}/${API_VERSION}`
  const fix: Fix | undefined =
    version === undefined
      ? undefined
      : { title: `write ${API_VERSION}`, edits: [{ op: 'set', at, value: current }] }
  const causes = () => [['other version', version ?? '']] as const
  const error: FieldError = { type: 'advice', at, detail, causes, ...(fix && { fix }) }
  return [{ id: 'api-version-current', severity, error }]
}
