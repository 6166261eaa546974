import { shortQuote } from './go-text.ts'
import type { Resource } from './resource.ts'

/** An object in the namespace of the one that is judged: no reference leaves it (specification 2). */
export interface ObjectName {
  readonly kind: string
  readonly name: string
}

/** Names in order, of which the first few and the count are had without looking at the others. */
export interface Names extends Iterable<ObjectName> {
  readonly length: number
  /** The first names, at most so many. */
  first(most: number): readonly ObjectName[]
}

/**
 * The other objects as a rule sees them: those of the namespace of the judged one, as they will be once that one is
 * stored. It is made for one review, and answers the same until that ends. A rule asks only for the kinds in its `reads`.
 */
export interface Cluster {
  /** Undefined when there is no such object, or none is known. */
  get(kind: string, name: string): Resource | undefined
  /** The objects that refer to this one by name, in the order of kind and name; of the given kinds only. */
  referrers(kind: string, name: string, among?: readonly string[]): Names
  /**
   * The workloads among the referrers, apart by one thing that they say beside the reference (`between/aspects.ts`), in
   * no order; nobody is in an empty list.
   */
  apart(kind: string, name: string, aspect: string): Iterable<readonly [value: string, names: Names]>
  /** Whether every object of the kind is known, so that one that is not found does not exist. */
  knows(kind: string): boolean
  /** Names of a kind, for a near one; a sample where there are very many. */
  names(kind: string): Iterable<string>
  /** The other namespaces that have an object of this kind and name. */
  elsewhere(kind: string, name: string): readonly string[]
  /** Where the objects were looked for: `in namespace "tools"`, `in the given files`. */
  readonly where: string
  /** The API group of the objects; annotations of ours are in it. */
  readonly group: string
}

/** The view with other answers to some questions. */
export function answering(cluster: Cluster, answers: Partial<Cluster>): Cluster {
  return {
    get: (kind, name) => cluster.get(kind, name),
    referrers: (kind, name, among) => cluster.referrers(kind, name, among),
    apart: (kind, name, aspect) => cluster.apart(kind, name, aspect),
    knows: (kind) => cluster.knows(kind),
    names: (kind) => cluster.names(kind),
    elsewhere: (kind, name) => cluster.elsewhere(kind, name),
    where: cluster.where,
    group: cluster.group,
    ...answers,
  }
}

/** By kind, then by name. */
export const compareNames = (a: ObjectName, b: ObjectName): number =>
  a.kind === b.kind ? compare(a.name, b.name) : compare(a.kind, b.kind)

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

/** The names of several lists that have none in common. */
export function joined(lists: readonly Names[]): Names {
  const first = (most: number) =>
    lists
      .flatMap((names) => names.first(most))
      .sort(compareNames)
      .slice(0, most)
  const length = lists.reduce((sum, names) => sum + names.length, 0)
  return { length, first, [Symbol.iterator]: () => first(length)[Symbol.iterator]() }
}

/** The names that are left when some of them go, each of which is given once. */
export function without(names: Names, gone: readonly ObjectName[]): Names {
  const first = (most: number) => {
    const keys = new Set(gone.map(nameKey))
    return names
      .first(most + keys.size)
      .filter((name) => !keys.has(nameKey(name)))
      .slice(0, most)
  }
  const length = names.length - gone.length
  return { length, first, [Symbol.iterator]: () => first(length)[Symbol.iterator]() }
}

/** A list in order as names. */
export const namesOf = (names: readonly ObjectName[]): Names => new Listed(names)

class Listed implements Names {
  readonly #names: readonly ObjectName[]

  constructor(names: readonly ObjectName[]) {
    this.#names = names
  }

  get length(): number {
    return this.#names.length
  }

  first(most: number): readonly ObjectName[] {
    return most < this.#names.length ? this.#names.slice(0, most) : this.#names
  }

  [Symbol.iterator](): Iterator<ObjectName> {
    return this.#names[Symbol.iterator]()
  }
}

export const NOBODY = namesOf([])

/** The view of a server or a CLI that knows no other resource. */
export const emptyCluster: Cluster = {
  get: () => undefined,
  referrers: () => NOBODY,
  apart: () => [],
  knows: () => false,
  names: () => [],
  elsewhere: () => [],
  where: 'anywhere',
  group: '',
}

/** One key for one object; names may be long and alike. */
export const nameKey = ({ kind, name }: ObjectName): string => `${kind}/${name}`

/** An object as a person is told of it. */
export const nameText = ({ kind, name }: ObjectName): string => `${kind} ${shortQuote(name)}`

/** `MCPServer "a", MCPServer "b" and 3 more`: names that a person can go and look at, in little space. */
export function namesText(names: Names | readonly ObjectName[], most = 3): string {
  const count = names.length === most + 1 ? most + 1 : most
  const shown = ('first' in names ? names.first(count) : names.slice(0, count)).map(nameText)
  const rest = names.length - shown.length
  return rest === 0 ? listed(shown) : `${shown.join(', ')} and ${rest} more`
}

const listed = (texts: readonly string[]): string =>
  texts.length < 2 ? (texts[0] ?? '') : `${texts.slice(0, -1).join(', ')} and ${texts.at(-1) ?? ''}`
