import { check, dyn, evaluate, type Expr, Failure, fromJson, parse, STRING_FUNCTIONS } from '../cel/index.ts'
import { BoundedCache, OutOfBudget } from '../rule/index.ts'
import type { ValidationRule } from './schema.ts'

/** `failed`: the evaluation ends with an error, as for an absent field. `unknown`: only the API server can evaluate. */
export type RuleOutcome = 'holds' | 'broken' | 'failed' | 'unknown'

/** The most that one evaluation may cost, in units of cel-go: the API server's limit for a rule (KEP-2876). */
const MOST_COST = 10_000_000

interface Compiled {
  readonly expr: Expr
  /** Whether the rule refers to the stored value (`oldSelf`). */
  readonly isTransition: boolean
}

const SELF = new Map([['self', dyn]])
const BOTH = new Map([...SELF, ['oldSelf', dyn]])
const compiled = new BoundedCache<{ readonly rule: Compiled | undefined }>('rules of CRDs', 4 * 2 ** 20)
/** Estimated bytes of a compiled rule per character of its text. */
const BYTES_PER_CHARACTER = 100

/**
 * Evaluates a rule of a CRD (`x-kubernetes-validations`) over a JSON value and the stored value at the same path.
 * When nothing is stored there, `stored` is undefined, and a rule that refers to `oldSelf` holds, as in the API
 * server.
 */
export function evaluateRule(rule: ValidationRule, self: unknown, stored?: unknown): RuleOutcome {
  const known = compile(rule)
  if (known === undefined) return 'unknown'
  const { expr, isTransition } = known
  if (isTransition && stored === undefined) return 'holds'
  let left = MOST_COST
  const spend = (cost: number) => {
    left -= cost
    if (left < 0) throw new TooDear()
  }
  try {
    const variables = new Map([['self', fromJson(self)]])
    if (isTransition) variables.set('oldSelf', fromJson(stored))
    const result = evaluate(expr, { claims: null, variables, settled: new Map(), celGo: '0.32', spend })
    if (result instanceof Failure) return 'failed'
    return result === true ? 'holds' : 'broken'
  } catch (error) {
    if (error instanceof TooDear || error instanceof OutOfBudget) return 'unknown'
    throw error
  }
}

/** Whether `evaluateRule` can evaluate the rule. `besideStored`: the stored object or its absence is known. */
export function isEvaluated(rule: ValidationRule, besideStored: boolean): boolean {
  const known = compile(rule)
  return known !== undefined && (besideStored || !known.isTransition)
}

class TooDear extends Error {}

/** Compiles a rule; undefined when it sets `optionalOldSelf`, or does not compile with the functions of src/cel. */
function compile({ rule, optionalOldSelf = false }: ValidationRule): Compiled | undefined {
  if (optionalOldSelf) return undefined
  const known = compiled.get(rule)
  if (known !== undefined) return known.rule
  const made = compiledOf(rule)
  compiled.set(rule, { rule: made }, rule.length * BYTES_PER_CHARACTER)
  return made
}

function compiledOf(rule: string): Compiled | undefined {
  const parsed = parse(rule)
  if (!parsed.ok) return undefined
  const { expr } = parsed
  const passes = (variables: typeof SELF) => check(expr, '0.32', variables, STRING_FUNCTIONS).ok
  if (passes(SELF)) return { expr, isTransition: false }
  return passes(BOTH) ? { expr, isTransition: true } : undefined
}
