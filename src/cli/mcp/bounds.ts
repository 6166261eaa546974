/** What a client may send and gets, and what a call may take. */
export const BOUNDS = {
  /** Bytes of a message: `manifests` with an escape for each character, and the rest. */
  message: 8 * 2 ** 20,
  /** Characters of `manifests`. */
  manifests: 2 ** 20,
  /** Characters of a structured result. */
  result: 2 ** 20,
  /** Characters of the text of a result. */
  text: 20_000,
  /** Calls that wait for the one that runs. */
  waiting: 16,
  seconds: 120,
  /** Of the heap, as SECURITY.md has it for a run. */
  megabytes: 1_200,
} as const
