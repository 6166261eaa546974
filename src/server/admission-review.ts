import { probeAnswer } from '../arming/index.ts'
import {
  causeOf,
  causeText,
  type Finding,
  findingText,
  isObject,
  metadataOf,
  shownPath,
  withPlace,
} from '../rule/index.ts'
import type { PatchOperation, Submission, Verdict } from '../engine/index.ts'
import type { Body } from './json.ts'

export const REVIEW_VERSION = 'admission.k8s.io/v1'

/** A decoded AdmissionReview: its submission, and the other values that the answer and the log need. */
export interface Review {
  readonly uid: string
  /** The name, or `generateName` when the object has no name yet, so that kubectl can print a name. */
  readonly name: string
  readonly submission: Submission
}

/**
 * Decodes an AdmissionReview v1 (k8s.io/api/admission/v1). Returns a string, the text of a 400 answer, when the body is
 * not an AdmissionReview. The object under review may be any JSON, because the judge checks that.
 */
export function decodeReview({ value: body, text, nulls }: Body): Review | string {
  if (!isObject(body)) return 'the body must be an AdmissionReview object'
  const { apiVersion, kind, request } = body
  if (kind !== 'AdmissionReview') return "kind must be 'AdmissionReview'"
  if (apiVersion !== REVIEW_VERSION) {
    return `apiVersion must be '${REVIEW_VERSION}'; set admissionReviewVersions: [v1] in the webhook configuration`
  }
  if (!isObject(request)) return 'request is missing'
  const { uid, operation = 'CREATE', kind: kindOf, object, oldObject } = request
  if (typeof uid !== 'string' || uid === '') return 'request.uid must be a string that is not empty'
  if (!isOperation(operation)) return `request.operation must be one of ${OPERATIONS.join(', ')}`
  if (!isObject(kindOf) || !isText(kindOf.kind)) return 'request.kind.kind must be a string'
  if (!isOptionalText(kindOf.group)) return 'request.kind.group must be a string'
  // The deletion of a collection names each object in `oldObject` only.
  const named = textOr(metadataOf(object).name, textOr(metadataOf(oldObject).name, ''))
  const name = textOr(request.name, named)
  return {
    uid,
    name: textOr(name, textOr(metadataOf(object).generateName, '')),
    submission: {
      operation,
      group: kindOf.group ?? '',
      kind: kindOf.kind,
      namespace: textOr(request.namespace, textOr(metadataOf(object).namespace, '')),
      name,
      subResource: textOr(request.subResource, ''),
      dryRun: request.dryRun === true,
      user: isObject(request.userInfo) ? textOr(request.userInfo.username, '') : '',
      object,
      oldObject,
      contents: { nulls: nulls > (oldObject === null ? 1 : 0), text },
    },
  }
}

const OPERATIONS = ['CREATE', 'UPDATE', 'DELETE', 'CONNECT'] as const
const isOperation = (value: unknown): value is Submission['operation'] => OPERATIONS.includes(value as never)
const isText = (value: unknown): value is string => typeof value === 'string'
const isOptionalText = (value: unknown): value is string | undefined => value === undefined || isText(value)
const textOr = (value: unknown, fallback: string) => (isText(value) && value !== '' ? value : fallback)

/** The answer to /validate: always HTTP 200; a denial is a 422 Invalid inside it, with every cause. */
export function encodeVerdict({ uid, name, submission }: Review, verdict: Verdict): string {
  const { errors, warnings } = verdict
  if (errors.length === 0 && warnings.length === 0) return admitted(uid)
  const annotations = { ...idsOf('errors', errors), ...idsOf('warnings', warnings) }
  return encode({
    uid,
    allowed: errors.length === 0,
    ...(errors.length === 0 ? {} : { status: denial(submission, name, errors) }),
    ...(warnings.length === 0 ? {} : { warnings: warningTexts(warnings, beginningOf(submission, name)) }),
    auditAnnotations: annotations,
  })
}

/** The answer to a probe that the leader sends (src/arming): a denial with the nonce, which no other webhook knows. */
export function encodeProbe({ uid }: Review, nonce: string): string {
  const status = { status: 'Failure', code: 403, reason: 'Forbidden', message: probeAnswer(nonce) }
  return encode({ uid, allowed: false, status })
}

/** The answer when too many reviews wait: the review was not judged, and the client may try again. */
export function encodeBusy({ uid }: Review): string {
  const message = 'vmcp-admission has too many reviews at hand; try again'
  return encode({
    uid,
    allowed: false,
    status: { status: 'Failure', code: 429, reason: 'TooManyRequests', message },
  })
}

/** The answer to /mutate: always allowed, with a JSON Patch when defaults are missing. */
export function encodePatch({ uid }: Review, patch: readonly PatchOperation[]): string {
  if (patch.length === 0) return admitted(uid)
  const encoded = Buffer.from(JSON.stringify(patch)).toString('base64')
  return admitted(uid, `,"patchType":"JSONPatch","patch":"${encoded}"`)
}

function encode(response: object): string {
  return JSON.stringify({ apiVersion: REVIEW_VERSION, kind: 'AdmissionReview', response })
}

/** The answer that allows a request, by far the most frequent; `more` are more members of the response, as JSON. */
function admitted(uid: string, more = ''): string {
  return `{"apiVersion":"${REVIEW_VERSION}","kind":"AdmissionReview","response":{"uid":${JSON.stringify(uid)},"allowed":true${more}}}`
}

/**
 * A denial as `apierrors.NewInvalid` makes it, complete for kubectl, which prints the causes, and for other clients,
 * which print the message.
 */
function denial({ group, kind }: Submission, name: string, errors: readonly Finding[]) {
  const causes = errors.map((finding) => ({
    reason: causeOf(finding.error.type),
    field: shownPath(finding.error.at),
    message: causeText(finding),
  }))
  const texts = errors.map((finding, i) => withPlace(finding, causes[i]?.message ?? ''))
  const list = texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`
  return {
    status: 'Failure',
    code: 422,
    reason: 'Invalid',
    message: `${kind}.${group} "${name}" is invalid: ${list}`,
    details: {
      name,
      group,
      kind,
      causes,
    },
  }
}

function idsOf(name: string, findings: readonly Finding[]): Record<string, string> {
  return findings.length === 0
    ? {}
    : { [name]: [...new Set(findings.map(({ id }) => id))].toSorted().join(',') }
}

/** The most characters of a name in a warning; most names are shorter. */
const LONGEST_NAME = 63

/** The kind and name that begin a warning: kubectl may print warnings about many objects without their names. */
const beginningOf = ({ kind }: Submission, name: string): string =>
  `${kind} ${name.length <= LONGEST_NAME ? name : `${name.slice(0, LONGEST_NAME)}…`}: `

const LONGEST_WARNING = 256
const ALL_WARNINGS = 4_096

/**
 * The texts of warnings. The API server cuts each at 256 characters and all of them at 4,096, and refuses control
 * characters. So they are cut here without losing the id, and the last one says how many are not shown (decision 21).
 */
function warningTexts(findings: readonly Finding[], of: string): string[] {
  const shown: string[] = []
  let left = ALL_WARNINGS
  for (const [i, finding] of findings.entries()) {
    const text = fitted(of + findingText(finding), ` (${finding.id})`)
    const rest = findings.length - i
    const last = rest === 1 ? 0 : moreWarnings(rest - 1).length
    if (text.length + last > left) return [...shown, moreWarnings(rest)]
    shown.push(text)
    left -= text.length
  }
  return shown
}

const moreWarnings = (count: number) => `and ${count} more; \`vmcp-admission check\` shows all of them`

function fitted(text: string, id: string): string {
  const start = text.slice(0, LONGEST_WARNING)
  const plain = start.toWellFormed().replace(/[\u0000-\u001f\u007f-\u009f]/g, ' ')
  if (text.length <= LONGEST_WARNING) return plain
  return `${plain.slice(0, LONGEST_WARNING - id.length - 1).toWellFormed()}…${id}`
}
