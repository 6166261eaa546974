import type { Budget } from '../../rule/index.ts'
import { evaluate } from '../evaluate/evaluate.ts'
import { CelMap, spendingFrom } from '../evaluate/values.ts'
import { solve } from './model.ts'
import type { Program } from './program.ts'
import { read } from './reader.ts'
import { ClaimsWorld } from './world.ts'

/**
 * Whether the expression is true for all claims (true) or for none (false); undefined when neither is proved. Throws
 * OutOfBudget.
 */
export function provedConstant({ expr, ...matcher }: Program, budget: Budget): boolean | undefined {
  const world = new ClaimsWorld(budget, ['map'])
  const { yes } = read(world, expr, matcher)
  if (solve(world, [yes]).is === 'impossible') return false
  return solve(world, [-yes]).is === 'impossible' ? true : undefined
}

/** Whether the expression is true for a caller without any claim. Throws OutOfBudget. */
export const isTrueWithoutClaims = (program: Program, budget: Budget): boolean =>
  evaluate(program.expr, { ...program, claims: new CelMap(true), spend: spendingFrom(budget) }) === true
