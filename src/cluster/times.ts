/** How long what may take, in milliseconds; watches, lists and pauses come after three quarters to all of it. */
export interface Times {
  /**
   * How long one watch goes on at most. So short because its end in order proves the connection: bookmarks come once a
   * minute, TCP keep-alive is answered by whatever proxy is in between, and a probe on another connection says nothing
   * of this one. The next watch takes up where it ended, mostly on the same connection, and costs little.
   */
  readonly watch: number
  /** How long after its end was due a watch is taken for dead. */
  readonly grace: number
  /** A watch that ends sooner has failed, or we would ask again and again without a pause. */
  readonly brief: number
  /** How long watches go on without a list in between, at most. */
  readonly relist: number
  /** From the start of a request to the head of its answer: credentials, connection and TLS included. */
  readonly answer: number
  /** Between two parts of a body. */
  readonly idle: number
  /** The first pause after a failure; it doubles up to `longestPause`. */
  readonly pause: number
  readonly longestPause: number
  /** How long we pause at most while a kind is absent or forbidden. */
  readonly longestRefusedPause: number
  /**
   * How long a kind that was there must be refused until it counts as absent or forbidden: an API server that has just
   * started may say so by mistake.
   */
  readonly patience: number
}

export const TIMES: Times = {
  watch: 15_000,
  grace: 5_000,
  brief: 1_000,
  relist: 270_000,
  answer: 10_000,
  idle: 10_000,
  pause: 500,
  longestPause: 15_000,
  longestRefusedPause: 30_000,
  patience: 10_000,
}

/** Three quarters to all of it, so that not all ask at the same time. */
export function jittered(milliseconds: number): number {
  return milliseconds * (0.75 + 0.25 * Math.random())
}

/** The pause after so many failures in a row. */
export function pauseAfter(failures: number, first: number, longest: number): number {
  return jittered(Math.min(longest, first * 2 ** (failures - 1)))
}
