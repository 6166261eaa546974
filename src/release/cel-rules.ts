import { check } from '../cel/checker.ts'
import { evaluate } from '../cel/evaluate/evaluate.ts'
import { Failure, fromJson } from '../cel/evaluate/values.ts'
import type { Expr } from '../cel/ast.ts'
import { STRING_FUNCTIONS } from '../cel/declarations.ts'
import { parse } from '../cel/parser.ts'
import { dyn } from '../cel/types.ts'

/** `unknown`: the rule compares with the stored object, or uses what only the API server has. */
export type RuleOutcome = 'holds' | 'broken' | 'unknown'

/** Most of what one evaluation may cost, in units of cel-go's cost: the API server's limit for a rule (KEP-2876). */
const MOST_COST = 10_000_000

const SELF = new Map([['self', dyn]])
const compiled = new Map<string, Expr | undefined>()

/**
 * Evaluates a rule of a CRD (`x-kubernetes-validations`) over a JSON value. As at the API server an evaluation that
 * fails, for instance on an absent field, breaks the rule.
 */
export function evaluateRule(rule: string, self: unknown): RuleOutcome {
  const expr = compile(rule)
  if (expr === undefined) return 'unknown'
  let left = MOST_COST
  const spend = (cost: number) => {
    left -= cost
    if (left < 0) throw new TooDear()
  }
  try {
    const variables = new Map([['self', fromJson(self)]])
    const result = evaluate(expr, { claims: null, variables, settled: new Map(), celGo: '0.32', spend })
    if (result instanceof Failure) return 'broken'
    return result === true ? 'holds' : 'broken'
  } catch (error) {
    if (error instanceof TooDear) return 'unknown'
    throw error
  }
}

/** Whether `evaluateRule` can evaluate the rule. */
export const isEvaluated = (rule: string): boolean => compile(rule) !== undefined

class TooDear extends Error {}

/** The expression of a rule that only needs `self` and the standard library; there are few rules, and they stay. */
function compile(rule: string): Expr | undefined {
  if (!compiled.has(rule)) {
    const parsed = parse(rule)
    compiled.set(
      rule,
      parsed.ok && check(parsed.expr, '0.32', SELF, STRING_FUNCTIONS).ok ? parsed.expr : undefined,
    )
  }
  return compiled.get(rule)
}
