/** An abort signal that aborts when one of its parent signals does, or when the time is over. */
export class Deadline {
  readonly #controller = new AbortController()
  readonly #parents: readonly AbortSignal[]
  #timer: NodeJS.Timeout | undefined

  constructor(parents: readonly AbortSignal[]) {
    this.#parents = parents
    for (const parent of parents) parent.addEventListener('abort', this.#abortWithParent)
    this.#abortWithParent()
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Restarts the timer: the signal aborts after this many milliseconds, with the result of `reason`. */
  set(milliseconds: number, reason: () => Error): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#controller.abort(reason()), milliseconds)
  }

  /** Clears the timer and stops listening to the parents. */
  end(): void {
    clearTimeout(this.#timer)
    for (const parent of this.#parents) parent.removeEventListener('abort', this.#abortWithParent)
  }

  /** Resolves or rejects as the work does; rejects with the signal's reason if it aborts first. */
  async race<T>(work: Promise<T>): Promise<T> {
    const { signal } = this.#controller
    const { promise, reject } = Promise.withResolvers<never>()
    const giveUp = () => reject(signal.reason as Error)
    signal.addEventListener('abort', giveUp)
    if (signal.aborted) giveUp()
    try {
      return await Promise.race([work, promise])
    } finally {
      signal.removeEventListener('abort', giveUp)
    }
  }

  readonly #abortWithParent = (): void => {
    const aborted = this.#parents.find((parent) => parent.aborted)
    if (aborted !== undefined) this.#controller.abort(aborted.reason)
  }
}
