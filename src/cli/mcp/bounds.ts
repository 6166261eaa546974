/** Limits for messages from clients, for results and for calls. */
export const BOUNDS = {
  /** Bytes of a message: `manifests` with all characters escaped, and the other fields. */
  message: 8 * 2 ** 20,
  /** Characters of `manifests`. */
  manifests: 2 ** 20,
  /** Characters of a structured result. */
  result: 2 ** 20,
  /** Characters of the text of a result. */
  text: 20_000,
  /** Number of calls that may wait for the running one. */
  waiting: 16,
  seconds: 120,
  /** Megabytes of heap for a call, the same as SECURITY.md states for a run. */
  megabytes: 1_200,
} as const
