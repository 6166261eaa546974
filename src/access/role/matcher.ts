import {
  type CelGoVersion,
  described,
  evaluate,
  Failure,
  programOf,
  type Spend,
  typeOf,
  type Value,
} from '../../cel/index.ts'
import { OutOfBudget } from '../../rule/index.ts'

/** The result of evaluating a matcher, as plain data that a worker thread can send. */
export type Evaluation =
  | { readonly kind: 'value'; readonly value: boolean }
  /** The matcher's result is not a bool; `type` names the type of the result, with an article: `a string`. */
  | { readonly kind: 'otherType'; readonly type: string }
  | { readonly kind: 'failed'; readonly message: string }
  | { readonly kind: 'stopped'; readonly message: string }
  /** The matcher does not compile. */
  | { readonly kind: 'refused'; readonly message: string }

/** Thrown when the evaluation of a matcher exceeds its limit of cost or time. */
export class Stopped extends Error {}

export interface Limits {
  /**
   * The cost limit of one matcher, in the cost units of cel-go. `LIMITS` has the limit of the gateway, 1,000,000
   * (toolhive-core, cel/engine.go). Because this program counts a little more than cel-go, it may stop an evaluation
   * that the gateway completes.
   */
  readonly cost: number
  /** The time limit for evaluating all matchers together. */
  readonly milliseconds: number
  readonly megabytes: number
}

export const LIMITS: Limits = { cost: 1_000_000, milliseconds: 2_000, megabytes: 128 }

const SPENDS_PER_LOOK = 64

/**
 * Returns a function that adds up the cost of a matcher, and at every 64th call compares the clock `now` with `until`.
 * It throws Stopped when the cost or the time is exceeded.
 */
export function bounded(limits: Limits, until: number, now: () => number): Spend {
  let left = limits.cost
  let spends = 0
  return (cost) => {
    left -= cost
    if (left < 0) throw new Stopped(`at a cost of ${limits.cost.toLocaleString('en-US')}`)
    if (spends++ % SPENDS_PER_LOOK === 0 && now() >= until) throw new Stopped(outOfTime(limits))
  }
}

/** The end of a message about a matcher whose evaluation the time limit stopped. */
export const outOfTime = ({ milliseconds }: Limits): string =>
  `after ${milliseconds / 1000} s for all mappings together`

/** Compiles and evaluates one matcher (specification 2.4.1) as the given version of cel-go does. Never throws. */
export function evaluateMatcher(text: string, claims: Value, celGo: CelGoVersion, spend: Spend): Evaluation {
  try {
    spend(0)
    const program = programOf(text, celGo)
    if (typeof program === 'string') return { kind: 'refused', message: program }
    const result = evaluate(program.expr, { ...program, claims, spend })
    if (result instanceof Failure) return { kind: 'failed', message: result.message }
    if (typeof result === 'boolean') return { kind: 'value', value: result }
    return { kind: 'otherType', type: typeOf(result) === 'double' ? 'a double' : described(result) }
  } catch (error) {
    if (error instanceof Stopped) return { kind: 'stopped', message: error.message }
    if (error instanceof OutOfBudget) return { kind: 'stopped', message: `at ${error.message}` }
    if (error instanceof RangeError) return { kind: 'stopped', message: 'for lack of memory' }
    throw error
  }
}
