import { type Path, type Segment, segmentsOf } from './path.ts'

/** Thrown when a computation, such as a proof, needs more units than its budget has left. */
export class OutOfBudget extends Error {}

/** A field of the object whose check ran out of budget. */
export interface Undecided {
  readonly at: readonly Segment[]
  /** Whether the CEL expression in the field was compiled; if it was not, its errors are not reported. */
  readonly isCompiled: boolean
}

/**
 * The budget counts in 1/1,024 of a unit: sums of such fractions are exact in any order, so a cached result can be
 * charged exactly what its first computation cost.
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

  /** `whole`: the budget of which this one is a part. Units spent here are also spent from `whole`. */
  constructor(units: number, whole?: Budget) {
    this.#units = units
    this.#whole = whole
    this.#left = units
  }

  /** Spends units. Throws OutOfBudget, now and at every later call, when fewer are left. */
  spend(units: number): void {
    const counted = Math.ceil(units * PARTS) / PARTS
    this.#isOver ||= counted > this.#left
    if (this.#isOver) throw new OutOfBudget('the budget of this question is spent')
    this.#whole?.spend(counted)
    this.#left -= counted
  }

  /** Units spent so far; a call that threw spent none. */
  get spent(): number {
    return this.#units - this.#left
  }

  get left(): number {
    const left = this.#isOver ? 0 : this.#left
    return this.#whole === undefined ? left : Math.min(left, this.#whole.left)
  }

  /** A new budget of at most this many units; spending from it also spends from this budget. */
  part(units: number): Budget {
    return new Budget(units, this)
  }

  /** The result of `run`; undefined when the budget runs out. `undecided` keeps the first place where this happens. */
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

  /** Records a field whose check ran out of budget, unless one is recorded already. */
  leaveUndecided(place: Path<unknown>, isCompiled = true): void {
    this.#undecided ??= { at: segmentsOf(place), isCompiled }
  }

  /** The first field whose check ran out of budget. */
  get undecided(): Undecided | undefined {
    return this.#undecided
  }
}

/** The result of `run`; undefined when its budget runs out. */
export function withinBudget<T>(run: () => T): T | undefined {
  try {
    return run()
  } catch (error) {
    if (error instanceof OutOfBudget) return undefined
    throw error
  }
}
