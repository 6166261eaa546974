/** Functions of Node 22 for Node 20: `bundling.ts` redirects calls to these functions, and changes no global object. */

export function mapGroupBy<Key, Item>(
  items: Iterable<Item>,
  keyOf: (item: Item, index: number) => Key,
): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>()
  let index = 0
  for (const item of items) {
    const key = keyOf(item, index++)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [item])
    else group.push(item)
  }
  return groups
}

export const objectGroupBy = <Key extends PropertyKey, Item>(
  items: Iterable<Item>,
  keyOf: (item: Item, index: number) => Key,
): Partial<Record<Key, Item[]>> =>
  Object.assign(Object.create(null) as object, Object.fromEntries(mapGroupBy(items, keyOf)))

export function promiseWithResolvers<Value>(): PromiseWithResolvers<Value> {
  let resolve!: PromiseWithResolvers<Value>['resolve']
  let reject!: PromiseWithResolvers<Value>['reject']
  const promise = new Promise<Value>((...both) => ([resolve, reject] = both))
  return { promise, resolve, reject }
}
