import type { Budget } from '../../rule/index.ts'
import { type Expr, subexpressions } from '../ast.ts'
import { namesIn } from './spelling.ts'

/** The most conditions moved out of a CEL loop. Each splits the loop into three cases: true, false, or a failure. */
export const MOST_HOISTED = 3

const AT = { offset: 0, height: 0 } as const
export const YES: Expr = { kind: 'literal', type: 'bool', value: true, ...AT }
export const NO: Expr = { kind: 'literal', type: 'bool', value: false, ...AT }
const number = (value: bigint): Expr => ({ kind: 'literal', type: 'int', value, ...AT })
/** A CEL expression whose evaluation always fails: a division by zero. */
export const FAILING: Expr = {
  kind: 'call',
  name: '_/_',
  target: undefined,
  args: [number(1n), number(0n)],
  ...AT,
}

const LOGIC: ReadonlySet<string> = new Set(['_&&_', '_||_', '!_', '_?_:_'])

/** The first condition in a CEL loop's body, as large as possible, that reads claims but not the loop variable. */
export function closedTest(body: Expr | undefined, variable: string, budget: Budget): Expr | undefined {
  if (body === undefined) return undefined
  const names = namesIn(body, budget)
  if (!names.has('claims')) return undefined
  if (!names.has(variable)) return body
  if (body.kind !== 'call' || !LOGIC.has(body.name)) return undefined
  for (const part of subexpressions(body)) {
    const closed = closedTest(part, variable, budget)
    if (closed !== undefined) return closed
  }
  return undefined
}

/** A copy of the expression `body` in which the subexpression `part` is replaced by `by`. */
export function replaced(body: Expr, part: Expr, by: Expr): Expr {
  if (body === part) return by
  if (body.kind !== 'call' || !LOGIC.has(body.name)) return body
  return { ...body, args: body.args.map((each) => replaced(each, part, by)) }
}
