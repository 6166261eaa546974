import type { TSchema } from 'typebox'
import type { Kind } from '../kinds/kind.ts'
import type { SchemaNode } from './schema-tree.ts'

/** One field of a schema, where `[]` steps into a list and `<name>` into a map. */
export interface Field {
  readonly path: string
  readonly name: string
  readonly node: SchemaNode
  readonly required: boolean
  /** The object that declares it. */
  readonly holder: Holder
}

export interface Holder {
  readonly path: string
  readonly node: SchemaNode
  /** The section of the specification that lists its fields: its own or that of the nearest object around it. */
  readonly section: string | undefined
}

/** Decision 3: a required field, and the fields of newer releases to which it gives way. */
export const ALTERNATIVES: Readonly<Record<string, readonly string[]>> = {
  clientId: ['dcrConfig'],
  userInfo: ['identityFromToken', 'dcrConfig'],
  sentinelConfig: ['addr'],
}

/** The fields that stand in for a field of this object: none where the object declares none. */
export function alternativesOf(holder: SchemaNode, field: string): readonly string[] {
  return (ALTERNATIVES[field] ?? []).filter((name) => holder.properties?.[name] !== undefined)
}

/** Every field of a kind, an object before what is in it; not apiVersion, kind and metadata. */
export function fieldsOf({ schema }: Kind): Field[] {
  return fieldsIn(schema).filter(({ path }) => /^(spec|status)\b/.test(path))
}

/** Every field of a schema, with paths that start at the schema. */
export function fieldsIn(schema: TSchema): Field[] {
  return [...walk(schema as SchemaNode, '', undefined)]
}

function* walk(node: SchemaNode, path: string, around: string | undefined): Iterable<Field> {
  const section = (node.source as string | undefined) ?? around
  const holder: Holder = { path, node, section }
  for (const [name, child] of Object.entries(node.properties ?? {})) {
    const place = path === '' ? name : `${path}.${name}`
    yield { path: place, name, node: child, required: node.required?.includes(name) ?? false, holder }
    yield* walk(child, place, section)
  }
  if (node.items !== undefined) yield* walk(node.items, `${path}[]`, section)
  if (node.additionalProperties !== undefined)
    yield* walk(node.additionalProperties, `${path}.<name>`, section)
}

/** Whether this is the object that two kinds hold, and that is documented once. */
export const isEmbeddedAuthServer = (node: SchemaNode) => node.title === 'EmbeddedAuthServer'
export const isSecretRef = (node: SchemaNode) => node.source === '2.1'
