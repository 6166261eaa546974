import { shortQuote } from './go-text.ts'
import type { Resource } from './resource.ts'

/** An object in the namespace of the one that is judged: no reference leaves it (specification 2). */
export interface ObjectName {
  readonly kind: string
  readonly name: string
}

/**
 * The other objects as a rule sees them: those of the namespace of the judged one, as they will be once that one is
 * stored. It is made for one review, and answers the same until that ends. A rule asks only for the kinds in its `reads`.
 */
export interface Cluster {
  /** Undefined when there is no such object, or none is known. */
  get(kind: string, name: string): Resource | undefined
  /** The objects that refer to this one by name, in the order of kind and name; of the given kinds only. */
  referrers(kind: string, name: string, among?: readonly string[]): readonly ObjectName[]
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

/** The view of a server or a CLI that knows no other resource. */
export const emptyCluster: Cluster = {
  get: () => undefined,
  referrers: () => [],
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
export function namesText(names: readonly ObjectName[], most = 3): string {
  const shown = names.slice(0, names.length === most + 1 ? most + 1 : most).map(nameText)
  const rest = names.length - shown.length
  return rest === 0 ? listed(shown) : `${shown.join(', ')} and ${rest} more`
}

const listed = (texts: readonly string[]): string =>
  texts.length < 2 ? (texts[0] ?? '') : `${texts.slice(0, -1).join(', ')} and ${texts.at(-1) ?? ''}`
