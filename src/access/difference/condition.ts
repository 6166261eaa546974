import { type Expr, printed, type Program, read, type ClaimsWorld } from '../../cel/index.ts'
import type { Condition } from './choice.ts'

/** The condition on a caller's claims under which a matcher, a compiled CEL expression, is true. */
export const isTrue = (world: ClaimsWorld, { expr, ...matcher }: Program): Condition => ({
  when: read(world, expr, matcher).yes,
  text: printed(expr),
  *withoutOneOperand() {
    for (const smaller of smallerThan(expr)) yield isTrue(world, { expr: smaller, ...matcher })
  },
})

/** Variants of a CEL expression, each with an `&&`, `||` or `?:` replaced by an operand of it (for `?:`, a branch). */
function* smallerThan(expr: Expr): Iterable<Expr> {
  if (expr.kind !== 'call') return
  const { name, args } = expr
  if (name === '_&&_' || name === '_||_') yield* args
  if (name === '_?_:_') yield* args.slice(1)
  if (!['_&&_', '_||_', '_?_:_', '!_'].includes(name)) return
  for (const [i, arg] of args.entries())
    for (const smaller of smallerThan(arg)) yield { ...expr, args: args.with(i, smaller) }
}
