import type { ErrorObject, ValidateFunction } from 'ajv'
import type { Kind } from '../kinds/kind.ts'
import { mismatchDetail } from '../kinds/pattern-advice.ts'
import {
  andNotJudged,
  changedAt,
  copyOf,
  type ErrorType,
  type FieldError,
  type Finding,
  isObject,
  type JsonHolder,
  jsonType,
  MOST_FINDINGS,
  nearest,
  pathText,
  type Resource,
  type Segment,
  setOwn,
  supportedValues,
  valueAt,
} from '../rule/index.ts'
import { nodeAt, type SchemaNode, segmentsOfPointer } from './pointer.ts'
import { schemaFix } from './fixes.ts'
import { typeAdvice } from './type-advice.ts'
import * as validators from './generated/validators.js'

/** The findings of the schema, and the resource as rules read it. */
export interface Shaped {
  readonly findings: readonly Finding[]
  /** The value without nulls and without parts of a wrong JSON type. Absent when the value is not an object. */
  readonly resource?: Resource
  /** Whether some part has a wrong JSON type. */
  readonly mistyped: boolean
}

const validatorOf = validators as unknown as Readonly<Record<string, ValidateFunction>>

/** Facts about the JSON text of an object, which make some searches in the object unnecessary. */
export interface Contents {
  readonly nulls: boolean
  /** The JSON text that contains the object. */
  readonly text?: string
}

export const ANYTHING: Contents = { nulls: true }

/**
 * Judges the value by the schema of its kind: types, required fields, enums, patterns, bounds (specification 2, 8).
 * `unknown` lists the places of values that cannot be judged yet (placeholders, decision 28): the schema reports
 * nothing there, and rules read them as undefined.
 */
export function shape(
  kind: Kind,
  value: unknown,
  { nulls }: Contents = ANYTHING,
  unknown: readonly (readonly Segment[])[] = [],
): Shaped {
  const given = nulls ? withoutNulls(value) : value
  const validate = validatorOf[kind.kind]
  if (validate === undefined) throw new Error(`no validator for ${kind.kind}: run npm run generate`)
  if (validate(given) && unknown.length === 0)
    return { findings: [], resource: given as Resource, mistyped: false }
  if ((validate.errors ?? []).length > MOST_FINDINGS) return tooManyErrors(kind, given, validate.errors ?? [])
  const errors = outside(unknown, distinct(kind, given, validate.errors ?? []))
  const taken = errors.filter(({ error }) => error.type === 'typeInvalid').map(({ error }) => error.at)
  const resource = without(given, [...taken, ...unknown])
  return { findings: errors, mistyped: taken.length > 0, ...(resource === undefined ? {} : { resource }) }
}

/** The findings whose field is neither at one of these places nor inside such a place. */
export function outside(
  places: readonly (readonly Segment[])[],
  findings: readonly Finding[],
): readonly Finding[] {
  if (places.length === 0) return findings
  const texts = new Set(places.map(pathText))
  return findings.filter(({ error: { at } }) => !at.some((_, i) => texts.has(pathText(at.slice(0, i + 1)))))
}

/** The first schema errors, and an error that the rest is not judged: the validator stopped, and no rule runs. */
function tooManyErrors(kind: Kind, given: unknown, errors: readonly ErrorObject[]): Shaped {
  const findings = distinct(kind, given, errors.slice(0, MOST_FINDINGS))
  const hidden = errors.slice(MOST_FINDINGS, MOST_FINDINGS + 1)
  const rest = hidden.map((error) => andNotJudged(schemaFinding(kind, given, error).error.at))
  return { findings: [...findings, ...rest], mistyped: true }
}

/** The value without its null fields: a field with null counts as a field that is not set (decision 17). */
function withoutNulls(value: unknown): unknown {
  if (!isHolder(value)) return value
  let copy: JsonHolder | undefined
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const kept = withoutNulls(value[i])
      if (kept !== value[i]) setOwn((copy ??= copyOf(value)), i, kept)
    }
    return copy ?? value
  }
  for (const key in value) {
    const field = value[key]
    const kept = isHolder(field) ? withoutNulls(field) : field
    if (field === null) copy ??= copyOf(value, isGiven)
    else if (kept !== field) setOwn((copy ??= copyOf(value, isGiven)), key, kept)
  }
  return copy ?? value
}

const isHolder = (value: unknown): value is JsonHolder => typeof value === 'object' && value !== null
const isGiven = (field: unknown): boolean => field !== null

/** A copy with the given places set to undefined; undefined when the root itself is one of them. */
function without(value: unknown, places: readonly (readonly Segment[])[]): Resource | undefined {
  if (!isObject(value) || places.some((place) => place.length === 0)) return undefined
  const taken = places.map((at) => ({ at }))
  return changedAt(value, taken, (holder, key) => setOwn(holder, key, undefined))
}

/** For each keyword: the keywords whose error at the same place makes an error of this keyword redundant. */
const SAID_BY: Readonly<Record<string, readonly string[]>> = {
  pattern: ['type', 'minLength'],
  format: ['type', 'minimum', 'maximum'],
}

/**
 * One finding for each mistake. A type error hides the errors of other keywords at the same place; a minLength error
 * hides the pattern error.
 */
function distinct(kind: Kind, value: unknown, errors: readonly ErrorObject[]): Finding[] {
  const said = new Set(errors.map(({ keyword, instancePath }) => `${keyword} ${instancePath}`))
  return errors
    .filter(({ keyword, instancePath }) => {
      if (keyword === 'type' || keyword === 'required') return true
      return !(SAID_BY[keyword] ?? ['type']).some((better) => said.has(`${better} ${instancePath}`))
    })
    .map((error) => schemaFinding(kind, value, error))
}

function schemaFinding(kind: Kind, value: unknown, error: ErrorObject): Finding {
  const at = segmentsOfPointer(kind.schema, error.instancePath)
  return {
    id: `schema-${error.keyword}`,
    severity: isOfNewerReleases(kind.schema, at) ? 'warning' : 'error',
    constraint: error.keyword,
    error: fieldError(kind, error, value, at),
  }
}

/** Whether a place is in a field that newer releases added, whose content only these releases define (decision 3). */
const isOfNewerReleases = (schema: SchemaNode, at: readonly Segment[]): boolean =>
  at.some((_, i) => nodeAt(schema, at.slice(0, i + 1))?.newer === true)

/** The parameters of Ajv's errors that are read here, by keyword. */
interface Params {
  readonly type: string | readonly string[]
  readonly missingProperty: string
  readonly allowedValues: readonly string[]
  readonly pattern: string
  readonly format: string
  readonly limit: number
}
const fromKeyword: Record<
  string,
  (params: Params, value: unknown, node: SchemaNode | undefined) => readonly [ErrorType, string, unknown?]
> = {
  type: ({ type }, value, node) => [
    'typeInvalid',
    `must be of type ${typeNames(type)}${typeAdvice(node, value)}`,
    jsonType(value),
  ],
  required: () => ['required', ''],
  enum: ({ allowedValues }, value) => [
    'notSupported',
    supportedValues(allowedValues) + nearValue(value, allowedValues),
  ],
  pattern: ({ pattern }, value) => ['invalid', mismatchDetail(pattern, String(value))],
  format: ({ format }) => ['invalid', FORMAT_DETAILS[format] ?? `must have the format ${format}`],
  minLength: ({ limit }) => ['invalid', `must be at least ${counted(limit, 'character')} long`],
  maxLength: ({ limit }) => ['tooLong', `may not be more than ${limit} characters`],
  minimum: ({ limit }) => ['invalid', `must be greater than or equal to ${limit}`],
  maximum: ({ limit }) => ['invalid', `must be less than or equal to ${limit}`],
  minItems: ({ limit }) => ['invalid', `must have at least ${counted(limit, 'item')}`],
  maxItems: ({ limit }, value) => ['tooMany', `must have at most ${counted(limit, 'item')}`, lengthOf(value)],
  maxProperties: ({ limit }, value) => [
    'tooMany',
    `must have at most ${counted(limit, 'key')}`,
    Object.keys(value ?? {}).length,
  ],
}

/** Converts an Ajv error to the field error that Kubernetes would print. */
function fieldError(
  kind: Kind,
  { keyword, params }: ErrorObject,
  root: unknown,
  holder: readonly Segment[],
): FieldError {
  const at = keyword === 'required' ? [...holder, (params as Params).missingProperty] : holder
  const value = valueAt(root, at)
  const translate = fromKeyword[keyword]
  if (translate === undefined) throw new Error(`no text for the schema keyword ${keyword}`)
  const node = nodeAt(kind.schema, at)
  const [type, detail, shown = value] = translate(params as Params, value, node)
  const fix = schemaFix(keyword, at, value, node)
  return { type, at, detail, value: shown, ...(fix && { fix }) }
}

/** The end of a message: the allowed value that the user probably meant, or an empty text. */
function nearValue(value: unknown, allowed: readonly string[]): string {
  const near = typeof value === 'string' ? nearest(value, allowed.map(String)) : undefined
  return near === undefined ? '' : `; did you mean '${near}'`
}

const FORMAT_DETAILS: Readonly<Record<string, string>> = {
  'date-time': "must be a date and time such as '2026-01-31T12:00:00Z'",
  int32: 'must be between -2147483648 and 2147483647',
  int64: 'must be between -9223372036854775808 and 9223372036854775807',
}

const lengthOf = (value: unknown): number => (Array.isArray(value) ? value.length : 0)
const counted = (count: number, noun: string) => (count === 1 ? `1 ${noun}` : `${count} ${noun}s`)
const typeNames = (type: string | readonly string[]) => [type].flat().join(' or ')
