import { shortQuote } from './go-text.ts'
import { type Memo, remembered } from './memo.ts'
import type { Resource } from './resource.ts'
import { compareText } from './compare-text.ts'

/**
 * The kind and name of an object in the namespace of the judged object: references never leave a namespace
 * (specification 2).
 */
export interface ObjectName {
  readonly kind: string
  readonly name: string
}

/**
 * The objects of one namespace as a rule sees them, with the judged object as it will be after the write. A `Cluster`
 * always gives the same answers; after a change of the objects, a new `Cluster` is made. A rule asks only for the kinds
 * in its `reads`.
 */
export interface Cluster {
  /** The object of this kind and name; undefined when it does not exist, or was not read (see `knows`). */
  get(kind: string, name: string): Resource | undefined
  /**
   * The objects that refer to the named object, sorted by kind and name; only of the kinds in `among`, when given. An
   * object that is being deleted is no referrer any more.
   */
  referrers(kind: string, name: string, among?: readonly string[]): readonly ObjectName[]
  /** Whether every object of the kind was read: then an object that is not found does not exist. */
  knows(kind: string): boolean
  /** The names of the objects of a kind; at most 2,000. */
  names(kind: string): Iterable<string>
  /** The other namespaces that have an object of this kind and name, in order. */
  elsewhere(kind: string, name: string): readonly string[]
  /** Where the objects were searched, for messages: `in namespace 'tools'`, `in the given files`. */
  readonly where: string
  /**
   * The operator release, such as `0.55`: the one that a setting names, or else the newest one whose new fields the
   * installed CRDs have. Undefined when none is known.
   */
  readonly release: string | undefined
  /** The API group of the objects and of the annotations that /mutate writes. */
  readonly group: string
  /** Cached results of functions made with `oncePerCluster`. */
  readonly memo: Memo
}

/** Caches the results of a function for each argument and `Cluster`, because several rules need the same result. */
export const oncePerCluster =
  <Of, R>(compute: (of: Of, cluster: Cluster) => R) =>
  (of: Of, cluster: Cluster): R =>
    remembered(cluster.memo, compute, of, cluster)

/** The cluster with some of its functions replaced, and a new, empty memo. */
export function answering(cluster: Cluster, answers: Partial<Cluster>): Cluster {
  return {
    get: (kind, name) => cluster.get(kind, name),
    referrers: (kind, name, among) => cluster.referrers(kind, name, among),
    knows: (kind) => cluster.knows(kind),
    names: (kind) => cluster.names(kind),
    elsewhere: (kind, name) => cluster.elsewhere(kind, name),
    where: cluster.where,
    release: cluster.release,
    group: cluster.group,
    memo: new Map(),
    ...answers,
  }
}

/** Orders by kind, then by name. */
export const compareNames = (a: ObjectName, b: ObjectName): number =>
  a.kind === b.kind ? compareText(a.name, b.name) : compareText(a.kind, b.kind)

/** A cluster of which nothing was read: it has no objects, and `knows` is false for every kind. */
export const emptyCluster = (): Cluster => ({
  get: () => undefined,
  referrers: () => [],
  knows: () => false,
  names: () => [],
  elsewhere: () => [],
  where: 'anywhere',
  release: undefined,
  group: '',
  memo: new Map(),
})

/** The object as a key: `MCPServer/jira`. */
export const nameKey = ({ kind, name }: ObjectName): string => `${kind}/${name}`

/** The key of an object with its namespace, also shown to users: `kind/namespace/name`. */
export const objectKey = ({ kind, namespace, name }: ObjectName & { readonly namespace: string }): string =>
  `${kind}/${namespace}/${name}`

/** An object as a message names it: `MCPServer "jira"`. */
export const nameText = ({ kind, name }: ObjectName): string => `${kind} ${shortQuote(name)}`

/** The first names and the number of the others: `MCPServer "a", MCPServer "b" and 3 more`. */
export function namesText(names: readonly ObjectName[], most = 3): string {
  const count = names.length === most + 1 ? most + 1 : most
  const shown = names.slice(0, count).map(nameText)
  const rest = names.length - shown.length
  return rest === 0 ? listed(shown) : `${shown.join(', ')} and ${rest} more`
}

const listed = (texts: readonly string[]): string =>
  texts.length < 2 ? (texts[0] ?? '') : `${texts.slice(0, -1).join(', ')} and ${texts.at(-1) ?? ''}`
