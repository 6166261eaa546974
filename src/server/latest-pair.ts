import type { ServingPair } from '../certificates/serving-pair.ts'

/** Keeps the latest serving pair until it is asked for, and passes on each later one. */
export class LatestPair {
  latest: ServingPair | undefined
  #use: ((pair: ServingPair) => void) | undefined
  #arrived: (() => void) | undefined

  /** Takes a new pair; bound, so that it can be passed as a callback. */
  readonly put = (pair: ServingPair): void => {
    this.latest = pair
    this.#use?.(pair)
    this.#arrived?.()
  }

  /** Calls back with each pair from now on, and at once with the latest if that is newer than `taken`. */
  onNext(taken: ServingPair | undefined, use: (pair: ServingPair) => void): void {
    this.#use = use
    if (this.latest !== undefined && this.latest !== taken) use(this.latest)
  }

  /** The latest pair; waits up to so many milliseconds for a first one, else undefined. */
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
