import { isFound } from '../cel/index.ts'
import {
  deepEqual,
  type ErrorType,
  type FieldError,
  isObject,
  jsonType,
  type Segment,
  supportedValues,
  withinBudget,
} from '../rule/index.ts'
import { evaluateRule, isEvaluated } from './cel-rules.ts'
import { fieldOf, type ReleaseSchema } from './schema.ts'

/** A value that the API server refuses, or a field that it drops. */
export interface ReleaseRefusal {
  /** The violated keyword of the schema; `rule` for a CEL rule, `unknown` for a field that the schema does not have. */
  readonly keyword: string
  readonly error: FieldError
  /** The text of the violated CEL rule. */
  readonly rule?: string
  /** Set when the value, or one around it, is stored unchanged: then the API server accepts it again (KEP-4008). */
  readonly isStored?: true
}

/** The path of a value in an object that is being written. */
interface Place {
  readonly at: readonly Segment[]
  /** The stored value at this path; undefined when nothing is stored there. */
  readonly stored: unknown
}

/** The values that an API server with this schema refuses when `value` replaces the stored one, in schema order. */
export const refusals = (schema: ReleaseSchema, value: unknown, stored?: unknown): Iterable<ReleaseRefusal> =>
  ofAny(schema, defaulted(schema, value), { at: [], stored: defaulted(schema, stored) })

/** Whether the value itself, rather than a value inside it, violates a CEL rule. */
export const breaksRule = (schema: ReleaseSchema, value: unknown): boolean =>
  !ofRules(schema, defaulted(schema, value), { at: [], stored: undefined }).next().done

/** The value as the API server validates it: with defaults, and without nulls in fields that are not nullable. */
export function defaulted(schema: ReleaseSchema | undefined, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => defaulted(schema?.items, item))
  if (!isObject(value) || schema === undefined) return value
  const defaults = Object.entries(schema.properties ?? {}).flatMap(([name, field]): [string, unknown][] =>
    field.default === undefined ? [] : [[name, field.default]],
  )
  const given = Object.entries(value).filter(([name, field]) => {
    const of = fieldOf(schema, name)
    return field !== null || of === undefined || of.nullable === true
  })
  const fields = new Map([...defaults, ...given])
  return Object.fromEntries(
    Array.from(fields, ([name, field]) => [name, defaulted(fieldOf(schema, name), field)]),
  )
}

function* ofAny(schema: ReleaseSchema, value: unknown, place: Place): Generator<ReleaseRefusal> {
  let isStored: boolean | undefined
  for (const refusal of ofChecked(schema, value, place)) {
    isStored ??= place.stored !== undefined && deepEqual(value, place.stored)
    yield isStored ? { ...refusal, isStored } : refusal
  }
}

function* ofChecked(schema: ReleaseSchema, value: unknown, place: Place): Generator<ReleaseRefusal> {
  const { at } = place
  const type = jsonType(value)
  if (!hasType(schema, type)) {
    yield refusal('type', 'typeInvalid', at, type, `must be of type ${typeNames(schema)}`)
    return
  }
  let lacks = false
  for (const refusal of inAny(schema, value, place)) {
    if (refusal.keyword === 'required') lacks = true
    yield refusal
  }
  yield* ofRules(schema, value, place, { lacks })
}

function* inAny(schema: ReleaseSchema, value: unknown, place: Place): Generator<ReleaseRefusal> {
  yield* ofValue(schema, value, place.at)
  if (Array.isArray(value)) yield* ofList(schema, value, place)
  else if (isObject(value)) yield* ofObject(schema, value, place)
}

function* ofValue(schema: ReleaseSchema, value: unknown, at: readonly Segment[]): Generator<ReleaseRefusal> {
  const { enum: values, pattern, minLength = 0, maxLength = Infinity, minimum, maximum } = schema
  if (values !== undefined && !values.includes(value))
    yield refusal('enum', 'notSupported', at, value, supportedValues(values.map(String)))
  if (typeof value === 'string') {
    const length = [...value].length
    if (length < minLength)
      yield refusal('minLength', 'invalid', at, value, `should be at least ${minLength} chars long`)
    if (length > maxLength)
      yield refusal('maxLength', 'tooLong', at, value, `may not be more than ${maxLength} bytes`)
    else if (pattern !== undefined && !matches(pattern, value))
      yield refusal('pattern', 'invalid', at, value, `should match '${pattern}'`)
  }
  if (typeof value === 'number') {
    if (schema.format === 'int32' && !(Math.abs(value + 0.5) < 2 ** 31))
      yield refusal('format', 'invalid', at, value, 'should be an integer of 32 bits')
    if (minimum !== undefined && value < minimum)
      yield refusal('minimum', 'invalid', at, value, `should be greater than or equal to ${minimum}`)
    if (maximum !== undefined && value > maximum)
      yield refusal('maximum', 'invalid', at, value, `should be less than or equal to ${maximum}`)
  }
}

function* ofList(schema: ReleaseSchema, list: unknown[], { at, stored }: Place): Generator<ReleaseRefusal> {
  const { items, minItems = 0, maxItems = Infinity } = schema
  if (list.length < minItems)
    yield refusal('minItems', 'invalid', at, list.length, `should have at least ${minItems} items`)
  if (list.length > maxItems)
    yield refusal('maxItems', 'tooMany', at, list.length, `must have at most ${maxItems} items`)
  yield* duplicates(schema, list, at)
  if (items === undefined) return
  const before = new Map(storedItems(schema, stored))
  for (const [i, item] of list.entries()) {
    const identity = identityOf(schema, item)
    yield* ofAny(items, item, { at: [...at, i], stored: identity && before.get(identity) })
  }
}

/** The items of a stored list of type `map`, each with its identity; empty for other lists. */
const storedItems = (schema: ReleaseSchema, stored: unknown): [string, unknown][] =>
  schema['x-kubernetes-list-type'] === 'map' && Array.isArray(stored)
    ? stored.map((item) => [identityOf(schema, item) ?? '', item])
    : []

/** The identity of an item (KEP-555): its value in a set, its keys in a list of type `map`; otherwise undefined. */
function identityOf(schema: ReleaseSchema, item: unknown): string | undefined {
  const type = schema['x-kubernetes-list-type']
  if (type !== 'set' && type !== 'map') return undefined
  return JSON.stringify(type === 'set' || !isObject(item) ? item : keysOf(schema).map((key) => item[key]))
}

const keysOf = (schema: ReleaseSchema): readonly string[] => schema['x-kubernetes-list-map-keys'] ?? []

function* duplicates(
  schema: ReleaseSchema,
  list: unknown[],
  at: readonly Segment[],
): Generator<ReleaseRefusal> {
  if (schema['x-kubernetes-list-type'] === 'map' && list.some((item) => item !== null && !isObject(item)))
    return
  const seen = new Map<string, number>()
  for (const [i, item] of list.entries()) {
    const identity = identityOf(schema, item)
    if (identity === undefined) return
    const times = seen.get(identity) ?? 0
    // Like the API server, reports each duplicated item only once.
    if (times === 1) {
      const shown = isObject(item) ? Object.fromEntries(keysOf(schema).map((key) => [key, item[key]])) : item
      yield refusal('list-type', 'duplicate', [...at, i], shown, '')
    }
    seen.set(identity, times + 1)
  }
}

function* ofObject(
  schema: ReleaseSchema,
  object: Readonly<Record<string, unknown>>,
  { at, stored }: Place,
): Generator<ReleaseRefusal> {
  const { properties, required = [], minProperties = 0, maxProperties = Infinity } = schema
  const names = Object.keys(object)
  for (const name of required) {
    if (!Object.hasOwn(object, name)) yield refusal('required', 'required', [...at, name], undefined, '')
  }
  if (names.length < minProperties)
    yield refusal(
      'minProperties',
      'invalid',
      at,
      names.length,
      `should have at least ${minProperties} properties`,
    )
  if (names.length > maxProperties)
    yield refusal('maxProperties', 'tooMany', at, names.length, `must have at most ${maxProperties} items`)
  for (const name of names) {
    const field = fieldOf(schema, name)
    const isNamed = properties !== undefined && Object.hasOwn(properties, name)
    const place = [...at, isNamed || field === undefined ? name : { key: name }]
    if (field === undefined) yield refusal('unknown', 'forbidden', place, undefined, 'unknown field')
    else yield* ofAny(field, object[name], { at: place, stored: isObject(stored) ? stored[name] : undefined })
  }
}

/**
 * Yields the violated CEL rules. A rule whose evaluation fails counts as violated, unless a required field is missing
 * (`lacks`), which may be the reason. The API server then evaluates no rule; a rule that is false is yielded even so.
 */
function* ofRules(
  schema: ReleaseSchema,
  value: unknown,
  { at, stored }: Place,
  { lacks } = { lacks: false },
): Generator<ReleaseRefusal> {
  for (const each of schema['x-kubernetes-validations'] ?? []) {
    const detail = each.message?.trim() ?? `failed rule: ${each.rule.trim()}`
    const outcome = evaluateRule(each, value, stored)
    if (outcome === 'broken' || (outcome === 'failed' && !lacks))
      yield { ...refusal('rule', 'invalid', at, jsonType(value), detail), rule: each.rule }
  }
}

/**
 * The paths of schema fields with CEL rules that only the API server can evaluate, one path for each such rule.
 * `besideStored`: the stored object or its absence is known.
 */
export function* unevaluatedRules(schema: ReleaseSchema, besideStored: boolean, at = ''): Generator<string> {
  const { properties = {}, items, additionalProperties: values } = schema
  for (const rule of schema['x-kubernetes-validations'] ?? []) if (!isEvaluated(rule, besideStored)) yield at
  for (const [name, field] of Object.entries(properties))
    yield* unevaluatedRules(field, besideStored, at === '' ? name : `${at}.${name}`)
  if (items !== undefined) yield* unevaluatedRules(items, besideStored, `${at}[]`)
  if (typeof values === 'object') yield* unevaluatedRules(values, besideStored, `${at}.<name>`)
}

function refusal(
  keyword: string,
  type: ErrorType,
  at: readonly Segment[],
  value: unknown,
  detail: string,
): ReleaseRefusal {
  return { keyword, error: { type, at, value, detail } }
}

function hasType(schema: ReleaseSchema, type: string): boolean {
  if (type === 'null') return schema.nullable === true || schema.type === undefined
  if (schema['x-kubernetes-int-or-string'] === true) return type === 'integer' || type === 'string'
  return schema.type === undefined || schema.type === type || (schema.type === 'number' && type === 'integer')
}

const typeNames = (schema: ReleaseSchema): string =>
  schema['x-kubernetes-int-or-string'] === true ? 'integer or string' : (schema.type ?? 'any')

/** The longest text that is matched against a pattern of a CRD; real values are shorter. */
const LONGEST = 20_000

/** Whether the text matches the pattern; true when this cannot be decided. */
function matches(pattern: string, text: string): boolean {
  if (text.length > LONGEST) return true
  return withinBudget(() => isFound(pattern, text, () => undefined)) !== false
}
