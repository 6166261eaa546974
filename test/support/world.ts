import { DEFAULT_API_GROUP, kindNamed } from '../../src/kinds/index.ts'
import { secretFacts } from '../../src/kinds/between/secrets.ts'
import { World } from '../../src/review/world.ts'

/** A view in which every object is known: those given, and no others. */
export function worldOf(objects: readonly unknown[]): World {
  const world = new World({ group: DEFAULT_API_GROUP, knows: () => true })
  for (const object of objects) {
    const { kind: named, metadata } = object as {
      readonly kind: string
      readonly metadata: { readonly name: string; readonly namespace?: string }
    }
    const kind = kindNamed.get(named)
    if (kind === undefined)
      world.putSecret(metadata.namespace ?? '', metadata.name, secretFacts(object as Record<string, unknown>))
    else world.put(kind, object)
  }
  return world
}
