import { referencesOf } from '../../src/relations/index.ts'
import type { Kind } from '../../src/kinds/kind.ts'
import type { Release, ReleaseSchema } from '../../src/release/index.ts'
import { kindOf, nameOf, namespaceOf, type DocumentReading } from '../../src/documents/index.ts'
import { isObject, type Resource } from '../../src/rule/index.ts'

/** An object of one of the seven kinds. */
export interface LinkedObject {
  /** Its place among the given objects. */
  readonly index: number
  readonly kind: Kind
  readonly namespace: string
  readonly name: string
  readonly value: Resource
  readonly crd: ReleaseSchema
  /** How often each text stands in its spec, by what it has to agree with. */
  readonly texts: ReadonlyMap<string, number>
}

/** The objects to which mistakes are applied, and what of them others name. */
export interface LinkedObjects {
  readonly objects: readonly LinkedObject[]
  /** The objects that refer to it, or that it refers to. */
  related(object: LinkedObject): readonly LinkedObject[]
  /** The names of upstream providers of the authorization servers that references lead to, a list for each server. */
  providers(object: LinkedObject): readonly (readonly string[])[]
}

export function linkObjects(
  values: readonly unknown[],
  reading: DocumentReading,
  release: Release,
): LinkedObjects {
  const objects = values.flatMap((value, index): LinkedObject[] => {
    const kind = kindOf(value, reading)
    if (kind === undefined) return []
    const resource = value as Resource
    const crd = release.schemas.get(kind.kind) ?? {}
    const namespace = namespaceOf(value, reading)
    return [{ index, kind, namespace, name: nameOf(resource), value: resource, crd, texts: textsIn(value) }]
  })
  const linked = relatedIn(objects)
  return {
    objects,
    related: ({ index }) => [...(linked.get(index) ?? [])],
    providers: (object) =>
      [...reachable(object, linked)].flatMap(({ value }) => {
        const found = providersOf(value)
        return found.length === 0 ? [] : [found]
      }),
  }
}

function relatedIn(objects: readonly LinkedObject[]): ReadonlyMap<number, ReadonlySet<LinkedObject>> {
  const keyOf = (namespace: string, kind: string, name: string) => `${namespace}/${kind}/${name}`
  const named = new Map(objects.map((each) => [keyOf(each.namespace, each.kind.kind, each.name), each]))
  const linked = new Map(objects.map(({ index }) => [index, new Set<LinkedObject>()]))
  for (const object of objects) {
    for (const { to } of referencesOf(object.kind.kind, object.value)) {
      const target = named.get(keyOf(object.namespace, to.kind, to.name))
      if (target === undefined) continue
      linked.get(object.index)?.add(target)
      linked.get(target.index)?.add(object)
    }
  }
  return linked
}

/** The objects to which references lead, in both directions. */
function reachable(
  object: LinkedObject,
  linked: ReadonlyMap<number, ReadonlySet<LinkedObject>>,
): ReadonlySet<LinkedObject> {
  const reached = new Set([object])
  for (const { index } of reached) for (const next of linked.get(index) ?? []) reached.add(next)
  return reached
}

function providersOf({ spec }: Resource): string[] {
  if (!isObject(spec)) return []
  return [spec.authServerConfig, spec.embeddedAuthServer].flatMap((server) => {
    const list = isObject(server) ? server.upstreamProviders : undefined
    return Array.isArray(list)
      ? list.flatMap((each: unknown) => (isObject(each) && typeof each.name === 'string' ? [each.name] : []))
      : []
  })
}

/** Fields that have to agree with others of the same group, and with no other field of the same text. */
const PAIRED: readonly RegExp[] = [/^issuer(?:Url|Ref)?$/, /audience|resourceUrl/i]

const pairOf = (field: string): number => PAIRED.findIndex((pattern) => pattern.test(field))

const textKey = (field: string, text: string): string => `${pairOf(field)} ${text}`

function textsIn(value: unknown): Map<string, number> {
  const texts = new Map<string, number>()
  const count = (part: unknown, field: string): void => {
    if (typeof part === 'string') {
      const key = textKey(field, part)
      texts.set(key, (texts.get(key) ?? 0) + 1)
    } else if (Array.isArray(part)) for (const item of part) count(item, field)
    else if (isObject(part)) for (const [name, each] of Object.entries(part)) count(each, name)
  }
  if (isObject(value)) count(value.spec, 'spec')
  return texts
}

/** Whether the text stands a second time in such a field of the object, or of one that is linked with it. */
export function standsElsewhere(
  linked: LinkedObjects,
  object: LinkedObject,
  field: string,
  text: string,
): boolean {
  const key = textKey(field, text)
  return (object.texts.get(key) ?? 0) > 1 || linked.related(object).some(({ texts }) => texts.has(key))
}

export const isPaired = (field: string): boolean => pairOf(field) >= 0
