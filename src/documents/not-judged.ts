import { API_VERSION, kindNamed } from '../kinds/index.ts'
import { type FieldError, type Finding, type Fix, isObject, nearest, type Resource } from '../rule/index.ts'
import { holdsPlaceholder } from './placeholder.ts'
import { kindOf, type DocumentReading } from './given-objects.ts'

/** A message that a document, or an item of a list, is not judged. */
export interface NotJudged {
  /** The field that the message is about; empty for the whole document. */
  readonly at: readonly (string | number)[]
  readonly detail: string
  /** The finding, if the document was certainly meant to be of a judged kind; without it, users get only a note. */
  readonly finding?: Finding
  readonly resource: Resource
}

/** The only judged kind with a name that other products use for their kinds too. */
const OF_OTHERS_TOO = 'MCPServer'
const OF_THE_PRODUCT = /toolhive|stackloc?k/i

/**
 * The message that a document is not judged although it looks like a resource of the operator: it has another kind or
 * API group, or is a list. Undefined for all other documents.
 */
export function notJudged(value: unknown, reading: DocumentReading): NotJudged | undefined {
  if (Array.isArray(value)) return ofList(value, reading)
  if (!isObject(value)) return undefined
  const { apiVersion, kind } = value
  const isOurs = typeof apiVersion === 'string' && apiVersion.startsWith(`${reading.group}/`)
  if (isOurs) return ofKind(value, reading)
  return typeof kind === 'string' && kindNamed.has(kind) ? ofGroup(value, kind, reading) : undefined
}

type Id = 'api-group-known' | 'kind-known'

function meant(
  id: Id,
  at: readonly (string | number)[],
  detail: string,
  resource: Resource,
  { strict }: DocumentReading,
  near?: string,
): NotJudged {
  const fix: Fix | undefined =
    near === undefined ? undefined : { title: `write '${near}'`, edits: [{ op: 'set', at, value: near }] }
  const error: FieldError = { type: 'advice', at, detail: `not checked: ${detail}`, ...(fix && { fix }) }
  return { at, detail, resource, finding: { id, severity: strict ? 'error' : 'warning', error } }
}

function ofList(values: readonly unknown[], reading: DocumentReading): NotJudged | undefined {
  const index = values.findIndex((value) => kindOf(value, reading) !== undefined)
  if (index < 0) return undefined
  const detail =
    "kubectl takes no list of resources; write documents with --- between them, or 'kind: List' with 'items'"
  return meant('kind-known', [index], detail, values[index] as Resource, reading)
}

/** Deprecated kinds of the operator, which later releases will remove, each with the advice of its message. */
const DEPRECATED_KINDS: ReadonlyMap<string, string> = new Map([
  [
    'MCPRegistry',
    'a later release removes it; install the registry server by its Helm chart, toolhive-registry-server',
  ],
])

/** The message about a document of the operator's API group whose kind is not judged; undefined for judged kinds. */
function ofKind(value: Resource, reading: DocumentReading): NotJudged | undefined {
  const { kind } = value
  if (typeof kind !== 'string') {
    const detail = isMissing(kind) ? missing('kind', value) : `the kind is ${described(kind)}`
    return meant('kind-known', ['kind'], detail, value, reading)
  }
  if (kindNamed.has(kind)) return undefined
  const replacement = DEPRECATED_KINDS.get(kind)
  if (replacement !== undefined)
    return { at: ['kind'], detail: `the kind '${kind}' is deprecated: ${replacement}`, resource: value }
  const near = nearest(kind, kindNamed.keys())
  const detail = `there are no rules for the kind '${kind}'`
  return near === undefined
    ? { at: ['kind'], detail, resource: value }
    : meant('kind-known', ['kind'], `${detail}; did you mean '${near}'`, value, reading, near)
}

/** The message about a document that has the name of a judged kind, but another API group. */
function ofGroup(value: Resource, kind: string, reading: DocumentReading): NotJudged {
  const { group, strict, placeholders } = reading
  const given = typeof value.apiVersion === 'string' ? value.apiVersion : undefined
  const isNear =
    given !== undefined &&
    (OF_THE_PRODUCT.test(given) || nearest(given.split('/', 1)[0] ?? '', [group]) !== undefined)
  const detail = wrongGroup(value, given, `${group}/${API_VERSION}`, isNear)
  // Without an apiVersion the document cannot belong to another product: kubectl refuses it.
  const hasNoGroup = given === undefined && isObject(value.metadata) && isObject(value.spec)
  const isOpen = !strict && holdsPlaceholder(given ?? '', placeholders)
  if (isOpen || (!isNear && !hasNoGroup && kind === OF_OTHERS_TOO))
    return { at: ['apiVersion'], detail, resource: value }
  const near = isNear ? `${group}/${API_VERSION}` : undefined
  return meant('api-group-known', ['apiVersion'], detail, value, reading, near)
}

function wrongGroup(value: Resource, given: string | undefined, ours: string, isNear: boolean): string {
  const { apiVersion } = value
  if (isMissing(apiVersion)) return `${missing('apiVersion', value)}; write '${ours}'`
  if (given === undefined) return `the apiVersion is ${described(apiVersion)}; write '${ours}'`
  return isNear
    ? `the apiVersion is '${given}'; did you mean '${ours}'`
    : `the apiVersion is '${given}', and not '${ours}' (--api-group names another group)`
}

const isMissing = (value: unknown): boolean => value === undefined || value === null

/** A message that a field is missing, with the misspelt key that is there instead, if any. */
function missing(field: string, holder: object): string {
  const near = nearest(field, Object.keys(holder))
  return `there is no ${field}${near === undefined || near === field ? '' : `, but '${near}'`}`
}

function described(value: unknown): string {
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'number') return `the number ${value}`
  return isObject(value) ? 'a map' : String(value)
}
