import { secretFacts } from '../kinds/between/secrets.ts'
import { kindNamed } from '../kinds/index.ts'
import type { Kind } from '../kinds/kind.ts'
import { placeholdersIn } from '../review/placeholder.ts'
import { World } from '../review/world.ts'
import { isObject } from '../rule/resource.ts'
import type { Live } from './live.ts'

/** How documents are read as resources. */
export interface Reading {
  readonly group: string
  /** Namespace of documents that name none. */
  readonly namespace: string
}

/** The kind of a document of ours, whatever its version; undefined for any other document. */
export function kindOf(value: unknown, { group }: Reading): Kind | undefined {
  if (!isObject(value) || typeof value.apiVersion !== 'string' || typeof value.kind !== 'string')
    return undefined
  return value.apiVersion.startsWith(`${group}/`) ? kindNamed.get(value.kind) : undefined
}

/** All documents as one world: what is not among them does not exist, except Secrets, which are seldom in files. */
export function worldOf(values: readonly unknown[], reading: Reading): World {
  const { group } = reading
  const world = new World({ group, knows: (kind) => kindNamed.has(kind), where: () => 'in the given files' })
  putAll(world, values, reading)
  return world
}

/** The cluster as it is. */
export function worldOfCluster(live: Live, group: string): World {
  return liveWorld(live, new World({ group, knows: live.knows }))
}

/** The cluster as it would be with the documents applied. */
export function worldOfBoth(live: Live, values: readonly unknown[], reading: Reading): World {
  const where = (namespace: string) => `in namespace '${namespace}' or the given files`
  const world = liveWorld(live, new World({ group: reading.group, knows: live.knows, where }))
  putAll(world, values, reading)
  return world
}

function liveWorld({ objects, secrets }: Live, world: World): World {
  for (const { kind, value } of objects) world.put(kind, value)
  for (const { namespace, name, facts } of secrets) world.putSecret(namespace, name, facts)
  return world
}

/** Puts documents into a world, each in place of the object of its name. */
export function putAll(world: World, values: readonly unknown[], reading: Reading): void {
  for (const value of values) {
    const kind = kindOf(value, reading)
    if (kind !== undefined) {
      const unknown = isObject(value) ? placeholdersIn(kind, value).map(({ at }) => at) : []
      world.put(kind, value, reading.namespace, unknown)
    } else if (isObject(value) && value.kind === 'Secret' && value.apiVersion === 'v1') {
      const { name, namespace = reading.namespace } = isObject(value.metadata) ? value.metadata : {}
      if (typeof name === 'string' && typeof namespace === 'string')
        world.putSecret(namespace, name, secretFacts(value))
    }
  }
}
