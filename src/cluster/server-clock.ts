/** The Date of an answer of the API server, and the times of request and answer by the monotonic clock. */
interface Stamp {
  readonly sent: number
  readonly received: number
  /** The Date header in Unix milliseconds; its resolution is a second. */
  readonly date: number
}

const SECOND = 1_000

/** Estimates the clock of the API server from the Date headers in its answers. */
export class ServerClock {
  #stamp: Stamp | undefined

  /** Records the Date header of an answer; ignores an invalid one. `sent` and `received` are monotonic milliseconds. */
  note(header: string | undefined, sent: number, received = performance.now()): void {
    const date = Date.parse(header ?? '')
    if (!Number.isNaN(date)) this.#stamp = { sent, received, date }
  }

  /**
   * The fewest milliseconds by which a wall clock is ahead of the API server's (negative: behind); 0 when both may
   * agree, because a Date has whole seconds and the request took time. Undefined before the first answer with a Date.
   * Between answers the monotonic clock continues the API server's time, so that a jump of the wall clock is noticed.
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
