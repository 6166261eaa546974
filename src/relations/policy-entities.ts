import { type EntityName, isDecimal, isFunction } from '../cedar/index.ts'
import { goField, isObject, shortQuote, shortText } from '../rule/index.ts'

/** `entitiesJson` as cedar-go 1.8 reads it: Go's names of fields, in which case does not count. */

export interface Entity {
  readonly name: EntityName
  readonly parents: readonly EntityName[]
  /** Whether it has attributes. */
  readonly hasAttributes: boolean
  /** Keys that are not read. */
  readonly unread: readonly string[]
  /** Why cedar-go 1.9 refuses it, which release 0.63 runs: there each field must be there, in lower case. */
  readonly lacks: string | undefined
}

export type EntitiesRead =
  | { readonly kind: 'entities'; readonly entities: readonly Entity[] }
  /** Refused, with what to write, and the index of the entity where it is one. */
  | { readonly kind: 'refused'; readonly hint: string; readonly index: number | undefined }

export function readEntities(text: string): EntitiesRead {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return refused('is not JSON')
  }
  if (value === null) return { kind: 'entities', entities: [] }
  if (!Array.isArray(value)) return refused('must be a JSON array of entities')
  const entities: Entity[] = []
  for (const [index, item] of value.entries()) {
    const read = readEntity(item)
    if (typeof read === 'string') return refused(read, index)
    entities.push(read)
  }
  return { kind: 'entities', entities }
}

const refused = (hint: string, index?: number): EntitiesRead => ({ kind: 'refused', hint, index })

const FIELDS = ['uid', 'parents', 'attrs', 'tags']

/** The entity, or what is wrong with it. */
function readEntity(item: unknown): Entity | string {
  // Go leaves a field empty for null.
  if (item === null)
    return { name: { type: '', id: '' }, parents: [], hasAttributes: false, unread: [], lacks: 'uid' }
  if (!isObject(item)) return 'each entity must be an object with uid, attrs and parents'
  const uid = goField(item, 'uid')
  const name = uid === undefined ? { type: '', id: '' } : nameOf(uid)
  if (name === undefined) return `uid must be {"type": …, "id": …}${asText(uid)}`
  const given = goField(item, 'parents') ?? []
  if (!Array.isArray(given)) return 'parents must be an array'
  const parents: EntityName[] = []
  for (const parent of given) {
    const found = nameOf(parent)
    if (found === undefined) return `each parent must be {"type": …, "id": …}${asText(parent)}`
    parents.push(found)
  }
  for (const field of ['attrs', 'tags']) {
    const record = goField(item, field) ?? {}
    if (!isObject(record)) return `${field} must be an object`
    const wrong = firstWrong(Object.values(record), 0)
    if (wrong !== undefined) return `${field} cannot hold ${wrong}`
  }
  const attributes = goField(item, 'attrs')
  return {
    name,
    parents,
    hasAttributes: isObject(attributes) && Object.keys(attributes).length > 0,
    unread: Object.keys(item).filter((key) => !FIELDS.includes(key.toLowerCase())),
    lacks: ['uid', 'attrs', 'parents'].find((field) => (item[field] ?? undefined) === undefined),
  }
}

/** `{type, id}`, or the same in `__entity`. */
function nameOf(value: unknown): EntityName | undefined {
  if (!isObject(value)) return undefined
  const inner = goField(value, '__entity') ?? undefined
  const named = inner ?? value
  if (!isObject(named)) return undefined
  const type = goField(named, 'type') ?? (inner && '')
  const id = goField(named, 'id') ?? (inner && '')
  return typeof type === 'string' && typeof id === 'string' ? { type, id } : undefined
}

/** For `Tool::"weather"`, what it is as an object. */
function asText(uid: unknown): string {
  const [, type, quoted, plain] =
    (typeof uid === 'string' ? /^(\w{1,80})::(?:"([^"]{1,80})"|([^"]{1,80}))$/.exec(uid) : null) ?? []
  const id = quoted ?? plain
  return type === undefined || id === undefined ? '' : `: {"type": "${type}", "id": ${JSON.stringify(id)}}`
}

const isLong = (value: number): boolean => Number.isInteger(value) && Math.abs(value) <= 2 ** 63

/** Deeper values are not looked at. */
const DEEPEST = 50

/** What an attribute cannot hold. */
function wrongValue(value: unknown, depth: number): string | undefined {
  if (value === null) return 'null'
  if (typeof value === 'number')
    return isLong(value)
      ? undefined
      : `the number ${value}; write {"__extn": {"fn": "decimal", "arg": "${value}"}}`
  if (typeof value !== 'object' || depth === DEEPEST) return undefined
  const extension = Array.isArray(value) ? undefined : goField(value, '__extn')
  return isObject(extension) ? wrongExtension(extension) : firstWrong(Object.values(value), depth + 1)
}

/** What `__extn` cannot be; texts of the other functions are not looked at. */
function wrongExtension(extension: object): string | undefined {
  const [fn, arg] = [goField(extension, 'fn'), goField(extension, 'arg')]
  if (typeof fn !== 'string' || !isFunction(fn))
    return `the extension ${shortQuote(shortText(String(fn), 40))}`
  if (fn !== 'decimal' || (typeof arg === 'string' && isDecimal(arg))) return undefined
  return 'a decimal without its point; write "arg": "1.0"'
}

function firstWrong(values: readonly unknown[], depth: number): string | undefined {
  for (const value of values) {
    const wrong = wrongValue(value, depth)
    if (wrong !== undefined) return wrong
  }
  return undefined
}

/** What belongs to what. */
export class PolicyEntities {
  readonly #entities: readonly Entity[] | undefined
  /** What entities of a type, or the one of a name, belong to. */
  readonly #ancestors = new Map<string, ReadonlySet<string>>()

  /** `entities` is undefined where they are not known. */
  constructor(entities: readonly Entity[] | undefined) {
    this.#entities = entities
  }

  /** Whether an entity of the type, with the id where one is given, belongs to another. */
  hasAncestor(type: string, id: string | undefined, entity: EntityName): boolean {
    if (this.#entities === undefined) return true
    const key = JSON.stringify([type, id])
    const ancestors = this.#ancestors.get(key) ?? this.#ancestorsOf(this.#entities, type, id)
    this.#ancestors.set(key, ancestors)
    return ancestors.has(keyOf(entity))
  }

  #ancestorsOf(entities: readonly Entity[], type: string, id: string | undefined): ReadonlySet<string> {
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
}

const keyOf = ({ type, id }: EntityName): string => `${type}::${id}`
