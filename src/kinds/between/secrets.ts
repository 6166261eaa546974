import type { Cluster } from '../../rule/cluster.ts'
import { isObject, type Resource } from '../../rule/resource.ts'

/** What is known of a Secret: how many bytes each key holds. Values are never kept (decision 22). */
export interface SecretFacts extends Resource {
  readonly bytes: Readonly<Record<string, number>>
}

/** Reads `data` (base64) and `stringData` (text) of a Secret. */
export function secretFacts(data: unknown, stringData: unknown): SecretFacts {
  const sizes = [
    ...entries(data).map(([key, value]) => [key, decodedLength(value)] as const),
    ...entries(stringData).map(([key, value]) => [key, new TextEncoder().encode(value).length] as const),
  ]
  return { bytes: Object.fromEntries(sizes) }
}

const entries = (map: unknown): [string, string][] =>
  Object.entries(isObject(map) ? map : {}).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  )

function decodedLength(base64: string): number {
  const digits = base64.replace(/[\s=]/g, '').length
  return Math.floor((digits * 3) / 4)
}

export const getSecret = (cluster: Cluster, name: string) =>
  cluster.get('Secret', name) as SecretFacts | undefined
