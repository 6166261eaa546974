import { checkMatcher, parse } from '../../cel/index.ts'
import { evaluate } from './cel/evaluate.ts'
import { described, Failure, type Spend, typeOf, type Value } from './cel/values.ts'

/** What becomes of a matcher: plain data, to cross from one thread to another. */
export type Evaluation =
  | { readonly kind: 'value'; readonly value: boolean }
  /** The result is no bool; `type` with its article. */
  | { readonly kind: 'otherType'; readonly type: string }
  | { readonly kind: 'failed'; readonly message: string }
  | { readonly kind: 'stopped'; readonly message: string }
  /** It does not compile. */
  | { readonly kind: 'refused'; readonly message: string }

/** The work grew beyond its bounds. */
export class Stopped extends Error {}

export interface Limits {
  /** Turns of loops, for each matcher: a little stricter than the cost limit of the gateway. */
  readonly steps: number
  /** For all matchers together. */
  readonly milliseconds: number
  readonly megabytes: number
}

export const LIMITS: Limits = { steps: 100_000, milliseconds: 2_000, megabytes: 128 }

const SPENDS_PER_LOOK = 64

/** Counts the steps of one matcher, and looks at the clock now and then; throws Stopped. */
export function bounded(limits: Limits, until: number, now: () => number): Spend {
  let left = limits.steps
  let spends = 0
  return (steps) => {
    left -= steps
    if (left < 0) throw new Stopped(`after ${limits.steps.toLocaleString('en-US')} steps`)
    if (spends++ % SPENDS_PER_LOOK === 0 && now() >= until) throw new Stopped(outOfTime(limits))
  }
}

export const outOfTime = ({ milliseconds }: Limits): string =>
  `after ${milliseconds / 1000} s for all mappings together`

/** Compiles and evaluates one matcher (specification 2.4.1). Never throws. */
export function evaluateMatcher(text: string, claims: Value, spend: Spend): Evaluation {
  try {
    spend(0)
    const verdict = checkMatcher(text)
    if (!verdict.ok)
      return { kind: 'refused', message: `${verdict.line}:${verdict.column}: ${verdict.message}` }
    const parsed = parse(text)
    if (!parsed.ok) return { kind: 'refused', message: parsed.message }
    const result = evaluate(parsed.expr, claims, spend)
    if (result instanceof Failure) return { kind: 'failed', message: result.message }
    if (typeof result === 'boolean') return { kind: 'value', value: result }
    return { kind: 'otherType', type: typeOf(result) === 'double' ? 'a double' : described(result) }
  } catch (error) {
    if (error instanceof Stopped) return { kind: 'stopped', message: error.message }
    if (error instanceof RangeError) return { kind: 'stopped', message: 'for lack of memory' }
    throw error
  }
}
