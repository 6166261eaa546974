import { SMALL } from './bodies.ts'

/** The steps of a review, in their order. A review beside other objects is judged again, once these were read. */
const STEPS = ['parse', 'judge', 'answer', 'record'] as const
export type ReviewStep = (typeof STEPS)[number]

/** Milliseconds for which small reviews go on at a stretch; what is begun is finished. */
const STRETCH = 5
/** Milliseconds for which it counts what the reviews of a flow have cost, and for how many flows at most. */
const WINDOW = 10_000
const MOST_FLOWS = 10_000

/** Of one review, what decides when its steps have their turn. */
export interface ReviewTurns {
  /** Bytes of its body. */
  readonly bytes: number
  /** Whose turns these are, once it is parsed: reviews of one flow wait for each other. */
  flow: string
}

interface Waiting {
  readonly review: ReviewTurns
  readonly run: () => void
}

/**
 * Decides which review has its turn: each step is synchronous, and the event loop takes in what has arrived between two turns
 * (decision 30).
 *
 * - A small review takes its steps at once while nothing waits, so that it is done before the next is parsed: what lives
 *   longer is copied by the collector of garbage. After STRETCH milliseconds of this the event loop comes around first.
 * - Those that wait take each step together, for STRETCH milliseconds at a stretch, with one review at least.
 * - The flow whose reviews have cost least in this window is judged first, then the smallest: whoever sends what is expensive
 *   waits for others, and others wait for one step of it.
 * - Large reviews share a lane. In each turn one of them takes one step, after the small ones; then the lane rests as
 *   long as that step took, so that it has half of the time at most. Those that are further go first: few are in memory.
 */
export class Turns {
  readonly #small = new Map<ReviewStep, Waiting[]>(STEPS.map((step) => [step, []]))
  readonly #large = new Map<ReviewStep, Waiting[]>(STEPS.map((step) => [step, []]))
  readonly #now: () => number
  readonly #costs = new Map<string, number>()
  #windowBegun = 0
  /** When the lane has rested. */
  #rested = 0
  /** Milliseconds of steps that were taken at once since the event loop came around. */
  #atOnce = 0
  #around: NodeJS.Immediate | undefined
  #next: NodeJS.Immediate | undefined
  #later: NodeJS.Timeout | undefined
  #isRunning = false

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** Resolves with what `work` returns, and rejects with what it throws, when the review has had this turn. */
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

  /** Runs the first of those that wait for a step, at the time `begun`; answers with the time when it is done. */
  #run(waiting: Waiting[], step: ReviewStep, begun: number): number {
    const place = waiting.length === 1 ? 0 : this.#first(waiting, step)
    return this.#timed((place === 0 ? waiting.shift() : waiting.splice(place, 1)[0]) ?? IDLE, step, begun)
  }

  /** Runs a step, and charges its flow for it; answers with the time when it is done. */
  #timed({ review, run }: Waiting, step: ReviewStep, begun: number): number {
    run()
    const end = this.#now()
    // To answer and to record costs every review about the same.
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

  /** Before a body is parsed its flow is not known, and what it costs grows with its bytes. */
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

/** Lets the reviews that have taken a step join the queue of the next one. */
const othersGoOn = () => new Promise<void>((resolve) => process.nextTick(resolve))

const IDLE: Waiting = { review: { bytes: 0, flow: '' }, run: () => undefined }

/** The reviews that wait for the last step for which any does; undefined when none waits. */
function furthest(
  steps: ReadonlyMap<ReviewStep, Waiting[]>,
): [waiting: Waiting[], step: ReviewStep] | undefined {
  let found: [Waiting[], ReviewStep] | undefined
  for (const [step, waiting] of steps) if (waiting.length > 0) found = [waiting, step]
  return found
}
