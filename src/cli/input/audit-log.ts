import { isObject } from '../../rule/resource.ts'

/** A write that the API server stored, as its audit log tells it (`audit.k8s.io/v1`). */
export interface Write {
  readonly verb: 'create' | 'update' | 'patch' | 'delete'
  /** Whether there was no such object before: an apply creates too. */
  readonly creates: boolean
  /** The time of the request, as the log has it. */
  readonly time: string
  readonly user: string
  readonly resource: string
  readonly namespace: string
  readonly name: string
  /** The object as it was stored, or before it was deleted; undefined where the log does not hold it. */
  readonly object: Readonly<Record<string, unknown>> | undefined
  /** Why the log does not hold the object. */
  readonly lacking: string
}

/** What a line of an audit log is: a write of the group, something else that matters, or nothing. */
export type Entry =
  { readonly is: 'write'; readonly write: Write } | { readonly is: 'refused' | 'other' | 'not an event' }

const VERBS = new Set(['create', 'update', 'patch', 'delete'])
const OTHER: Entry = { is: 'other' }

/** Reads one line; only stored writes of whole objects of the API group are writes, so no dry runs and no status. */
export function entryOf(line: string, group: string): Entry {
  const event = parsed(line)
  if (!isObject(event) || event.kind !== 'Event' || !String(event.apiVersion).startsWith('audit.k8s.io/'))
    return { is: 'not an event' }
  const { verb, stage, objectRef, requestURI, responseStatus, user } = event
  if (stage !== 'ResponseComplete' || !isObject(objectRef) || objectRef.apiGroup !== group) return OTHER
  if (textIn(objectRef.subresource) !== '' || /[?&]dryRun=/.test(textIn(requestURI))) return OTHER
  if (verb !== 'deletecollection' && !VERBS.has(textIn(verb))) return OTHER
  const code = isObject(responseStatus) ? responseStatus.code : undefined
  if (Number(code) >= 400) return { is: 'refused' }
  const { object, lacking } = objectOf(event)
  const { metadata } = object ?? {}
  const named = isObject(metadata) ? metadata : {}
  return {
    is: 'write',
    write: {
      verb: verb as Write['verb'],
      creates: verb === 'create' || code === 201,
      time: textIn(event.requestReceivedTimestamp),
      user: isObject(user) ? textIn(user.username) : '',
      resource: textIn(objectRef.resource),
      namespace: textIn(objectRef.namespace),
      name: textIn(objectRef.name) || textIn(named.name),
      object,
      lacking,
    },
  }
}

function objectOf({
  verb,
  level,
  requestObject,
  responseObject,
  annotations,
}: Readonly<Record<string, unknown>>): Pick<Write, 'object' | 'lacking'> {
  const none = (lacking: string) => ({ object: undefined, lacking })
  if (verb === 'deletecollection') return none('deletions of whole collections')
  if (isResource(responseObject)) return { object: responseObject, lacking: '' }
  if (verb === 'delete') return none('')
  if (verb !== 'patch' && isResource(requestObject)) return { object: requestObject, lacking: '' }
  if (isObject(annotations) && annotations['audit.k8s.io/truncated'] === 'true')
    return none('shortened by the API server (audit.k8s.io/truncated)')
  return none(
    verb === 'patch' && level === 'Request'
      ? 'patches at level Request, which holds the patch alone'
      : `at level ${textIn(level)}, which holds no object`,
  )
}

/** Whether it is an object of a group, and no Status. */
const isResource = (value: unknown): value is Readonly<Record<string, unknown>> =>
  isObject(value) &&
  typeof value.apiVersion === 'string' &&
  value.apiVersion.includes('/') &&
  isObject(value.metadata)

const textIn = (value: unknown): string => (typeof value === 'string' ? value : '')

function parsed(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}
