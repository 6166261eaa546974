/** Work in steps of a few milliseconds, between which a server answers others. */
export type Steps<T> = Generator<undefined, T, undefined>

/** The result of work that nobody interrupts. */
export function atOnce<T>(steps: Steps<T>): T {
  let step = steps.next()
  while (step.done !== true) step = steps.next()
  return step.value
}
