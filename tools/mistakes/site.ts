import { fieldOf as specFieldOf, isKeyOfMap, type SchemaNode } from '../../src/shape/index.ts'
import { fieldOf as crdFieldOf, type ReleaseSchema } from '../../src/release/index.ts'
import { isObject, type Segment } from '../../src/rule/index.ts'
import type { LinkedObject } from './linked-objects.ts'

/** A field or an item of an object, where mistakes can be made. */
export interface Site {
  readonly object: LinkedObject
  readonly at: readonly Segment[]
  /** Names and indexes; the last one is that of the field, or of the item. */
  readonly keys: readonly (string | number)[]
  readonly value: unknown
  readonly holder: Readonly<Record<string, unknown>> | readonly unknown[]
  /** Whether people choose the key, as in a map. */
  readonly isKeyOfMap: boolean
  /** The schema of the value, and of its holder. */
  readonly node: SchemaNode | undefined
  readonly holderNode: SchemaNode | undefined
  /** The same in the CRD of the operator. */
  readonly crd: ReleaseSchema | undefined
  readonly holderCrd: ReleaseSchema | undefined
}

/** The name of the field; of an item that of the list. */
export const fieldName = ({ keys }: Site): string => keys.findLast((key) => typeof key === 'string') ?? ''

/** The names on the way, without indexes. */
export const namesOf = ({ keys }: Site): readonly string[] => keys.filter((key) => typeof key === 'string')

/** Whether our schemas have the field: they leave out what does not bear on authentication. */
export const isOfAuthentication = ({ keys, node }: Site): boolean => keys[0] !== 'spec' || node !== undefined

/** Every field of the spec and the items of its lists, and before them the four fields that each object has. */
export function* sitesOf(object: LinkedObject): Generator<Site> {
  const { value, kind, crd } = object
  const node = kind.schema as SchemaNode
  const of = (holder: object, key: string, prefix: readonly string[]): Site => ({
    object,
    at: [...prefix, key],
    keys: [...prefix, key],
    value: (holder as Record<string, unknown>)[key],
    holder: holder as Record<string, unknown>,
    isKeyOfMap: false,
    node: undefined,
    holderNode: undefined,
    crd: undefined,
    holderCrd: undefined,
  })
  for (const key of ['apiVersion', 'kind', 'metadata'] as const) if (key in value) yield of(value, key, [])
  const { metadata, spec } = value
  if (isObject(metadata))
    for (const key of ['name', 'namespace'] as const)
      if (typeof metadata[key] === 'string') yield of(metadata, key, ['metadata'])
  if (!isObject(spec)) return
  yield {
    ...of(value, 'spec', []),
    node: specFieldOf(node, 'spec'),
    crd: crdFieldOf(crd, 'spec'),
    holderCrd: crd,
  }
  yield* inside(object, spec, specFieldOf(node, 'spec'), crdFieldOf(crd, 'spec'), {
    at: ['spec'],
    keys: ['spec'],
  })
}

interface Way {
  readonly at: readonly Segment[]
  readonly keys: readonly (string | number)[]
}

function* inside(
  object: LinkedObject,
  holder: unknown,
  node: SchemaNode | undefined,
  crd: ReleaseSchema | undefined,
  { at, keys }: Way,
): Generator<Site> {
  const inHolder = { object, holderNode: node, holderCrd: crd }
  if (Array.isArray(holder)) {
    for (const [i, value] of (holder as unknown[]).entries()) {
      const here = { at: [...at, i], keys: [...keys, i] }
      const of = { node: node?.items, crd: crd?.items }
      yield { ...inHolder, ...here, ...of, holder, value, isKeyOfMap: false }
      yield* inside(object, value, of.node, of.crd, here)
    }
  } else if (isObject(holder)) {
    for (const [key, value] of Object.entries(holder)) {
      const isMap =
        isKeyOfMap(node, key) || (crd?.properties?.[key] === undefined && isObject(crd?.additionalProperties))
      const here = { at: [...at, isMap ? { key } : key], keys: [...keys, key] }
      const of = { node: specFieldOf(node, key), crd: crd && crdFieldOf(crd, key) }
      yield { ...inHolder, ...here, ...of, holder, value, isKeyOfMap: isMap }
      yield* inside(object, value, of.node, of.crd, here)
    }
  }
}
