import { isObject, parsedJson } from '../../rule/index.ts'

/** A write that the API server stored, as recorded in its audit log (`audit.k8s.io/v1`). */
export interface Write {
  readonly verb: 'create' | 'update' | 'patch' | 'delete'
  /** Whether the write created the object, which a server-side apply (verb `patch`) can do too. */
  readonly creates: boolean
  /** The time of the request, as written in the log. */
  readonly time: string
  readonly user: string
  readonly resource: string
  readonly namespace: string
  readonly name: string
  /** The object as stored or, for a deletion, as it was before; undefined when the log does not contain it. */
  readonly object: Readonly<Record<string, unknown>> | undefined
  /** Why the log does not contain the object; empty when the log contains it, and for a deletion. */
  readonly lacking: string
}

/** A `deletecollection` request. The webhook gets a separate review for each deleted object. */
export interface CollectionDeletion extends Pick<Write, 'time' | 'user' | 'resource' | 'namespace'> {
  /** One deletion for each object in the response; undefined when the log does not contain the response. */
  readonly deleted: readonly Write[] | undefined
  /** Whether a label or field selector limited the deletion to some objects of the namespace. */
  readonly hasSelector: boolean
}

/** The content of a line in an audit log: a stored write, a `deletecollection`, or something that is not judged. */
type Entry =
  | { readonly is: 'write'; readonly write: Write }
  | { readonly is: 'deletion of a collection'; readonly deletion: CollectionDeletion }
  | { readonly is: 'refused' | 'other' | 'not an event' }

const VERBS: ReadonlySet<unknown> = new Set<Write['verb']>(['create', 'update', 'patch', 'delete'])
const isVerb = (verb: unknown): verb is Write['verb'] => VERBS.has(verb)
const OTHER: Entry = { is: 'other' }

/** Parses one line of the log; dry runs, and writes of subresources or of other API groups, are `other`. */
export function entryOf(line: string, group: string): Entry {
  const event = parsedJson(line)
  if (!isObject(event) || event.kind !== 'Event' || !String(event.apiVersion).startsWith('audit.k8s.io/'))
    return { is: 'not an event' }
  const { verb, stage, objectRef, requestURI, responseStatus, user } = event
  if (stage !== 'ResponseComplete' || !isObject(objectRef) || objectRef.apiGroup !== group) return OTHER
  if (textIn(objectRef.subresource) !== '' || isDryRun(event)) return OTHER
  if (verb !== 'deletecollection' && !isVerb(verb)) return OTHER
  const code = isObject(responseStatus) ? responseStatus.code : undefined
  if (Number(code) >= 400) return { is: 'refused' }
  const shared = {
    time: textIn(event.requestReceivedTimestamp),
    user: isObject(user) ? textIn(user.username) : '',
    resource: textIn(objectRef.resource),
    namespace: textIn(objectRef.namespace),
  }
  if (verb === 'deletecollection') {
    const { items } = isObject(event.responseObject) ? event.responseObject : {}
    const deleted = Array.isArray(items)
      ? items.filter(isResource).map((object): Write => {
          const name = nameOf(object)
          return { ...shared, verb: 'delete', creates: false, name, object, lacking: '' }
        })
      : undefined
    const hasSelector = /[?&](?:label|field)Selector=[^&]/.test(textIn(requestURI))
    return { is: 'deletion of a collection', deletion: { ...shared, deleted, hasSelector } }
  }
  const { object, lacking } = objectOf(event)
  const name = textIn(objectRef.name) || nameOf(object)
  const creates = verb === 'create' || code === 201
  return { is: 'write', write: { ...shared, verb, creates, name, object, lacking } }
}

/** Whether the request is a dry run: stated in the query or, for a deletion by kubectl, only in the body. */
const isDryRun = ({ requestURI, requestObject }: Readonly<Record<string, unknown>>): boolean =>
  /[?&]dryRun=/.test(textIn(requestURI)) ||
  (isObject(requestObject) && requestObject.kind === 'DeleteOptions' && Array.isArray(requestObject.dryRun))

const nameOf = (object: Write['object']): string =>
  isObject(object?.metadata) ? textIn(object.metadata.name) : ''

function objectOf({
  verb,
  level,
  requestObject,
  responseObject,
  annotations,
}: Readonly<Record<string, unknown>>): Pick<Write, 'object' | 'lacking'> {
  const none = (lacking: string) => ({ object: undefined, lacking })
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

/** Whether the value is an object of a named API group; a Status, which is in the core group, is not. */
const isResource = (value: unknown): value is Readonly<Record<string, unknown>> =>
  isObject(value) &&
  typeof value.apiVersion === 'string' &&
  value.apiVersion.includes('/') &&
  isObject(value.metadata)

const textIn = (value: unknown): string => (typeof value === 'string' ? value : '')
