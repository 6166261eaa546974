import { setTimeout as sleep } from 'node:timers/promises'

type Truthy<T> = Exclude<T, false | null | undefined | 0 | ''>

/**
 * Calls `condition` every 50 ms until it returns a truthy value, and resolves with that. An exception counts as false.
 * After `seconds`, rejects with an error that names `what` and the last exception.
 */
export async function waitFor<T>(
  condition: () => T | Promise<T>,
  { seconds, what }: { readonly seconds: number; readonly what: string },
): Promise<Truthy<T>> {
  const end = Date.now() + seconds * 1000
  let last: unknown
  while (Date.now() < end) {
    try {
      const value = await within(end - Date.now(), condition)
      if (value) return value as Truthy<T>
      last = undefined
    } catch (error) {
      last = error
    }
    await sleep(50)
  }
  const reason =
    last === undefined ? '' : `; last: ${last instanceof Error ? last.message : JSON.stringify(last)}`
  throw new Error(`waited ${seconds} s for ${what}${reason}`, { cause: last })
}

/** The result of `work`; rejects after `milliseconds`. */
async function within<T>(milliseconds: number, work: () => T | Promise<T>): Promise<T> {
  const timer = new AbortController()
  const late = sleep(milliseconds, undefined, { signal: timer.signal }).then(() => {
    throw new Error('no answer in time')
  })
  try {
    return await Promise.race([(async () => work())(), late])
  } finally {
    timer.abort()
    late.catch(() => undefined)
  }
}
