import { BACKEND_KINDS } from '../../kinds/between/related-resources.ts'
import { nameIn } from '../../kinds/between/references.ts'
import { configMapFacts } from '../../kinds/between/config-maps.ts'
import { secretFacts } from '../../kinds/between/secrets.ts'
import { kindNamed } from '../../kinds/index.ts'
import type { Kind } from '../../kinds/kind.ts'
import { holdsPlaceholder, placeholdersIn } from '../../review/placeholder.ts'
import { ClusterState } from '../../review/cluster-state.ts'
import { isObject, metadataOf } from '../../rule/resource.ts'
import type { Live } from './live/index.ts'

/** The settings for reading documents as resources. */
export interface Reading {
  readonly group: string
  /** Namespace of documents that name none. */
  readonly namespace: string
  /** Whether placeholders are judged as they stand (`--strict`). */
  readonly strict: boolean
}

/** The kind of a document of our API group, whatever its version; undefined for any other document. */
export function kindOf(value: unknown, { group }: Reading): Kind | undefined {
  if (!isObject(value) || typeof value.apiVersion !== 'string' || typeof value.kind !== 'string')
    return undefined
  return value.apiVersion.startsWith(`${group}/`) ? kindNamed.get(value.kind) : undefined
}

/**
 * The state of the cluster that has these documents only. Secrets may exist besides: files seldom hold them; and ConfigMaps
 * in a namespace of which the files hold none.
 */
export function stateOf(values: readonly unknown[], reading: Reading): ClusterState {
  const { group } = reading
  const hidden = kindsNotKnown(values, reading)
  const withConfigMaps = namespacesOf('ConfigMap', values, reading)
  const knows = (kind: string, namespace: string) =>
    (kind === 'ConfigMap' ? withConfigMaps.has(namespace) : kindNamed.has(kind)) && !hidden(kind, namespace)
  const state = new ClusterState({ group, knows, where: () => 'in the given files' })
  putAll(state, values, reading)
  return state
}

/** The cluster as it is. */
export function stateOfCluster(live: Live, group: string): ClusterState {
  return liveState(live, new ClusterState({ group, knows: live.knows }))
}

/** The cluster as it would be with the documents applied. */
export function stateOfBoth(live: Live, values: readonly unknown[], reading: Reading): ClusterState {
  const where = (namespace: string) => `in namespace '${namespace}' or the given files`
  const hidden = kindsNotKnown(values, reading)
  const knows = (kind: string, namespace: string) => live.knows(kind, namespace) && !hidden(kind, namespace)
  const state = liveState(live, new ClusterState({ group: reading.group, knows, where }))
  putAll(state, values, reading)
  return state
}

function liveState({ objects, secrets }: Live, state: ClusterState): ClusterState {
  for (const { kind, value } of objects) state.put(kind, value)
  for (const { kind, namespace, name, facts } of secrets) state.putFacts({ kind, name }, namespace, facts)
  return state
}

function namespacesOf(kind: string, values: readonly unknown[], reading: Reading): ReadonlySet<unknown> {
  const found = values.filter((value) => factsKindOf(value) === kind).map(metadataOf)
  return new Set(found.map(({ namespace = reading.namespace }) => namespace))
}

/** Puts documents into the state, each in place of the object of its name. */
export function putAll(state: ClusterState, values: readonly unknown[], reading: Reading): void {
  for (const value of values) {
    const kind = kindOf(value, reading)
    if (kind !== undefined) {
      const filled = isObject(value) && !reading.strict ? placeholdersIn(kind, value) : []
      const places = filled.map(({ at }) => at)
      state.put(kind, value, reading.namespace, places)
    } else {
      const named = factsKindOf(value)
      const { name, namespace = reading.namespace } = metadataOf(value)
      if (named === undefined || typeof name !== 'string' || typeof namespace !== 'string') continue
      const facts = FACTS[named](value as Record<string, unknown>, reading.strict ? undefined : isFilled)
      state.putFacts({ kind: named, name }, namespace, facts)
    }
  }
}

/** The kinds outside the API group, of whose objects only facts are kept. */
const FACTS = { Secret: secretFacts, ConfigMap: configMapFacts } as const

function factsKindOf(value: unknown): keyof typeof FACTS | undefined {
  if (!isObject(value) || value.apiVersion !== 'v1') return undefined
  return value.kind === 'Secret' || value.kind === 'ConfigMap' ? value.kind : undefined
}

/** Whether a tool fills in the text of a Secret: a placeholder, or a path in angle brackets. */
const isFilled = (text: string): boolean => holdsPlaceholder(text) || /^<[^]*>$/.test(text)

/**
 * The kinds, by namespace, of which not every object is known before deployment: a placeholder in a name or a namespace
 * can become anything, and a placeholder in the group of a backend any group (decision 28).
 */
function kindsNotKnown(
  values: readonly unknown[],
  reading: Reading,
): (kind: string, namespace: string) => boolean {
  const hidden = new Set<string>()
  for (const value of reading.strict ? [] : values) {
    const kind = kindOf(value, reading)?.kind ?? factsKindOf(value)
    if (kind === undefined || !isObject(value)) continue
    const { name, namespace = reading.namespace } = metadataOf(value)
    const isOpen = isFilledIn(name) || (BACKEND_KINDS.includes(kind) && hasUnknownGroup(value.spec))
    if (isFilledIn(namespace)) hidden.add(kind)
    else if (isOpen) hidden.add(`${kind}/${String(namespace)}`)
  }
  return (kind, namespace) => hidden.has(kind) || hidden.has(`${kind}/${namespace}`)
}

const isFilledIn = (value: unknown): boolean => typeof value === 'string' && holdsPlaceholder(value)

function hasUnknownGroup(spec: unknown): boolean {
  if (!isObject(spec)) return spec !== undefined && spec !== null
  const { groupRef } = spec
  if (groupRef === undefined || groupRef === null) return false
  const name = nameIn(groupRef, 'MCPGroup')
  return typeof name !== 'string' || holdsPlaceholder(name)
}
