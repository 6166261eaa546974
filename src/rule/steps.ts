/** Work that yields every few milliseconds, so that a server can answer other requests in between. */
export type Steps<T> = Generator<undefined, T, undefined>

/** Runs the work to its end without a pause. */
export function atOnce<T>(steps: Steps<T>): T {
  let step = steps.next()
  while (step.done !== true) step = steps.next()
  return step.value
}
