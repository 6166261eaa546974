import { utf8Length } from '../cel/index.ts'
import { type ErrorType, type Finding, isObject, metadataOf, nearest, type Segment } from '../rule/index.ts'
import { type FindPlaceholder, holdsPlaceholder } from '../documents/index.ts'

/**
 * The errors that the API server finds in the metadata of a resource, with the same texts (`ValidateObjectMeta` of
 * apimachinery). For files only: a webhook never gets such an object. Texts with a placeholder are judged only if
 * `strict`.
 */
export function metadataFindings(
  object: unknown,
  { strict, placeholders }: { readonly strict: boolean; readonly placeholders?: FindPlaceholder | undefined },
): readonly Finding[] {
  if (!isObject(object)) return []
  const isJudged = (text: string) => strict || !holdsPlaceholder(text, placeholders)
  const found = [...errorsIn(metadataOf(object), isJudged)]
  return found.map(([type, at, value, detail]) => ({
    id: 'metadata-accepted',
    severity: 'error',
    error: { type, at: ['metadata', ...at], value, detail },
  }))
}

type MetadataError = readonly [type: ErrorType, at: readonly Segment[], value: unknown, detail: string]

/** A format that the API server requires: a pattern, the longest text in bytes, and the message about the pattern. */
interface Format {
  readonly pattern: RegExp
  readonly detail: string
  readonly most: number
}

/** Makes a format. Its message, like that of the API server, has the part of `pattern` between `^(?:` and `)$`. */
const format = (pattern: RegExp, most: number, what: string, ...samples: string[]): Format => ({
  pattern,
  most,
  detail: `${what} (e.g. ${samples.map((each) => `'${each}'`).join(',  or ')}, regex used for validation is '${pattern.source.slice(4, -2)}')`,
})

const NAME = format(
  /^(?:[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)$/,
  253,
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
  'example.com',
)
const NAMESPACE = format(
  /^(?:[a-z0-9]([-a-z0-9]*[a-z0-9])?)$/,
  63,
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
  'my-name',
  '123-abc',
)
const KEY_NAME = format(
  /^(?:([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$/,
  63,
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  'MyName',
  'my.name',
  '123-abc',
)
const LABEL_VALUE = format(
  /^(?:(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?)$/,
  63,
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  'MyValue',
  'my_value',
  '12345',
)

/** The most characters of a text that is compared with a pattern: V8 stores a position for each repetition. */
const LONGEST = 1_000

/** The most bytes of all annotations of an object together. */
const MOST_ANNOTATIONS = 256 * 1024

/** The fields of ObjectMeta and their JSON types; `schema` marks a field that the schema of the kind checks. */
const FIELDS: Readonly<Record<string, 'schema' | 'string' | 'integer' | 'array'>> = {
  name: 'schema',
  generateName: 'schema',
  namespace: 'schema',
  labels: 'schema',
  annotations: 'schema',
  finalizers: 'array',
  ownerReferences: 'array',
  uid: 'string',
  resourceVersion: 'string',
  selfLink: 'string',
  generation: 'integer',
  creationTimestamp: 'string',
  deletionTimestamp: 'string',
  deletionGracePeriodSeconds: 'integer',
  managedFields: 'array',
}

const IS_OF_TYPE = {
  schema: () => true,
  string: (value: unknown) => typeof value === 'string',
  integer: (value: unknown) => Number.isInteger(value),
  array: (value: unknown) => Array.isArray(value),
}

/** Errors for metadata fields that ObjectMeta does not have, and for values of another JSON type. */
function* mistypedIn(metadata: Readonly<Record<string, unknown>>): Generator<MetadataError> {
  for (const [field, value] of Object.entries(metadata)) {
    const type = Object.hasOwn(FIELDS, field) ? FIELDS[field] : undefined
    if (type === undefined) {
      const near = nearest(field, Object.keys(FIELDS))
      const advice = near === undefined ? 'kubectl refuses it' : `did you mean '${near}'`
      yield ['forbidden', [field], undefined, `metadata has no such field; ${advice}`]
    } else if (value !== null && !IS_OF_TYPE[type](value)) {
      yield ['typeInvalid', [field], value, `must be of type ${type}`]
    }
  }
}

/** Errors in lists: finalizers must be qualified names, and owner references complete, with at most one controller. */
function* ofListsIn({
  finalizers,
  ownerReferences,
}: Readonly<Record<string, unknown>>): Generator<MetadataError> {
  for (const [i, each] of listOf(finalizers).entries()) {
    const name = each ?? ''
    if (typeof name !== 'string') yield ['typeInvalid', ['finalizers', i], name, 'must be of type string']
    else
      for (const [type, , value, detail] of ofKey('', name, name))
        yield [type, ['finalizers', i], value, detail]
  }
  for (const [i, each] of listOf(ownerReferences).entries()) {
    for (const field of ['apiVersion', 'kind', 'name', 'uid'])
      if (!isObject(each) || isEmpty(each[field]))
        yield ['invalid', ['ownerReferences', i, field], '', 'must not be empty']
  }
  const controllers = listOf(ownerReferences).filter((each) => isObject(each) && each.controller === true)
  if (controllers.length > 1)
    yield ['forbidden', ['ownerReferences'], undefined, 'only one reference can have controller set to true']
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

function* errorsIn(
  metadata: Readonly<Record<string, unknown>>,
  isJudged: (text: string) => boolean,
): Generator<MetadataError> {
  yield* mistypedIn(metadata)
  yield* ofListsIn(metadata)
  const { name, generateName, namespace, labels, annotations } = metadata
  if (isEmpty(name) && isEmpty(generateName))
    yield ['required', ['name'], undefined, 'name or generateName is required']
  for (const [field, text, rule] of [
    ['name', name, NAME],
    ['generateName', generateName, NAME],
    ['namespace', namespace, NAMESPACE],
  ] as const) {
    if (typeof text !== 'string' || text === '' || !isJudged(text)) continue
    // The API server appends letters to `generateName`, so it may end in a dash.
    const judged = field === 'generateName' ? text.replace(/(?<=.)-$/, 'a') : text
    for (const detail of broken(judged, rule, 'characters')) yield ['invalid', [field], text, detail]
  }
  for (const [key, value] of fieldsOf(labels)) {
    if (isJudged(key)) yield* ofKey('labels', key, key)
    if (typeof value !== 'string' || !isJudged(value)) continue
    for (const detail of broken(value, LABEL_VALUE)) yield ['invalid', ['labels', { key }], value, detail]
  }
  for (const [key] of fieldsOf(annotations)) {
    if (isJudged(key)) yield* ofKey('annotations', key, key.toLowerCase())
  }
  const size = utf8Length(fieldsOf(annotations).flat().join(''))
  if (size > MOST_ANNOTATIONS)
    yield ['tooLong', ['annotations'], '', `may not be more than ${MOST_ANNOTATIONS} bytes`]
}

const isEmpty = (text: unknown) => text === undefined || text === null || text === ''

/** Errors in the key of a label or annotation, which is a name, or a domain, a slash and a name. */
function* ofKey(field: string, key: string, judged: string): Generator<MetadataError> {
  const parts = judged.split('/')
  const [own = '', ...prefix] = parts.toReversed()
  const details =
    parts.length > 2
      ? [
          `a valid label key ${KEY_NAME.detail} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
        ]
      : [...prefix.flatMap((each) => ofPart('prefix', each, NAME)), ...ofPart('name', own, KEY_NAME)]
  for (const detail of details) yield ['invalid', [field, { key }], key, detail]
}

const EMPTY = 'must be non-empty'

const ofPart = (part: string, text: string, rule: Format): string[] =>
  (text !== '' ? broken(text, rule) : part === 'prefix' ? [EMPTY] : [EMPTY, ...broken(text, rule)]).map(
    (detail) => `${part} part ${detail}`,
  )

function broken(text: string, { pattern, detail, most }: Format, unit = 'bytes'): string[] {
  return [
    ...(utf8Length(text) > most ? [`must be no more than ${most} ${unit}`] : []),
    ...(text.length > LONGEST || pattern.test(text) ? [] : [detail]),
  ]
}

const fieldsOf = (map: unknown): [string, unknown][] => (isObject(map) ? Object.entries(map) : [])
