/** How long things may take, in milliseconds; watches and pauses take between three quarters and all of it. */
export interface Times {
  /** How long the API server is asked to keep a watch open (`timeoutSeconds`); client-go asks for 5 to 10 minutes. */
  readonly watch: number
  /**
   * How long a watch may send neither an event nor a bookmark until it is opened again where it ended. API servers send a
   * bookmark about once a minute, unless nothing has changed at all. TCP keep-alive finds a dead connection sooner, but
   * not one behind a proxy, which answers by itself.
   */
  readonly silence: number
  /** A watch that ends sooner has failed: without a pause we would open watches in a tight loop. */
  readonly brief: number
  /** How long after a list the next one may come while the sink leaves objects out. */
  readonly relist: number
  /** From the start of a request to the head of its answer: credentials, connection and TLS included. */
  readonly answer: number
  /** Between two parts of a body. */
  readonly idle: number
  /** The first pause after a failure; it doubles up to `longestPause`. */
  readonly pause: number
  readonly longestPause: number
  /** The longest pause while a kind is absent or forbidden. */
  readonly longestRefusedPause: number
  /**
   * How long a kind that was there must be refused until it counts as absent or forbidden: an API server that has just
   * started may refuse by mistake.
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

/** A random time between three quarters of the milliseconds and all of them, so that replicas do not ask at the same time. */
export function jittered(milliseconds: number): number {
  return milliseconds * (0.75 + 0.25 * Math.random())
}

/** The pause, in milliseconds, after so many failures in a row: `first` doubled each time up to `longest`, jittered. */
export function pauseAfter(failures: number, first: number, longest: number): number {
  return jittered(Math.min(longest, first * 2 ** (failures - 1)))
}
