import type { Environment } from '../../configuration/flags.ts'
import type { Answer } from '../input/live/index.ts'
import type { Kind } from '../../kinds/kind.ts'
import { ALL_IDS, type Judge, presentId } from '../../engine/index.ts'
import {
  type Finding,
  isObject,
  jsonKey,
  metadataOf,
  pathText,
  type Segment,
  stepsIn,
  valueAt,
} from '../../rule/index.ts'
import {
  holdsPlaceholder,
  kindOf,
  nameOf,
  namespaceOf,
  placeholdersIn,
  subjectOf,
} from '../../documents/index.ts'
import type { Documents } from '../input/texts.ts'
import type { Overlay } from '../input/overlay.ts'
import { addVerdict, IN_CLUSTER, NO_PLACES, type Report } from '../output/report.ts'
import { type Judging } from './judge-document.ts'
import { judgeIn } from '../judge-in.ts'

/** The parts of a `check --cluster` run that a dry run needs. */
interface Run {
  readonly documents: Documents['documents']
  readonly judging: Judging
  readonly get: Overlay['get']
  readonly kubeconfig: string
  readonly environment: Environment
}

type Document = Documents['documents'][number]
type Try = Document & ReturnType<typeof attemptOf>

/**
 * Sends each resource to the API server as a dry run, which stores nothing, and adds to the report the refusals and
 * warnings of the API server and of all webhooks. Leaves out findings of our own rules that the report already has.
 */
export async function dryRun({ documents, judging, get, ...cluster }: Run, report: Report): Promise<void> {
  const judge = judgeIn(judging, 'no cluster')
  const attempts = documents.flatMap((each): Try[] => {
    const kind = kindOf(each.document.value, judging)
    if (kind === undefined || !isObject(each.document.value)) return []
    if (judge.leavesOut(namespaceOf(each.document.value, judging))) return []
    if (!judging.strict && holdsPlaceholders(kind, each.document.value, judging)) {
      const place = { file: each.file, ...each.document.locate([], 'value') }
      report.notes.push({ ...place, message: 'no dry run, because of placeholders that are filled in later' })
      return []
    }
    return [{ ...each, ...attemptOf(kind, each.document.value, judging, get) }]
  })
  const { tryWrites } = await import('../input/live/index.ts')
  const answers = await tryWrites(attempts, { ...cluster, group: judging.group }, cluster.environment)
  for (const attempt of attempts) addAnswer(attempt, answers.get(attempt), judge, report)
}

function attemptOf(
  kind: Kind,
  value: Readonly<Record<string, unknown>>,
  judging: Judging,
  get: Overlay['get'],
) {
  const subject = subjectOf(kind.kind, value, judging)
  const { namespace } = subject
  const name = nameOf(value)
  const { resourceVersion } = metadataOf(get({ kind: kind.kind, namespace, name }))
  const stored = typeof resourceVersion === 'string' ? resourceVersion : undefined
  return { kind, subject, namespace, name, object: value, resourceVersion: stored }
}

const holdsPlaceholders = (
  kind: Kind,
  value: Readonly<Record<string, unknown>>,
  { placeholders }: Judging,
): boolean =>
  placeholdersIn(kind, value, placeholders).length > 0 ||
  holdsPlaceholder(JSON.stringify(metadataOf(value)), placeholders)

function addAnswer(attempt: Try, answer: Answer | string | undefined, judge: Judge, report: Report): void {
  if (answer === undefined) return
  const { subject, file, document } = attempt
  const { kind, namespace, name } = subject
  const who = `${kind} ${namespace}/${name}`
  if (typeof answer === 'string' || NOT_JUDGED.has(answer.status) || isForbiddenToUs(answer)) {
    const reason = typeof answer === 'string' ? answer : messageOf(answer)
    report.unread.push({ ...IN_CLUSTER, message: `${who}: the dry run failed: ${reason}` })
    return
  }
  const known = report.findings.filter(
    (each) => each.file === file && each.kind === kind && each.name === name && each.namespace === namespace,
  )
  const findings = findingsOf(answer, document.value).filter(({ error, severity }) => {
    const id = idIn(error.detail)
    if (id !== undefined) return severity === 'error' && !known.some((each) => each.id === id)
    return !known.some((each) => each.severity === 'error' && isWithin(each.path, error.at))
  })
  const verdict = judge.weigh(findings, {
    ...subject,
    object: document.value,
    ignores: 'none count',
  })
  const of = ({ error }: Finding) => ({ file, ...document.locate(error.at.map(jsonKey), 'value') })
  addVerdict(report, verdict, subject, { ...NO_PLACES, of })
}

/**
 * HTTP statuses of a dry run that say nothing about the resource. 404: its kind or namespace does not exist. 409: it
 * was changed after it was read.
 */
const NOT_JUDGED = new Set([404, 409])

const isForbiddenToUs = (answer: Answer): boolean =>
  answer.status === 403 &&
  /forbidden: User "(?:[^"\\]|\\.)*" cannot (?:create|update) /.test(messageOf(answer))

const messageOf = ({ status, body }: Answer): string =>
  isObject(body) && typeof body.message === 'string' ? body.message : String(status)

/**
 * The last id of our rules in a message; undefined when it has none. The messages of our webhook end with the id of a
 * rule.
 */
const idIn = (text: string): string | undefined =>
  /^and \d+ more; `vmcp-admission check`/.test(text)
    ? 'more'
    : [...text.matchAll(/\(([A-Za-z-]+)\)/g)]
        .map(([, id = '']) => presentId(id))
        .findLast((id) => ALL_IDS.has(id))

/** Whether `path` leads to the field `at` or to a value inside that field. False when `at` is the whole object. */
function isWithin(path: string, at: readonly Segment[]): boolean {
  const place = at.length === 0 ? undefined : pathText(at)
  return (
    place !== undefined && (path === place || path.startsWith(`${place}.`) || path.startsWith(`${place}[`))
  )
}

/** The message that the API server adds to schema errors when it did not evaluate the CEL rules of the CRD. */
const RULES_LEFT_OUT = 'some validation rules were not checked because the object was invalid'

function findingsOf(answer: Answer, value: unknown): Finding[] {
  const warnings = answer.warnings.map((text) => finding('warning', [], text))
  if (answer.status < 300) return warnings
  const message = messageOf(answer)
  const webhook = /^admission webhook "([^"]+)" denied the request/.exec(message)?.[1]
  const by = webhook === undefined ? 'the API server refuses it' : `webhook ${webhook} refuses it`
  const details = isObject(answer.body) && isObject(answer.body.details) ? answer.body.details : {}
  const causes = (Array.isArray(details.causes) ? details.causes : [])
    .filter(isObject)
    .filter((cause) => !String(cause.message).includes(RULES_LEFT_OUT))
  const unknown = [...message.matchAll(/unknown field "([^"]+)"/g)]
  const refusals =
    unknown.length > 0
      ? unknown.map(([, path = '']) => [path, 'unknown field'])
      : causes.length > 0
        ? causes.map(({ field, message: text }) => [
            typeof field === 'string' ? field : '',
            typeof text === 'string' ? text : message,
          ])
        : [['', message]]
  return [
    ...refusals.map(([path = '', text = '']) => finding('error', placeIn(value, path), `${text}; ${by}`)),
    ...warnings,
  ]
}

const finding = (severity: Finding['severity'], at: readonly Segment[], detail: string): Finding => ({
  id: 'api-server-accepts',
  severity,
  error: { type: 'advice', at, detail },
})

/**
 * The segments of a path that the API server printed, such as `spec.list[0].map[key].field`. The object `value` shows
 * whether brackets contain a list index or a map key.
 */
function placeIn(value: unknown, path: string): Segment[] {
  const at: Segment[] = []
  if (path === '<nil>') return at
  for (const step of stepsIn(path)) {
    const inside = step.slice(1, -1)
    at.push(
      !step.startsWith('[') ? step : Array.isArray(valueAt(value, at)) ? Number(inside) : { key: inside },
    )
  }
  return at
}
