/** Finds names in an object: its own names, to which others refer, and names by which it refers to others. */
import { kindOf, namespaceOf, type DocumentReading } from '../../documents/index.ts'
import { configMapReferencesOf, referencesOf, secretReferencesOf } from '../../relations/index.ts'
import { isObject, jsonKey, metadataOf, type Segment, valueAt } from '../../rule/index.ts'

export type JsonPath = readonly (string | number)[]

/** A name in an object, with its path. */
export interface Occurrence {
  /** Identifies the object, provider or key that is named: equal for all occurrences of the same name. */
  readonly symbol: string
  readonly name: string
  /** `default`: a use that does not write the name; the path is that of the reference. */
  readonly role: 'definition' | 'use' | 'default'
  readonly path: JsonPath
  /** Whether the name is the key at the path, or the value. */
  readonly target: 'key' | 'value'
}

/** Fields that name an upstream provider. */
export const PROVIDER_FIELDS: ReadonlySet<string> = new Set([
  'primaryUpstreamProvider',
  'providerName',
  'subjectProviderName',
  'subjectTokenProviderName',
])

/** Kinds outside of the API group to which resources of the group refer. */
const CORE: ReadonlySet<unknown> = new Set(['ConfigMap', 'Secret'])

const objectSymbol = (namespace: string, kind: string, name: string): string =>
  JSON.stringify([namespace, kind, name])
/**
 * The symbol of an upstream provider. Providers with the same name in a namespace share a symbol, because a provider
 * name in an MCPExternalAuthConfig refers to a provider of each VirtualMCPServer that uses the MCPExternalAuthConfig.
 */
const providerSymbol = (namespace: string, name: string): string =>
  JSON.stringify([namespace, 'provider', name])
const keySymbol = (namespace: string, kind: string, name: string, key: string): string =>
  JSON.stringify([namespace, kind, name, key])

/** The names that an object of the API group, a Secret or a ConfigMap defines or uses; empty for other objects. */
export function occurrencesIn(value: unknown, reading: DocumentReading): Occurrence[] {
  if (!isObject(value)) return []
  const kind = kindOf(value, reading)?.kind
  const namespace = namespaceOf(value, reading)
  const { name } = metadataOf(value)
  if (typeof name !== 'string' || typeof namespace !== 'string') return []
  const object = kind ?? (value.apiVersion === 'v1' && CORE.has(value.kind) ? String(value.kind) : undefined)
  if (object === undefined) return []
  const own: Occurrence = {
    symbol: objectSymbol(namespace, object, name),
    name,
    role: 'definition',
    path: ['metadata', 'name'],
    target: 'value',
  }
  if (kind === undefined) return [own, ...keysOf(value, { namespace, object, name })]
  const uses = [
    ...referencesOf(kind, value).map(({ to, at }) =>
      used(objectSymbol(namespace, to.kind, to.name), to.name, at()),
    ),
    ...usesOfKeys(value, secretReferencesOf(value), { namespace, object: 'Secret' }),
    ...usesOfKeys(value, configMapReferencesOf(value), { namespace, object: 'ConfigMap' }),
  ]
  return [own, ...uses, ...providersIn(value.spec, ['spec'], namespace)]
}

const used = (symbol: string, name: string, at: readonly Segment[]): Occurrence => ({
  symbol,
  name,
  role: 'use',
  path: at.map(jsonKey),
  target: 'value',
})

function usesOfKeys(
  value: unknown,
  references: readonly { readonly name: string; readonly key: string; readonly at: readonly Segment[] }[],
  { namespace, object }: { readonly namespace: string; readonly object: string },
): Occurrence[] {
  return references.flatMap(({ name, key, at }) => {
    const symbol = keySymbol(namespace, object, name, key)
    const isWritten = valueAt(value, [...at, 'key']) === key
    return [
      used(objectSymbol(namespace, object, name), name, [...at, 'name']),
      isWritten
        ? used(symbol, key, [...at, 'key'])
        : ({ symbol, name: key, role: 'default', path: at.map(jsonKey), target: 'key' } as const),
    ]
  })
}

function keysOf(
  value: Readonly<Record<string, unknown>>,
  { namespace, object, name }: { readonly namespace: string; readonly object: string; readonly name: string },
): Occurrence[] {
  return ['data', 'stringData'].flatMap((map) => {
    const keys = isObject(value[map]) ? Object.keys(value[map]) : []
    return keys.map((key) => ({
      symbol: keySymbol(namespace, object, name, key),
      name: key,
      role: 'definition' as const,
      path: [map, key],
      target: 'key' as const,
    }))
  })
}

function providersIn(value: unknown, path: JsonPath, namespace: string): Occurrence[] {
  if (Array.isArray(value))
    return value.flatMap((item: unknown, index) => providersIn(item, [...path, index], namespace))
  if (!isObject(value)) return []
  return Object.entries(value).flatMap(([key, member]) => {
    const at = [...path, key]
    const isDefined = key === 'name' && path.at(-2) === 'upstreamProviders'
    if (!isDefined && !PROVIDER_FIELDS.has(key)) return providersIn(member, at, namespace)
    if (typeof member !== 'string' || member === '') return []
    const symbol = providerSymbol(namespace, member)
    return [
      { symbol, name: member, role: isDefined ? 'definition' : 'use', path: at, target: 'value' } as const,
    ]
  })
}
