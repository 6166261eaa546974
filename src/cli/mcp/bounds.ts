/** Limits for messages from clients, for results and for calls. */
export const BOUNDS = {
  /** The most bytes of a message, enough for `manifests` with all characters escaped and for the other fields. */
  message: 8 * 2 ** 20,
  /** The most characters of the argument `manifests`. */
  manifests: 2 ** 20,
  /** The most characters of a structured result. */
  result: 2 ** 20,
  /** The most characters of the text beside a structured result. */
  text: 20_000,
  /** The most calls that may wait for the running one. */
  waiting: 16,
  seconds: 120,
  /** The most megabytes of heap for a call; SECURITY.md states the same limit for a run of the command line. */
  megabytes: 1_200,
} as const
