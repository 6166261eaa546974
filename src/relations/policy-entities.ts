import { type EntityName, isDecimal, isFunction } from '../cedar/index.ts'
import { type Budget, goField, isObject, shortQuote, shortText } from '../rule/index.ts'

/** Reads `entitiesJson` as cedar-go 1.8 does: the case of field names is ignored, as always in JSON read by Go. */

export interface Entity {
  readonly name: EntityName
  readonly parents: readonly EntityName[]
  readonly hasAttributes: boolean
  /** The first key of the entity that cedar-go does not read. */
  readonly unread: string | undefined
  /**
   * The first field that is missing or not in lower case: cedar-go 1.9, used by release 0.63, refuses such an entity.
   */
  readonly lacks: string | undefined
}

export type EntitiesRead =
  | { readonly kind: 'entities'; readonly entities: readonly Entity[] }
  /** cedar-go refuses the text. `hint`: what is wrong; `index`: of the wrong entity, undefined for the whole text. */
  | { readonly kind: 'refused'; readonly hint: string; readonly index: number | undefined }

/** Characters of `entitiesJson` that cost one unit of a budget. */
const PER_UNIT = 32

/** Parses `entitiesJson`. Throws OutOfBudget. */
export function readEntities(text: string, budget: Budget): EntitiesRead {
  budget.spend(text.length / PER_UNIT)
  let value: unknown
  try {
    value = JSON.parse(withWholeNumbersOfGo(text))
  } catch {
    return refused('is not JSON')
  }
  if (value === null) return { kind: 'entities', entities: [] }
  if (!Array.isArray(value)) return refused('must be a JSON array of entities')
  const entities: Entity[] = []
  for (const [index, item] of value.entries()) {
    const read = readEntity(item, budget)
    if (typeof read === 'string') return refused(read, index)
    entities.push(read)
  }
  return { kind: 'entities', entities }
}

const refused = (hint: string, index?: number): EntitiesRead => ({ kind: 'refused', hint, index })

interface Fields {
  uid?: unknown
  parents?: unknown
  attrs?: unknown
  tags?: unknown
}
const FIELDS: ReadonlySet<string> = new Set<keyof Fields>(['uid', 'parents', 'attrs', 'tags'])

/** The entity, or a text about the mistake in it. */
function readEntity(item: unknown, budget: Budget): Entity | string {
  budget.spend(1)
  // Go reads null as an entity without any field.
  if (item === null) return NOTHING
  if (!isObject(item)) return 'each entity must be an object with uid, attrs and parents'
  const fields: Fields = {}
  let unread: string | undefined
  for (const key of Object.keys(item)) {
    const field = key.toLowerCase()
    if (FIELDS.has(field)) fields[field as keyof Fields] = item[key]
    else unread ??= key
  }
  const { uid, attrs, tags } = fields
  const name = uid === undefined ? NOTHING.name : nameOf(uid)
  if (name === undefined) return `uid must be {"type": …, "id": …}${asText(uid)}`
  const given = fields.parents ?? NOTHING.parents
  if (!Array.isArray(given)) return 'parents must be an array'
  budget.spend(given.length / 4)
  const parents: EntityName[] = []
  for (const parent of given) {
    const found = nameOf(parent)
    if (found === undefined) return `each parent must be {"type": …, "id": …}${asText(parent)}`
    parents.push(found)
  }
  for (const [field, record] of [
    ['attrs', attrs ?? {}],
    ['tags', tags ?? {}],
  ] as const) {
    if (!isObject(record)) return `${field} must be an object`
    const wrong = firstWrong(Object.values(record), 0, budget)
    if (wrong !== undefined) return `${field} cannot hold ${wrong}`
  }
  return {
    name,
    parents,
    hasAttributes: isObject(attrs) && Object.keys(attrs).length > 0,
    unread,
    lacks: ['uid', 'attrs', 'parents'].find((field) => (item[field] ?? undefined) === undefined),
  }
}

const NOTHING: Entity = {
  name: { type: '', id: '' },
  parents: [],
  hasAttributes: false,
  unread: undefined,
  lacks: 'uid',
}

/** The type and id of an entity: `{type, id}`, or such an object inside `__entity`. */
function nameOf(value: unknown): EntityName | undefined {
  if (!isObject(value)) return undefined
  const inner = goField(value, '__entity') ?? undefined
  const named = inner ?? value
  if (!isObject(named)) return undefined
  const type = goField(named, 'type') ?? (inner && '')
  const id = goField(named, 'id') ?? (inner && '')
  return typeof type === 'string' && typeof id === 'string' ? { type, id } : undefined
}

/** For a text such as `Tool::"weather"`: how to write it as an object, as the end of a hint. Otherwise empty. */
function asText(uid: unknown): string {
  const [, type, quoted, plain] =
    (typeof uid === 'string' ? /^(\w{1,80})::(?:"([^"]{1,80})"|([^"]{1,80}))$/.exec(uid) : null) ?? []
  const id = quoted ?? plain
  return type === undefined || id === undefined ? '' : `: {"type": "${type}", "id": ${JSON.stringify(id)}}`
}

/** The strings and the numbers of a JSON text. A string without an end matches too, so that the search stays linear. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"?|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/g

/** The JSON text, in which whole numbers that cedar-go does not read, such as 1.0, 1e3 and 2^63, become infinite. */
const withWholeNumbersOfGo = (text: string): string =>
  text.replace(TOKEN, (token) =>
    Number.isInteger(Number(token)) && !isLong(token) ? (token.startsWith('-') ? '-1e999' : '1e999') : token,
  )

const isLong = (token: string): boolean =>
  /^-?\d{1,19}$/.test(token) && BigInt.asIntN(64, BigInt(token)) === BigInt(token)

/** The deepest nesting at which values are checked. */
const DEEPEST = 50

/** The problem with the value of an attribute, to follow the words "cannot hold"; undefined when it is correct. */
function wrongValue(value: unknown, depth: number, budget: Budget): string | undefined {
  if (value === null) return 'null'
  if (value === Infinity || value === -Infinity)
    return 'a whole number with a point or an exponent, or beyond 64 bits; write its digits alone'
  if (typeof value === 'number')
    return Number.isInteger(value)
      ? undefined
      : `the number ${value}; write {"__extn": {"fn": "decimal", "arg": "${value}"}}`
  if (typeof value !== 'object' || depth === DEEPEST) return undefined
  const extension = Array.isArray(value) ? undefined : goField(value, '__extn')
  return isObject(extension) ? wrongExtension(extension) : firstWrong(Object.values(value), depth + 1, budget)
}

/** The problem with an `__extn` object; undefined when it is correct. The argument is checked only for `decimal`. */
function wrongExtension(extension: object): string | undefined {
  const [fn, arg] = [goField(extension, 'fn'), goField(extension, 'arg')]
  if (typeof fn !== 'string' || !isFunction(fn))
    return `the extension ${shortQuote(shortText(String(fn), 40))}`
  if (fn !== 'decimal' || (typeof arg === 'string' && isDecimal(arg))) return undefined
  return 'a decimal without its point; write "arg": "1.0"'
}

function firstWrong(values: readonly unknown[], depth: number, budget: Budget): string | undefined {
  budget.spend(values.length / 8)
  for (const value of values) {
    const wrong = wrongValue(value, depth, budget)
    if (wrong !== undefined) return wrong
  }
  return undefined
}

/** The hierarchy of the entities in `entitiesJson`. */
export class PolicyEntities {
  readonly #read: () => readonly Entity[] | undefined
  /** A cache of ancestors, by entity or by entity type: for a type, the ancestors of all its entities. */
  readonly #ancestors = new Map<string, ReadonlySet<string>>()

  /** `read` returns the entities, or undefined if unknown; called only when an answer depends on them. */
  constructor(read: () => readonly Entity[] | undefined) {
    this.#read = read
  }

  /** Whether an entity of the type (with the id, if one is given) has `entity` as an ancestor; true when not known. */
  hasAncestor(type: string, id: string | undefined, entity: EntityName): boolean {
    const entities = this.#read()
    if (entities === undefined) return true
    const key = JSON.stringify([type, id])
    const ancestors = this.#ancestors.get(key) ?? ancestorsOf(entities, type, id)
    this.#ancestors.set(key, ancestors)
    return ancestors.has(keyOf(entity))
  }
}

function ancestorsOf(entities: readonly Entity[], type: string, id: string | undefined): ReadonlySet<string> {
  const parents = new Map(entities.map((each) => [keyOf(each.name), each.parents]))
  const meant = entities.filter(({ name }) => name.type === type && (id ?? name.id) === name.id)
  const found = new Set<string>()
  const todo = meant.map(({ name }) => keyOf(name))
  for (let key = todo.pop(); key !== undefined; key = todo.pop())
    for (const parent of parents.get(key) ?? []) {
      const above = keyOf(parent)
      if (!found.has(above)) todo.push(above)
      found.add(above)
    }
  return found
}

const keyOf = ({ type, id }: EntityName): string => `${type}::${id}`
