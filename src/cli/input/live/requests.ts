import { setTimeout as sleep } from 'node:timers/promises'
import { StatusError } from '../../../cluster/index.ts'

/** The most requests that are sent to the API server concurrently. */
const CONCURRENCY = 8
/** The most attempts for a request that is answered with 429 or 5xx. */
const MOST_ATTEMPTS = 3
/** Milliseconds before the next attempt, when the API server does not request a pause. */
const PAUSE_MS = 500
const LONGEST_PAUSE_MS = 5_000

/** Sends a request; repeats it when it is answered with 429 or 5xx, after the pause that the API server requests. */
export async function retryRefused<T>(request: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await request()
    } catch (error) {
      const isTransient = error instanceof StatusError && (error.status === 429 || error.status >= 500)
      if (!isTransient || attempt === MOST_ATTEMPTS) throw error
      await sleep(Math.min(error.retryAfter || PAUSE_MS, LONGEST_PAUSE_MS))
    }
  }
}

/** Calls `act` for each item, for at most `CONCURRENCY` items at the same time. */
export async function forEachConcurrently<T>(
  items: readonly T[],
  act: (item: T) => Promise<void>,
): Promise<void> {
  const remaining = items.values()
  const worker = async () => {
    for (const item of remaining) await act(item)
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, worker))
}

/** Collects the failed requests by the reason of the failure, so that each reason is reported once. */
export class Failures {
  readonly #parts = new Map<string, string[]>()

  add(part: string, reason: string): void {
    this.#parts.set(reason, [...(this.#parts.get(reason) ?? []), part])
  }

  texts(): string[] {
    return Array.from(
      this.#parts,
      ([reason, parts]) => `${parts.toSorted().join(', ')}: ${reason}`,
    ).toSorted()
  }
}
