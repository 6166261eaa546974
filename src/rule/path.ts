/** A step to a field: a property name, a list index, or the key of a map. */
export type Segment = string | number | MapKey
export interface MapKey {
  readonly key: string
}

const SEGMENTS = Symbol('segments')
const VALUE = Symbol('value')

/** The path of a field of type `T`. A misspelt field does not compile; `at` steps into a list or a map. */
export type Path<T> = { readonly [SEGMENTS]: readonly Segment[]; readonly [VALUE]?: T } & Steps<
  NonNullable<T>
>

type Steps<T> = T extends string | number | boolean
  ? unknown
  : T extends readonly (infer Item)[]
    ? { at(index: number): Path<Item> }
    : string extends keyof T
      ? { at(key: string): Path<T[keyof T]> }
      : T extends object
        ? { readonly [K in keyof T]-?: Path<T[K]> }
        : unknown

/**
 * The target of the Proxy behind a path. It links to its parent path, and the list of segments is made only on demand:
 * most paths are made for findings that never occur.
 */
interface Place {
  readonly above: Place | readonly Segment[]
  readonly step: Segment | undefined
  /** Cache of the last accessed field and its path, because a rule asks for the same list at each of its items. */
  field: string | undefined
  path: unknown
}

/** The path of the given segments. The caller must give the type of the value at this path: it is not checked. */
export const pathTo = <T>(segments: readonly Segment[]): Path<T> => pathOf(segments, undefined) as Path<T>

const pathOf = (above: Place['above'], step: Segment | undefined): unknown =>
  new Proxy<Place>({ above, step, field: undefined, path: undefined }, steps)

const steps: ProxyHandler<Place> = {
  get(place, name) {
    if (typeof name === 'symbol') return name === SEGMENTS ? stepsTo(place) : undefined
    if (place.field !== name) {
      place.path = name === 'at' ? itemsOf(place) : pathOf(place, name)
      place.field = name
    }
    return place.path
  },
}

const itemsOf = (place: Place) => (item: string | number) =>
  pathOf(place, typeof item === 'number' ? item : { key: item })

function stepsTo(place: Place): readonly Segment[] {
  const below: Segment[] = []
  let here: Place['above'] = place
  while ('above' in here) {
    if (here.step !== undefined) below.push(here.step)
    here = here.above
  }
  return [...here, ...below.reverse()]
}

/** The segments of a path, from the root of the resource. */
export function segmentsOf(path: Path<unknown>): readonly Segment[] {
  return path[SEGMENTS]
}

/** A path as `field.Path.String()` of k8s.io/apimachinery prints it: `spec.backends[jira].type`. */
export const pathText = (segments: readonly Segment[]): string => pathStart(segments, Infinity)

/** The beginning of a path as text: stops soon after `most` characters. */
function pathStart(segments: readonly Segment[], most: number): string {
  let text = ''
  for (const segment of segments) {
    if (text.length > most) break
    if (typeof segment === 'number') text += `[${segment}]`
    else if (typeof segment === 'object') text += `[${segment.key.slice(0, most)}]`
    else if (segment === '') text += '[]'
    else text += text === '' ? segment.slice(0, most) : `.${segment.slice(0, most)}`
  }
  return text === '' ? '<nil>' : text
}

/** The most characters of a path or a value that a message shows. */
export const LONGEST_SHOWN = 1_024

/** A path as text, cut when long: users choose the keys of maps, and a thousand findings may be below one key. */
export function shownPath(segments: readonly Segment[]): string {
  const text = pathStart(segments, LONGEST_SHOWN)
  return text.length <= LONGEST_SHOWN ? text : `${text.slice(0, LONGEST_SHOWN).toWellFormed()}…`
}

/** The path with list indexes dropped, as the ratchet and severities compare it: `spec.awsSts.roleMappings.claim`. */
export function pathTextWithoutIndexes(segments: readonly Segment[]): string {
  return pathText(segments.filter((segment) => typeof segment !== 'number'))
}

/** The names and brackets of a path that a user wrote, in order; skips a bracket that is never closed. */
export function stepsIn(path: string): string[] {
  const closed = path.slice(0, path.lastIndexOf(']') + 1)
  const steps: string[] = []
  for (let at = 0; at < path.length;) {
    const end = path[at] === '[' && at < closed.length ? closed.indexOf(']', at) + 1 : endOf(NAME, path, at)
    if (end > at) steps.push(path.slice(at, end))
    at = Math.max(end, at + 1)
  }
  return steps
}

const NAME = /[^.[\]]*/y

function endOf(sticky: RegExp, text: string, from: number): number {
  sticky.lastIndex = from
  sticky.test(text)
  return sticky.lastIndex
}

/** A segment as a property name, list index or map key in JSON. */
export function jsonKey(segment: Segment): string | number {
  return typeof segment === 'object' ? segment.key : segment
}

/** A path as an RFC 6901 JSON pointer. */
export const jsonPointer = (segments: readonly Segment[]): string =>
  segments.reduce<string>((pointer, segment) => `${pointer}/${pointerToken(String(jsonKey(segment)))}`, '')

/** A key as a token of a JSON pointer. For keys of megabytes, splitting takes a fraction of the memory of replacing. */
export const pointerToken = (key: string): string =>
  key.includes('~') || key.includes('/') ? key.split('~').join('~0').split('/').join('~1') : key

/** The key for a token of a JSON pointer. */
export const keyOfToken = (token: string): string =>
  token.includes('~') ? token.split('~1').join('/').split('~0').join('~') : token

/** The value at the path, or undefined when there is none. Reads own properties only, so `__proto__` is a usual key. */
export function valueAt(root: unknown, segments: readonly Segment[]): unknown {
  let value = root
  for (const segment of segments) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, jsonKey(segment)))
      return undefined
    value = (value as Record<string | number, unknown>)[jsonKey(segment)]
  }
  return value
}
