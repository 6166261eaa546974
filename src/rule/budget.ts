import { type Path, type Segment, segmentsOf } from './path.ts'

/** Thrown when a computation, such as a proof, needs more units than its budget has left. */
export class OutOfBudget extends Error {}

/** A place in the object whose check ran out of budget. */
export interface Undecided {
  readonly at: readonly Segment[]
  /** Whether the CEL expression at the place was compiled, so that its errors are reported. */
  readonly isCompiled: boolean
}

/**
 * Units are counted in these fractions: sums of them are exact in any order, so a cached result can be charged what it
 * cost first.
 */
const PARTS = 1_024

/**
 * Bounds the work of one judgement that the size of the object alone does not bound: proofs, evaluations, patterns,
 * comparisons, and CEL by the length of its text. A unit is about a microsecond of CPU time or 500 bytes of memory;
 * units are counted, not timed, so that every machine decides the same.
 */
export class Budget {
  readonly #units: number
  readonly #whole: Budget | undefined
  #left: number
  #isOver = false
  #undecided: Undecided | undefined

  /** `whole`: the budget of which this one is a part. Units that are spent here are spent there too. */
  constructor(units: number, whole?: Budget) {
    this.#units = units
    this.#whole = whole
    this.#left = units
  }

  /** Takes the units. Throws OutOfBudget, now and at every later call, when fewer are left. */
  spend(units: number): void {
    const counted = Math.ceil(units * PARTS) / PARTS
    this.#isOver ||= counted > this.#left
    if (this.#isOver) throw new OutOfBudget('the budget of this question is spent')
    this.#whole?.spend(counted)
    this.#left -= counted
  }

  /** Units that were taken; a call that threw took none. */
  get spent(): number {
    return this.#units - this.#left
  }

  get left(): number {
    const left = this.#isOver ? 0 : this.#left
    return this.#whole === undefined ? left : Math.min(left, this.#whole.left)
  }

  /** A budget of at most so many units, each of which is taken from this one too. */
  part(units: number): Budget {
    return new Budget(units, this)
  }

  /** The result of `run`; undefined where it runs out of budget, and then `undecided` names the first such place. */
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

  /** Notes a place whose check ran out of budget, unless one is noted already. */
  leaveUndecided(place: Path<unknown>, isCompiled = true): void {
    this.#undecided ??= { at: segmentsOf(place), isCompiled }
  }

  /** The first place whose check ran out of budget. */
  get undecided(): Undecided | undefined {
    return this.#undecided
  }
}

/** The result of `run`; undefined where it runs out of budget. */
export function withinBudget<T>(run: () => T): T | undefined {
  try {
    return run()
  } catch (error) {
    if (error instanceof OutOfBudget) return undefined
    throw error
  }
}
