/** Durations in milliseconds; an actual watch or pause lasts a random time between 75 % and 100 % of the value. */
export interface Times {
  /** The duration (`timeoutSeconds`) that is requested for a watch; client-go requests 5 to 10 minutes. */
  readonly watch: number
  /**
   * The longest time without an event or a bookmark before a watch is opened again from the last known resourceVersion.
   * API servers send a bookmark about once a minute, unless nothing at all has changed. TCP keep-alive notices a dead
   * connection sooner, but not behind a proxy, which keeps its own connection alive.
   */
  readonly silence: number
  /**
   * A watch that ends sooner than this counts as failed and is followed by a pause, so that watches are not opened in a
   * tight loop.
   */
  readonly brief: number
  /** The shortest time between two list requests while the cache lacks objects because it is full. */
  readonly relist: number
  /** The longest time from a request to the headers of its answer, including credentials, connection and TLS. */
  readonly answer: number
  /** The longest time between two chunks of the body of an answer. */
  readonly idle: number
  /** The pause after a first failed request; it doubles with each further failure in a row, up to `longestPause`. */
  readonly pause: number
  readonly longestPause: number
  /** The longest pause between requests for a kind that is absent or forbidden. */
  readonly longestRefusedPause: number
  /**
   * The time for which a kind that was readable must be refused before it counts as absent or forbidden: an API server
   * that has just started may refuse by mistake.
   */
  readonly refusal: number
}

export const TIMES: Times = {
  watch: 600_000,
  silence: 90_000,
  brief: 1_000,
  relist: 300_000,
  answer: 10_000,
  idle: 10_000,
  pause: 500,
  longestPause: 15_000,
  longestRefusedPause: 30_000,
  refusal: 10_000,
}

/** A random time between three quarters of the milliseconds and the whole, so that replicas act at different times. */
export function jittered(milliseconds: number): number {
  return milliseconds * (0.75 + 0.25 * Math.random())
}

/**
 * The pause, in milliseconds, after this many failures in a row: `first`, doubled for each further failure up to
 * `longest`, then jittered.
 */
export function pauseAfter(failures: number, first: number, longest: number): number {
  return jittered(Math.min(longest, first * 2 ** (failures - 1)))
}
