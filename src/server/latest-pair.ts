import type { ServingPair } from '../certificates/serving-pair.ts'

/** Stores the latest serving certificate until it is requested, and passes on each later certificate to a callback. */
export class LatestPair {
  latest: ServingPair | undefined
  #use: ((pair: ServingPair) => void) | undefined
  #arrived: (() => void) | undefined

  /** Stores a new certificate; bound to this object, so that it can be passed as a callback. */
  readonly put = (pair: ServingPair): void => {
    this.latest = pair
    this.#use?.(pair)
    this.#arrived?.()
  }

  /** Calls `use` with each later certificate, and at once with the latest certificate unless it is `taken` (in use). */
  onNext(taken: ServingPair | undefined, use: (pair: ServingPair) => void): void {
    this.#use = use
    if (this.latest !== undefined && this.latest !== taken) use(this.latest)
  }

  /** The latest certificate. Waits up to this many milliseconds for a first one; undefined when none arrives. */
  within(milliseconds: number): Promise<ServingPair | undefined> {
    if (this.latest !== undefined) return Promise.resolve(this.latest)
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(undefined), milliseconds)
      this.#arrived = () => {
        clearTimeout(timer)
        resolve(this.latest)
      }
    })
  }
}
