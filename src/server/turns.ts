import { SMALL } from './bodies.ts'

/**
 * The steps of a review, in this order. If the verdict depends on other objects, step `judge` runs again after these
 * objects were read.
 */
const STEPS = ['parse', 'judge', 'answer', 'record'] as const
export type ReviewStep = (typeof STEPS)[number]

/** Milliseconds for which small reviews run before the event loop gets control; a single step is never interrupted. */
const STRETCH = 5
/** Milliseconds after which the costs of flows (client and namespace) restart from 0. */
const WINDOW = 10_000
/** The most flows (client and namespace) whose costs are counted; a further flow restarts all costs from 0. */
const MOST_FLOWS = 10_000

/** The facts about a review that determine when its steps run. */
export interface ReviewTurns {
  /** Bytes of the request body. */
  readonly bytes: number
  /** The client and namespace of the review, known after parsing; the costs of reviews are added up by flow. */
  flow: string
}

interface Waiting {
  readonly review: ReviewTurns
  readonly run: () => void
}

/**
 * Decides which review runs its next step. Each step is synchronous; between two turns the event loop receives new data
 * (decision 30).
 *
 * - While no review waits, a small review runs its steps immediately, so that it ends before the next is parsed: the
 *   garbage collector has to copy objects that live longer. After STRETCH milliseconds the event loop gets control.
 * - Waiting reviews run the same step together, for STRETCH milliseconds at a time, but at least one review.
 * - The flow (client and namespace) with the least cost in this WINDOW is judged first, and of its reviews the
 *   smallest: a client that sends expensive reviews waits for others, and others wait for only one step of its
 *   reviews.
 * - Large reviews have a separate queue. In each turn, after the small reviews, a large review runs one step; then
 *   the queue pauses for as long as that step took, so large reviews get at most half of the time. Reviews at a later
 *   step go first, so that few large reviews are in memory.
 */
export class Turns {
  readonly #small = new Map<ReviewStep, Waiting[]>(STEPS.map((step) => [step, []]))
  readonly #large = new Map<ReviewStep, Waiting[]>(STEPS.map((step) => [step, []]))
  readonly #now: () => number
  readonly #costs = new Map<string, number>()
  #windowBegun = 0
  /** The time at which the pause after a step of a large review ends, in monotonic milliseconds. */
  #rested = 0
  /** Milliseconds of steps that ran immediately since the event loop last had control. */
  #atOnce = 0
  #around: NodeJS.Immediate | undefined
  #next: NodeJS.Immediate | undefined
  #later: NodeJS.Timeout | undefined
  #isRunning = false

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** Runs `work` in a turn for this review; resolves and rejects as `work` does. */
  take<T>(review: ReviewTurns, step: ReviewStep, work: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      const run = () => {
        try {
          resolve(work())
        } catch (error) {
          const thrown = error as Error
          reject(thrown)
        }
      }
      if (this.#mayGoOn(review)) this.#runAtOnce({ review, run }, step)
      else this.#wait({ review, run }, step)
    })
  }

  #mayGoOn({ bytes }: ReviewTurns): boolean {
    if (bytes > SMALL || this.#isRunning || this.#atOnce >= STRETCH) return false
    for (const waiting of this.#small.values()) if (waiting.length > 0) return false
    return true
  }

  #runAtOnce(waiting: Waiting, step: ReviewStep): void {
    this.#around ??= setImmediate(() => {
      this.#around = undefined
      this.#atOnce = 0
      if (!this.#isRunning) this.#schedule()
    })
    const begun = this.#now()
    this.#atOnce += this.#timed(waiting, step, begun) - begun
  }

  #wait(waiting: Waiting, step: ReviewStep): void {
    const steps = waiting.review.bytes > SMALL ? this.#large : this.#small
    steps.get(step)?.push(waiting)
    if (!this.#isRunning) this.#schedule()
  }

  async #turn(): Promise<void> {
    this.#isRunning = true
    let now = this.#now()
    for (const [step, waiting] of this.#small) {
      if (waiting.length === 0) continue
      const end = now + STRETCH
      do now = this.#run(waiting, step, now)
      while (waiting.length > 0 && now < end)
      await othersGoOn()
    }
    const next = now < this.#rested ? undefined : furthest(this.#large)
    if (next !== undefined) {
      const end = this.#run(...next, now)
      this.#rested = end + end - now
      await othersGoOn()
    }
    this.#isRunning = false
    this.#schedule()
  }

  /** Runs this step of the next waiting review; `begun` is the time now; returns the time at the end. */
  #run(waiting: Waiting[], step: ReviewStep, begun: number): number {
    const place = waiting.length === 1 ? 0 : this.#first(waiting, step)
    return this.#timed((place === 0 ? waiting.shift() : waiting.splice(place, 1)[0]) ?? IDLE, step, begun)
  }

  /** Runs a step and adds its time to the cost of its flow; returns the time at the end. */
  #timed({ review, run }: Waiting, step: ReviewStep, begun: number): number {
    run()
    const end = this.#now()
    // Steps other than `parse` and `judge` cost about the same for every review.
    if (step === 'parse' || step === 'judge') this.#charge(review, end - begun, end)
    return end
  }

  #charge(review: ReviewTurns, milliseconds: number, now: number): void {
    if (now - this.#windowBegun >= WINDOW || this.#costs.size >= MOST_FLOWS) {
      this.#costs.clear()
      this.#windowBegun = now
    }
    this.#costs.set(review.flow, this.#costOf(review) + milliseconds)
  }

  /** The index of the review to run next. For `parse` only the bytes decide, because the flow is not yet known. */
  #first(waiting: readonly Waiting[], step: ReviewStep): number {
    let first = 0
    for (const [i, { review }] of waiting.entries()) {
      const best = waiting[first]?.review ?? review
      const more = step === 'parse' ? 0 : this.#costOf(review) - this.#costOf(best)
      if (more < 0 || (more === 0 && review.bytes < best.bytes)) first = i
    }
    return first
  }

  #costOf({ flow }: ReviewTurns): number {
    return this.#costs.get(flow) ?? 0
  }

  #schedule(): void {
    if (this.#next !== undefined) return
    const begin = () => {
      clearTimeout(this.#later)
      this.#next = this.#later = undefined
      void this.#turn()
    }
    const pause = furthest(this.#large) === undefined ? Infinity : this.#rested - this.#now()
    if (furthest(this.#small) !== undefined || pause <= 0) this.#next = setImmediate(begin)
    else if (pause < Infinity) this.#later ??= setTimeout(begin, pause)
  }
}

/** Lets reviews that have just run a step enter the queue of their next step. */
const othersGoOn = () => new Promise<void>((resolve) => process.nextTick(resolve))

const IDLE: Waiting = { review: { bytes: 0, flow: '' }, run: () => undefined }

/** The latest of the steps for which reviews wait, with these reviews; undefined when no review waits. */
function furthest(
  steps: ReadonlyMap<ReviewStep, Waiting[]>,
): [waiting: Waiting[], step: ReviewStep] | undefined {
  let found: [Waiting[], ReviewStep] | undefined
  for (const [step, waiting] of steps) if (waiting.length > 0) found = [waiting, step]
  return found
}
