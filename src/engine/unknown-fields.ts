import type { Kind } from '../kinds/kind.ts'
import {
  ANYTHING,
  fieldOf,
  itemOf,
  type KnownField,
  knownFields,
  NEWEST_RELEASE,
  type Release,
} from '../release/index.ts'
import {
  andMore,
  deepEqual,
  type Finding,
  type Fix,
  isObject,
  jsonKey,
  MOST_FINDINGS,
  nearest,
  type Segment,
} from '../rule/index.ts'
import { renameFix, type SchemaNode } from '../shape/index.ts'

/** A field that a newer release of the operator introduced. */
export interface NewerField {
  readonly at: readonly Segment[]
  /** The first release that has the field, such as `0.43`. */
  readonly since: string
}

/** The schemas and settings by which unknown fields are found. */
interface Reading {
  /** The installed operator release; absent when it is unknown. */
  readonly release?: Release | undefined
  /** Whether a field name is a template, which a tool will replace before the manifest is applied. */
  readonly isTemplate?: (name: string) => boolean
  /** Whether the object may be for a release older than the known ones, with other fields. */
  readonly isOlder?: boolean
}

/**
 * Unknown fields of a resource in a file; a webhook does not see any, because the API server drops them. `findings`
 * are about fields that the installed release lacks or, when that release is not known, that neither the
 * specification nor a known release has (decision 2). They are warnings in an object that no release describes.
 * `newer`: fields that a newer release introduced.
 */
export function unknownFields(
  kind: Kind,
  resource: unknown,
  { release, isTemplate = () => false, isOlder = false }: Reading = {},
): {
  readonly findings: readonly Finding[]
  readonly newer: readonly NewerField[]
  /** The paths of known fields that were probably meant instead of unknown fields. */
  readonly meant: readonly (readonly Segment[])[]
} {
  const schema = release?.schemas.get(kind.kind)
  const installed = schema && release?.name
  const searched: Search = { installed, isTemplate, isOlder, at: [], findings: [], newer: [], meant: [] }
  search(
    { specified: kind.schema, released: schema ?? knownFields(kind.kind), since: undefined },
    resource,
    searched,
  )
  return searched
}

interface Search {
  /** The name of the installed release; undefined when the fields of all known releases are accepted. */
  readonly installed: string | undefined
  readonly isTemplate: (name: string) => boolean
  readonly isOlder: boolean
  /** The path that the search has reached. */
  readonly at: Segment[]
  readonly findings: Finding[]
  readonly newer: NewerField[]
  readonly meant: (readonly Segment[])[]
}

/** The schemas of one path in a resource, from the specification and from releases. */
interface Known {
  /** The schema in the specification; undefined when the specification does not describe this path. */
  readonly specified: SchemaNode | undefined
  /**
   * The schema in the installed release, or in all known releases together; undefined when they do not describe this
   * path.
   */
  readonly released: KnownField | undefined
  /**
   * The release that introduced the nearest field around this path that the specification lacks; undefined when the
   * specification has all fields around it.
   */
  readonly since: string | undefined
}

function search(known: Known, value: unknown, searched: Search): void {
  const { specified, released } = known
  if (specified === undefined && (released === undefined || isLeaf(released))) return
  if (Array.isArray(value)) {
    const items = { ...known, specified: specified?.items, released: released && itemOf(released) }
    for (let i = 0; i < value.length; i++) step(i, items, value[i], searched)
  } else if (isObject(value)) {
    for (const name of Object.keys(value)) {
      if (searched.findings.at(-1)?.more === true) return
      searchField(known, name, value, searched)
    }
  }
}

/** Whether a release's schema describes no fields inside a field: the field is a scalar, or has arbitrary content. */
const isLeaf = (released: KnownField): boolean =>
  released === ANYTHING || !(released.type === 'object' || released.type === 'array')

function step(segment: Segment, known: Known, value: unknown, searched: Search): void {
  if (typeof value !== 'object' || value === null) return
  searched.at.push(segment)
  search(known, value, searched)
  searched.at.pop()
}

function searchField(
  known: Known,
  name: string,
  holder: Readonly<Record<string, unknown>>,
  searched: Search,
): void {
  const { specified: { open, properties, additionalProperties } = {}, released, since } = known
  const { installed, at } = searched
  const specified = properties !== undefined && Object.hasOwn(properties, name) ? properties[name] : undefined
  const field: KnownField | undefined = released && fieldOf(released, name)
  const value = holder[name]
  if (specified === undefined && additionalProperties !== undefined) {
    step({ key: name }, { specified: additionalProperties, released: field, since }, value, searched)
  } else if (installed !== undefined && at.length > 0) {
    if (field === undefined) tell(known, name, holder, searched, `${installed} does not have this field`)
    else step(segmentIn(released, name), { specified, released: field, since }, value, searched)
  } else if (specified !== undefined || (field !== undefined && field !== ANYTHING)) {
    const came = specified !== undefined && specified.newer !== true ? since : (field?.since ?? since)
    const isTold = name === holder.type && isUnsupported(name, properties?.type)
    if (came !== undefined && came !== since && !isTold)
      searched.newer.push({ at: [...at, name], since: came })
    step(segmentIn(released, name), { specified, released: field, since: came }, value, searched)
  } else if (installed === undefined && field === undefined && released !== undefined) {
    tell(known, name, holder, searched, searched.isOlder ? NOT_WITH_V1BETA1 : NOT_RELEASED)
  } else if (properties !== undefined && open !== true) {
    tell(known, name, holder, searched, NOT_SPECIFIED)
  }
}

/**
 * The path segment for a name: the key of a map when the schema has `additionalProperties` and does not list the name.
 */
const segmentIn = (released: KnownField | undefined, name: string): Segment =>
  typeof released?.additionalProperties === 'object' && !Object.hasOwn(released.properties ?? {}, name)
    ? { key: name }
    : name

/** The most unknown fields of an object for which a similar known name is searched. */
const MOST_COMPARED = 100

const NOT_RELEASED = `no operator release up to ${NEWEST_RELEASE} has this field`
const NOT_WITH_V1BETA1 = `no operator release with v1beta1 (up to ${NEWEST_RELEASE}) has this field, an older one may`
const NOT_SPECIFIED = 'is not in the specification'

/** Adds the finding about an unknown field; none for a template, which a tool will replace. */
function tell(
  { specified, released }: Known,
  name: string,
  holder: Readonly<Record<string, unknown>>,
  { at: around, findings, meant: meantAt, installed, isTemplate }: Search,
  what: string,
): void {
  if (isTemplate(name)) return
  const fields = { ...released?.properties, ...(installed === undefined && specified?.properties) }
  const near = findings.length < MOST_COMPARED ? meant(name, Object.keys(fields)) : undefined
  const target = [...around, near ?? '']
  const isMeantTwice = meantAt.some((other) => deepEqual(other, target))
  const type = specified?.properties?.type
  if (near === undefined && name === holder.type && isUnsupported(name, type)) return
  const at = [...around, name]
  if (near !== undefined) meantAt.push(target)
  const fix =
    near === undefined || isMeantTwice
      ? undefined
      : fixOf(at, holder, near, { ...fields, ...specified?.properties }, released?.properties?.[near])
  const isSpecified = what !== NOT_SPECIFIED
  const otherwise = what === NOT_WITH_V1BETA1 ? RENAMED : isSpecified ? DROPPED : MAY_BE_DROPPED
  const finding: Finding = {
    id: 'unknown-field',
    severity: isSpecified ? 'error' : 'warning',
    error: {
      type: 'advice',
      at,
      detail: `${what}; ${near === undefined ? otherwise : `did you mean '${near}'`}`,
      ...(fix && { fix }),
    },
  }
  findings.push(findings.length < MOST_FINDINGS ? finding : andMore(finding))
}

const RENAMED = 'write the name that it has in v1beta1, or remove it'
const DROPPED = 'kubectl refuses it, and the API server drops it'
const MAY_BE_DROPPED = 'a cluster whose CRD does not know it drops or refuses it'

/**
 * The fewest characters of an unknown name that gets a fix: a shorter name is easily similar to another, as `gpu` to
 * `cpu`.
 */
const SHORTEST = 4

/** What a schema of the specification and one of a release have in common. */
interface Described {
  readonly type?: unknown
  readonly items?: Described
  readonly properties?: Readonly<Record<string, Described>>
}

/**
 * The fix that renames an unknown field to the known name `near`; undefined when `near` was not certainly meant,
 * because the unknown name is short or only the beginning of `near`, or its value has fields that are not known there.
 */
function fixOf(
  at: readonly Segment[],
  holder: Readonly<Record<string, unknown>>,
  near: string,
  fields: Readonly<Record<string, Described>>,
  released: Described | undefined,
): Fix | undefined {
  const name = String(jsonKey(at.at(-1) ?? ''))
  const value = holder[name]
  const isCertain = near === similar(name, Object.keys(fields)) || isReference(name, near, value)
  return isCertain && name.length >= SHORTEST && fits(value, [fields[near], released])
    ? renameFix(at, holder, near, fields[near])
    : undefined
}

/** Whether a value with the name of an object is at a field without `Ref` at its end. */
const isReference = (name: string, near: string, value: unknown): boolean =>
  `${name}Ref` === near && isObject(value) && Object.hasOwn(value, 'name')

/** Whether every field of an object, or of the objects of a list, is known, or similar to one that is known. */
function fits(value: unknown, fields: readonly (Described | undefined)[]): boolean {
  if (Array.isArray(value)) {
    const items = fields.map((field) => field?.items)
    return value.every((item) => fits(item, items))
  }
  const known = new Set(fields.flatMap((field) => Object.keys(field?.properties ?? {})))
  if (!isObject(value) || known.size === 0) return true
  return Object.keys(value).every((key) => known.has(key) || similar(key, [...known]) !== undefined)
}

/** The known name that is similar, or else the only one that begins with this text: `valueSecretRef` for `value`. */
function meant(name: string, known: readonly string[]): string | undefined {
  const near = similar(name, known)
  if (near !== undefined || name.length < 4) return near
  const start = name.toLowerCase()
  const [first, second] = known.filter((each) => each.toLowerCase().startsWith(start))
  return second === undefined ? first : undefined
}

/** The known name that is similar in each word: `headerName` for `headerNam`, but not for `headerValue`. */
function similar(name: string, known: readonly string[]): string | undefined {
  const near = nearest(name, known)
  if (near === undefined || differsInLetters(name, near)) return near
  return nearest(
    name,
    known.filter((each) => differsInLetters(name, each)),
  )
}

/** Whether the words that only one of two names in camel case has are similar. */
function differsInLetters(one: string, other: string): boolean {
  const [words, others] = [wordsOf(one), wordsOf(other)]
  const own = words.filter((word) => !others.includes(word)).join('')
  const rest = others.filter((word) => !words.includes(word)).join('')
  return own === rest || nearest(own, [rest]) !== undefined
}

const wordsOf = (name: string): string[] =>
  (name.match(/[A-Z]+[a-z0-9]*|[a-z0-9]+/g) ?? []).map((word) => word.toLowerCase())

/** Whether the value of `type` is unsupported: then only `type` has a finding, not the object with its settings. */
const isUnsupported = (type: string, known: SchemaNode | undefined): boolean =>
  known?.enum?.includes(type) === false
