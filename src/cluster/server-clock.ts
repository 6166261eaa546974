/** Milliseconds of the monotonic clock, and the time that the API server stamped between them. */
interface Stamp {
  readonly sent: number
  readonly received: number
  /** Unix milliseconds of the Date header, which has whole seconds. */
  readonly date: number
}

const SECOND = 1_000

/** The clock of the API server, by the Date header of its last answer. */
export class ServerClock {
  #stamp: Stamp | undefined

  /** Notes the Date header of an answer to a request; one that cannot be read changes nothing. Times are monotonic milliseconds. */
  note(header: string | undefined, sent: number, received = performance.now()): void {
    const date = Date.parse(header ?? '')
    if (!Number.isNaN(date)) this.#stamp = { sent, received, date }
  }

  /**
   * By how many milliseconds a wall clock is ahead of the API server's (negative: behind), at the least: 0 when they may
   * agree, as far as the time on the way and whole seconds let one know. Undefined before the first answer with a Date.
   * Between answers the API server's time is reckoned by the monotonic clock, so that a wall clock that jumps is noticed
   * without one.
   */
  offset(wall = Date.now(), monotonic = performance.now()): number | undefined {
    if (this.#stamp === undefined) return undefined
    const { sent, received, date } = this.#stamp
    const earliest = date + monotonic - received
    const latest = date + SECOND + monotonic - sent
    if (wall < earliest) return Math.floor(wall - earliest)
    return wall > latest ? Math.ceil(wall - latest) : 0
  }
}
