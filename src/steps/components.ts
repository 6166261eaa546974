import { referencesOf } from '../relations/index.ts'
import { objectKey } from '../rule/index.ts'
import type { Item, Items } from './states.ts'
import { keyOf } from './states.ts'
import type { ChangedObject } from './versions.ts'

/**
 * A set of objects that are connected by references in the old, the new or an intermediate version: writes of other
 * objects do not affect them.
 */
export interface Component {
  readonly changes: readonly ChangedObject[]
  readonly objects: readonly Omit<Item, 'value'>[]
}

/** The sets of connected objects (components) that contain a change. */
export function componentsOf(changes: readonly ChangedObject[], old: Items, now: Items): Component[] {
  const all = new Map([...old, ...now])
  const changed = new Set(changes.map(({ key }) => key))
  const union = new Union()
  const connect = (item: Omit<Item, 'value'>, value: unknown) => {
    for (const { to } of referencesOf(item.kind.kind, value as { readonly spec?: unknown })) {
      const target = objectKey({ ...to, namespace: item.namespace })
      // Objects are not connected by an unchanged MCPOIDCConfig to which they refer: many objects may share it.
      if (to.kind === 'MCPOIDCConfig' && all.has(target) && !changed.has(target)) continue
      union.join(keyOf(item), target)
    }
  }
  for (const items of [old, now]) for (const item of items.values()) connect(item, item.value)
  for (const change of changes) {
    for (const { value } of change.versions) if (value !== undefined) connect(change, value)
  }
  const objects = Map.groupBy(all.values(), (item) => union.find(keyOf(item)))
  const grouped = Map.groupBy(changes, ({ key }) => union.find(key))
  return Array.from(grouped, ([root, of]) => ({ changes: of, objects: objects.get(root) ?? [] }))
}

class Union {
  readonly #parents = new Map<string, string>()

  find(key: string): string {
    const parent = this.#parents.get(key)
    if (parent === undefined) return key
    const root = this.find(parent)
    this.#parents.set(key, root)
    return root
  }

  join(a: string, b: string): void {
    const [rootA, rootB] = [this.find(a), this.find(b)]
    if (rootA !== rootB) this.#parents.set(rootA, rootB)
  }
}
