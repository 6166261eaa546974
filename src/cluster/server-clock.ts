/** The time that the API server stamped on an answer, and when that was sent and received by the monotonic clock. */
interface Stamp {
  readonly sent: number
  readonly received: number
  /** Unix milliseconds of the Date header, which has whole seconds. */
  readonly date: number
}

const SECOND = 1_000

/** Estimates the clock of the API server from the Date headers of its answers. */
export class ServerClock {
  #stamp: Stamp | undefined

  /** Notes the Date header of an answer; ignores one that cannot be read. Times are monotonic milliseconds. */
  note(header: string | undefined, sent: number, received = performance.now()): void {
    const date = Date.parse(header ?? '')
    if (!Number.isNaN(date)) this.#stamp = { sent, received, date }
  }

  /**
   * By how many milliseconds a wall clock is at least ahead of the API server's (negative: behind); 0 when they may
   * agree, given whole seconds and the time for the request. Undefined before the first answer with a Date. Between
   * answers the monotonic clock continues the API server's time, so that a jump of the wall clock is noticed.
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
