import { type Path, type Segment, segmentsOf } from './path.ts'

/** Thrown where a question needs more work than its budget has left. */
export class OutOfBudget extends Error {}

/** A question that was not decided. */
export interface Undecided {
  readonly at: readonly Segment[]
  /** Whether the expression at the place was compiled, so that its errors are known. */
  readonly isCompiled: boolean
}

/** Parts of a unit in which it is counted: sums of them are exact, in whatever order, so a kept answer costs what it took to find. */
const PARTS = 1_024

/**
 * The work that a judgement may spend beside what grows with the size of the object alone: proofs, evaluations, patterns,
 * comparisons, and the text of CEL expressions. A unit is about a microsecond of CPU time or 500 bytes of memory, counted and not timed, so that every
 * machine decides the same.
 */
export class Budget {
  readonly #units: number
  readonly #whole: Budget | undefined
  #left: number
  #isOver = false
  #undecided: Undecided | undefined

  /** `whole`: the budget of which this is a part, from which it spends too. */
  constructor(units: number, whole?: Budget) {
    this.#units = units
    this.#whole = whole
    this.#left = units
  }

  /** Throws OutOfBudget, now and at every later call, when there are not so many units left. */
  spend(units: number): void {
    const counted = Math.ceil(units * PARTS) / PARTS
    this.#isOver ||= counted > this.#left
    if (this.#isOver) throw new OutOfBudget('the budget of this question is spent')
    this.#whole?.spend(counted)
    this.#left -= counted
  }

  /** Units of the work that was done; a step that was refused is not. */
  get spent(): number {
    return this.#units - this.#left
  }

  get left(): number {
    const left = this.#isOver ? 0 : this.#left
    return this.#whole === undefined ? left : Math.min(left, this.#whole.left)
  }

  /** A budget of at most so many units, which are spent from this one too. */
  part(units: number): Budget {
    return new Budget(units, this)
  }

  /** The result, or undefined where the budget does not suffice; the first such place is kept. */
  decide<T>(place: () => Path<unknown>, run: () => T): T | undefined {
    if (this.left === 0) {
      this.leaveUndecided(place())
      return undefined
    }
    try {
      return run()
    } catch (error) {
      if (!(error instanceof OutOfBudget)) throw error
      this.leaveUndecided(place())
      return undefined
    }
  }

  /** A question about the place was not decided, or it was not even compiled. */
  leaveUndecided(place: Path<unknown>, isCompiled = true): void {
    this.#undecided ??= { at: segmentsOf(place), isCompiled }
  }

  /** The first question that was not decided. */
  get undecided(): Undecided | undefined {
    return this.#undecided
  }
}

/** Undefined where a budget does not suffice. */
export function withinBudget<T>(run: () => T): T | undefined {
  try {
    return run()
  } catch (error) {
    if (error instanceof OutOfBudget) return undefined
    throw error
  }
}
