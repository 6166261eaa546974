import { DEFAULT_API_GROUP, kindNamed } from '../../src/kinds/index.ts'
import { World } from '../../src/review/world.ts'

/** A view in which every object is known: those given, and no others. */
export function worldOf(objects: readonly unknown[]): World {
  const world = new World({ group: DEFAULT_API_GROUP, knows: () => true })
  for (const object of objects) {
    const kind = kindNamed.get((object as { kind: string }).kind)
    if (kind === undefined) world.putSecret(object)
    else world.put(kind, object)
  }
  return world
}
