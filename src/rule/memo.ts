/** Cached results, by function and then by argument. Lives as long as a review, or a `Cluster`. */
export type Memo = Map<unknown, Map<unknown, unknown>>

/** The result of `compute(...args)`, cached by `compute` and the first argument: later arguments do not count. */
export function remembered<A extends readonly [unknown, ...unknown[]], R>(
  memo: Memo,
  compute: (...args: A) => R,
  ...args: A
): R {
  let results = memo.get(compute) as Map<unknown, R> | undefined
  if (results === undefined) memo.set(compute, (results = new Map<unknown, R>()))
  if (!results.has(args[0])) results.set(args[0], compute(...args))
  return results.get(args[0]) as R
}
