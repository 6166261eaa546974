import { evaluate } from '../evaluate/evaluate.ts'
import { CelMap } from '../evaluate/values.ts'
import type { Program } from './program.ts'
import { read } from './reader.ts'
import { Budget, OutOfBudget } from './solver.ts'
import { solve } from './model.ts'
import { World } from './world.ts'

/** Whether the expression is true for all claims, or never; undefined where neither is proved within the steps. */
export function provedConstant({ expr, ...matcher }: Program, steps: number): boolean | undefined {
  return withinSteps(steps, (budget) => {
    const world = new World(budget, ['map'])
    const { yes } = read(world, expr, matcher)
    if (solve(world, [yes]).is === 'impossible') return false
    return solve(world, [-yes]).is === 'impossible' ? true : undefined
  })
}

/** Whether it is true for a caller without any claim. */
export const isTrueWithoutClaims = (program: Program, steps: number): boolean =>
  withinSteps(
    steps,
    (budget) =>
      evaluate(program.expr, {
        ...program,
        claims: new CelMap(true),
        spend: (cost) => budget.spend(cost),
      }) === true,
  ) ?? false

/** Undefined where more steps are needed. */
export const withinSteps = <T>(steps: number, run: (budget: Budget) => T): T | undefined =>
  withinBudget(() => run(new Budget(steps)))

/** Undefined where a budget is spent. */
export function withinBudget<T>(run: () => T): T | undefined {
  try {
    return run()
  } catch (error) {
    if (error instanceof OutOfBudget) return undefined
    throw error
  }
}
