/** A signal that aborts with any of its parents, or when its time is up. */
export class Deadline {
  readonly #controller = new AbortController()
  readonly #parents: readonly AbortSignal[]
  #timer: NodeJS.Timeout | undefined

  constructor(parents: readonly AbortSignal[]) {
    this.#parents = parents
    for (const parent of parents) parent.addEventListener('abort', this.#follow)
    this.#follow()
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Gives it so much time from now, in place of what was left; `problem` is the message of the reason. */
  set(milliseconds: number, problem: string): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#controller.abort(new Error(problem)), milliseconds)
  }

  /** Lets go of the time and of the parents. */
  end(): void {
    clearTimeout(this.#timer)
    for (const parent of this.#parents) parent.removeEventListener('abort', this.#follow)
  }

  /** The outcome of the work, or the reason of the signal if that aborts first. */
  async race<T>(work: Promise<T>): Promise<T> {
    const { signal } = this.#controller
    const { promise, reject } = Promise.withResolvers<never>()
    const give = () => reject(signal.reason as Error)
    signal.addEventListener('abort', give)
    if (signal.aborted) give()
    try {
      return await Promise.race([work, promise])
    } finally {
      signal.removeEventListener('abort', give)
    }
  }

  readonly #follow = (): void => {
    const aborted = this.#parents.find((parent) => parent.aborted)
    if (aborted !== undefined) this.#controller.abort(aborted.reason)
  }
}
