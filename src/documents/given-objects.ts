import {
  BACKEND_KINDS,
  configMapFacts,
  isPolicyKind,
  leavesSubjectProvider,
  namedProvider,
  nameIn,
  policyFacts,
  secretFacts,
  writtenAnnotation,
} from '../relations/index.ts'
import { kindNamed } from '../kinds/index.ts'
import type { Kind } from '../kinds/kind.ts'
import type { FindPlaceholder } from './own-placeholders.ts'
import { holdsPlaceholder, placeholdersIn } from './placeholder.ts'
import { ClusterState } from '../state/index.ts'
import { isObject, metadataOf, type Resource } from '../rule/index.ts'

/** Settings for reading documents as resources. */
export interface DocumentReading {
  readonly group: string
  /** Namespace of documents that name none. */
  readonly namespace: string
  /** Whether placeholders are judged as plain text (`--strict`). */
  readonly strict: boolean
  /** Finds the placeholders that the configuration file defines, in addition to the built-in ones. */
  readonly placeholders?: FindPlaceholder | undefined
  /** Parses YAML in a value of a ConfigMap; throws when it is not YAML. When absent, only JSON is read. */
  readonly readYaml?: ((text: string) => unknown) | undefined
}

/** The kind of a document of our API group, whatever its version; undefined for any other document. */
export function kindOf(value: unknown, { group }: DocumentReading): Kind | undefined {
  if (!isObject(value) || typeof value.apiVersion !== 'string' || typeof value.kind !== 'string')
    return undefined
  return value.apiVersion.startsWith(`${group}/`) ? kindNamed.get(value.kind) : undefined
}

/**
 * A cluster state that contains only these documents. Secrets that they lack count as unknown, not as missing,
 * because files seldom contain Secrets; so do the ConfigMaps of a namespace for which the files contain no ConfigMap.
 */
export function stateOf(
  values: readonly unknown[],
  reading: DocumentReading,
  where = () => 'in the given files',
): ClusterState {
  const { group } = reading
  const hidden = kindsNotKnown(values, reading)
  const withConfigMaps = namespacesOf('ConfigMap', values, reading)
  const isGiven = (kind: string) => kindNamed.has(kind) || isPolicyKind(kind)
  const knows = (kind: string, namespace: string) =>
    (kind === 'ConfigMap' ? withConfigMaps.has(namespace) : isGiven(kind)) && !hidden(kind, namespace)
  const state = new ClusterState({ group, knows, where })
  putAll(state, values, reading)
  return state
}

function namespacesOf(
  kind: string,
  values: readonly unknown[],
  reading: DocumentReading,
): ReadonlySet<string> {
  const found = values.filter((value) => factsKindOf(value, reading) === kind)
  return new Set(found.map((value) => namespaceOf(value, reading)))
}

/** Adds documents to the state; each replaces the object of the same kind, namespace and name. */
export function putAll(state: ClusterState, values: readonly unknown[], reading: DocumentReading): void {
  for (const value of values) {
    const kind = kindOf(value, reading)
    if (kind !== undefined) {
      const filled =
        isObject(value) && !reading.strict ? placeholdersIn(kind, value, reading.placeholders) : []
      const places = filled.map(({ at }) => at)
      state.put(kind, value, reading.namespace, places)
    } else {
      const named = factsKindOf(value, reading)
      const { name } = metadataOf(value)
      if (named === undefined || typeof name !== 'string') continue
      const facts = FACTS[named](
        value as Record<string, unknown>,
        reading.strict ? undefined : isFilled(reading),
        reading.readYaml,
      )
      state.putFacts({ kind: named, name }, namespaceOf(value, reading), facts)
    }
  }
}

/** The kinds of which the state stores only facts that rules read, not the objects; each with its extractor. */
const FACTS = {
  Secret: secretFacts,
  ConfigMap: configMapFacts,
  MCPAuthzConfig: policyFacts,
  MCPToolConfig: policyFacts,
} as const

function factsKindOf(value: unknown, { group }: DocumentReading): keyof typeof FACTS | undefined {
  if (!isObject(value) || typeof value.apiVersion !== 'string') return undefined
  const { apiVersion, kind } = value
  if (apiVersion.startsWith(`${group}/`)) return isPolicyKind(kind) ? kind : undefined
  return apiVersion === 'v1' && (kind === 'Secret' || kind === 'ConfigMap') ? kind : undefined
}

/** Whether a deployment tool will replace a text of a Secret: one with a placeholder, or of the form `<path>`. */
const isFilled =
  ({ placeholders }: DocumentReading) =>
  (text: string): boolean =>
    holdsPlaceholder(text, placeholders) || /^<[^]*>$/.test(text)

/**
 * Returns a function that says whether a namespace may contain objects of a kind that are unknown before deployment:
 * a placeholder in the name or namespace of an object can become any text, and a placeholder in the group reference
 * of a backend can become any MCPGroup (decision 28).
 */
export function kindsNotKnown(
  values: readonly unknown[],
  reading: DocumentReading,
): (kind: string, namespace: string) => boolean {
  const hidden = new Set<string>()
  for (const value of reading.strict ? [] : values) {
    const kind = kindOf(value, reading)?.kind ?? factsKindOf(value, reading)
    if (kind === undefined || !isObject(value)) continue
    const { name } = metadataOf(value)
    const namespace = namespaceOf(value, reading)
    const isOpen =
      isFilledIn(name, reading) || (BACKEND_KINDS.includes(kind) && hasUnknownGroup(value.spec, reading))
    if (isFilledIn(namespace, reading)) hidden.add(kind)
    else if (isOpen) hidden.add(`${kind}/${namespace}`)
  }
  return (kind, namespace) => hidden.has(kind) || hidden.has(`${kind}/${namespace}`)
}

const isFilledIn = (value: unknown, { placeholders }: DocumentReading): boolean =>
  typeof value === 'string' && holdsPlaceholder(value, placeholders)

function hasUnknownGroup(spec: unknown, reading: DocumentReading): boolean {
  if (!isObject(spec)) return spec !== undefined && spec !== null
  const { groupRef } = spec
  if (groupRef === undefined || groupRef === null) return false
  const name = nameIn(groupRef, 'MCPGroup')
  return typeof name !== 'string' || isFilledIn(name, reading)
}

/** The namespace of a document, or the fallback where it names none; an empty one is none, as for kubectl. */
export function namespaceOf(value: unknown, { namespace: fallback }: DocumentReading): string {
  const { namespace } = metadataOf(value)
  return typeof namespace === 'string' && namespace !== '' ? namespace : fallback
}

/**
 * The document as an apply would store it over the old object: the subject provider that /mutate wrote is kept, because
 * no file contains it (decision 25).
 */
export function asApplied(value: unknown, old: unknown, reading: DocumentReading): unknown {
  if (!isObject(value) || !isObject(old)) return value
  const isConfig = kindOf(value, reading)?.kind === 'MCPExternalAuthConfig'
  return isConfig ? withWrittenProviders(value, old, reading.group) : value
}

function withWrittenProviders(
  value: Readonly<Record<string, unknown>>,
  old: Readonly<Record<string, unknown>>,
  group: string,
): unknown {
  const stored = namedProvider(old, group)
  const { metadata, spec } = value
  if (stored?.written !== true || !isObject(spec) || !isObject(spec.tokenExchange)) return value
  if (!leavesSubjectProvider(value, group)) return value
  const { annotations, ...rest } = isObject(metadata) ? metadata : {}
  const written = {
    ...(isObject(annotations) ? annotations : {}),
    [writtenAnnotation(group)]: stored.provider,
  }
  const tokenExchange = { ...spec.tokenExchange, subjectProviderName: stored.provider }
  return { ...value, metadata: { ...rest, annotations: written }, spec: { ...spec, tokenExchange } }
}

/** A resource that is judged. */
export interface GivenSubject {
  readonly kind: string
  readonly namespace: string
  readonly name: string
}

/** The kind, namespace and name of a document; an object without a name is called by its `generateName`. */
export function subjectOf(
  kind: string,
  { metadata }: Resource,
  { namespace }: DocumentReading,
): GivenSubject {
  const text = (value: unknown, fallback: string) =>
    typeof value === 'string' && value !== '' ? value : fallback
  return {
    kind,
    namespace: text(metadata?.namespace, namespace),
    name: text(metadata?.name, text(metadata?.generateName, '')),
  }
}

/** The name of a document; empty where it has none. */
export const nameOf = ({ metadata }: Resource): string =>
  typeof metadata?.name === 'string' ? metadata.name : ''
